# Blanks comments and the contents of strings and character constants in C, line by line, so
# that what is left is code. Sets `code`; for use as: awk -f strip.awk -f rules.awk
function strip(line,    out, place, token, close_at) {
    out = ""
    while (line != "") {
        if (in_comment) {
            close_at = index(line, "*/")
            if (!close_at)
                return out
            line = substr(line, close_at + 2)
            in_comment = 0
            continue
        }
        if (!match(line, /\/\*|\/\/|["']/))
            return out line
        place = RSTART
        token = substr(line, place, RLENGTH)
        if (token == "//")
            return out substr(line, 1, place - 1)
        if (token == "/*") {
            out = out substr(line, 1, place - 1) " "
            line = substr(line, place + 2)
            in_comment = 1
            continue
        }
        out = out substr(line, 1, place - 1) token token
        line = substr(line, place + 1)
        while (match(line, /\\.|["']/) && substr(line, RSTART, 1) != token)
            line = substr(line, RSTART + RLENGTH)
        line = RLENGTH > 0 ? substr(line, RSTART + 1) : ""
    }
    return out
}
FNR == 1 { in_comment = 0 }
{ code = strip($0) }
