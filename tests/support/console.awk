# Compares the expectations of a console file with what its commands printed (out/1, out/2, ...)
# and writes the file with the differences taken over to `rewritten`. See `console`.

# Does the text match the pattern, in which "..." stands for any characters?
function line_matches(pattern, text,    place) {
    place = index(pattern, "...")
    if (!place)
        return pattern == text
    if (substr(text, 1, place - 1) != substr(pattern, 1, place - 1))
        return 0
    pattern = substr(pattern, place + 3)
    text = substr(text, place)
    for (;;) {
        if (line_matches(pattern, text))
            return 1
        if (text == "")
            return 0
        text = substr(text, 2)
    }
}

# Do lines i.. of what was expected match lines j.. of what was printed?
function lines_match(i, j) {
    for (; i <= n_expected; i++) {
        if (expected[i] == "...") {
            for (; j <= n_printed + 1; j++)
                if (lines_match(i + 1, j))
                    return 1
            return 0
        }
        if (j > n_printed || !line_matches(expected[i], printed[j]))
            return 0
        j++
    }
    return j > n_printed
}

function read_printed(    line) {
    n_printed = 0
    while ((getline line < (out "/" command)) > 0)
        printed[++n_printed] = line
    close(out "/" command)
    while (n_printed && printed[n_printed] == "")
        n_printed--
}

function show_difference(    i) {
    printf "%s:%d: $ %s\n", FILENAME, command_line, command_text
    for (i = 1; i <= n_expected; i++)
        if (i > n_printed || !line_matches(expected[i], printed[i]))
            print "- " expected[i]
    for (i = 1; i <= n_printed; i++)
        if (i > n_expected || !line_matches(expected[i], printed[i]))
            print "+ " printed[i]
}

function close_command(    i, gap) {
    if (!command)
        return
    for (gap = 0; n_expected && expected[n_expected] == ""; n_expected--)
        gap++
    read_printed()
    if (lines_match(1, 1)) {
        for (i = 1; i <= n_expected; i++)
            print expected[i] > rewritten
    } else {
        failed = 1
        show_difference()
        for (i = 1; i <= n_printed; i++)
            print printed[i] > rewritten
    }
    for (; gap > 0; gap--)
        print "" > rewritten
    command = 0
}

markdown && /^```/ {
    close_command()
    inside = $0 == "```console" && !inside
}
more {
    more = /\\$/
    print > rewritten
    next
}
(inside || !markdown) && /^\$ / {
    close_command()
    more = /\\$/
    command = ++n_commands
    command_line = FNR
    command_text = substr($0, 3)
    n_expected = 0
    print > rewritten
    next
}
command { expected[++n_expected] = $0; next }
{ print > rewritten }
END {
    close_command()
    exit failed
}
