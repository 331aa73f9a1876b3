/* Python read and not run: what statements assign, and what is left unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/text/python_value.h"

/* "target=value;" of all statements; lists in brackets, calls with their arguments, "?" of what
 * is not known, "!" behind what stands in a condition. */
static void show(const struct python_value *value, struct text *out)
{
    if (value->kind == PYTHON_UNKNOWN)
        text_append(out, "?");
    if (value->kind == PYTHON_WORD || value->kind == PYTHON_NONE)
        text_append(out, value->text);
    if (value->kind != PYTHON_LIST && value->kind != PYTHON_CALL)
        return;
    bool list = value->kind == PYTHON_LIST;
    text_printf(out, "%s%s", list ? "" : value->callee, list ? "[" : "(");
    for (size_t i = 0; i < value->n; i++) {
        const struct python_argument *item = &value->items[i];
        text_printf(out, "%s%s%s", i ? "," : "", item->name ? item->name : "",
                    item->name ? "=" : "");
        show(&item->value, out);
    }
    text_append(out, list ? "]" : ")");
}

static const char *read_all(const char *script, struct arena *arena)
{
    struct err err = {0};
    struct python python;
    struct text out = {.arena = arena};
    if (python_read("a.py", script, strlen(script), arena, &python, &err) != STATUS_OK)
        return arena_strdup(arena, err.text);
    for (size_t i = 0; i < python.n; i++) {
        const struct python_statement *s = &python.statements[i];
        text_printf(&out, "%s%s", s->target ? s->target : "", s->target ? "=" : "");
        show(&s->value, &out);
        text_append(&out, s->nested ? "!;" : ";");
    }
    return text_string(&out);
}

static void statements_are_what_they_say(void **state)
{
    (void)state;
    static const char *const scripts[][2] = {
        {"a = 1_000", "a=1000;"},
        {"a.b = 'x' # c\n", "a.b=x;"},
        {"a = True; b = None", "a=true;b=null;"},
        {"a = -1e-4", "a=-1e-4;"},
        {"n = 4\na.b = 2 * n + 1", "n=4;a.b=9;"},
        {"a = 64 // 6 * 2", "a=20;"},
        {"a = 2 ** 4", "a=?;"},
        {"n = 4\na = n > 2 and n != 3", "n=4;a=true;"},
        {"n = 'b'\na = 1 if n in ['a', 'b'] else 2", "n=b;a=1;"},
        {"n = 'B'\na = n.lower() == 'b'", "n=B;a=true;"},
        {"n = None\na = n is None or m > 1", "n=null;a=true;"},
        {"a = m is not None", "a=?;"},
        {"a = not isinstance(3, str)", "a=true;"},
        {"a = max(1, 8 // 4)", "a=2;"},
        {"n = [4, 8]\na = n[1]", "n=[4,8];a=8;"},
        {"a = b = 3", "b=3;a=3;"},
        {"def(b):\n    a = 1", "a=1;"},
        {"n = 2\ndef f(n):\n    a = n\nb = n", "n=2;a=n;b=2;"},
        {"def f():\n    n = 2\na = n", "n=2;a=n;"},
        {"a = [1,\n  2, # two\n  3]", "a=[1,2,3];"},
        {"a = (\n 'x'\n)", "a=x;"},
        {"a = ['e'] + ['d'] * 2 + [['l']]", "a=[e,d,d,[l]];"},
        {"a: int = 5", "a=5;"},
        {"a += 1", "a=?;"},
        {"a == b", ""},
        {"a, b.c = 1, [2]", "a=1;b.c=[2];"},
        {"a, b = f()", "f();a=?;b=?;"},
        {"def f():\n  return g(\n    h=1)", "g(h=1);"},
        {"a = 1, 2", "a=[1,2];"},
        {"a[0] = 1", ""},
        {"a['k'] = f(1)", "f(1);"},
        {"a = torch.bfloat16", "a=torch.bfloat16;"},
        {"a = int(os.environ.get('TP', '4'))", "a=4;"},
        {"a = os.environ['TP']", "a=?;"},
        {"a = f'{b}'", "a=?;"},
        {"a = r'x'", "a=x;"},
        {"a = '''x\ny'''", "a=x\ny;"},
        {"a = 'x\\'y'", "a=x'y;"},
        {"a = 'x' 'y'\nb = a + 'z'", "a=xy;b=xyz;"},
        {"n = 2\na = f'{n}x{{y}}'", "n=2;a=2x{y};"},
        {"a = f'{n + 1}'", "a=?;"},
        {"a = '\\d'", "a=?;"},
        {"a = 'x' if True else 'y'", "a=x;"},
        {"a = ' '.join(['x', str(2)])\nb = 'x  y'.split()", "a=x 2;b=[x,y];"},
        {"a = ['x']\na += ['y', z]\na.append(1)\na.extend([2])\nb = a",
         "a=[x];a=?;a.append(1);a.extend([2]);b=[x,y,z,1,2];"},
        {"a = [1]\nif x:\n a += [2]\nb = a", "a=[1];a=?!;b=[1,?];"},
        {"a = [1, *[2, 3], x[0]]", "a=[1,2,3,?];"},
        {"a = [x for x in y]", "a=?;"},
        {"@f(g='h')\ndef x():\n pass", "f(g=h);"},
        {"a = f(1, k=[2])", "a=f(1,k=[2]);"},
        {"from m import f as g\na = g()", "a=f();"},
        {"from m import (f as g,\n h)\na = g(h())", "a=f(h());"},
        {"a = A.b('x').c(d=True)", "a=A.b(x);"},
        {"a = x if y else z", "a=?;"},
        {"a = {'x': 1, \"y\": [b, 2],}", "a=dict(x=1,y=[b,2]);"},
        {"a = {}", "a=dict();"},
        {"a = {x: 1}", "a=?;"},
        {"a = {'x', 1}", "a=?;"},
        {"a = {**b}", "a=?;"},
        {"a = not True", "a=false;"},
        {"a = not f(1)", "a=not(f(1));"},
        {"a = not b", "a=?;"},
        {"a = f(b[0], c=1, d='),(' if e else 2, **g)", "a=f(?,c=1,d=?,?);"},
        {"a = f(lambda x: (x, 1), b=g(x == y, z=2))", "a=f(?,b=g(?,z=2));"},
        {"a = f([x for x in y], b={'k': not z})", "a=f(?,b=dict(k=?));"},
        {"a = f(b c", "a bracket is not closed"},
        {"if x:\n  a = 1\nb = 2", "a=1!;b=2;"},
        {"if x: a = 1\nb = 2", "a=1!;b=2;"},
        {"n = 1\nif x:\n  n = 2\na.b = n", "n=1;n=2!;a.b=?;"},
        {"if __name__ == '__main__':\n  a = 1", "a=1;"},
        {"def f(x, y=2):\n  a = 1\n  for i in y:\n    b = 1\nc = 1", "a=1;b=1!;c=1;"},
        {"@g\ndef f():\n  return a", ""},
        {"f(a)", "f(a);"},
        {"a = \\\n  1", "a=1;"},
        {"\"\"\"a = 1\nb = 2\"\"\"\nc = 3", "c=3;"},
        {"a = 'open", "a string is not closed"},
        {"a = [1,\nb", "a bracket is not closed"},
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct arena arena = {0};
        print_message("%s\n", scripts[i][0]);
        assert_string_equal(read_all(scripts[i][0], &arena), scripts[i][1]);
        arena_release(&arena);
    }
}

/* Brackets inside brackets end at a limit, and so do lists of lists. */
static void depth_and_length_are_limited(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct text deep = {.arena = &arena};
    text_append(&deep, "a = ");
    for (size_t i = 0; i < 20000; i++)
        text_append(&deep, "(");
    for (size_t i = 0; i < 20000; i++)
        text_append(&deep, ")");
    assert_string_equal(read_all(text_string(&deep), &arena), "a=?;");
    assert_string_equal(read_all("a = [1] * 500 * 500 * 500", &arena), "a=?;");
    assert_string_equal(read_all("a = 999999999 * 999999999 * 9", &arena), "a=?;");
    arena_release(&arena);
}

/* Signs need no bracket to stand inside each other. */
static void signs_are_limited(void **state)
{
    (void)state;
    static const char *const signs[] = {"-", "not ", "-(", "not -"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        struct arena arena = {0};
        struct text script = {.arena = &arena};
        text_append(&script, "a = ");
        for (size_t j = 0; j < 100000; j++)
            text_append(&script, signs[i]);
        text_append(&script, "1");
        for (size_t j = 0; j < 100000 && strchr(signs[i], '('); j++)
            text_append(&script, ")");
        assert_string_equal(read_all(text_string(&script), &arena), "a=?;");
        arena_release(&arena);
    }
}

/* A script that doubles what a name stands for, line by line. */
static void what_doubles_is_limited(void **state)
{
    (void)state;
    static const char *const doubling[][2] = {
        {"x = 'abcd'\n", "x = x + x\n"},           {"x = 'abcd'\n", "x = f'{x}{x}'\n"},
        {"x = 'abcd'\n", "x = ''.join([x, x])\n"}, {"x = [1]\n", "x = [x, x]\n"},
        {"x = {'a': 1}\n", "x = f(x, b=x)\n"},     {"x = [1]\n", "x.append(x)\n"},
    };
    for (size_t i = 0; i < sizeof doubling / sizeof *doubling; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct python python;
        struct text script = {.arena = &arena};
        text_append(&script, doubling[i][0]);
        for (size_t j = 0; j < 60; j++)
            text_append(&script, doubling[i][1]);
        text_append(&script, "y = x\n");
        assert_int_equal(
            python_read("a.py", text_string(&script), script.length, &arena, &python, &err),
            STATUS_OK);
        const struct python_value *last = &python.statements[python.n - 1].value;
        assert_false(python_is_large(last));
        assert_true(!last->text || strlen(last->text) <= PYTHON_TEXT);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_what_they_say),
        cmocka_unit_test(depth_and_length_are_limited),
        cmocka_unit_test(signs_are_limited),
        cmocka_unit_test(what_doubles_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
