function close_file() {
    if (file != "" && lines > 600 && inside > 60) {
        printf "%s:%d: file has %d lines, the limit is 600\n", file, lines, lines
        failed = 1
    }
}
FNR == 1 {
    close_file()
    file = FILENAME
    inside = 0
    start = 1
}
{ lines = FNR }
/^\{/ && !body { body = FNR }
/^\}/ && body {
    length_of = FNR - start + 1
    inside += length_of
    total++
    if (length_of >= 50) {
        long++
        over = over sprintf("  %s:%d: %d lines\n", FILENAME, start, length_of)
    }
    if (length_of > 90) {
        printf "%s:%d: function has %d lines, the limit is 90\n", FILENAME, start, length_of
        failed = 1
    }
    count[length_of]++
    body = 0
}
!body && (/^$/ || /[;}]$/ || /\*\/$/ || /^[ \t]*#/ || /\\$/) { start = FNR + 1 }
END {
    close_file()
    if (long * 20 > total) {
        printf "%d of %d functions have 50 lines or more, the limit is 5 %%:\n", long, total
        printf "%s", over
        failed = 1
    }
    for (median = 0; seen * 2 < total; median++)
        seen += count[median + 1]
    printf "%d functions, median %d lines, %d of 50 or more\n", total, median, long
    exit failed
}
