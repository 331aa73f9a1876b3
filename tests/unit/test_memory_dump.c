/* Reports of buffers: XLA's texts and torch's snapshots as their sources write them (the files
 * are the fuzz target's seeds), and what of them a plan's buffers match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "sim/answer/memory_dump.h"

#define FOLDER "tests/fuzz/corpus/dump/"

static void read_dump(const char *name, struct arena *arena, struct memory_dump *dump)
{
    struct err err = {0};
    char *text;
    size_t length;
    const char *file = arena_printf(arena, FOLDER "%s", name);
    assert_int_equal(file_read(file, MEMORY_DUMP_BYTES, arena, &text, &length, &err),
                     STATUS_OK);
    memory_dump_read(file, text, length, arena, dump, &err);
    assert_string_equal(err.text, "");
}

static void texts_say_what_they_list(void **state)
{
    (void)state;
    static const struct {
        const char *file, *kind;
        uint64_t stated, listed, shared, reserved;
        const char *name, *where, *shape; /* of the largest */
        uint64_t size, taken;
    } rows[] = {
        /* 534926512 + 20434649088 + 4096 + 16 + 4 + 68719476736 */
        {"assignment.txt", "XLA's buffer assignment", 89689056452, 89689056452, 68719476736, 0,
         "ragged-all-to-all.1", "temp", "bf16[2097152,7168]", 30064771072, 30064771072},
        /* 205.03 MiB as printed, 4 x 1017118 B by the shape */
        {"usage.txt", "XLA's buffer assignment", 224494040, 214989537 + 4068472, 0, 0,
         "preallocated-temp", "temp", NULL, 214989537, 214989537},
        /* 2 x (2097152 (7168 + 2048) + 10217324544) + 96 MiB; 55.53 GiB */
        {"peak.log", "XLA's peak buffers", 59624883486, 59190018048, 0, 0,
         "transpose(jvp(moe))/ragged_all_to_all", "", "bf16[2097152,7168]", 30064771072,
         30064771072},
        /* 28 GiB, 8 GiB of which 1 MiB is data, 448 MiB; 38.19 GiB */
        {"hbm.log", "XLA's largest allocations", 41006200258, 39124467712, 0, 0,
         "transpose(jvp(moe))/ragged_all_to_all", "HLO temp", "bf16[2097152,7168]", 30064771072,
         30064771072},
        /* 28 GiB + 2 x 1.5 GiB + 268435456 + 266491392 + 512 of three segments */
        {"snapshot.json", "a torch memory snapshot", 33820923904, 33820923904, 0, 33826013184,
         "dispatch moe.py:71", "active", NULL, 30064771072, 30064771072},
        {"segments.json", "a torch memory snapshot", 10485760, 10485760, 0, 20971520,
         "no frame", "active", NULL, 10485760, 10485760},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct memory_dump dump;
        print_message("%s\n", rows[i].file);
        read_dump(rows[i].file, &arena, &dump);
        assert_string_equal(dump.kind, rows[i].kind);
        assert_int_equal(dump.stated_bytes, rows[i].stated);
        assert_int_equal(dump.shared_bytes, rows[i].shared);
        assert_int_equal(dump.reserved_bytes, rows[i].reserved);
        assert_int_equal(dump.listed_bytes, rows[i].listed);
        assert_string_equal(dump.buffers[0].name, rows[i].name);
        assert_string_equal(dump.buffers[0].where, rows[i].where);
        assert_string_equal(dump.buffers[0].shape ? dump.buffers[0].shape : "",
                            rows[i].shape ? rows[i].shape : "");
        assert_int_equal(dump.buffers[0].size.bytes, rows[i].size);
        assert_int_equal(dump.buffers[0].taken_bytes, rows[i].taken);
        arena_release(&arena);
    }
}

/* A padded buffer is matched by its shape, and takes what is printed. */
static void padding_is_no_part_of_a_size(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct memory_dump dump;
    read_dump("hbm.log", &arena, &dump);
    const struct dump_buffer *padded = &dump.buffers[dump.n - 1];
    assert_string_equal(padded->name, "fusion.1668");
    assert_int_equal(padded->size.bytes, 32768 * 8 * 4);
    assert_int_equal(padded->taken_bytes, (uint64_t)8 << 30);
    arena_release(&arena);
}

static void equal_sizes_are_matched_once(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct memory_dump dump;
    struct dump_comparison c;
    struct buffer_report ours[] = {
        {.name = "gone", .copies = 1, .one_bytes = 1610612736, .bytes = 1610612736},
        {.name = "q",
         .copies = 1,
         .one_bytes = 1610612736,
         .bytes = 1610612736,
         .at_peak = true},
        {.name = "moments",
         .copies = 2,
         .one_bytes = 267463256,
         .bytes = 534926512,
         .at_peak = true},
        {.name = "none", .copies = 2, .one_bytes = 7, .bytes = 14, .at_peak = true},
    };
    const struct memory_report memory = {.buffers = ours, .n_buffers = 4};
    read_dump("snapshot.json", &arena, &dump);
    memory_dump_compare(&dump, &memory, &arena, &c);
    assert_int_equal(c.n, 3);
    assert_string_equal(c.matches[0].ours->name, "q"); /* alive at the peak: first */
    assert_int_equal(c.matches[0].others, 1);
    assert_string_equal(c.matches[1].ours->name, "gone");
    assert_string_equal(c.matches[1].theirs->where, "pending free");
    assert_string_equal(c.matches[2].theirs->name, "_init_group adam.py:178 (2 together)");
    assert_string_equal(c.matches[2].how, "all copies");
    assert_int_equal(c.matches[2].our_bytes, 534926512);
    assert_int_equal(c.matches[2].difference_bytes, 336); /* rounded to 512 B twice */
    assert_int_equal(c.n_theirs, 2);
    assert_int_equal(c.their_rest_bytes, 30064771072 + 512);
    assert_int_equal(c.matched_bytes + c.their_rest_bytes, dump.listed_bytes);
    assert_int_equal(c.n_ours, 1);
    assert_string_equal(c.ours[0].name, "none");
    assert_int_equal(c.our_rest_bytes, 14);
    arena_release(&arena);
}

static void what_is_no_report_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "no report of buffers"},
        {"loss 3.2\nOut of memory while trying to allocate 12 bytes.", "no report of buffers"},
        {"\x80\x04junk", "a pickle, which only Python reads"},
        {"{}", "JSON without segments"},
        {"{\"segments\": [{\"total_size\": \"x\"}]}",
         "sizes in a snapshot are whole numbers of bytes"},
        {"{\"segments\": [", "the file ends before its JSON does"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct memory_dump dump;
        assert_int_equal(
            memory_dump_read("f", rows[i].text, strlen(rows[i].text), &arena, &dump, &err),
            STATUS_INPUT);
        assert_string_equal(err.text, rows[i].message);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_say_what_they_list),
        cmocka_unit_test(padding_is_no_part_of_a_size),
        cmocka_unit_test(equal_sizes_are_matched_once),
        cmocka_unit_test(what_is_no_report_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
