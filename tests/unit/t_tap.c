/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * tap.h itself: what a test program says and how it exits, each way tried in a child process.
 */
#include "tap.h"

#include <sys/wait.h>

struct way {
    const char *name;
    int (*body)(void);
    int exit_code;
    const char *says; /* a part of what it prints */
};

static int all_pass(void)
{
    plan(3);
    ok(1, "one");
    is_u64(7, 7, "two");
    is_str("a", "a", "three");
    return done();
}

static int one_fails(void)
{
    ok(1, "one");
    ok(0, "two");
    return done();
}

static int number_differs(void)
{
    is_u64(7, 8, "number");
    return done();
}

static int text_differs(void)
{
    is_str("a", NULL, "text");
    return done();
}

static int plan_missed(void)
{
    plan(2);
    ok(1, "one");
    return done();
}

static int nothing_ran(void)
{
    return done();
}

static int skipped_one(void)
{
    skip("no such device");
    return done();
}

static int skipped_all(void)
{
    skip_all("no such %s", "machine");
}

static int bailed(void)
{
    ok(1, "one");
    bail("no %s", "runtime");
}

static int left_early(void)
{
    ok(1, "one");
    exit(0);
}

static const struct way ways[] = {
    {"all pass", all_pass, 0, "1..3\nok 1 - one\nok 2 - two\nok 3 - three\n"},
    {"one fails", one_fails, 1, "not ok 2 - two\n#   failed at "},
    {"a number differs", number_differs, 1, "#   got 7 (0x7), expected 8 (0x8)\n"},
    {"a text differs", text_differs, 1, "#   got \"a\", expected \"(null)\"\n"},
    {"the plan is missed", plan_missed, 1, "# planned 2 tests, ran 1\n"},
    {"nothing ran", nothing_ran, 1, "# no test ran\n"},
    {"one is skipped", skipped_one, 0, "ok 1 # SKIP no such device\n1..1\n"},
    {"all is skipped", skipped_all, 77, "1..0 # SKIP no such machine\n"},
    {"bailed out", bailed, 1, "Bail out! no runtime\n"},
    {"left before done", left_early, 1, "# the program ended before done()\n"},
};

/* Runs a body in a child whose output goes to a pipe; returns its exit code, or -1. */
static int run(int (*body)(void), char *output, size_t size)
{
    int pipes[2], status;
    if (pipe(pipes) != 0) return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        exit(body());
    }
    close(pipes[1]);
    size_t length = 0;
    ssize_t got = 1;
    while (child > 0 && length + 1 < size && got > 0) {
        got = read(pipes[0], output + length, size - 1 - length);
        if (got > 0) length += (size_t)got;
    }
    output[length] = '\0';
    close(pipes[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

int main(void)
{
    int codes[sizeof ways / sizeof ways[0]];
    static char outputs[sizeof ways / sizeof ways[0]][1024];
    size_t count = sizeof ways / sizeof ways[0];

    /* All children first: they must begin with a fresh count. */
    for (size_t i = 0; i < count; i++)
        codes[i] = run(ways[i].body, outputs[i], sizeof outputs[i]);
    for (size_t i = 0; i < count; i++) {
        is_u64(codes[i], ways[i].exit_code, "%s: exit code", ways[i].name);
        if (!ok(strstr(outputs[i], ways[i].says) != NULL, "%s: output", ways[i].name))
            note("it said: %s", outputs[i]);
    }
    return done();
}
