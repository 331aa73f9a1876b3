# After strip.awk: calls of one of the functions in `names` (a list separated by spaces).
BEGIN {
    n = split(names, name, " ")
    pattern = name[1]
    for (i = 2; i <= n; i++)
        pattern = pattern "|" name[i]
    pattern = "(^|[^A-Za-z0-9_.>])(" pattern ")[ \t]*\\("
}
code ~ pattern {
    printf "%s:%d: call that this folder may not make: %s\n", FILENAME, FNR, $0
    failed = 1
}
END { exit failed }
