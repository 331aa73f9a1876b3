#!/bin/sh
# shellcheck disable=SC2016 # nothing in these texts is to be expanded
#
# Names and labels that a shell or gnuplot would run: every option that names an output takes
# them as they are, writes that file and starts nothing. Each of them makes a file "canary"
# where it is run, or nothing but trouble.
: "${MOEPLAN:?the binary under test}"
root=${1:?usage: check_hostile.sh ROOT}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
plan=$root/examples/seed000-primus-turbo.yaml
status=0
drawn=yes
command -v gnuplot > /dev/null || { echo 'gnuplot is not installed: names only'; drawn=no; }

# texts: one a line; as a file's name, and as the name of a case, its end "-" so that neither
# ending nor colon belongs to it
cat > texts <<'END'
| touch canary #
|touch canary #
| touch canary; cat #
< touch canary #
<touch canary #
> touch canary #
; touch canary ;
& touch canary &
&& touch canary #
|| touch canary #
`touch canary`
$(touch canary)
${IFS}touch${IFS}canary
"`touch canary`"
'`touch canary`'
'.system("touch canary").'
"; system('touch canary'); "
'; system("touch canary"); #
''; system("touch canary"); #
'''; system("touch canary"); #
"."; system("touch canary"); #
' ! touch canary
! touch canary
!touch canary
@touch
@data
@gib
$data
$DATA
$1
-
--
-e
-persist
--help
-o
-d
+
++
'
''
'''
"
""
'a
a'
'a'
b''c
"a
"a"
a"b
\
a\
\n
\'
#
#comment
%s%n%d
%
{a}_2^3
~
~root
*
?
[a-z]
a b
 a
set output
exit
ä
é'ü
=cmd
=1+1
.
..
.gnuplot
END

# fail WHAT: with the text at hand
fail() {
    printf '%s: %s\n' "$text" "$1"
    sed 's/^/    /' log 2> /dev/null
    status=1
}

# writes FILE COMMAND...: succeeds without a word on stderr and leaves that file, no canary
writes() {
    file=$1
    shift
    "$@" > out 2> log < /dev/null || fail "$*: status $?"
    [ ! -s log ] || fail "$*: complained"
    [ -s "$file" ] || fail "$*: did not write $file"
    for canary in canary*; do
        [ ! -e "$canary" ] || fail "$*: ran"
    done
    rm -f canary*
}

# every option that names an output, but those that draw
written() {
    writes "$1.o" "$MOEPLAN" list models "-o$1.o"
    writes "$1.o" "$MOEPLAN" predict "$plan" --output "$1.o" --format csv
    writes "$1.csv" "$MOEPLAN" frontier "$plan" --over workload.micro_batch=1,2 -o "$1.csv"
    writes "$1.json" test -s "$1.csv"
}

# points FILE: how many points an SVG chart has
points() {
    grep -c "<use xlink:href='#gpPt" "$1"
}

n=0
mkdir name
cd name || exit 1
"$MOEPLAN" frontier "$plan" --case plain:moe.path=deepep --over workload.micro_batch=1,2 \
    --plot plain.svg > out 2> log || exit 1
while IFS= read -r text; do
    n=$((n + 1))
    written "$text"
    rm -f -- "./$text.csv" "./$text.json"
    [ $drawn = yes ] || continue
    writes "$text.svg" "$MOEPLAN" frontier "$plan" --case "$text:moe.path=deepep" \
        --over workload.micro_batch=1,2 --plot "$text.svg"
    [ "$(points "./$text.svg")" -eq "$(points plain.svg)" ] ||
        fail "the label hides $(points plain.svg) points, all but $(points "./$text.svg")"
    writes "$text-.txt" "$MOEPLAN" plot memory "./$text.csv" -o "$text-.txt"
done < ../texts
[ $n -ge 60 ] || { echo "only $n texts were tried"; status=1; }

# as a folder
text='folder | touch canary'
mkdir "$text"
[ $drawn = no ] || writes "$text/a.svg" "$MOEPLAN" plot memory "$plan" -o "$text/a.svg"

# control characters would end a line of the script: refused, and nothing is written
mkdir ../control
cd ../control || exit 1
for code in 001 011 012 015 033 177; do
    text=$(printf 'a%bb' "\\0$code")
    "$MOEPLAN" plot memory "$plan" --plot "$text.svg" > out 2> log
    [ $? -eq 2 ] || fail "control character $code: not refused"
    "$MOEPLAN" plot memory "$plan" -o "$text.svg" > out 2> log
    [ $? -eq 2 ] || fail "control character $code: not refused by -o"
done
text=files
rm out log
find . -type f | grep . && fail 'something was written'

# templates are programs: none is read from the working directory
mkdir plots
text=plots/
for template in "$root"/plots/*.gp; do
    echo 'system("touch canary")' > "plots/$(basename "$template")"
done
[ $drawn = no ] || writes a.svg "$MOEPLAN" plot memory "$plan" -o a.svg
exit $status
