/* Command lines that stand in a file as a mapping; see reader.h. */

#include "plan/job/reader.h"

const struct node *job_arguments_of(const struct node *root)
{
    const struct node *arguments =
        root->kind == NODE_MAPPING ? node_get(root, "MODEL_ARGS") : NULL;
    bool flags = arguments && arguments->kind == NODE_MAPPING && arguments->first &&
                 text_starts(arguments->first->key, "--");
    return flags ? arguments : NULL;
}

static void add(struct shell_words *words, struct arena *arena, const char *text,
                struct mark mark)
{
    words->items =
        arena_grow(arena, words->items, words->n, &words->capacity, sizeof *words->items);
    words->items[words->n++] = (struct shell_word){.text = text, .mark = mark};
}

struct shell_words job_argument_words(const struct node *arguments, struct arena *arena)
{
    struct shell_words words = {0};
    for (const struct node *flag = arguments->first; flag; flag = flag->next) {
        bool list = flag->kind == NODE_SEQUENCE, scalar = flag->kind == NODE_SCALAR;
        bool off = scalar && text_equal(flag->text, "false");
        bool alone = scalar && text_equal(flag->text, "true");
        const struct node *value = list ? flag->first : flag;
        if (!off && flag->kind != NODE_MAPPING)
            add(&words, arena, flag->key, flag->mark);
        for (; !off && !alone && value && value->kind == NODE_SCALAR;
             value = list ? value->next : NULL)
            add(&words, arena, value->text, value->mark);
    }
    return words;
}
