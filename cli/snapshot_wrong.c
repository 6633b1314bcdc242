/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What looks wrong in a snapshot, in words. A finding names how many slots or windows it is about
 * and the first of them, so that one knows where to look.
 */
#include "snapshot.h"

#include <stdarg.h>
#include <stdlib.h>

/* How many there are, and the first. */
struct tally {
    uint32_t count;
    const vyre_snapshot_slot *slot;
    const vyre_snapshot_window *window;
};

static void see(struct tally *tally, const vyre_snapshot_slot *slot,
                const vyre_snapshot_window *window)
{
    if (tally->count++ > 0) return;
    tally->slot = slot;
    tally->window = window;
}

struct wrong {
    struct tally unknown, fault, tenant, class;
    uint32_t said;
};

static int compare_windows(const void *a, const void *b)
{
    const vyre_snapshot_window *x = a, *y = b;

    if (x->ticket != y->ticket) return x->ticket < y->ticket ? -1 : 1;
    return (x->opcode > y->opcode) - (x->opcode < y->opcode);
}

/* The window of a slot; NULL: its opcode is not one of a window. */
static const vyre_snapshot_window *window_of(const vyre_snapshot *snapshot,
                                             const vyre_snapshot_slot *slot)
{
    const vyre_snapshot_window key = {.ticket = slot->args[0], .opcode = slot->opcode};

    if (snapshot->window_count == 0) return NULL;
    return bsearch(&key, snapshot->windows, snapshot->window_count, sizeof key, compare_windows);
}

static void look(const vyre_snapshot *snapshot, struct wrong *wrong)
{
    for (uint32_t i = 0; i < snapshot->slot_count; i++) {
        const vyre_snapshot_slot *slot = &snapshot->slots[i];
        const vyre_snapshot_window *window = window_of(snapshot, slot);
        if (slot->status > VYRE_SLOT_FAULT) see(&wrong->unknown, slot, window);
        if (slot->status == VYRE_SLOT_FAULT) see(&wrong->fault, slot, window);
        if (window == NULL) continue;
        if (slot->tenant != window->tenant) see(&wrong->tenant, slot, window);
        if (slot->args[1] > VYRE_WINDOW_LOOKAHEAD) see(&wrong->class, slot, window);
    }
}

/* One finding, with a title before the first. */
__attribute__((format(printf, 2, 3))) static void say(struct wrong *wrong, const char *format, ...)
{
    va_list list;

    if (wrong->said++ == 0)
        printf("\n%swhat looks wrong%s\n", cli_tone(stdout, CLI_TONE_TITLE),
               cli_tone(stdout, CLI_TONE_OFF));
    printf("  %s-%s ", cli_tone(stdout, CLI_TONE_BAD), cli_tone(stdout, CLI_TONE_OFF));
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

/* How many slots a finding is about, with the verb that fits. */
static const char *many(const struct tally *tally, const char *one, const char *more, char text[48])
{
    if (tally->count == 1)
        snprintf(text, 48, "1 slot %s", one);
    else
        snprintf(text, 48, "%u slots %s", tally->count, more);
    return text;
}

/* The second line of a finding: which slot, or the first of them. */
__attribute__((format(printf, 2, 3))) static void point(const struct tally *tally,
                                                        const char *format, ...)
{
    va_list list;

    printf("    %s%sslot %u: ", cli_tone(stdout, CLI_TONE_QUIET), tally->count == 1 ? "" : "first ",
           tally->slot->slot);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("%s\n", cli_tone(stdout, CLI_TONE_OFF));
}

static void say_slots(struct wrong *wrong)
{
    const struct tally *tally = &wrong->unknown;
    char text[48];

    if (tally->count > 0) {
        say(wrong, "%s a status that is no state", many(tally, "has", "have", text));
        point(tally, "status %u", tally->slot->status);
    }
    tally = &wrong->fault;
    if (tally->count > 0) {
        say(wrong, "%s", many(tally, "has faulted", "have faulted", text));
        point(tally, "opcode %u, tenant %u", tally->slot->opcode, tally->slot->tenant);
    }
    tally = &wrong->tenant;
    if (tally->count > 0) {
        say(wrong, "%s of another tenant than the first of the same window",
            many(tally, "is", "are", text));
        point(tally, "tenant %u, in window %u of opcode %u, which tenant %u began",
              tally->slot->tenant, tally->window->ticket, tally->window->opcode,
              tally->window->tenant);
    }
    tally = &wrong->class;
    if (tally->count > 0) {
        say(wrong, "%s neither required nor lookahead in a window", many(tally, "is", "are", text));
        point(tally, "class %u, in window %u of opcode %u", tally->slot->args[1],
              tally->window->ticket, tally->window->opcode);
    }
}

/* Two rings of different lengths are hardly one ring at two moments. */
static void say_lengths(const struct snapshot_job *job, struct wrong *wrong)
{
    uint32_t before = vyre_occupancy_total(&job->before.snapshot.occupancy);

    if (!job->has_health || before == job->counters.total_slots) return;
    say(wrong, "the previous ring has %u slot%s, and this one %u: are they the same ring?", before,
        before == 1 ? "" : "s", job->counters.total_slots);
}

void snapshot_show_wrong(const struct snapshot_job *job)
{
    struct wrong wrong = {0};

    look(&job->now.snapshot, &wrong);
    say_lengths(job, &wrong);
    if (job->has_health && job->health.suspected_stall)
        say(&wrong, "nothing was executed though the queue holds %u: a stall, or a long slot",
            job->health.queue_depth);
    if (job->now.snapshot.control.shutdown && job->counters.queue_depth > 0)
        say(&wrong, "shutdown is asked for, and the queue still holds %u",
            job->counters.queue_depth);
    say_slots(&wrong);
    if (wrong.said == 0) printf("\nnothing looks wrong\n");
}
