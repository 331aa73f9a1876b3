#!/bin/sh
# cpack -G DEB: one package, whose files with those of the packages it depends on, and nothing
# else, are a root in which moeplan works.
: "${MOEPLAN:?the binary under test}"
case ${MOEPLAN_SANITIZE-} in
?*) echo 'the release build shows it: skipped'; exit 77 ;;
esac
for tool in cpack dpkg-deb dpkg-shlibdeps; do
    command -v $tool > /dev/null || { echo "$tool is not installed: skipped"; exit 77; }
done
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0

fail() {
    echo "$*"
    status=1
}

(cd "$(dirname "$MOEPLAN")" && cpack -G DEB -B "$scratch/made") > "$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
set -- "$scratch"/made/*.deb
[ $# -eq 1 ] || fail "$# packages"
depends=$(dpkg-deb --field "$1" Depends)
echo "depends: $depends"
mkdir "$scratch/clean"
dpkg-deb --extract "$1" "$scratch/clean"

# What the binaries need by dpkg-shlibdeps is what the package says: the same packages, none
# newer.
mkdir -p "$scratch/shlibs/debian"
printf 'Source: moeplan\n\nPackage: moeplan\nArchitecture: any\n' \
    > "$scratch/shlibs/debian/control"
library=$(find "$scratch/clean" -name 'libmoeplan.so.[0-9]*.*')
needed=$(cd "$scratch/shlibs" && dpkg-shlibdeps -O "$scratch/clean/usr/bin/moeplan" \
    "$library" 2> /dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$needed" ] || fail 'dpkg-shlibdeps says nothing'
echo "$needed" | tr ',' '\n' | sed 's/^ *//' | while read -r name _ version; do
    said=$(echo "$depends" | tr ',' '\n' | sed -n "s/^ *$name (>= \(.*\))/\1/p")
    dpkg --compare-versions "${version%)}" le "${said:-0}" || echo "$name ${version%)}: $said"
done > "$scratch/newer"
[ ! -s "$scratch/newer" ] || fail "needs more than it says: $(cat "$scratch/newer")"
for path in bin/moeplan share/man/man1/moeplan.1 include/moeplan.h share/moeplan/models; do
    [ -e "$scratch/clean/usr/$path" ] || fail "not in the package: $path"
done
if [ "$(id -u)" -ne 0 ]; then
    echo 'not root: the clean root was not entered'
    exit $status
fi

# Libraries of the packages that Depends names; /lib is /usr/lib there as here.
libraries_of() {
    dpkg-query -L "$1" | grep -E '/(lib|lib64)/' | grep -v /gconv/ |
        while IFS= read -r path; do
            [ -d "$path" ] || echo "$path"
        done
}
for folder in lib lib64; do
    mkdir -p "$scratch/clean/usr/$folder"
    ln -s usr/$folder "$scratch/clean/$folder"
done
names=$(echo "$depends" | tr ',|' '\n' | sed 's/(.*//; s/[[:space:]]//g' | sort -u)
for name in $names; do
    libraries_of "$name" | while IFS= read -r path; do
        mkdir -p "$scratch/clean/$(dirname "$path")"
        cp -L "$path" "$scratch/clean/$path"
    done
done
# where a kernel says which file is running
mkdir -p "$scratch/clean/proc/self"
ln -s /usr/bin/moeplan "$scratch/clean/proc/self/exe"
plan=/usr/share/moeplan/examples/seed000-primus-turbo.yaml
chroot "$scratch/clean" /usr/bin/moeplan predict $plan > "$scratch/out" 2>&1 ||
    fail "in the clean root: $(cat "$scratch/out")"
grep -q '^fits' "$scratch/out" || fail 'in the clean root: no verdict'
chroot "$scratch/clean" /usr/bin/moeplan list models | grep -q deepseek-v3 ||
    fail 'in the clean root: no models'
exit $status
