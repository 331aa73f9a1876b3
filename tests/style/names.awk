# After strip.awk: names that POSIX owns, types hidden by typedef, functions that are traps.
function fail(text) {
    printf "%s:%d: %s: %s\n", FILENAME, FNR, text, $0
    failed = 1
}
BEGIN {
    trap = "(strtok|sprintf|vsprintf|strcpy|strcat|gets|rand|srand|atoi|atof)"
}
code ~ /typedef[ \t]+(struct|union|enum)[^(]*$/ { fail("typedef of a struct, union or enum") }
code ~ /(struct|union|enum)[ \t]+[A-Za-z0-9_]+_t([^A-Za-z0-9_]|$)/ ||
code ~ /typedef[^()]*[^A-Za-z0-9_][A-Za-z0-9_]+_t[ \t]*;/ ||
code ~ /typedef.*\(\*[A-Za-z0-9_]+_t\)/ { fail("names in _t are POSIX's") }
code ~ "(^|[^A-Za-z0-9_.>])" trap "[ \t]*\\(" { fail("function that is a trap") }
END { exit failed }
