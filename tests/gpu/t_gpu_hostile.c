/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A tenant that means harm to a device: random words in every field of millions of slots, handles
 * that are another tenant's, stale or made up, opcodes from anywhere, slots that are written over
 * after the doorbell. Each accepted slot must end, done or faulted with a code, once; the tenants
 * beside it must get right results all the while, and keep every byte and every word.
 */
#include "gpu.h"

enum { SLOTS = 1024, BUFFERS = 4, BYSTANDERS = 2, FIRST = 2, GUARD_BYTES = 5000, STILL = 4 };

/* A tenant beside: it counts in a thread of its own; its buffers are known to the attacker. */
struct bystander {
    vyre *rt;
    vyre_queue *queue;
    vyre_buffer *buffers[BUFFERS];
    uint32_t tenant, wrong;
    _Atomic uint32_t stop, ran;
};

/* Each slot of a batch of additions finds one of the sums that the batch goes through. */
static void *live_on(void *argument)
{
    struct bystander *self = argument;
    vyre_error err;
    for (uint32_t base = 0; !atomic_load(&self->stop); base += 8 * 3) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < 8; i++)
            must(vyre_prep_atomic_add(next_slot(self->queue), WORD(7), 3, &err), &err);
        uint64_t first = submit(self->queue);
        for (uint32_t i = 0; i < 8; i++) {
            vyre_completion end = wait_for(self->queue, first + i);
            uint32_t sum = end.result[0] - base;
            self->wrong += end.outcome != VYRE_DONE || sum % 3 != 0 || sum >= 24;
            found |= 1u << (sum / 3 & 31);
        }
        self->wrong += found != 0xFF;
        atomic_fetch_add(&self->ran, 8);
    }
    return NULL;
}

static unsigned char guard_byte(uint32_t tenant, uint32_t buffer, size_t at)
{
    return (unsigned char)(0x6A + 31 * tenant + 7 * buffer + at);
}

static void make_bystander(struct bystander *self, vyre *rt, uint32_t tenant)
{
    unsigned char bytes[GUARD_BYTES];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    memset(self, 0, sizeof *self);
    self->rt = rt;
    self->tenant = tenant;
    self->queue = gpu_queue(rt, 16, tenant, 0);
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
static uint32_t damage(const struct bystander *self)
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
        changed += words[i] != 0 && (i != 7 || tenant == 0 || tenant == STILL);
    return changed;
}

/* The attacker.
 * ------------------------------------------------------------------------------------------- */

enum { OWN = 3, HANDLES = BYSTANDERS * BUFFERS + OWN + 4 };

struct attacker {
    vyre *rt;
    vyre_queue *queue;
    uint64_t state, accepted, ended, strange;
    uint32_t handles[HANDLES];
    uint64_t outcomes[5];
    uint8_t outstanding[65536];
};

static uint32_t any_word(struct attacker *a, uint32_t place)
{
    static const uint32_t opcodes[] = {0,      1,          2,     3,
                                       4,      5,          6,     6,
                                       7,      8,          200,   VYRE_OP_PRINTF,
                                       0x100,  0x101,      0x105, VYRE_OP_PACKED_SLOT,
                                       0xFFEF, 0x80000000, 77,    VYRE_OP_SHUTDOWN};
    uint64_t random = random_next(&a->state);
    uint32_t kind = (uint32_t)random % 16, value = (uint32_t)(random >> 32);
    if (kind == 0) return value;
    if (place == VYRE_SLOT_STATUS) return kind < 14 ? 1u : value % 9;
    if (place == VYRE_SLOT_TENANT && kind < 15) return 0; /* else hardly one would pass its seal */
    if (place == VYRE_SLOT_OPCODE) return opcodes[value % 20];
    if (place == VYRE_SLOT_PRIORITY) return value % (kind < 14 ? 5 : 8);
    if (kind < (place <= VYRE_SLOT_ARG0 + 2 ? 9u : 6u)) return a->handles[value % HANDLES];
    if (kind < 10) return WORD(value % 300) - 20;
    return value % (kind < 13 ? 16 : 1000);
}

static void scribble(struct attacker *a, vyre_slot *slot)
{
    for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
        __atomic_store_n(&slot->word[w], any_word(a, w), __ATOMIC_RELAXED);
}

static void receive(struct attacker *a, size_t least)
{
    static vyre_completion ends[SLOTS];
    vyre_error err;
    size_t count = 0;
    must(vyre_queue_reap_wait(a->queue, ends, least, SLOTS, PATIENCE_NS, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        uint8_t *mark = &a->outstanding[ends[i].ticket % sizeof a->outstanding];
        bool final = ends[i].outcome == VYRE_DONE || ends[i].outcome == VYRE_FAULTED;
        bool sane = (ends[i].outcome == VYRE_DONE) == (ends[i].fault == VYRE_FAULT_NONE) &&
                    (ends[i].fault < VYRE_FAULT_CANCELLED || ends[i].fault == VYRE_FAULT_NOT_PLAIN);
        a->strange += *mark != 1 || !final || !sane;
        *mark = 0;
        if (ends[i].outcome < 5) a->outcomes[ends[i].outcome]++;
    }
    a->ended += count;
}

/* Fills and submits until so many were accepted; goes on writing over what it submitted. */
static void attack(struct attacker *a, uint64_t slots, bool after_doorbell)
{
    static vyre_slot *got[SLOTS];
    while (a->accepted < slots) {
        uint32_t count = 0, want = 1 + random_below(&a->state, SLOTS);
        while (count < want && (got[count] = vyre_queue_slot(a->queue)) != NULL)
            scribble(a, got[count++]);
        uint64_t first = submit(a->queue);
        for (uint32_t i = 0; i < count; i++)
            a->strange += a->outstanding[(first + i) % sizeof a->outstanding]++ != 0;
        a->accepted += count;
        for (uint32_t i = 0; after_doorbell && i < count / 4; i++)
            scribble(a, got[random_below(&a->state, count)]);
        receive(a, count == 0 ? 1 : random_below(&a->state, 2) ? count / 2 : 0);
    }
    while (a->ended != a->accepted)
        receive(a, 1);
}

static void open_attacker(struct attacker *a, vyre *rt, const struct bystander *beside,
                          uint32_t flags)
{
    static uint32_t table[GPU_TABLE_WORDS];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    uint32_t count = 0;
    a->rt = rt;
    a->queue = gpu_queue(rt, SLOTS, 1, flags);
    for (uint32_t i = 0; i < BYSTANDERS * BUFFERS; i++)
        a->handles[count++] = vyre_buffer_handle(beside[i / BUFFERS].buffers[i % BUFFERS]);
    how.tenant = 1;
    for (uint32_t i = 0; i < OWN; i++) {
        vyre_buffer *own = NULL;
        gpu_random_table(table, &a->state);
        must(vyre_buffer_create_with(rt, sizeof table, &how, &own, &err), &err);
        must(vyre_buffer_write(own, 0, table, sizeof table, &err), &err);
        a->handles[count++] = vyre_buffer_handle(own);
    }
    a->handles[count++] = a->handles[0] + 0x10000;
    a->handles[count++] = a->handles[0] | 0xFFFF;
    a->handles[count++] = 0;
    a->handles[count++] = a->handles[BYSTANDERS * BUFFERS] ^ 0x8000;
}

static void campaign(uint64_t seed, uint64_t slots, uint32_t flags, bool after_doorbell)
{
    static struct attacker a;
    static struct bystander beside[BYSTANDERS];
    pthread_t thread[BYSTANDERS];
    vyre_options options = gpu_options();
    uint32_t wrong = 0, changed = 0, words = 0;
    bool alive = true;
    options.seal_polls = 20;
    vyre *rt = gpu_open(&options);
    memset(&a, 0, sizeof a);
    a.state = seed;
    for (uint32_t i = 0; i < BYSTANDERS; i++)
        make_bystander(&beside[i], rt, FIRST + i);
    open_attacker(&a, rt, beside, flags);
    for (uint32_t i = 0; i < BYSTANDERS; i++)
        if (pthread_create(&thread[i], NULL, live_on, &beside[i]) != 0) bail("no thread");
    attack(&a, slots, after_doorbell);
    for (uint32_t i = 0; i < BYSTANDERS; i++) {
        alive = reaches(&beside[i].ran, atomic_load(&beside[i].ran) + 16) && alive;
        atomic_store(&beside[i].stop, 1);
        pthread_join(thread[i], NULL);
        wrong += beside[i].wrong;
        changed += damage(&beside[i]);
        words += foreign_words(rt, FIRST + i);
    }
    note("%" PRIu64 " slots: %" PRIu64 " done, %" PRIu64 " faulted; beside them ran %u and %u",
         a.accepted, a.outcomes[VYRE_DONE], a.outcomes[VYRE_FAULTED], beside[0].ran, beside[1].ran);
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
