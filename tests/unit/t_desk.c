/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The parts of the desk (desk.h), called by hand: which words of a slot the poller may pass over,
 * which warps are aides, a room that is made ready for a program that changed after the poller had
 * looked at it, what an aide tells of a program that is none, and when the poller forgets what it
 * has looked up.
 */
#include "resident_rig.h"

enum { ROOM = DEV_ROOM_LEAST, LANES = 64 };

/* A block of bytecode: its header, and one instruction. */
struct block {
    struct vm_header header;
    struct vm_insn code[1];
};

static struct block some_block(uint32_t registers)
{
    struct block block;
    memset(&block, 0, sizeof block);
    block.header.lanes = block.header.workgroup[0] = LANES;
    block.header.workgroup[1] = block.header.workgroup[2] = 1;
    block.header.register_count = registers;
    block.header.code_count = 1;
    block.header.code_offset = block.header.constant_offset = block.header.buffer_offset =
        (uint32_t)offsetof(struct block, code);
    block.header.serial = 7;
    block.code[0].op = VM_OP_END;
    return block;
}

/* An aide has no frame in device memory: what does not fit its room is not run. */
static void check_room(void)
{
    struct dev_frame *frame = aligned_alloc(64, ROOM);
    uint32_t fits = 0, refused = 0;
    if (!frame) bail("out of memory");
    for (uint32_t registers = 1; registers <= 64; registers++) {
        struct block code = some_block(registers);
        struct dev_block block = {&code.header, sizeof code, ROOM, 1u << 20};
        memset(frame, 0, ROOM);
        if (dev_warp_prepare(frame, &block, NULL))
            fits += frame->quick != 0 && frame->far_parts == 0;
        else
            refused += !dev_desk_fits(&code.header, ROOM) && frame->serial == 0;
    }
    ok(fits > 0 && refused > 0 && fits + refused == 64,
       "%u programs fit a room that is all there is, %u are refused", fits, refused);
    free(frame);
}

static void check_numbers(void)
{
    uint32_t wrong = 0;
    for (uint32_t warps = 1; warps <= DEV_AIDES + 1; warps++) {
        uint32_t seen = 0;
        for (uint32_t warp = 0; warp < 4 * warps; warp++) {
            uint32_t aide = dev_aide_number(warp, warps);
            if (aide >= DEV_AIDES) continue;
            wrong += warp == 0 || warp >= warps || aide >= warps - 1 || (seen >> aide & 1);
            seen |= 1u << aide;
        }
        wrong += seen != (1u << (warps - 1)) - 1;
    }
    is_u64(wrong, 0, "each warp beside the poller is one aide, and no other is");
}

static void check_words(void)
{
    uint32_t wrong = 0;
    for (uint32_t word = 0; word < VYRE_SLOT_WORDS; word++) {
        uint64_t half = dev_desk_ignores(word / 2) >> (word % 2 * 32) & 0xFFFFFFFFu;
        int free_to_change = word == VYRE_SLOT_TENANT || word >= VYRE_SLOT_ARG0 + DEV_ARG_SCALARS;
        wrong += half != (free_to_change ? 0xFFFFFFFFu : 0);
    }
    is_u64(wrong, 0, "a slot may differ from the last one in its seal and its scalars");
}

/* An aide with a desk of its own. */
struct aide {
    struct rig *rig;
    struct dev_desk desk;
    struct dev_room *room;
};

static void *aide_run(void *argument)
{
    struct aide *aide = argument;
    dev_aide(&aide->rig->rt, aide->room, &aide->desk, 0, 1);
    return NULL;
}

/* The first job of an aide, in a room where anything may lie, names a program that is none. */
static void check_damaged(struct rig *rig)
{
    enum { PROGRAM = 5, OPCODE = 77 };
    struct ring *ring = &rig->ring[2];
    struct block code = some_block(1);
    uint32_t *entry = (uint32_t *)(void *)(ring->mapping + dev_queue_completion_at(ring->slots));
    struct aide aide = {.rig = rig, .room = aligned_alloc(64, ROOM)};
    pthread_t thread;
    if (!aide.room) bail("out of memory");
    memset(aide.room, 0xA5, ROOM);
    code.header.code_offset = 0xFFFFFFF0u;
    rig->rt.handles[PROGRAM] =
        (struct dev_handle){.kind = DEV_PROGRAM, .address = (uintptr_t)&code, .bytes = sizeof code};
    rig->rt.queues[2].chunked = 1;
    dev_desk_init(&aide.desk, 1);
    aide.desk.known = (struct dev_desk_known){
        .queue = 2, .program = PROGRAM, .set = DEV_NONE, .total = 1, .aides = 1, .flat = 1};
    ((uint32_t *)(void *)aide.desk.slot)[VYRE_SLOT_OPCODE] = OPCODE;
    aide.desk.lap = dev_completion_lap_of(0, ring->log2_slots);
    aide.desk.completion = (struct dev_word128 *)(void *)entry;
    aide.desk.lookups = aide.desk.busy = 1;
    if (pthread_create(&thread, NULL, aide_run, &aide)) bail("no thread");
    dev_gate_come(aide.desk.gate, DEV_GATE_FULL, 2);
    dev_gate_wait(aide.desk.gate, DEV_GATE_EMPTY, 2);
    aide.desk.leave = 1;
    dev_gate_come(aide.desk.gate, DEV_GATE_FULL, 2);
    pthread_join(thread, NULL);
    uint32_t results = 0;
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        results |= entry[VYRE_COMPLETION_RESULT0 + i];
    is_u64(entry[VYRE_COMPLETION_STATUS],
           (uint32_t)VYRE_SLOT_FAULT | (uint32_t)VYRE_FAULT_DAMAGED << 16,
           "an aide refuses a program that is none");
    is_u64(results, 0, "and tells nothing of what lay in its room");
    free(aide.room);
}

/* Stores a bell, and wakes nobody. */
static void ring_quietly(struct ring *ring)
{
    ring->bell->special = ring->special;
    ring->bell->tail = (uint32_t)ring->submitted;
    ring->published = ring->submitted;
}

/* A slot that is not plain makes the poller ask queue 0 in the middle of a pass. */
static void check_told(struct rig *rig)
{
    struct ring *ring = &rig->ring[1];
    struct dev_poller poller;
    uint32_t args[VYRE_SLOT_ARGS], forgot[2];
    memset(&poller, 0, sizeof poller);
    poller.rt = &rig->rt;
    poller.room = rig->room[0];
    poller.desk = &rig->desk;
    poller.launch = &rig->launch;
    dev_poller_begin(&poller);
    for (uint32_t told = 0; told < 2; told++) {
        rig->desk.known.valid = 1;
        if (told) {
            ring_make(rig, 3, 16, 0);
            rig_open_args(&rig->ring[3], args);
            ring_put_args(&rig->ring[0], DEV_SYS_QUEUE_OPEN, 0, args);
            ring_quietly(&rig->ring[0]);
        }
        ring_put(ring, RIG_HOLD + 1, VYRE_PRIORITY_IDLE);
        ring_quietly(ring);
        uint32_t at = 1;
        while (rig->rt.watch[at].queue != ring->number)
            at++;
        dev_resident_queue(&poller, at, (uint64_t)ring->special << 32 | (uint32_t)ring->submitted);
        forgot[told] = rig->desk.known.valid == 0;
    }
    is_u64(ring_reap(ring), 2, "slots that name nothing end");
    ok(!forgot[0] && forgot[1],
       "what was looked up is forgotten when queue 0 was asked in between, and only then");
}

static void check_rig(void)
{
    static struct rig rig;
    rig_open(&rig, 1, 1000000);
    rig_queue(&rig, 1, 16, 0);
    rig_queue(&rig, 2, 16, 0);
    while (dev_load_acquire(&rig.page.left, DEV_SYSTEM) != rig.launch.number)
        sched_yield();
    rig_join(&rig); /* it has parked: now the test is poller and aide */
    check_damaged(&rig);
    check_told(&rig);
    rig_launch(&rig);
    ok(rig_stop(&rig), "the device stops");
    rig_free(&rig);
}

int main(void)
{
    check_room();
    check_numbers();
    check_words();
    check_rig();
    return done();
}
