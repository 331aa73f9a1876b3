/* Scripts as words: quotes, variables, arrays, here-documents, and what stays unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/text/shell.h"

/* The words of the last command, in brackets; a word that is not known says why. */
static const char *last_command(const char *script, struct arena *arena)
{
    struct shell shell;
    struct err err = {0};
    struct text out = {.arena = arena};
    enum status status =
        shell_read("x.sh", script, strlen(script), NULL, 0, arena, &shell, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, STATUS_OK);
    assert_true(shell.n_commands > 0);
    const struct shell_command *command = &shell.commands[shell.n_commands - 1];
    for (size_t i = 0; i < command->words.n; i++) {
        const struct shell_word *word = &command->words.items[i];
        text_printf(&out, "[%s]", word->text);
        if (word->trouble)
            text_printf(&out, "{%s}", word->trouble);
    }
    if (command->nested)
        text_append(&out, " nested");
    return text_string(&out);
}

static const struct {
    const char *script, *words;
} cases[] = {
    {"run a  b\tc", "[run][a][b][c]"},
    {"run a \\\n  b", "[run][a][b]"},
    {"run a \\\r\n  b\r\n", "[run][a][b]"},
    {"run # a\n", "[run]"},
    {"#SBATCH --nodes=8 --ntasks-per-node=4 # comment\nrun $SLURM_NNODES $SLURM_NTASKS",
     "[run][8][32]"},
    {"#SBATCH -N 8\n#SBATCH -n16\nrun $SLURM_JOB_NUM_NODES ${SLURM_NPROCS}", "[run][8][16]"},
    {"#SBATCH --gres=gpu:h100:8(S:0-1)\n#SBATCH --gpus-per-node h100:4\n"
     "run $SLURM_GPUS_ON_NODE ${SLURM_GPUS_PER_NODE}",
     "[run][4][4]"},
    {"#SBATCH -N 2\nN=${SLURM_NNODES:-1}; SLURM_NNODES=3; run $N $SLURM_NNODES", "[run][2][3]"},
    {"#SBATCH --nodes=4-8\nrun $SLURM_NNODES", "[run][]{variable 'SLURM_NNODES' is not set}"},
    {"run a#b", "[run][a#b]"},
    {"run 'a b' \"c d\" e\\ f ''", "[run][a b][c d][e f][]"},
    {"run --x='[0]*3+[1]*58'", "[run][--x=[0]*3+[1]*58]"},
    {"X=8; run $X ${X} \"$X\" '$X' \\$X", "[run][8][8][8][$X][$X]"},
    {"X='a b'; run $X \"$X\" x$X", "[run][a][b][a b][xa][b]"},
    {"run ${X:-8} ${X-9} ${X:=7} ${Y:-${X:-3}}", "[run][8][9][7][3]"},
    {"X=; run ${X:-8} ${X-9}x", "[run][8][x]"},
    {"export X=1 Y=2; run $X$Y", "[run][12]"},
    {"X=1 run; run ${X:-2}", "[run][2]"},
    {"X=1 Y=2; unset X; run ${X:-3}$Y", "[run][32]"},
    {"export X=1; unset -v X Y; run $X", "[run][]{variable 'X' is not set}"},
    {"X=1; unset -f X; run $X", "[run][1]"},
    {"X=1; if test $Z; then unset X; fi; run $X",
     "[run][1]{variable 'X' is unset under a condition, on line 1}"},
    {"X=3; X=1 run; run $X", "[run][3]"},
    {"run $X", "[run][]{variable 'X' is not set}"},
    {"run --tp=$X", "[run][--tp=]{variable 'X' is not set}"},
    {"A=(a 'b c' \\\n d # e\n f); run \"${A[@]}\"", "[run][a][b c][d][f]"},
    {"A=(a b); A+=(c); run ${A[*]} \"${A[*]}\"", "[run][a][b][c][a b c]"},
    {"A=(); run \"${A[@]}\" end", "[run][end]"},
    {"S='--a 1'; S+=' --b'; run $S", "[run][--a][1][--b]"},
    {"N=4; run $((N * 8)) $(( (N+1)*2 - $N % 3 ))", "[run][32][9]"},
    {"N=4; run $((${M:-3} * N)) $(( (${N:-1} + 1) * ${M:-\"2\"} ))", "[run][12][10]"},
    {"run $((1/0))", "[run][]{'$((1/0))' is worked out by the shell}"},
    {"N=4; run $(expr 32 / $N / 2) $(expr $N \\* 3 + 1)", "[run][4][13]"},
    {"run $(expr 16 / $N)", "[run][]{variable 'N' is not set}"},
    {"run $((N * 2))", "[run][]{variable 'N' is not set}"},
    {"run $(basename /a/b.sh) $(basename /a/b.sh .sh) $(dirname /a/b/) $(dirname b)",
     "[run][b.sh][b][/a][.]"},
    {"run $(basename $M/x) `basename y`",
     "[run][x]{variable 'M' is not set}"
     "[]{a command in backquotes is worked out by the shell}"},
    {"run $(cd \"$(dirname \"$0\")/..\" &> /dev/null && pwd)/y $(pwd)/z $PWD",
     "[run][./../y][./z][.]"},
    {"run $(dirname x | cat) $(basename a b c) $(cd x)",
     "[run][]{'$(dirname x | cat)' is worked out by the shell}"
     "[]{'$(basename a b c)' is worked out by the shell}"
     "[]{'$(cd x)' is worked out by the shell}"},
    {"run ${BASH_SOURCE[0]} ${A[0]}", "[run][x.sh][]{variable 'A' is not set}"},
    {"f a 'b c'\nf() { run $1 \"$@\"; }", "[run][a][a][b c]"},
    {"f a b\nfunction f {\nshift\nrun $1 $2\n}",
     "[run][b][]{the script's argument $2 is not given}"},
    {"f a\nf b\nf() { run $1; }",
     "[run][a]{argument $1 of 'f' differs between its calls, the first on line 1}"},
    {"f x\nf() { g \"$1\"; }\ng() { run $1; }", "[run][x]"},
    {"f\nf() { T=1; }\nrun $T $1", "[run][1][]{the script's argument $1 is not given}"},
    {"[ $X ] && f\nf() { T=1; }\nrun $T",
     "[run][1]{variable 'T' is set under a condition, on line 2}"},
    {"run $(expr )", "[run][]{'$(expr )' is worked out by the shell}"},
    {"run $(expr length abc)", "[run][]{'$(expr length abc)' is worked out by the shell}"},
    {"run $(nproc)", "[run][]{'$(nproc)' is worked out by the shell}"},
    {"run `nproc`", "[run][]{a command in backquotes is worked out by the shell}"},
    {"F=a.yaml; run ${F%.yaml}", "[run][]{'${F%.yaml}' is worked out by the shell}"},
    {"run a > out.txt 2>&1 b", "[run][a][b]"},
    {"cd x && run a", "[run][a]"},
    {"run a | tee log", "[tee][log]"},
    {"if [ -f x ]; then X=2; fi\nrun $X",
     "[run][2]{variable 'X' is set under a condition, on line 1}"},
    {"[ -z x ] && X=2\nrun $X", "[run][2]{variable 'X' is set under a condition, on line 1}"},
    {"A=(a); if which x; then A+=(b); fi\nrun \"${A[@]}\"",
     "[run][a][b]{variable 'A' is set under a condition, on line 1}"},
    {"for i in 1 2; do run $i; done",
     "[run][1]{variable 'i' is one of several in a loop, on line 1} nested"},
    {"for i in 8; do run $i; done", "[run][8] nested"},
    {"f() {\n run a\n}", "[run][a] nested"},
    {"W=$(cat <<- END\n\trun $X 'a  b' \\\n\tc\nEND\n); X=4; run \"$W\"",
     "[run][run  'a  b' \tc]{variable 'X' is not set}"},
    {"X=2; W=$(cat <<'END'\n\"$X\"\n\nEND\n)\nrun $W \"$W\"", "[run][\"$X\"][\"$X\"]"},
    {"W='a  b'; V=$W; V=\"$V  c\"; run \"$V\"", "[run][a  b  c]"},
    {"run ${X:-\"8\"} \"${X:-\"a b\"}\" ${X:-'c d'}", "[run][8][a b][c d]"},
    {"srun -N 2 bash -c \"run a \\\n b\"", "[srun][-N][2][bash][-c]"},
    {"[ -n x ] && S=\"$S --b 2\"\nrun $S",
     "[run][--b]{variable 'S' is set under a condition, on line 1}[2]"},
    {"S='--a 1'; [ -n x ] && S=\"$S --b 2\"\nrun $S",
     "[run][--a][1][--b]{variable 'S' is set under a condition, on line 1}[2]{variable 'S' is "
     "set under a condition, on line 1}"},
    {"S='--a'; [ -n x ] && S=\"$S --b\"; [ -n y ] && S=\"$S --c\"\nrun $S",
     "[run][--a][--b]{variable 'S' is set under a condition, on line 1}[--c]{variable 'S' is "
     "set "
     "under a condition, on line 1}"},
    {"S='--a'; [ -n x ] && S+=' --b'; S+=' --c'\nrun $S",
     "[run][--a][--b]{variable 'S' is set under a condition, on line 1}[--c]"},
    {"N=1; [ -n x ] && N=16\nrun $N",
     "[run][16]{variable 'N' is set under a condition, on line 1}"},
    {"C=base; [ -n x ] && C=\"$C-large\"\nrun $C",
     "[run][base-large]{variable 'C' is set under a condition, on line 1}"},
    {"run \"$@\" a", "[run][a]"},
    {"#SBATCH --nodes=4\nrun a", "[run][a]"},
};

/* What runs where the script says what a condition compares; "?" is what it does not say. */
static const struct {
    const char *script, *words;
} branches[] = {
    {"if true; then X=2; fi\nrun $X", "[run][2]"},
    {"if false; then X=2; else X=3; fi\nrun $X", "[run][3]"},
    {"X=1; if false; then X=2; fi\nrun $X", "[run][1]"},
    {"N=4\nif [ $N -gt 1 ]; then X=a; else X=b; fi\nrun $X", "[run][a]"},
    {"N=1\nif [ \"$N\" -gt 1 ]; then X=a; else X=b; fi\nrun $X", "[run][b]"},
    {"M=8x7B\nif [[ $M == 8x7B ]]; then X=a; elif [[ $M == 7B ]]; then X=b; fi\nrun $X",
     "[run][a]"},
    {"M=7B\nif [[ $M == 8x7B ]]; then X=a; elif [[ $M == 7B ]]; then X=b; else X=c; fi\nrun $X",
     "[run][b]"},
    {"M=70B\nif [ $M = 8x7B ]; then\n X=a\nelif [ $M = 7B ]; then\n X=b\nelse\n X=c\nfi\n"
     "run $X",
     "[run][c]"},
    {"if [ -z \"\" ] && ! [ 1 = 2 ]; then X=a; fi\nrun $X", "[run][a]"},
    {"if [ 1 = 2 ] || [ ! -z b ]; then X=a; fi\nrun $X", "[run][a]"},
    {"if [ 1 = 2 ] && [ -f x ]; then X=a; else X=b; fi\nrun $X", "[run][b]"},
    {"if test a != b; then run a; else run b; fi", "[run][a]"},
    {"if [ -f x ]; then X=a; elif true; then X=b; fi\nrun $X", "[run][b]?"},
    {"if [ -f x ]; then X=a; elif false; then X=b; fi\nrun $X", "[run][a]?"},
    {"if true; then X=a; elif [ -f x ]; then X=b; else X=c; fi\nrun $X", "[run][a]"},
    {"if [ $U = 1 ]; then X=a; fi\nrun $X", "[run][a]?"},
    {"if [[ abc == a* ]]; then X=a; fi\nrun $X", "[run][a]?"},
    {"if [ abc = 'a*' ]; then X=a; else X=b; fi\nrun $X", "[run][b]"},
    {"if true; then if false; then X=a; else X=b; fi; fi\nrun $X", "[run][b]"},
    {"X=z; if false; then if true; then X=a; fi; run no; fi\nrun $X", "[run][z]"},
    {"for i in 1 2; do if true; then X=a; fi; done\nrun $X", "[run][a]?"},
    {"if true; then for i in 1; do X=a; done; fi\nrun $X", "[run][a]?"},
    {"if echo a | grep a; then X=a; fi\nrun $X", "[run][a]?"},
    {"if (cd x); then X=a; fi\nrun $X", "[run][a]?"},
    {"X=a; if false; then export X; fi; X=a run", "[run]"},
    {"M=b; case $M in a) X=1;; b) X=2;; *) X=3;; esac\nrun $X", "[run][2]"},
    {"M=c\ncase \"$M\" in\n a|b)\n  X=1\n  ;;\n  c|d) X=2 ;;\nesac\nrun $X", "[run][2]"},
    {"M=z; case $M in a) X=1;; (b) X=2;; *) X=3;; esac\nrun $X", "[run][3]"},
    {"M=ab; X=0; case $M in a*) X=1;; *) X=3;; esac\nrun $X", "[run][3]?"},
    {"X=0; case $M in a) X=1;; esac\nrun $X", "[run][1]?"},
    {"M=q; X=0; case $M in a) X=1;; b) X=2;; esac\nrun $X", "[run][0]"},
    {"case in in in) X=1;; esac\nrun $X", "[run][1]"},
    {"if [ -n \"${D:-}\" ]; then X='--a 1'; fi\nrun $X b", "[run][b]"},
    {"M=; case $M in a) X=1;; esac\nrun $X", "[run][1]?"},
};

/* Such words without why they are not known: "?" behind them. */
static const char *without_reasons(const char *words, struct arena *arena)
{
    struct text out = {.arena = arena};
    bool known = true, reason = false;
    for (const char *at = words; *at; at++) {
        reason = reason || *at == '{';
        known = known && !reason;
        if (!reason)
            text_append_n(&out, at, 1);
        reason = reason && *at != '}';
    }
    text_append(&out, known ? "" : "?");
    return text_string(&out);
}

static void known_branches_are_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++) {
        struct arena arena = {0};
        print_message("%s\n", branches[i].script);
        assert_string_equal(without_reasons(last_command(branches[i].script, &arena), &arena),
                            branches[i].words);
        arena_release(&arena);
    }
}

static void scripts_are_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        print_message("%s\n", cases[i].script);
        assert_string_equal(last_command(cases[i].script, &arena), cases[i].words);
        arena_release(&arena);
    }
}

static void places_are_those_of_the_script(void **state)
{
    (void)state;
    static const char script[] = "A=(--tp\n  8)\nrun \\\n  \"${A[@]}\" --last\n";
    struct arena arena = {0};
    struct shell shell;
    struct err err = {0};
    shell_read("x.sh", script, sizeof script - 1, NULL, 0, &arena, &shell, &err);
    const struct shell_word *words = shell.commands[0].words.items;
    static const unsigned lines[] = {3, 1, 2, 4}, columns[] = {1, 4, 3, 13};
    assert_int_equal(shell.commands[0].words.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(words[i].mark.line, lines[i]);
        assert_int_equal(words[i].mark.column, columns[i]);
    }
    arena_release(&arena);
}

static void documents_become_files(void **state)
{
    (void)state;
    static const char script[] = "TP=4\ncat > a.yaml <<EOF\ntp: $TP\nEOF\n"
                                 "cat <<'EOF' > b.yaml\ntp: $TP\nEOF\n"
                                 "tee c.yaml <<-EOF\n\ttp: ${DP:-2}\n\tEOF\nrun\n";
    static const char *const names[] = {"a.yaml", "b.yaml", "c.yaml"};
    static const char *const texts[] = {"tp: 4\n", "tp: $TP\n", "tp: 2\n"};
    struct arena arena = {0};
    struct shell shell;
    struct err err = {0};
    shell_read("x.sh", script, sizeof script - 1, NULL, 0, &arena, &shell, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(shell.n_files, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(shell.files[i].name, names[i]);
        assert_string_equal(shell.files[i].text, texts[i]);
    }
    assert_string_equal(shell.commands[shell.n_commands - 1].words.items[0].text, "run");
    arena_release(&arena);
}

/* Variables that hold at a command, and those of its environment. */
static void variables_hold_from_where_they_stand(void **state)
{
    (void)state;
    static const char script[] = "X=1\nfirst\nX=2\nexport X\nY=3 second\n";
    struct arena arena = {0};
    struct shell shell;
    struct err err = {0};
    shell_read("x.sh", script, sizeof script - 1, NULL, 0, &arena, &shell, &err);
    const struct shell_command *first = &shell.commands[0];
    const struct shell_command *last = &shell.commands[shell.n_commands - 1];
    const struct shell_variable *x = shell_variable(&shell, first->n_variables, "X", false);
    assert_string_equal(x->value.items[0].text, "1");
    assert_null(shell_variable(&shell, first->n_variables, "X", true));
    x = shell_variable(&shell, last->n_variables, "X", true);
    assert_string_equal(x->value.items[0].text, "2");
    assert_non_null(shell_variable(&shell, last->n_variables, "Y", true));
    arena_release(&arena);
}

/* The commands of a string behind "bash -c" have the words in front of it. */
static void inner_shells_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *script, *words;
    } inner[] = {
        {"srun -N 2 bash -c \"cd x && run a \\\n b\"", "[srun][-N][2][bash][-c][run][a][b]"},
        {"X=4; srun sh -lc 'Y=2; run $X ${Y} \"a b\"' | tee log",
         "[srun][sh][-lc][run][4][2][a b]"},
        {"bash -c \"run \\\"a b\\\" ${X:-\"c\"}\"", "[bash][-c][run][a b][c]"},
        {"srun -N 2 bash <<'EOF'\nX=1\nrun $X 'a b'\nEOF\n",
         "[srun][-N][2][bash][run][1][a b]"},
        {"Y=3; ssh n1 bash -s <<EOF\nrun $Y\nEOF\n", "[ssh][n1][bash][-s][run][3]"},
        {"bash -c 'if true; then X=1; fi; run $X'", "[bash][-c][run][1]"},
        {"bash -c 'a '\\''b c'\\'' \"d\"'", "[bash][-c][a][b c][d]"},
        {"bash -c 'run '\"a 'b c'\"\\ d", "[bash][-c][run][a][b c][d]"},
    };
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        struct arena arena = {0};
        struct shell shell;
        struct err err = {0};
        bool found = false;
        print_message("%s\n", inner[i].script);
        assert_int_equal(shell_read("x.sh", inner[i].script, strlen(inner[i].script), NULL, 0,
                                    &arena, &shell, &err),
                         STATUS_OK);
        for (size_t j = 0; j < shell.n_commands; j++) {
            struct text out = {.arena = &arena};
            for (size_t k = 0; k < shell.commands[j].words.n; k++)
                text_printf(&out, "[%s]", shell.commands[j].words.items[k].text);
            found = found || text_equal(text_string(&out), inner[i].words);
        }
        assert_true(found);
        arena_release(&arena);
    }
}

/* Each of them hands its words on to the next. */
static void scripts_in_quotes_are_limited(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct shell shell;
    struct err err = {0};
    struct text script = {.arena = &arena};
    for (size_t i = 0; i < 2000; i++)
        text_append(&script, "bash -c \"");
    assert_int_equal(
        shell_read("x.sh", text_string(&script), script.length, NULL, 0, &arena, &shell, &err),
        STATUS_INPUT);
    assert_non_null(strstr(err.text, "scripts in quotes grow the script beyond the limit"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_shells_are_read),
        cmocka_unit_test(scripts_are_words),
        cmocka_unit_test(known_branches_are_taken),
        cmocka_unit_test(places_are_those_of_the_script),
        cmocka_unit_test(documents_become_files),
        cmocka_unit_test(variables_hold_from_where_they_stand),
        cmocka_unit_test(scripts_in_quotes_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
