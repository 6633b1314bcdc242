/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A second decoder of snapshots, as plain as can be: it takes words apart byte by byte, looks
 * through lists from their start, and allocates whenever it wants to. It shares no code with the
 * library and is written from the format's description alone. Tests compare the library with it,
 * and `vyre bench telemetry` runs it as the peer of the library.
 */
#ifndef VYRE_TESTS_SNAPSHOT_ORACLE_H
#define VYRE_TESTS_SNAPSHOT_ORACLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct oracle_slot {
    uint32_t index, status, opcode, tenant, arg0, arg1, arg2;
};

struct oracle_window {
    uint32_t ticket, opcode, tenant, required, lookahead;
    uint32_t states[9];
};

/* states[8] counts all statuses above 7. */
struct oracle_snapshot {
    uint32_t shutdown, done, epoch;
    uint32_t metrics[32], tenants[32], priorities[5];
    uint32_t states[9];
    struct oracle_slot *slots;
    size_t slot_count;
    struct oracle_window *windows; /* in their order */
    size_t window_count;
};

/* What is to be decoded. */
struct oracle_source {
    const unsigned char *control;
    size_t control_bytes;
    const unsigned char *ring;
    size_t ring_bytes;
    const uint32_t *opcodes;
    size_t opcode_count;
};

enum oracle_result { ORACLE_FINE, ORACLE_BAD_CONTROL, ORACLE_BAD_RING, ORACLE_NO_MEMORY };

static inline uint32_t oracle_word(const unsigned char *bytes, size_t word)
{
    uint32_t value = 0;
    for (int byte = 3; byte >= 0; byte--)
        value = value * 256 + bytes[4 * word + (size_t)byte];
    return value;
}

static inline void oracle_free(struct oracle_snapshot *snapshot)
{
    free(snapshot->slots);
    free(snapshot->windows);
    memset(snapshot, 0, sizeof *snapshot);
}

static inline void oracle_control(struct oracle_snapshot *snapshot, const unsigned char *control)
{
    snapshot->shutdown = oracle_word(control, 0) != 0;
    snapshot->done = oracle_word(control, 1);
    snapshot->epoch = oracle_word(control, 128);
    for (size_t i = 0; i < 32; i++) {
        snapshot->tenants[i] = oracle_word(control, 64 + i);
        snapshot->metrics[i] = oracle_word(control, 96 + i);
    }
    for (size_t i = 0; i < 5; i++)
        snapshot->priorities[i] = oracle_word(control, 136 + i);
}

/* The window of a slot, put into its place among the others where it is new. NULL: no memory. */
static inline struct oracle_window *oracle_window_of(struct oracle_snapshot *snapshot,
                                                     const struct oracle_slot *slot)
{
    size_t at = 0;
    while (at < snapshot->window_count && (snapshot->windows[at].ticket < slot->arg0 ||
                                           (snapshot->windows[at].ticket == slot->arg0 &&
                                            snapshot->windows[at].opcode < slot->opcode)))
        at++;
    if (at < snapshot->window_count && snapshot->windows[at].ticket == slot->arg0 &&
        snapshot->windows[at].opcode == slot->opcode)
        return &snapshot->windows[at];

    struct oracle_window *grown =
        realloc(snapshot->windows, (snapshot->window_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    snapshot->windows = grown;
    memmove(grown + at + 1, grown + at, (snapshot->window_count - at) * sizeof *grown);
    snapshot->window_count++;
    memset(&grown[at], 0, sizeof grown[at]);
    grown[at].ticket = slot->arg0;
    grown[at].opcode = slot->opcode;
    grown[at].tenant = slot->tenant;
    return &grown[at];
}

static inline enum oracle_result oracle_slots(struct oracle_snapshot *snapshot,
                                              const struct oracle_source *source)
{
    for (size_t i = 0; i < snapshot->slot_count; i++) {
        const unsigned char *words = source->ring + 64 * i;
        struct oracle_slot *slot = &snapshot->slots[i];
        slot->index = (uint32_t)i;
        slot->status = oracle_word(words, 0);
        slot->opcode = oracle_word(words, 1);
        slot->tenant = oracle_word(words, 2);
        slot->arg0 = oracle_word(words, 4);
        slot->arg1 = oracle_word(words, 5);
        slot->arg2 = oracle_word(words, 6);
        uint32_t state = slot->status > 7 ? 8 : slot->status;
        snapshot->states[state]++;
        for (size_t k = 0; k < source->opcode_count; k++) {
            if (source->opcodes[k] != slot->opcode) continue;
            struct oracle_window *window = oracle_window_of(snapshot, slot);
            if (!window) return ORACLE_NO_MEMORY;
            if (slot->arg1 == 0) window->required++;
            if (slot->arg1 == 1) window->lookahead++;
            window->states[state]++;
            break;
        }
    }
    return ORACLE_FINE;
}

/* Fills *snapshot; oracle_free it, whatever the result. */
static inline enum oracle_result oracle_decode(struct oracle_snapshot *snapshot,
                                               const struct oracle_source *source)
{
    memset(snapshot, 0, sizeof *snapshot);
    if (source->control_bytes < 640 || source->control_bytes % 4 != 0) return ORACLE_BAD_CONTROL;
    if (source->ring_bytes % 64 != 0) return ORACLE_BAD_RING;
    oracle_control(snapshot, source->control);
    snapshot->slot_count = source->ring_bytes / 64;
    snapshot->slots = calloc(snapshot->slot_count + 1, sizeof *snapshot->slots);
    if (!snapshot->slots) return ORACLE_NO_MEMORY;
    return oracle_slots(snapshot, source);
}

/* Whether a window is active, by what it counts. */
static inline int oracle_window_active(const struct oracle_window *window)
{
    return window->states[1] != 0 || window->states[2] != 0 || window->states[4] != 0 ||
           window->states[5] != 0 || window->states[6] != 0;
}

#endif
