/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A tenant that means harm to a device: random words in every field of millions of slots, handles
 * that are another tenant's, stale or made up, opcodes from anywhere, slots that are written over
 * after the doorbell. Each accepted slot must end, done or faulted with a code, once; the tenants
 * beside it must get right results all the while, and keep every byte and every word.
 */
#include "beside.h"

enum { SLOTS = 1024 };

/* The attacker.
 * ------------------------------------------------------------------------------------------- */

enum { OWN = 3, HANDLES = NEIGHBOURS * BUFFERS + OWN + 4 };

static const uint32_t opcodes[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   5,
                                   6,
                                   6,
                                   7,
                                   8,
                                   200,
                                   77,
                                   VYRE_OP_PRINTF,
                                   VYRE_OP_PACKED_SLOT,
                                   0x100,
                                   0x101,
                                   0x105,
                                   0xFFEF,
                                   0x80000000,
                                   VYRE_OP_SHUTDOWN};

static bool fault_fits(uint32_t fault)
{
    return fault < VYRE_FAULT_CANCELLED || fault == VYRE_FAULT_NOT_PLAIN;
}

/* Handles of the attacker's own buffers, of its neighbours', and some that are nobody's. */
static void gather_handles(uint32_t *handles, vyre *rt, const struct neighbour *beside,
                           uint64_t *state)
{
    static uint32_t table[GPU_TABLE_WORDS];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    uint32_t count = 0;
    for (uint32_t i = 0; i < NEIGHBOURS * BUFFERS; i++)
        handles[count++] = vyre_buffer_handle(beside[i / BUFFERS].buffers[i % BUFFERS]);
    how.tenant = 1;
    for (uint32_t i = 0; i < OWN; i++) {
        vyre_buffer *own = NULL;
        gpu_random_table(table, state);
        must(vyre_buffer_create_with(rt, sizeof table, &how, &own, &err), &err);
        must(vyre_buffer_write(own, 0, table, sizeof table, &err), &err);
        handles[count++] = vyre_buffer_handle(own);
    }
    handles[count++] = handles[0] + 0x10000;
    handles[count++] = handles[0] | 0xFFFF;
    handles[count++] = 0;
    handles[count++] = handles[NEIGHBOURS * BUFFERS] ^ 0x8000;
}

static void campaign(uint64_t seed, uint64_t slots, uint32_t flags, bool after_doorbell)
{
    static struct attacker a;
    static uint32_t handles[HANDLES];
    static struct neighbour beside[NEIGHBOURS];
    vyre_options options = gpu_options();
    char name[64];
    options.seal_polls = 20;
    vyre *rt = gpu_open(&options);
    a = (struct attacker){.queue = gpu_queue(rt, SLOTS, 1, flags),
                          .slots = SLOTS,
                          .state = seed,
                          .opcodes = opcodes,
                          .opcode_count = sizeof opcodes / sizeof opcodes[0],
                          .handles = handles,
                          .handle_count = HANDLES,
                          .handle_args = 3,
                          .rewritten = after_doorbell ? 25 : 0,
                          .fault_fits = fault_fits};
    for (uint32_t i = 0; i < NEIGHBOURS; i++)
        make_neighbour(&beside[i], rt, FIRST + i);
    gather_handles(handles, rt, beside, &a.state);
    begin_lives(beside);
    attacker_attack(&a, slots);
    snprintf(name, sizeof name, "%s%s", flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed",
             after_doorbell ? ", written over after the doorbell" : "");
    judge_campaign(rt, &a, beside, 0, name);
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 10000000 : 100000);
    campaign(args.seed, args.slots / 4, VYRE_QUEUE_SEALED, false);
    campaign(args.seed + 1, args.slots / 4, VYRE_QUEUE_UNSEALED, false);
    campaign(args.seed + 2, args.slots / 4, VYRE_QUEUE_SEALED, true);
    campaign(args.seed + 3, args.slots / 4, VYRE_QUEUE_UNSEALED, true);
    return done();
}
