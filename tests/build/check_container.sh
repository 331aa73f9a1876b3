#!/bin/sh
# check_container.sh ROOT: the Containerfile is read step by step: known instructions, shell
# that parses, folders and packages that there are, nothing copied that is built here. With
# MOEPLAN_CONTAINER=1 in the environment buildah also builds it, without a registry: its base
# images are made by mmdebstrap (some minutes, root, Debian's archive).
root=${1:?usage: check_container.sh ROOT}
file=$root/src/packaging/Containerfile
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0

fail() {
    echo "$*"
    status=1
}

# Instructions, one a line; comments left out.
sed '/^#/d' "$file" | sed -e ':join' -e '/\\$/{N;s/\\\n */ /;b join' -e '}' | grep . \
    > "$scratch/steps"
stages=0
while read -r instruction rest; do
    case $instruction in
    FROM)
        stages=$((stages + 1))
        case $rest in
        docker.io/library/debian:12*) ;;
        *) fail "another base: $rest" ;;
        esac
        ;;
    RUN)
        echo "$rest" > "$scratch/run"
        sh -n "$scratch/run" || fail "does not parse: $rest"
        case $rest in
        *'apt-get install'*'rm -rf /var/lib/apt/lists/'*) ;;
        *'apt-get install'*) fail "leaves apt's lists: $rest" ;;
        esac
        echo "$rest" | tr ' ' '\n' | sed -n '/^install$/,/^&&$/p' | grep '^[a-z][a-z0-9.+-]*$' |
            grep -v '^install$' >> "$scratch/packages"
        ;;
    COPY)
        case $rest in
        '. '*)
            for ignored in build/ .git/; do
                grep -qx "$ignored" "$root/.containerignore" || fail "copies $ignored"
            done
            ;;
        --from=build*) [ $stages -eq 2 ] || fail "copies before there is anything: $rest" ;;
        *) fail "copies what nobody checks: $rest" ;;
        esac
        ;;
    ENTRYPOINT) [ "$rest" = '["moeplan"]' ] || fail "another entry: $rest" ;;
    CMD) ;;
    *) fail "unknown here: $instruction" ;;
    esac
done < "$scratch/steps"
[ $stages -eq 2 ] || fail "$stages stages"
[ -s "$scratch/packages" ] || fail 'no package is installed'
apt-cache pkgnames > "$scratch/known" 2> /dev/null
if grep -qx gcc "$scratch/known"; then
    while read -r package; do
        grep -qxF "$package" "$scratch/known" || fail "Debian has no $package"
    done < "$scratch/packages"
fi
# what ./bootstrap installs to build is what the image installs, and what makes the package
needed=$(sed -n "/^needed='/,/'/p" "$root/bootstrap" | head -n 2 | tr -d "'" | sed 's/^.*=//')
for package in $needed; do
    case $package in
    libopenblas0-pthread) ;; # opened by run alone, and recommended by the package
    *) grep -qxE "$package" "$scratch/packages" || fail "bootstrap needs $package" ;;
    esac
done
[ "${MOEPLAN_CONTAINER-}" = 1 ] || exit $status

for tool in buildah mmdebstrap; do
    command -v $tool > /dev/null || { echo "$tool is not installed"; exit 1; }
done
builder() {
    buildah --root "$scratch/images" --runroot "$scratch/running" --storage-driver vfs "$@"
}
mmdebstrap --quiet --variant=minbase bookworm "$scratch/base.tar" || exit 1
base=$(builder from scratch) || exit 1
builder add --quiet "$base" "$scratch/base.tar" / > /dev/null || exit 1
builder commit --quiet "$base" docker.io/library/debian:12 > /dev/null || exit 1
builder tag docker.io/library/debian:12 docker.io/library/debian:12-slim
builder bud --isolation chroot --network host --pull-never -f "$file" -t moeplan "$root" \
    > "$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }
made=$(builder from --pull-never localhost/moeplan) || exit 1
for plan in seed000-primus-turbo host-small; do
    builder run --isolation chroot "$made" -- \
        moeplan predict "/usr/share/moeplan/examples/$plan.yaml" > "$scratch/out" 2>&1 ||
        fail "in the image: $(cat "$scratch/out")"
    grep -q '^fits' "$scratch/out" || fail "in the image: $plan does not fit"
    head -n 1 "$scratch/out"
done
exit $status
