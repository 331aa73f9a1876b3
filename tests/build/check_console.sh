#!/bin/sh
# tests/support/console, which golden and README tests run on, sees differences where they are.
root=${1:?usage: check_console.sh ROOT}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0
cat > "$scratch/moeplan" <<'TOOL'
#!/bin/sh
printf 'alpha %s\nbeta\n\ngamma 12.5 ms\n' "$1"
[ "$1" != bad ] || { echo wrong >&2; exit 3; }
TOOL
chmod +x "$scratch/moeplan"
MOEPLAN=$scratch/moeplan
export MOEPLAN

# console PASSES WHAT [OPTION] <TEXT: the text passes (yes), or fails (no)
console() {
    passes=$1
    what=$2
    shift 2
    cat > "$scratch/file"
    if (cd "$root" && sh tests/support/console "$@" "$scratch/file") > "$scratch/log" 2>&1; then
        result=yes
    else
        result=no
    fi
    [ "$passes" = $result ] || {
        echo "console: $what: passes: $result, expected: $passes"
        sed 's/^/    /' "$scratch/log"
        status=1
    }
}

console yes 'exact output, two commands' <<'END'
# comment

$ moeplan one
alpha one
beta

gamma 12.5 ms

$ ./bootstrap bad
alpha bad
beta

gamma 12.5 ms
wrong
[3]
END
console yes 'a command of two lines' <<'END'
$ moeplan one | \
    head -n 1
alpha one
END
console no 'a command of two lines is run' <<'END'
$ moeplan one | \
    head -n 1
    head -n 1
END
console no 'status not expected' <<'END'
$ moeplan bad 2>&1 | cat; exit 3
alpha bad
beta

gamma 12.5 ms
wrong
END
console no 'one letter differs' <<'END'
$ moeplan one
alpha one
bets

gamma 12.5 ms
END
console no 'a line is missing' <<'END'
$ moeplan one
alpha one

gamma 12.5 ms
END
console no 'a line too many' <<'END'
$ moeplan one
alpha one
beta

gamma 12.5 ms
delta
END
console no 'no command' <<'END'
moeplan one
END
console yes 'wildcards' <<'END'
$ moeplan one
alpha one
...
gamma ... ms
END
console no 'a wildcard does not excuse the rest' <<'END'
$ moeplan one
alpha one
...
gamma ... s per step
END
console yes 'only console blocks count' --markdown <<'END'
text
```sh
$ moeplan not run
```
```console
$ moeplan bad > /dev/null
wrong
```
END
console no 'console blocks count' --markdown <<'END'
```console
$ moeplan one | head -1
alpha two
```
END

printf '# why\n\n$ moeplan one | head -n 2\nold\n\n$ moeplan x | tail -n 1\ngamma ... ms\n' \
    > "$scratch/file"
printf '# why\n\n$ moeplan one | head -n 2\nalpha one\nbeta\n\n$ moeplan x | tail -n 1\n%s\n' \
    'gamma ... ms' > "$scratch/want"
(cd "$root" && MOEPLAN_REWRITE=1 sh tests/support/console "$scratch/file" > /dev/null)
cmp "$scratch/file" "$scratch/want" || status=1
exit $status
