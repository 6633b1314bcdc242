/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Test Anything Protocol in one header, for tests/unit and tests/stress. One thread speaks it.
 *
 * The invariant: the program exits 0 only if it reached `return done();`, at least one test ran,
 * the plan (where there was one) was kept, and nothing failed. It exits 77 when all of it was
 * skipped.
 *
 *     plan(2);                                  optional, as the first line
 *     ok(x < y, "x %u is below y %u", x, y);    returns the condition, as the next two do
 *     is_u64(got, expected, "sum of %s", name);
 *     is_str(got, expected, "name");
 *     skip("there is no io_uring here");        counts as one test
 *     note("seed %u", seed);                    a comment line
 *     skip_all("needs two cores");              ends the program
 *     bail("cannot open a runtime: %s", why);   ends the program
 *     return done();                            as the last line of main
 */
#ifndef VYRE_TESTS_TAP_H
#define VYRE_TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAP_UNUSED              __attribute__((unused))
#define TAP_FORMAT(text, first) __attribute__((unused, format(printf, text, first)))

static struct {
    uint64_t planned, run, failed;
    int hooked, ended;
} tap;

/* A program that leaves main by another way than done() has not run all its tests. */
TAP_UNUSED static void tap_at_exit(void)
{
    if (__atomic_load_n(&tap.ended, __ATOMIC_RELAXED)) return;
    printf("# the program ended before done()\n");
    fflush(NULL);
    _exit(1);
}

TAP_UNUSED static void tap_begin(void)
{
    if (tap.hooked) return;
    tap.hooked = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    atexit(tap_at_exit);
}

TAP_UNUSED static void tap_result(int pass, const char *place, const char *format, va_list args)
{
    tap_begin();
    tap.run++;
    printf("%s %" PRIu64 " - ", pass ? "ok" : "not ok", tap.run);
    vprintf(format, args);
    putchar('\n');
    if (pass) return;
    tap.failed++;
    printf("#   failed at %s\n", place);
}

TAP_FORMAT(3, 4) static int tap_ok(int pass, const char *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_result(pass, place, format, args);
    va_end(args);
    return pass;
}

TAP_FORMAT(4, 5)
static int tap_is_u64(uint64_t got, uint64_t expected, const char *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_result(got == expected, place, format, args);
    va_end(args);
    if (got != expected)
        printf("#   got %" PRIu64 " (0x%" PRIx64 "), expected %" PRIu64 " (0x%" PRIx64 ")\n", got,
               got, expected, expected);
    return got == expected;
}

TAP_FORMAT(4, 5)
static int tap_is_str(const char *got, const char *expected, const char *place, const char *format,
                      ...)
{
    va_list args;
    int same = got == expected || (got && expected && strcmp(got, expected) == 0);
    va_start(args, format);
    tap_result(same, place, format, args);
    va_end(args);
    if (!same)
        printf("#   got \"%s\", expected \"%s\"\n", got ? got : "(null)",
               expected ? expected : "(null)");
    return same;
}

TAP_FORMAT(2, 3) static void tap_line(const char *start, const char *format, ...)
{
    va_list args;
    tap_begin();
    fputs(start, stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

TAP_UNUSED static void tap_plan(uint64_t tests)
{
    tap.planned = tests;
    tap_line("1..", "%" PRIu64, tests);
}

TAP_UNUSED static void tap_skip(const char *reason)
{
    tap.run++;
    tap_line("ok ", "%" PRIu64 " # SKIP %s", tap.run, reason);
}

/* Any thread, and more than one may have a cause. */
TAP_UNUSED static _Noreturn void tap_stop(int code)
{
    __atomic_store_n(&tap.ended, 1, __ATOMIC_RELAXED);
    exit(code);
}

TAP_UNUSED static int tap_done(void)
{
    tap_begin();
    tap.ended = 1;
    if (tap.planned == 0) printf("1..%" PRIu64 "\n", tap.run);
    if (tap.planned != 0 && tap.planned != tap.run)
        printf("# planned %" PRIu64 " tests, ran %" PRIu64 "\n", tap.planned, tap.run);
    if (tap.run == 0) printf("# no test ran\n");
    if (tap.failed != 0) printf("# failed %" PRIu64 " of %" PRIu64 "\n", tap.failed, tap.run);
    return tap.failed != 0 || tap.run == 0 || (tap.planned != 0 && tap.planned != tap.run);
}

/* The seed of a random test: the first argument, else the clock; printed either way. */
TAP_UNUSED static uint64_t tap_seed(int argc, char **argv)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    uint64_t seed = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
    if (argc > 1) seed = strtoull(argv[1], NULL, 0);
    tap_line("# ", "seed %" PRIu64 " (run again with it as the first argument)", seed);
    return seed;
}

#define TAP_STRING_(x) #x
#define TAP_STRING(x)  TAP_STRING_(x)
#define TAP_PLACE      __FILE__ ":" TAP_STRING(__LINE__)

#define plan(tests)   tap_plan(tests)
#define ok(cond, ...) tap_ok((cond) ? 1 : 0, TAP_PLACE, __VA_ARGS__)
#define is_u64(got, expected, ...)                                                                 \
    tap_is_u64((uint64_t)(got), (uint64_t)(expected), TAP_PLACE, __VA_ARGS__)
#define is_str(got, expected, ...) tap_is_str(got, expected, TAP_PLACE, __VA_ARGS__)
#define skip(reason)               tap_skip(reason)
#define note(...)                  tap_line("# ", __VA_ARGS__)
#define skip_all(...)              (tap_line("1..0 # SKIP ", __VA_ARGS__), tap_stop(77))
#define bail(...)                  (tap_line("Bail out! ", __VA_ARGS__), tap_stop(1))
#define done()                     tap_done()

#endif
