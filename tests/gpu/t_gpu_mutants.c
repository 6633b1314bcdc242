/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A tenant that means harm with programs: random ones, loaded and unloaded by the dozen, run by
 * millions of slots with grids, parameters and words of all sorts. Each slot must end, done or
 * faulted with a code, once; the tenants beside it must get right results all the while, and keep
 * every byte and every word; the device must never have to be started again.
 *
 * With a vyre-host that damages programs (mutate_host.c) and VYRE_TEST_MUTATE=<seed> in the
 * environment the programs are also no longer what was verified. The contract of that host:
 *
 *  - the device gets a block in which bits were flipped after the verifier had passed it, anywhere:
 *    operation, operands, flags, targets and immediates of instructions, constants, the table of
 *    buffers, the header. The block has its place and its length;
 *  - so a device must hold for every block of bytes what the verifier promises of good ones: it
 *    reads and writes nothing but the block, the frame of the workgroup, and the buffers that the
 *    binding set has, each as its rights allow; every loop comes to look at its deadline; whatever
 *    it finds wrong ends the slot with a fault (DAMAGED), and nothing else;
 *  - what a damaged program computes within these bounds is nobody's business.
 *
 * Every slot has a deadline, because a damaged loop need not end.
 *
 *   t_gpu_mutants [--slots N] [--seed N]
 */
#include "beside.h"

#include "oracle/generate.h"

enum { SLOTS = 512, PROGRAMS = 12, ROUND = 50000 };

/* One program with its buffers; between them lies one of a neighbour's. */
struct victim {
    vyre_program *program;
    vyre_bindings *bindings;
    vyre_buffer **buffers;
    uint32_t count, grid[3];
    uint32_t scalars[VYRE_RUN_MAX_SCALARS], scalar_count;
};

/* Slots wait for others that last until theirs, so on a GPU it is short; CPU threads that stand for
 * one are slow. */
static uint64_t deadline_ns(void)
{
    if (getenv("VYRE_CUDA_FINITE")) return 400000000; /* a tool makes it a hundred times slower */
    return gpu_is_cuda() && !getenv("VYRE_TEST_WORKERS") ? 3000000 : 50000000;
}

static struct vyre_memory memory;
static struct victim victims[PROGRAMS];
static uint64_t ends[64]; /* by fault */

/* Programs.
 * ------------------------------------------------------------------------------------------- */

static vyre_status make_kernel(const struct ir_program *tree, vyre_kernel **kernel)
{
    vyre_error err;
    size_t length = 0;
    (void)vyre_ir_encode(tree, NULL, 0, &length, &err);
    void *bytes = malloc(length + 1);
    if (!bytes) bail("out of memory");
    must(vyre_ir_encode(tree, bytes, length, &length, &err), &err);
    vyre_status status = vyre_kernel_read(bytes, length, NULL, kernel, &err);
    free(bytes);
    return status;
}

static void bind_victim(vyre *rt, struct victim *self, const struct generated *test)
{
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    how.tenant = 1;
    self->count = test->buffer_count;
    self->buffers = calloc(test->buffer_count + 1, sizeof(vyre_buffer *));
    if (!self->buffers) bail("out of memory");
    for (uint32_t i = 0; i < test->buffer_count; i++) {
        vyre_kernel_buffer_info info = VYRE_KERNEL_BUFFER_INFO_INIT;
        size_t bytes = test->bytes[i] ? (size_t)test->bytes[i] : 1;
        must(vyre_kernel_buffer(vyre_program_kernel(self->program), i, &info, &err), &err);
        if (info.flags & VYRE_KERNEL_BUFFER_WORKGROUP) continue;
        if ((info.flags & VYRE_KERNEL_BUFFER_SCALAR) && test->bytes[i] == 4 &&
            self->scalar_count < VYRE_RUN_MAX_SCALARS) {
            memcpy(&self->scalars[self->scalar_count++], test->buffers[i], 4);
            continue;
        }
        how.kind = i % 5 == 4 ? VYRE_PINNED : VYRE_DEVICE;
        must(vyre_buffer_create_with(rt, bytes, &how, &self->buffers[i], &err), &err);
        if (test->bytes[i])
            must(vyre_buffer_write(self->buffers[i], 0, test->buffers[i], bytes, &err), &err);
    }
    must(vyre_bindings_create(self->program, self->buffers, self->count, &self->bindings, &err),
         &err);
}

/* Makes random programs until one can be loaded and takes its parameters with the slot. */
static void make_victim(vyre *rt, struct victim *self, uint64_t *rng)
{
    vyre_error err;
    for (;;) {
        struct generate_options options = {.seed = random_next(rng),
                                           .flags = GENERATE_ALL | GENERATE_ERRORS};
        vyre_program_options how = VYRE_PROGRAM_OPTIONS_INIT;
        vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
        struct generated test;
        vyre_kernel *kernel = NULL;
        memset(self, 0, sizeof *self);
        how.tenant = 1;
        generate(&memory, &options, &test);
        vyre_status status = make_kernel(test.program, &kernel);
        if (!status) must(vyre_kernel_query(kernel, &info, &err), &err);
        bool good = !status && info.scalars <= VYRE_RUN_SLOT_SCALARS;
        if (good) {
            must(vyre_program_load_kernel(rt, kernel, &how, &self->program, &err), &err);
            bind_victim(rt, self, &test);
            memcpy(self->grid, test.grid, sizeof self->grid);
        }
        vyre_kernel_free(kernel);
        generated_free(&test);
        if (good) return;
    }
}

static void free_victim(struct victim *self)
{
    vyre_error err;
    vyre_bindings_free(self->bindings);
    must(vyre_program_unload(self->program, &err), &err);
    for (uint32_t i = 0; i < self->count; i++)
        vyre_buffer_free(self->buffers[i]);
    free(self->buffers);
}

/* Slots.
 * ------------------------------------------------------------------------------------------- */

static bool fault_fits(uint32_t fault)
{
    ends[fault % 64]++;
    return strcmp(vyre_fault_name(fault), vyre_fault_name(0xFFFE)) != 0 &&
           fault != VYRE_FAULT_CANCELLED && fault != VYRE_FAULT_STOPPED &&
           fault != VYRE_FAULT_OPERATION;
}

/* Most slots run a program, nearly as it wants to be run. */
static void shape(struct attacker *a, vyre_slot *slot)
{
    struct victim *victim = &victims[random_below(&a->state, PROGRAMS)];
    uint32_t kind = random_below(&a->state, 16);
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    if (kind == 0) return; /* what was scribbled */
    run.program = victim->program;
    run.bindings = victim->bindings;
    run.scalars = victim->scalars;
    run.scalar_count = victim->scalar_count;
    run.queue = a->queue;
    for (uint32_t i = 0; i < 3; i++)
        run.grid[i] = kind == 1 ? random_below(&a->state, 5) : victim->grid[i];
    must(vyre_prep_run(slot, &run, &err), &err);
    uint32_t *arg = &slot->word[VYRE_SLOT_ARG0];
    /* One bit of the grid, the binding set, the flags or a parameter; large grids are rare, because
     * they last until their deadline. */
    uint32_t place = random_below(&a->state, VYRE_SLOT_ARGS);
    uint32_t bits = place < 3 && random_below(&a->state, 256) != 0 ? 4 : 32;
    if (kind == 2) arg[place] ^= 1u << random_below(&a->state, bits);
    if (kind == 3)
        arg[3] = vyre_bindings_handle(victims[random_below(&a->state, PROGRAMS)].bindings);
    if (kind == 4) arg[5 + random_below(&a->state, 7)] = (uint32_t)random_next(&a->state);
}

/* One set of programs, and slots for them. */
static void run_round(vyre *rt, struct attacker *a, uint64_t *rng, uint64_t slots)
{
    static uint32_t opcodes[PROGRAMS + 4], handles[2 * PROGRAMS];
    vyre_error err;
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        make_victim(rt, &victims[i], rng);
        opcodes[i] = vyre_program_opcode(victims[i].program);
        handles[2 * i] = vyre_bindings_handle(victims[i].bindings);
        handles[2 * i + 1] = handles[2 * i] + 0x10000;
    }
    opcodes[PROGRAMS] = VYRE_OP_NOP;
    opcodes[PROGRAMS + 1] = VYRE_OP_ATOMIC_ADD;
    opcodes[PROGRAMS + 2] = VYRE_OP_MEMCPY;
    opcodes[PROGRAMS + 3] = VYRE_OP_PRINTF;
    a->opcodes = opcodes;
    a->opcode_count = PROGRAMS + 4;
    a->handles = handles;
    a->handle_count = 2 * PROGRAMS;
    attacker_attack(a, slots - a->accepted < ROUND ? slots : a->accepted + ROUND);
    for (uint32_t i = 0; i < PROGRAMS; i++)
        free_victim(&victims[i]);
    vyre_slot *slot = next_slot(a->queue);
    must(vyre_prep_nop(slot, &err), &err);
    must(vyre_slot_deadline(a->queue, slot, PATIENCE_NS, &err), &err);
    if (wait_for(a->queue, submit(a->queue)).outcome != VYRE_DONE) a->strange++;
}

static void campaign(uint64_t seed, uint64_t slots, uint32_t flags)
{
    static struct attacker a;
    static struct neighbour beside[NEIGHBOURS];
    vyre_options options = gpu_options();
    vyre_queue_options how = VYRE_QUEUE_OPTIONS_INIT;
    vyre_description description = VYRE_DESCRIPTION_INIT;
    uint32_t changed = 0;
    uint64_t rng = seed;
    vyre_error err;
    options.step_budget = flags == VYRE_QUEUE_SEALED ? VYRE_DEFAULT : 50;
    options.seal_polls = 20;
    vyre *rt = gpu_open(&options);
    a = (struct attacker){.slots = SLOTS, .state = seed, .fault_fits = fault_fits, .shape = shape};
    how.slots = SLOTS;
    how.tenant = 1;
    how.flags = flags;
    how.deadline_ns = deadline_ns();
    must(vyre_queue_open(rt, &how, &a.queue, &err), &err);
    for (uint32_t i = 0; i < NEIGHBOURS; i++)
        make_neighbour(&beside[i], rt, FIRST + i);
    begin_lives(beside);
    while (a.accepted < slots) {
        run_round(rt, &a, &rng, slots);
        for (uint32_t i = 0; i < NEIGHBOURS; i++)
            changed += damage(&beside[i]);
        note("%" PRIu64 " of %" PRIu64 " slots", a.accepted, slots);
    }
    must(vyre_describe(rt, &description, &err), &err);
    judge_campaign(rt, &a, beside, changed,
                   flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed, workgroups put aside");
    is_u64(description.restarts, 0, "the device was never started again");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 10000000 : 6000);
    const char *seed = getenv("VYRE_TEST_MUTATE");
    vyre_error err;
    note("programs are %s", seed ? "damaged, where the host does so" : "as they were verified");
    must(vyre_memory_init(&memory, NULL, &err), &err);
    campaign(args.seed, args.slots / 2, VYRE_QUEUE_SEALED);
    campaign(args.seed + 1, args.slots / 2, VYRE_QUEUE_UNSEALED);
    for (uint32_t i = 0; i < 64; i++)
        if (ends[i] != 0) note("%10" PRIu64 " %s", ends[i], vyre_fault_name(i));
    return done();
}
