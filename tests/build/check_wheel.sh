#!/bin/sh
# The Python package as a user gets it: the wheel is built, twice to the same bytes, installed
# in a fresh environment without a network, and tested there; the notebook runs where its
# libraries are installed.
root=${1:?usage: check_wheel.sh ROOT}
case ${MOEPLAN_SANITIZE-} in
?*) echo 'the release build shows it: skipped'; exit 77 ;;
esac
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv" 2> /dev/null || {
    echo 'python3-venv is not installed: skipped'
    exit 77
}
[ -n "$(find /usr/lib /usr/local/lib -name libyaml.a 2> /dev/null)" ] || {
    echo 'there is no libyaml.a: skipped'
    exit 77
}
python3 "$root/src/python/backend.py" "$scratch/first" > "$scratch/name" || exit 1
python3 "$root/src/python/backend.py" "$scratch/second" > /dev/null || exit 1
cmp "$scratch"/first/*.whl "$scratch"/second/*.whl || exit 1

python=$scratch/venv/bin/python
"$python" -m pip install --quiet --disable-pip-version-check --no-index \
    "$scratch"/first/*.whl || exit 1
cd "$scratch" || exit 1
MOEPLAN_ROOT=$root PYTHONPATH=$root/tests/python PYTHONDONTWRITEBYTECODE=1 \
    "$python" -W error -m unittest test_package || exit 1

# Distributions' own pandas and matplotlib, beside the package of the environment.
packages=$("$python" -c 'import moeplan, os; print(os.path.dirname(moeplan.__path__[0]))')
if python3 -c 'import matplotlib, pandas' 2> /dev/null; then
    PYTHONPATH=$packages MPLCONFIGDIR=$scratch python3 "$root/examples/notebook.py" "$scratch" \
        > out || exit 1
    grep -q '^capacity' out || { cat out; exit 1; }
    [ -s frontier.png ] || { echo 'the notebook drew nothing'; exit 1; }
else
    echo 'python3-pandas or python3-matplotlib is not installed: the notebook was not run'
fi
