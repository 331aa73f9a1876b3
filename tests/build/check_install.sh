#!/bin/sh
# cmake --install puts everything where it belongs, and the binary finds its data from there,
# whatever prefix the build was made for.
: "${MOEPLAN:?the binary under test}"
root=${1:?usage: check_install.sh ROOT}
case ${MOEPLAN_SANITIZE-} in
?*) echo 'the release build shows it: skipped'; exit 77 ;;
esac
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0
DESTDIR=$scratch cmake --install "$(dirname "$MOEPLAN")" --prefix /usr > /dev/null || exit 1
cd "$scratch/usr" || exit 1
while IFS= read -r path; do
    [ -s "$path" ] || {
        echo "not installed: $path"
        status=1
    }
done <<'END'
bin/moeplan
share/man/man1/moeplan.1
share/bash-completion/completions/moeplan
share/zsh/site-functions/_moeplan
share/fish/vendor_completions.d/moeplan.fish
END
for folder in models examples plots; do
    [ ! -d "$root/$folder" ] || diff -r "$root/$folder" "share/moeplan/$folder" || status=1
done
cp share/moeplan/models/deepseek-v3.yaml share/moeplan/models/only-installed-here.yaml
(cd / && "$scratch/usr/bin/moeplan" list models) | grep -q only-installed-here || {
    echo 'the installed binary does not look beside itself'
    status=1
}
exit $status
