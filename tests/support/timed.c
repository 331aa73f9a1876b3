/* See timed.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plans.h"
#include "support/timed.h"

void timed_open(struct timed *t, const char *text, const char *set)
{
    struct err err = {0};
    *t = (struct timed){.s = {.routing = NULL}};
    plan_set(text, set, &t->arena, &t->plan);
    assert_int_equal(profile_load(&t->plan, &t->arena, &t->profile, &err), STATUS_OK);
    assert_int_equal(stepper_build(&t->s, &t->plan, &t->profile, &t->arena, &err), STATUS_OK);
    assert_true(stepper_time(&t->s, NULL, &t->step));
}

void timed_close(struct timed *t)
{
    stepper_release(&t->s);
    arena_release(&t->arena);
}
