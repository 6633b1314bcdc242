/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A tenant that means harm to a device: random words in every field of millions of slots, handles
 * that are another tenant's, stale or made up, opcodes from anywhere, slots that are written over
 * after the doorbell. Each accepted slot must end, done or faulted with a code, once; the tenants
 * beside it must get right results all the while, and keep every byte and every word.
 */
#include "beside.h"

enum { SLOTS = 1024, NEIGHBOURS = 2, FIRST = 2, STILL = 4 };

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
    pthread_t thread[NEIGHBOURS];
    vyre_options options = gpu_options();
    uint32_t wrong = 0, changed = 0, words = 0;
    bool alive = true;
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
    for (uint32_t i = 0; i < NEIGHBOURS; i++)
        if (pthread_create(&thread[i], NULL, bystander_live, &beside[i].live) != 0)
            bail("no thread");
    attacker_attack(&a, slots);
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
        alive = reaches(&beside[i].live.ran, atomic_load(&beside[i].live.ran) + 16) && alive;
        atomic_store(&beside[i].live.stop, 1);
        pthread_join(thread[i], NULL);
        wrong += beside[i].live.wrong;
        changed += damage(&beside[i]);
        words += foreign_words(rt, FIRST + i, true);
    }
    note("%" PRIu64 " slots: %" PRIu64 " done, %" PRIu64 " faulted; beside them ran %u and %u",
         a.accepted, a.outcomes[VYRE_DONE], a.outcomes[VYRE_FAULTED], beside[0].live.ran,
         beside[1].live.ran);
    is_u64(a.ended, a.accepted, "%s%s: every accepted slot ended",
           flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed",
           after_doorbell ? ", written over after the doorbell" : "");
    is_u64(a.strange, 0, "once, done or faulted with a code");
    ok(a.outcomes[VYRE_DONE] > 0 && a.outcomes[VYRE_FAULTED] > 0, "some in each way");
    ok(alive, "the tenants beside live on");
    is_u64(wrong, 0, "their results were right");
    is_u64(changed, 0, "their buffers are as they were");
    is_u64(words + foreign_words(rt, 0, false) + foreign_words(rt, STILL, false), 0,
           "and so are everybody's words");
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
