/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The tenants beside one that means harm to a device: each has buffers full of bytes that must stay
 * as they are, and adds in a word of its own in a thread of its own. Include it first.
 */
#ifndef VYRE_TESTS_BESIDE_H
#define VYRE_TESTS_BESIDE_H

#include "gpu.h"
#include "hostile.h"

enum { BUFFERS = 4, GUARD_BYTES = 5000, NEIGHBOURS = 2, FIRST = 2, STILL = 4 };

/* A tenant beside; its buffers are known to the attacker. */
struct neighbour {
    struct bystander live;
    vyre_buffer *buffers[BUFFERS];
    uint32_t tenant;
    pthread_t thread;
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

/* Words of a tenant that must all be 0, but the one that a tenant who `counts` counts in. */
static uint32_t foreign_words(vyre *rt, uint32_t tenant, bool counts)
{
    uint32_t words[256], changed = 0;
    vyre_error err;
    must(vyre_tenant_observables(rt, tenant, 0, 256, words, &err), &err);
    for (uint32_t i = 0; i < 256; i++)
        changed += words[i] != 0 && (i != BYSTANDER_WORD || !counts);
    return changed;
}

static void begin_lives(struct neighbour *beside)
{
    for (uint32_t i = 0; i < NEIGHBOURS; i++)
        if (pthread_create(&beside[i].thread, NULL, bystander_live, &beside[i].live) != 0)
            bail("no thread");
}

/* What a campaign came to, which ends here: every slot of the attacker has ended, and nobody beside
 * was harmed. `changed` bytes were found on the way. */
static void judge_campaign(vyre *rt, const struct attacker *a, struct neighbour *beside,
                           uint32_t changed, const char *name)
{
    uint32_t wrong = 0, words = 0;
    bool alive = true;
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
        alive = reaches(&beside[i].live.ran, atomic_load(&beside[i].live.ran) + 16) && alive;
        atomic_store(&beside[i].live.stop, 1);
        pthread_join(beside[i].thread, NULL);
        if (beside[i].live.wrong != 0) {
            const vyre_completion *end = &beside[i].live.first_wrong;
            note("tenant %u: %u wrong; of them the first: outcome %u, fault %u (%s), result %u",
                 beside[i].tenant, beside[i].live.wrong, end->outcome, end->fault,
                 vyre_fault_name(end->fault), end->result[0]);
        }
        wrong += beside[i].live.wrong;
        changed += damage(&beside[i]);
        words += foreign_words(rt, FIRST + i, true);
    }
    note("%" PRIu64 " slots: %" PRIu64 " done, %" PRIu64 " faulted; beside them ran %u and %u",
         a->accepted, a->outcomes[VYRE_DONE], a->outcomes[VYRE_FAULTED], beside[0].live.ran,
         beside[1].live.ran);
    is_u64(a->ended, a->accepted, "%s: every accepted slot ended", name);
    is_u64(a->strange, 0, "once, done or faulted with a code");
    ok(a->outcomes[VYRE_DONE] > 0 && a->outcomes[VYRE_FAULTED] > 0, "some in each way");
    ok(alive, "the tenants beside live on");
    is_u64(wrong, 0, "their results were right");
    is_u64(changed, 0, "their buffers are as they were");
    is_u64(words + foreign_words(rt, 0, false) + foreign_words(rt, STILL, false), 0,
           "and so are everybody's words");
}

#endif
