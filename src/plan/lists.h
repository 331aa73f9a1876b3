/* Lists that a plan holds in place, and how long its names are. */
#ifndef MOEPLAN_PLAN_LISTS_H
#define MOEPLAN_PLAN_LISTS_H

#include <stdint.h>

enum {
    PLAN_NAME = 96,
    PLAN_PATH = 512,
    PLAN_LIST = 128,
    PLAN_NAMES = 12,
    PLAN_WORD = 32,
    PLAN_LAYERS = 256 /* of a model's list of layers */
};

struct number_list {
    uint64_t n;
    uint64_t value[PLAN_LIST];
};

struct word_list {
    uint64_t n;
    char word[PLAN_NAMES][PLAN_WORD];
};

/* Words of an enum. */
struct enum_list {
    uint64_t n;
    uint8_t value[PLAN_LAYERS];
};

#endif
