#!/bin/sh
# check_page.sh ROOT: the page is built, its planner held against the command under node, and
# the page itself driven in a browser. PAGE_PICTURES names a folder for pictures of it.
: "${MOEPLAN:?the binary under test}"
root=${1:?usage: check_page.sh ROOT}
case ${MOEPLAN_SANITIZE-} in
?*) echo 'the release build shows it: skipped'; exit 77 ;;
esac
for tool in emcmake node taskset; do
    command -v $tool > /dev/null || { echo "$tool is not installed: skipped"; exit 77; }
done
# No test asks a name server, and apt would try for seven seconds.
[ -e "$root/build/page-yaml/libyaml/src/api.c" ] || {
    echo "libyaml's source is not in build/page-yaml (./bootstrap page gets it): skipped"
    exit 77
}
sh "$root/src/page/build" "$root/build/page" > "$root/build/page-test.log" 2>&1
case $? in
0) ;;
77) cat "$root/build/page-test.log"; exit 77 ;;
*) tail -n 40 "$root/build/page-test.log"; exit 1 ;;
esac
node "$root/tests/page/engine.js" "$root/build/page/engine.js" \
    "$MOEPLAN" "$root" || exit 1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo 'chromium is not installed: the browser was not asked'
    exit 77
}
node "$root/tests/page/browser.js" "$browser" "$root/build/page/index.html" "$MOEPLAN" "$root" \
    "${PAGE_PICTURES-}"
