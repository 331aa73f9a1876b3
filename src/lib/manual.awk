# The manual page moeplan(3) from moeplan.h: its comments as text, its declarations as they
# stand.
# awk -v version=0.1.0 -f manual.awk moeplan.h
function safe(text) {
    gsub(/\\/, "\\e", text)
    return text ~ /^[.']/ ? "\\&" text : text
}
function prose(text) {
    example = text ~ /^    /
    if (example && !shown)
        print ".nf\n.ft CW"
    if (shown && !example)
        print ".ft\n.fi"
    shown = example
    print text == "" ? ".PP" : safe(text)
}
BEGIN {
    printf ".TH MOEPLAN 3 \"\" \"moeplan %s\" \"libmoeplan\"\n.SH NAME\n", version
    print "moeplan \\- plans of Mixture-of-Experts models, predicted in the caller's process"
    print ".SH SYNOPSIS\n.nf\n#include <moeplan.h>\n"
    print "cc ... $(pkg-config --cflags --libs moeplan)"
    print ".fi\n.SH DESCRIPTION"
}
/^#/ || /^extern "C"/ { next }
/^}$/ && !code { next } # of extern "C"
/^\/\* ---- .* ---- \*\/$/ {
    sub(/^\/\* ---- /, "")
    sub(/ ---- \*\/$/, "")
    print ".SH " toupper($0)
    next
}
!code && /^\/\*/ { comment = 1; print ".PP" }
comment {
    last = /\*\/$/
    sub(/^\/\* ?/, "")
    sub(/^ \* ?/, "")
    sub(/ ?\*\/$/, "")
    prose($0)
    comment = !last
    next
}
/^[a-zA-Z]/ && !code { code = 1; print ".PP\n.nf\n.ft CW" }
code {
    if (!sub(/^MOEPLAN_API /, "")) # lines that go on have stood below the first
        sub(/^            /, "")
    print safe($0)
    if (/;[^{]*$/ && !/^    .*[,;]/ || /^};/ || /\);$/) {
        print ".ft\n.fi"
        code = 0
    }
}
