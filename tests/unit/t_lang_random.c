/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random sources of the kernel language (oracle/source.h): what each means, what the oracle makes
 * of the VIR0 that the compiler writes for it, and what the machine makes of it must be the same.
 * Then the same with meanings that are wrong on purpose: each mistake is found.
 *
 *   t_lang_random [--seed <first>] [--count <sources>] [--show]
 *
 * A source that differs is made smaller and printed. --show prints every source.
 */
#include "tap.h"

#include "differential/machine.h"
#include "oracle/source.h"

static struct {
    uint64_t seed, count;
    int show;
} asked = {1, 400, 0};

static void read_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--show") == 0)
            asked.show = 1;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            asked.seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            asked.count = strtoull(argv[++i], NULL, 0);
        else
            bail("usage: t_lang_random [--seed <first>] [--count <sources>] [--show]");
    }
}

static void note_lines(char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        note("  %s", line);
    free(text);
}

static enum source_verdict one(uint64_t seed, struct source_checker *checker, char why[256])
{
    struct source_options options = {.seed = seed};
    struct source source;
    source_make(&options, &source);
    if (asked.show) note_lines(source_text(&source));
    enum source_verdict verdict = source_check(&source, checker, why, 256);
    if (verdict == SOURCE_DIFFER && checker->mistake == SOURCE_NO_MISTAKE) {
        note("seed %" PRIu64 ": %s", seed, why);
        uint32_t changes = source_shrink(&source, checker);
        (void)source_check(&source, checker, why, 256);
        note("made smaller by %u changes; grid %u %u %u; %s", changes, source.grid[0],
             source.grid[1], source.grid[2], why);
        note_lines(source_text(&source));
    }
    source_free(&source);
    return verdict;
}

static struct machine open_machine(uint32_t workers, uint32_t step_budget)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    struct machine machine = {0};
    vyre_error err = {0};
    options.backend = VYRE_BACKEND_CPU;
    options.workers = workers;
    options.step_budget = step_budget;
    if (vyre_open(&machine.runtime, &options, &err)) bail("vyre_open: %s", err.message);
    return machine;
}

static void agree(const char *name, struct machine *machine, uint64_t first, uint64_t count)
{
    struct source_checker checker = {.machine = machine_run, .ctx = machine};
    uint64_t differ = 0, large = 0;
    char why[256];
    for (uint64_t seed = first; seed < first + count && differ < 5; seed++) {
        enum source_verdict verdict = one(seed, &checker, why);
        differ += verdict == SOURCE_DIFFER;
        large += verdict == SOURCE_TOO_LARGE;
        if (verdict == SOURCE_TOO_LARGE && asked.count < 10)
            note("seed %" PRIu64 ": %s", seed, why);
    }
    is_u64(differ, 0, "%s: %" PRIu64 " sources from seed %" PRIu64 " mean what they say", name,
           count, first);
    ok(large <= count / 8 + 1, "%s: %" PRIu64 " of them were too large", name, large);
    ok(checker.against_oracle >= count / 2, "%s: %" PRIu64 " were compared with the oracle, too",
       name, checker.against_oracle);
}

static void mistakes(struct machine *machine)
{
    static const char *const names[SOURCE_MISTAKES] = {
        [SOURCE_BREAK_GOES_ON] = "break for continue",
        [SOURCE_CONTINUE_LEAVES] = "continue for break",
        [SOURCE_NO_STEP] = "continue without the step",
        [SOURCE_RETURN_ENDS_LOOP] = "a return that ends only its loop",
        [SOURCE_BOTH_SIDES] = "both sides of && and ||",
        [SOURCE_BOTH_CHOICES] = "both choices of ?:",
        [SOURCE_RIGHT_TO_LEFT] = "operands from right to left",
        [SOURCE_WHILE_FIRST] = "while as do",
        [SOURCE_UNSIGNED_SMALL] = "i8 and i16 without their sign",
        [SOURCE_RETURN_ENDS_KERNEL] = "a function's return for the kernel's",
    };
    char why[256] = "";
    for (uint32_t i = 1; i < SOURCE_MISTAKES; i++) {
        struct source_checker checker = {
            .machine = machine_run, .ctx = machine, .mistake = (enum source_mistake)i};
        uint64_t seed = 1;
        while (seed <= 4000 &&
               (one(seed, &checker, why) != SOURCE_DIFFER || strstr(why, "compile")))
            seed++;
        ok(seed <= 4000, "%s is found: seed %" PRIu64 ", %s", names[i], seed, why);
    }
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    note("seeds from %" PRIu64 " on, %" PRIu64 " sources", asked.seed, asked.count);
    struct machine machine = open_machine(1, VYRE_DEFAULT), hurried = open_machine(2, 2);
    hurried.scalars_bound = 1;
    uint64_t some = asked.count - asked.count / 4;
    agree("one worker", &machine, asked.seed, some);
    if (asked.count > some)
        agree("a budget of 2 steps", &hurried, asked.seed + some, asked.count - some);
    if (!asked.show) mistakes(&machine);
    vyre_close(machine.runtime);
    vyre_close(hurried.runtime);
    return done();
}
