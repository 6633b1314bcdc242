/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Runs that the poller of a resident kernel takes with all lanes (take_runs.h), against the same
 * slots taken one after the other (poller.h): random slots, most of them ordinary runs, on two
 * devices that are alike. Afterwards both are in the same state: table, runs, holds, completions,
 * and what workers were told. The programs have loops: how many workers are told of others depends
 * on how many are in flight at that moment. Usage: t_take_runs [SEED]
 */
#include "resident_rig.h"
#include "support.h"

enum {
    CASES = 400,
    SLOTS = 64, /* of the queue; no more are put */
    RUNS = RIG_INFLIGHT,
    WORKERS = 100,
    FIRST_TASK = 8000, /* the ring of tasks goes round */
    OPCODE = 300,
    FAR_FUTURE = 60
};

/* One device, whose poller is the test. */
struct side {
    struct rig rig;
    struct dev_poller p;
    struct dev_queue *queue;
    struct ring *ring;
    uint32_t by_lanes; /* slots that dev_take_runs took */
};

/* What both devices have: programs without and with buffers, and a binding set. */
static struct vm_header headers[2];
static struct dev_bindings *set;
static uint64_t state;

static void install(struct dev_runtime *rt, uint32_t index, uint32_t kind, uint32_t owner)
{
    struct dev_handle *handle = &rt->handles[index];
    const void *what = kind == DEV_BINDINGS ? (const void *)set : (const void *)&headers[index - 1];
    *handle = (struct dev_handle){.generation = 1, .kind = kind, .owner = owner};
    handle->address = (uintptr_t)what;
    if (kind != DEV_PROGRAM) return;
    handle->opcode = OPCODE + index;
    if (!dev_opcode_insert(rt, index)) bail("the opcode is taken");
}

/* With so many free entries and runs. */
static void side_open(struct side *side, uint32_t entries, uint32_t runs)
{
    struct dev_runtime *rt = &side->rig.rt;
    rig_take_over(&side->rig, &side->p, FIRST_TASK);
    rt->workers = WORKERS;
    rt->runs = rig_alloc(RUNS, sizeof *rt->runs);
    for (uint32_t i = 0; i < RUNS; i++)
        rt->runs[i].spare = RUNS - 1 - i;
    rt->run_slots = RUNS;
    rt->free_runs = runs;
    rt->free_count = entries;
    install(rt, 1, DEV_PROGRAM, 0);
    install(rt, 2, DEV_PROGRAM, VYRE_TENANT_ANY);
    install(rt, 3, DEV_BINDINGS, 0);
    side->ring = rig_own_queue(&side->rig, 1, SLOTS);
    side->queue = &rt->queues[1];
    side->queue->seal_misses = 3;
    side->by_lanes = 0;
}

static void side_close(struct side *side)
{
    free(side->rig.rt.runs);
    side->rig.rt.workers = 1; /* as many as it has rooms for */
    rig_free(&side->rig);
}

/* A slot, and what comes with it. */
struct made {
    uint32_t opcode, priority, arg[VYRE_SLOT_ARGS];
    uint32_t deadline, cancelled, stale;
};

static struct made make_slot(uint32_t odd)
{
    struct made slot = {OPCODE + 1, VYRE_PRIORITY_NORMAL, {0}, 0, 0, 0};
    slot.arg[0] = 1 + random_below(&state, 150);
    slot.arg[1] = 1 + random_below(&state, 2);
    slot.arg[2] = 1;
    if (random_below(&state, 2)) { /* with buffers, and a scalar */
        slot.opcode = OPCODE + 2;
        slot.arg[DEV_ARG_BINDINGS] = 1u << 16 | 3u;
        slot.arg[DEV_ARG_COUNT] = 1;
        slot.arg[DEV_ARG_SCALARS] = random_below(&state, 1000);
    }
    if (random_below(&state, odd) != 0) return slot;
    switch (random_below(&state, 13)) {
    case 0:
        slot.opcode = OPCODE + 77; /* which nobody has */
        break;
    case 1:
        slot.arg[DEV_ARG_BINDINGS] ^= 1; /* of another handle, or none */
        break;
    case 2:
        slot.arg[DEV_ARG_COUNT] = 3;
        break;
    case 3:
        slot.priority = VYRE_PRIORITY_LOW;
        break;
    case 4:
        slot.priority = VYRE_PRIORITY_HIGH;
        break;
    case 5:
        slot.priority = 9;
        break;
    case 6:
        slot.opcode = RIG_HOLD;
        slot.priority = random_below(&state, VYRE_PRIORITIES);
        break;
    case 7:
        slot.opcode = VYRE_OP_NOP;
        break;
    case 8:
        slot.deadline = 1;
        break;
    case 9:
        slot.cancelled = 1;
        break;
    case 10:
        slot.arg[random_below(&state, 3)] = 0;
        break;
    case 11:
        slot.stale = 1;
        break;
    default:
        slot.arg[0] = slot.arg[1] = slot.arg[2] = 0xFFFFFFFFu;
    }
    return slot;
}

static void put(struct side *side, const struct made *slot)
{
    uint64_t ticket = ring_put_args(side->ring, slot->opcode, slot->priority, slot->arg);
    struct dev_params *params = &side->queue->setup.params[ticket % SLOTS];
    uint32_t *word = side->queue->setup.submission + ticket % SLOTS * VYRE_SLOT_WORDS;
    if (slot->stale) {
        word[VYRE_SLOT_STATUS] = VYRE_SLOT_EMPTY;
        word[VYRE_SLOT_TENANT] = vyre_seal(word, 1);
    }
    if (slot->deadline) {
        params->ticket = ticket;
        params->deadline_ns = (uint64_t)FAR_FUTURE << 56;
    }
    if (slot->cancelled) {
        side->ring->bits[ticket / 32] |= 1u << ticket % 32;
        side->queue->cancel_pending++;
    }
}

/* Takes all that can be taken now. */
static void take(struct side *side, bool lanes)
{
    struct dev_runtime *rt = &side->rig.rt;
    struct dev_watch *watch = &rt->watch[1];
    struct dev_batch *batch = &side->p.room->batch;
    for (uint32_t taken = 1; taken != 0;) {
        uint32_t published = (uint32_t)(side->ring->submitted - side->queue->head), system;
        if (published == 0) break;
        if (lanes) {
            uint32_t others = side->p.posted;
            taken = dev_resident_take(&side->p, watch, published, side->ring->special);
            if (side->p.posted != others) side->by_lanes += taken;
            continue;
        }
        uint32_t n = published < DEV_BATCH ? published : DEV_BATCH;
        n = dev_copy_batch(&side->p, side->queue, n, &system);
        batch->special = side->ring->special;
        batch->told = 1;
        taken = dev_poll_copied(rt, watch, batch, n);
    }
}

static bool same_entry(const struct dev_inflight *a, const struct dev_inflight *b)
{
    return memcmp(a->slot, b->slot, sizeof a->slot) == 0 && a->ticket == b->ticket &&
           a->deadline_ns == b->deadline_ns && a->queue == b->queue &&
           a->operation == b->operation && a->cancel == b->cancel && a->place == b->place &&
           a->version == b->version && a->run == b->run && a->spare == b->spare &&
           (a->claimed_ns == a->taken_ns) == (b->claimed_ns == b->taken_ns);
}

/* Whether the entries that are in use are of slots with deadlines just where they have one. */
static bool deadlines(const struct side *side)
{
    for (uint32_t i = 0; i < RIG_INFLIGHT; i++) {
        const struct dev_inflight *entry = &side->rig.rt.inflight[i];
        const struct dev_params *params = &side->queue->setup.params[entry->place];
        if (entry->slot[VYRE_SLOT_STATUS] == VYRE_SLOT_EMPTY || entry->queue != 1) continue;
        if ((entry->deadline_ns != 0) != (params->ticket == entry->ticket)) return false;
    }
    return true;
}

/* What differs, or NULL. */
static const char *differ(const struct side *a, const struct side *b)
{
    const struct dev_runtime *x = &a->rig.rt, *y = &b->rig.rt;
    const struct dev_queue *q = a->queue, *r = b->queue;
    if (q->head != r->head || x->watch[1].head != y->watch[1].head) return "head";
    if (q->inflight != r->inflight || q->runs != r->runs || q->completed != r->completed)
        return "counts of the queue";
    if (q->cancel_pending != r->cancel_pending || q->seal_misses != r->seal_misses ||
        q->mixed != r->mixed)
        return "state of the queue";
    if (x->free_count != y->free_count || x->free_runs != y->free_runs) return "what is free";
    if (x->waiting_mask != y->waiting_mask || x->pushes != y->pushes) return "run queues";
    if (x->spread != y->spread) return "what waits to be told";
    for (uint32_t i = 0; i < RIG_INFLIGHT; i++)
        if (!same_entry(&x->inflight[i], &y->inflight[i])) return "an entry";
    if (memcmp(x->runs, y->runs, RUNS * sizeof *x->runs) != 0) return "a run";
    for (uint32_t i = 0; i < RIG_HANDLES; i++)
        if (x->handles[i].refs != y->handles[i].refs) return "holds";
    if (memcmp(q->setup.completion, r->setup.completion, SLOTS * VYRE_COMPLETION_BYTES) != 0)
        return "completions";
    if (a->p.posted != b->p.posted) return "how many were told";
    if (memcmp(x->handover->task, y->handover->task, sizeof x->handover->task) != 0)
        return "who was told";
    return NULL;
}

/* Some of what was taken ends: entries and runs are free again. On both sides the same. */
static void end_some(struct side *side, uint32_t odd)
{
    struct dev_runtime *rt = &side->rig.rt;
    uint64_t dice = odd;
    for (uint32_t i = 0; i < RIG_INFLIGHT; i++) {
        struct dev_inflight *entry = &rt->inflight[i];
        if (dev_load_relaxed(&entry->slot[VYRE_SLOT_STATUS]) != VYRE_SLOT_CLAIMED) continue;
        if (random_below(&dice, 3) == 0) continue;
        struct dev_end end = dev_end_fault(entry->ticket, entry->slot[VYRE_SLOT_OPCODE], 0);
        rt->runs[entry->run].holders = 1;
        dev_entry_end(rt, i, &end, 1);
    }
}

/* A handle that both programs need is being dropped: slots that were published by now find it. */
static void drop_set(struct side *side)
{
    struct dev_runtime *rt = &side->rig.rt;
    uint32_t period = dev_grace_begin(rt, 0);
    rt->handles[3].state = DEV_DROPPING + period;
}

/* Makes both sides do the same; what differs, or NULL. */
static const char *one_case(struct side *side)
{
    const char *wrong = NULL;
    uint32_t odd = 1 + random_below(&state, 30), put_in_all = 0;
    uint32_t room = random_below(&state, 2) ? random_below(&state, 300) : DEV_TASKS;
    uint32_t room_most = DEV_TASKS - DEV_MAX_RESIDENT;
    for (int i = 0; i < 2 && room < room_most; i++)
        side[i].p.oldest = side[i].p.posted - (room_most - room);
    uint32_t drop = random_below(&state, 4 * SLOTS); /* behind so many slots, if it comes to that */
    while (put_in_all < SLOTS && !wrong) {
        uint32_t n = 1 + random_below(&state, SLOTS - put_in_all),
                 dice = random_below(&state, 1000);
        for (uint32_t k = 0; k < n; k++) {
            struct made slot = make_slot(odd);
            for (int i = 0; i < 2; i++) {
                put(&side[i], &slot);
                ring_bell(side[i].ring);
                if (put_in_all + k == drop) drop_set(&side[i]);
            }
        }
        put_in_all += n;
        for (int i = 0; i < 2; i++) {
            take(&side[i], i == 0);
            if (dice % 2) dev_post_entries(&side[i].p);
            take(&side[i], i == 0);
            dev_post_entries(&side[i].p);
        }
        wrong = differ(&side[0], &side[1]);
        for (int i = 0; i < 2; i++) {
            if (side[i].rig.rt.spread == DEV_NONE) end_some(&side[i], dice);
            take(&side[i], i == 0);
            side[i].p.oldest = side[i].p.posted; /* all have been picked up: there is room again */
            dev_post_entries(&side[i].p);
        }
        if (!wrong) wrong = differ(&side[0], &side[1]);
    }
    if (!wrong && !deadlines(&side[0])) wrong = "deadlines";
    return wrong;
}

/* A run for whose tasks there is no room waits for it, and nothing that comes later takes it. */
static void first_come(void)
{
    static struct side side;
    static struct dev_flood flood;
    struct dev_poller *p = &side.p;
    struct dev_runtime *rt = &side.rig.rt;
    struct made run = {OPCODE + 1, VYRE_PRIORITY_NORMAL, {50, 1, 1}, 0, 0, 0};
    const uint32_t news = 1u << DEV_ROLE_GROUP;
    side_open(&side, RIG_INFLIGHT, RUNS);
    p->glance.seen[DEV_ROLE_GROUP] = 5; /* slots of another queue */
    p->oldest = p->posted - (DEV_TASKS - DEV_MAX_RESIDENT - 49);
    put(&side, &run);
    put(&side, &run);
    take(&side, true);
    dev_post_entries(p);
    is_u64(side.queue->head, 2, "two runs were taken");
    is_u64(p->posted, FIRST_TASK, "nobody is told of a run for less than all its workers");
    is_u64(dev_post_chunks(p, 1, 5), 0, "chunks wait behind it");
    is_u64(dev_flood_measure(p, &p->glance, news, &flood), 0, "floods wait behind it");
    rt->pushes++;
    dev_post_entries(p);
    is_u64(p->posted, FIRST_TASK, "and so does what is in the run queues");
    p->oldest++; /* one worker has picked up his task */
    dev_post_entries(p);
    is_u64(p->posted, FIRST_TASK + 50, "then the first run is told");
    is_u64(dev_post_chunks(p, 1, 5), 0, "and the second one waits");
    p->oldest = p->posted;
    dev_post_entries(p);
    is_u64(p->posted, FIRST_TASK + 101, "then all the others are");
    is_u64(dev_flood_measure(p, &p->glance, news, &flood), 1, "floods too");
    is_u64(dev_post_chunks(p, 1, 5), 5, "and chunks");
    side_close(&side);
}

/* How many workers are told of a run, of 2,048. */
static void workers(void)
{
    static const struct {
        uint64_t total;
        uint32_t runs, brief, looping;
        const char *what;
    } row[] = {
        {0, 1, 1, 1, "without workgroups: one, who ends it"},
        {1, 1, 1, 1, "one workgroup"},
        {100, 1, 100, 100, "alone: one for each workgroup"},
        {1984, 1, 1984, 1984, "as many as may be"},
        {5000000000u, 1, 1984, 1984, "no more than those"},
        {1984, 2, 992, 1984, "beside another one: half of them"},
        {100, 4, 100, 100, "beside few: still one for each"},
        {100, 40, 50, 100, "beside many: two workgroups each"},
        {64, 200, 10, 64, "beside 199: a share of all"},
        {4096, 200, 512, 1984, "but no more than eight workgroups each"},
        {100000, 200, 1984, 1984, "and all for the largest"},
    };
    struct dev_runtime rt = {.workers = 2048};
    struct vm_header brief = {.code_count = 20, .lanes = 256}, looping = brief;
    looping.flags = VM_PROGRAM_LONG;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint32_t few = dev_run_workers(&rt, &brief, row[i].total, row[i].runs);
        uint32_t many = dev_run_workers(&rt, &looping, row[i].total, row[i].runs);
        ok(few == row[i].brief && many == row[i].looping, "%s: %u, with loops %u", row[i].what, few,
           many);
    }
}

int main(int argc, char **argv)
{
    static struct side side[2];
    uint64_t by_lanes = 0, taken = 0;
    const char *wrong = NULL;
    uint32_t number = 0;
    state = tap_seed(argc, argv);
    headers[0] = (struct vm_header){.workgroup = {8, 1, 1}, .lanes = 8, .flags = VM_PROGRAM_LONG};
    headers[1] = (struct vm_header){.workgroup = {64, 1, 1},
                                    .lanes = 64,
                                    .view_count = 2,
                                    .scalar_params = 1,
                                    .flags = VM_PROGRAM_LONG};
    set = rig_alloc(1, sizeof *set + 2 * sizeof set->bound[0]);
    set->program = 1u << 16 | 2u;
    set->count = 2;
    set->open_scalars = 1;
    for (; number < CASES && !wrong; number++) {
        uint32_t entries = 1 + random_below(&state, RIG_INFLIGHT);
        uint32_t runs = random_below(&state, RUNS + 1);
        side_open(&side[0], entries, runs);
        side_open(&side[1], entries, runs);
        wrong = one_case(side);
        by_lanes += side[0].by_lanes;
        taken += side[0].queue->head;
        side_close(&side[0]);
        side_close(&side[1]);
    }
    ok(!wrong, "%u cases: taken by all lanes as by one%s%s", number, wrong ? ", but for " : "",
       wrong ? wrong : "");
    ok(by_lanes > taken / 4, "of %" PRIu64 " slots lanes took %" PRIu64, taken, by_lanes);
    first_come();
    workers();
    free(set);
    return done();
}
