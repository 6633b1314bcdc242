/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A tenant that means harm to a device: random words in every field of millions of slots, handles
 * that are another tenant's, stale or made up, opcodes from anywhere, slots that are written over
 * after the doorbell. Each accepted slot must end, done or faulted with a code, once; the tenants
 * beside it must get right results all the while, and keep every byte and every word.
 */
#include "gpu.h"
#include "hostile.h"

enum { SLOTS = 1024, BUFFERS = 4, NEIGHBOURS = 2, FIRST = 2, GUARD_BYTES = 5000, STILL = 4 };

/* A tenant beside; its buffers are known to the attacker. */
struct neighbour {
    struct bystander live;
    vyre_buffer *buffers[BUFFERS];
    uint32_t tenant;
};

static unsigned char guard_byte(uint32_t tenant, uint32_t buffer, size_t at)
{
    return (unsigned char)(0x6A + 31 * tenant + 7 * buffer + at);
}

static void make_neighbour(struct neighbour *self, vyre *rt, uint32_t tenant)
{
    unsigned char bytes[GUARD_BYTES];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    memset(self, 0, sizeof *self);
    self->tenant = tenant;
    self->live.queue = gpu_queue(rt, 16, tenant, 0);
    how.tenant = tenant;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        how.kind = i % 2 == 0 ? VYRE_DEVICE : VYRE_PINNED;
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = guard_byte(tenant, i, k);
        must(vyre_buffer_create_with(rt, sizeof bytes, &how, &self->buffers[i], &err), &err);
        must(vyre_buffer_write(self->buffers[i], 0, bytes, sizeof bytes, &err), &err);
    }
}

/* Bytes that are not what they were. */
static uint32_t damage(const struct neighbour *self)
{
    unsigned char bytes[GUARD_BYTES];
    vyre_error err;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        must(vyre_buffer_read(self->buffers[i], 0, bytes, sizeof bytes, &err), &err);
        for (size_t k = 0; k < sizeof bytes; k++)
            changed += bytes[k] != guard_byte(self->tenant, i, k);
    }
    return changed;
}

/* Words of a tenant that must all be 0, but the one that it counts in. */
static uint32_t foreign_words(vyre *rt, uint32_t tenant)
{
    uint32_t words[256], changed = 0;
    vyre_error err;
    must(vyre_tenant_observables(rt, tenant, 0, 256, words, &err), &err);
    for (uint32_t i = 0; i < 256; i++)
        changed += words[i] != 0 && (i != BYSTANDER_WORD || tenant == 0 || tenant == STILL);
    return changed;
}

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
        words += foreign_words(rt, FIRST + i);
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
    is_u64(words + foreign_words(rt, 0) + foreign_words(rt, STILL), 0,
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
