function fail(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failed = 1
}
/\t/ { fail("tab") }
/^(<<<<<<<|>>>>>>>) / { fail("a mark of an unfinished merge") }
/[ \t\r]$/ { fail("space at the end of the line") }
FILENAME !~ /\.(md|yaml)$/ {
    columns = $0
    gsub(/[\200-\277]/, "", columns) # the later bytes of a UTF-8 character
    if (length(columns) > 96)
        fail(length(columns) " columns, the limit is 96")
}
END { exit failed }
