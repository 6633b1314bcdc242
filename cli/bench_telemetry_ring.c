/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rings of `vyre bench telemetry`, storage for what is decoded from them, and the comparison
 * with the plain decoder.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_telemetry.h"
#include "telemetry_peers.h"

#define WINDOW_SLOTS 256u

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void set_slot(unsigned char *ring, size_t index, const vyre_slot *slot)
{
    /* One of 1048576 slots exists: the call cannot fail. */
    (void)vyre_wire_slot_write(ring, (size_t)TELEMETRY_SLOTS * VYRE_SLOT_BYTES, index, slot, NULL);
}

/* A slot in any state, by chance one of a window or not. */
static vyre_slot random_slot(struct telemetry_state *state, uint64_t *seed, uint32_t *opcode)
{
    vyre_slot slot;
    uint64_t draw = next_random(seed);
    for (uint32_t word = 0; word < VYRE_SLOT_WORDS; word++)
        slot.word[word] = (uint32_t)next_random(seed);
    slot.word[VYRE_SLOT_STATUS] = draw % 1000 == 0 ? 77 : (uint32_t)(draw >> 16) % 8;
    slot.word[VYRE_SLOT_TENANT] = (uint32_t)(draw >> 24) % 32;
    slot.word[VYRE_SLOT_PRIORITY] = VYRE_PRIORITY_NORMAL;
    slot.word[VYRE_SLOT_ARG0 + 1] = (uint32_t)(draw >> 32) % 2;
    *opcode = (uint32_t)(draw >> 40) % TELEMETRY_OPCODES;
    slot.word[VYRE_SLOT_OPCODE] = state->opcodes[*opcode];
    return slot;
}

static void fill_rings(struct telemetry_state *state)
{
    uint64_t seed = 1;
    uint32_t used[TELEMETRY_OPCODES] = {0}, opcode;
    for (uint32_t i = 0; i < TELEMETRY_OPCODES; i++)
        state->opcodes[i] = VYRE_OP_USER_FIRST + i * i * 37u;
    for (uint32_t i = 0; i < TELEMETRY_SLOTS; i++) {
        vyre_slot slot = random_slot(state, &seed, &opcode);
        uint32_t in_window = (uint32_t)(next_random(&seed) >> 63);
        if (!in_window) slot.word[VYRE_SLOT_OPCODE] |= 0x40000000u;
        slot.word[VYRE_SLOT_ARG0] =
            (used[opcode] / WINDOW_SLOTS) * TELEMETRY_OPCODES + (opcode ^ 21u);
        used[opcode] += in_window;
        set_slot(state->ring, i, &slot);
        slot.word[VYRE_SLOT_OPCODE] = state->opcodes[opcode] | (i % 2 ? 0x40000000u : 0);
        slot.word[VYRE_SLOT_ARG0] = i * 0x9E3779B1u;
        set_slot(state->many, i, &slot);
    }
}

static int fill_control(struct telemetry_state *state)
{
    vyre_wire_control control;
    vyre_error err;
    if (vyre_wire_control_init(&control, 0, 32, 0, &err) != VYRE_OK)
        return cli_fail("cannot make a control buffer", &err);
    for (uint32_t i = 0; i < 32; i++)
        control.tenant_fairness[i] = control.metrics[i] = i * 1000;
    if (vyre_wire_control_encode(state->control, sizeof state->control, &control, &err) != VYRE_OK)
        return cli_fail("cannot encode a control buffer", &err);
    return 0;
}

static int decode_plainly(struct telemetry_state *state)
{
    const struct oracle_source source = {state->control, sizeof state->control,
                                         state->ring,    (size_t)TELEMETRY_SLOTS * VYRE_SLOT_BYTES,
                                         state->opcodes, TELEMETRY_OPCODES};
    state->plain = calloc(1, sizeof *state->plain);
    if (state->plain != NULL && peer_snapshot_decode(state->plain, &source) == 0) return 0;
    cli_complain("the plain decoder found no memory", NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

int telemetry_make(struct telemetry_state *state)
{
    size_t ring = (size_t)TELEMETRY_SLOTS * VYRE_SLOT_BYTES;
    vyre_error err;
    if (vyre_snapshot_scratch_size(TELEMETRY_SLOTS, TELEMETRY_OPCODES, &state->scratch_bytes,
                                   &err) != VYRE_OK)
        return cli_fail("cannot tell how much scratch is needed", &err);
    state->ring = aligned_alloc(VYRE_SLOT_BYTES, ring);
    state->many = aligned_alloc(VYRE_SLOT_BYTES, ring);
    state->rows = malloc(TELEMETRY_SLOTS * sizeof *state->rows);
    state->windows = malloc(TELEMETRY_SLOTS * sizeof *state->windows);
    state->scratch = malloc(state->scratch_bytes);
    if (!state->ring || !state->many || !state->rows || !state->windows || !state->scratch) {
        cli_complain("no memory for two rings and their snapshots", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    fill_rings(state);
    int code = fill_control(state);
    return code != 0 ? code : decode_plainly(state);
}

void telemetry_free(struct telemetry_state *state)
{
    if (state->plain != NULL) peer_snapshot_free(state->plain);
    free(state->plain);
    free(state->ring);
    free(state->many);
    free(state->rows);
    free(state->windows);
    free(state->scratch);
}

static int same_rows(const struct oracle_snapshot *plain, const vyre_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->slot_count; i++) {
        const struct oracle_slot *slot = &plain->slots[i];
        const vyre_snapshot_slot *row = &snapshot->slots[i];
        if (row->slot != i || row->status != slot->status || row->opcode != slot->opcode ||
            row->tenant != slot->tenant || row->args[0] != slot->arg0 ||
            row->args[1] != slot->arg1 || row->args[2] != slot->arg2)
            return 0;
    }
    return 1;
}

static int same_windows(const struct oracle_snapshot *plain, const vyre_snapshot *snapshot)
{
    if (plain->window_count != snapshot->window_count) return 0;
    for (uint32_t i = 0; i < snapshot->window_count; i++) {
        const struct oracle_window *window = &plain->windows[i];
        const vyre_snapshot_window *row = &snapshot->windows[i];
        const uint32_t states[7] = {row->published, row->claimed, row->done, row->wait_io,
                                    row->yield,     row->requeue, row->fault};
        if (row->ticket != window->ticket || row->opcode != window->opcode ||
            row->tenant != window->tenant || row->required != window->required ||
            row->lookahead != window->lookahead ||
            memcmp(states, window->states + 1, sizeof states) != 0)
            return 0;
    }
    return 1;
}

/* Every second slot of the other ring is a window of one slot. */
static int many_are_right(const vyre_snapshot *snapshot)
{
    if (snapshot->window_count != TELEMETRY_SLOTS / 2) return 0;
    for (uint32_t i = 0; i < snapshot->window_count; i++)
        if (snapshot->windows[i].required + snapshot->windows[i].lookahead != 1 ||
            (i > 0 && snapshot->windows[i - 1].ticket >= snapshot->windows[i].ticket))
            return 0;
    return 1;
}

int telemetry_is_right(const struct telemetry_state *state, const vyre_snapshot *snapshot,
                       const vyre_snapshot_source *source)
{
    if (source->ring == state->many) return many_are_right(snapshot);
    if (!same_rows(state->plain, snapshot)) return 0;
    if (source->ring_bytes != (size_t)TELEMETRY_SLOTS * VYRE_SLOT_BYTES) return 1;
    const uint32_t *states = state->plain->states;
    const vyre_occupancy *got = &snapshot->occupancy;
    if (got->empty != states[0] || got->published != states[1] || got->claimed != states[2] ||
        got->done != states[3] || got->wait_io != states[4] || got->yield != states[5] ||
        got->requeue != states[6] || got->fault != states[7] || got->unknown != states[8])
        return 0;
    return source->window_opcode_count == 0 || same_windows(state->plain, snapshot);
}
