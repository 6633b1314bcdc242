/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: the runtime against the oracle. The first byte chooses the form of the rest and the
 * runtime:
 *
 *   bit 0 clear: seed (8), size (1), flags (2), depth (1), and edits (vm_edit.h) of the program
 *                that the generator makes of them;
 *   bit 0 set:   seed of the buffers (8), and a VIR0 program, with its header set right;
 *   bit 1 set:   the runtime whose workgroups are put aside at almost every back edge.
 *
 * Where the oracle comes to an end, the runtime must leave the same bytes, fail or not fail alike,
 * and count the same accesses out of bounds. Where it does not, the runtime must end at a deadline.
 * Programs whose result may depend on the order of invocations are run with one.
 */
#include "differential/machine.h"
#include "vm_mutate.h"
#include "vm_race.h"
#include "wire_checks.h"

#define MAX_BYTES    16384u
#define MAX_LANES    64u
#define MAX_MEMORY   65536u
#define MAX_GROUPS   4u
#define MAX_STEPS    20000u  /* of a program that may be endless */
#define SEED_STEPS   100000u /* of one that the generator made */
#define DEADLINE_NS  2000000u
#define PATIENCE_NS  20000000000u
#define SEED_BYTES   13u
#define HEADER_BYTES 9u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static vyre *open_runtime(uint32_t step_budget)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre *runtime = NULL;
    options.backend = VYRE_BACKEND_CPU;
    options.workers = 1;
    options.step_budget = step_budget;
    REQUIRE(vyre_open(&runtime, &options, NULL) == VYRE_OK);
    return runtime;
}

static vyre *runtime_of(uint8_t form)
{
    static vyre *runtimes[2];
    vyre **runtime = &runtimes[form >> 1 & 1];
    if (*runtime == NULL) *runtime = open_runtime(form & 2 ? 2 : VYRE_DEFAULT);
    return *runtime;
}

/* The error of the oracle; the buffers stay as they are. */
static enum oracle_error try_oracle(const struct generated *test, uint64_t steps)
{
    struct oracle_run run = {.program = test->program,
                             .grid = {test->grid[0], test->grid[1], test->grid[2]},
                             .bytes = test->bytes,
                             .step_limit = steps};
    run.buffers = calloc(test->buffer_count + 1, sizeof *run.buffers);
    REQUIRE(run.buffers != NULL);
    for (uint32_t i = 0; i < test->buffer_count; i++) {
        if (test->buffers[i] == NULL) continue;
        run.buffers[i] = malloc(test->bytes[i] + 1);
        REQUIRE(run.buffers[i] != NULL);
        memcpy(run.buffers[i], test->buffers[i], test->bytes[i]);
    }
    (void)oracle_run(&run);
    for (uint32_t i = 0; i < test->buffer_count; i++)
        free(run.buffers[i]);
    free(run.buffers);
    return run.error;
}

/* Whether another order of the invocations gives the same. */
static int same_in_order(const struct generated *test, enum oracle_schedule schedule)
{
    char why[256];
    return differential_compare(test, differential_oracle, &schedule, why, sizeof why) == 0;
}

/* Submits a run that may never end by itself; whatever it does, it is over soon. */
static void run_to_deadline(vyre *runtime, vyre_program *program, vyre_buffer **buffers,
                            const struct generated *test)
{
    vyre_queue *queue = vyre_queue_default(runtime);
    vyre_run what = VYRE_RUN_INIT;
    vyre_bindings *bindings = NULL;
    vyre_completion completion;
    uint64_t ticket;
    if (vyre_bindings_create(program, buffers, test->buffer_count, &bindings, NULL)) return;
    what.program = program;
    what.bindings = bindings;
    what.queue = queue;
    memcpy(what.grid, test->grid, sizeof what.grid);
    vyre_slot *slot = vyre_queue_slot(queue);
    REQUIRE(slot && vyre_prep_run(slot, &what, NULL) == VYRE_OK);
    REQUIRE(vyre_slot_deadline(queue, slot, DEADLINE_NS, NULL) == VYRE_OK);
    REQUIRE(vyre_queue_submit(queue, &ticket, NULL) == VYRE_OK);
    REQUIRE(vyre_wait(queue, ticket, PATIENCE_NS, &completion, NULL) == VYRE_OK);
    vyre_bindings_free(bindings);
}

static void check_endless(vyre *runtime, const struct generated *test, const void *vir0,
                          size_t length)
{
    vyre_program *program = NULL;
    if (vyre_program_load(runtime, vir0, length, NULL, &program, NULL)) return;
    vyre_buffer **buffers = calloc(test->buffer_count + 1, sizeof(vyre_buffer *));
    REQUIRE(buffers != NULL);
    for (uint32_t i = 0; i < test->buffer_count; i++)
        if (test->buffers[i])
            REQUIRE(vyre_buffer_create(runtime, test->bytes[i] ? test->bytes[i] : 1, VYRE_DEVICE,
                                       &buffers[i], NULL) == VYRE_OK);
    run_to_deadline(runtime, program, buffers, test);
    for (uint32_t i = 0; i < test->buffer_count; i++)
        vyre_buffer_free(buffers[i]);
    free(buffers);
    REQUIRE(vyre_program_unload(program, NULL) == VYRE_OK);
}

static int show(void *ctx, const char *text, size_t length)
{
    (void)ctx;
    return fwrite(text, 1, length, stderr) != length;
}

/* A difference, with the smallest program that still has it. */
static void differ(struct generated *test, struct machine *machine, const char *why)
{
    fprintf(stderr, "the runtime and the oracle differ: %s\n", why);
    uint32_t changes = differential_shrink(test, machine_run, machine);
    fprintf(stderr, "grid %u %u %u; made smaller by %u changes:\n", test->grid[0], test->grid[1],
            test->grid[2], changes);
    (void)vyre_ir_print(test->program, show, NULL, NULL);
    abort();
}

/* The program is valid, and vir0 is what it was decoded from. */
static void compare(uint8_t form, struct generated *test, const void *vir0, size_t length)
{
    struct machine machine = {.runtime = runtime_of(form), .scalars_bound = form >> 2 & 1};
    vyre_kernel *kernel = NULL;
    vyre_kernel_info info = {.size = (uint32_t)sizeof info};
    char why[512];
    vyre_status status = vyre_kernel_read(vir0, length, NULL, &kernel, NULL);
    REQUIRE(status == VYRE_OK || status == VYRE_E_VM_UNSUPPORTED || status == VYRE_E_VM_LIMIT);
    if (status) return;
    REQUIRE(vyre_kernel_query(kernel, &info, NULL) == VYRE_OK);
    vyre_kernel_free(kernel);
    if (info.scalars > VYRE_RUN_MAX_SCALARS || info.frame_bytes > 1u << 20) return;
    enum oracle_error error = try_oracle(test, form & 1 ? MAX_STEPS : SEED_STEPS);
    if (error == ORACLE_STEPS) check_endless(machine.runtime, test, vir0, length);
    /* The runtime lets an if around a barrier go another way the next time; the reference does not.
     */
    if (error == ORACLE_STEPS || error == ORACLE_NO_MEMORY || error == ORACLE_BARRIER) return;
    if (differential_compare(test, machine_run, &machine, why, sizeof why) != 1) return;
    if (!same_in_order(test, ORACLE_BACKWARDS)) return;
    if (!(info.facts & VYRE_FACT_SUBGROUP) && !same_in_order(test, ORACLE_ONE_BY_ONE)) return;
    differ(test, &machine, why);
}

static uint64_t number(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Replaces the tree by what its own wire form decodes to, if that is valid; else 0. */
static uint8_t *settle(struct generated *test, struct vyre_memory *memory, size_t *length)
{
    struct ir_validate_options rules = {.subgroups = 1, .most = 1};
    struct ir_program *again = NULL;
    uint8_t *bytes = NULL;
    if (vyre_ir_encode(test->program, NULL, 0, length, NULL)) return NULL;
    bytes = malloc(*length);
    REQUIRE(bytes && vyre_ir_encode(test->program, bytes, *length, length, NULL) == VYRE_OK);
    if (vyre_ir_decode(memory, bytes, *length, &again, NULL) == VYRE_OK) {
        vyre_ir_program_free(test->program);
        test->program = again;
        if (vyre_ir_validate(again, &rules, NULL) == VYRE_OK) return bytes;
    }
    free(bytes);
    return NULL;
}

static struct generate_options options_of(const uint8_t *data)
{
    struct generate_options options = {.seed = number(data + 1)};
    options.size = data[9] % 64;
    options.flags = (data[10] | (uint32_t)data[11] << 8) & GENERATE_ALL;
    if (data[11] & 0x80) options.flags |= GENERATE_ERRORS;
    options.depth = data[12] % 8;
    return options;
}

static void seed_form(const uint8_t *data, size_t size, struct vyre_memory *memory)
{
    static struct vm_edit edit;
    struct generate_options options = options_of(data);
    struct generated test;
    size_t length;
    generate(memory, &options, &test);
    vm_edit_collect(&edit, test.program, 1);
    vm_edit_apply(&edit, data + SEED_BYTES, size - SEED_BYTES);
    uint8_t *bytes = settle(&test, memory, &length);
    if (bytes) compare(data[0], &test, bytes, length);
    free(bytes);
    generated_free(&test);
}

/* Whether all is small; sets the bytes of each buffer that is bound. */
static int measure(struct generated *test, uint64_t seed)
{
    const struct ir_program *program = test->program;
    uint64_t total = 0;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const struct ir_buffer *buffer = &program->buffers[i];
        uint64_t bytes = vyre_ir_buffer_bytes(buffer);
        if (buffer->count == 0) bytes = 1 + (seed >> i % 32) % 80; /* no buffer is empty */
        total += bytes;
        if (bytes > MAX_MEMORY || total > MAX_MEMORY) return 0;
        if (buffer->access != IR_ACCESS_WORKGROUP) test->bytes[i] = bytes;
    }
    return 1;
}

/* As many workgroups as the dispatch model has, or one. 0: oracle and runtime may well differ. */
static int shape(struct generated *test)
{
    uint32_t *size = test->program->workgroup, *grid = test->grid;
    uint64_t lanes = (uint64_t)size[0] * size[1] * size[2];
    grid[0] = grid[1] = grid[2] = 1;
    enum vm_race_verdict verdict = vm_race(test->program);
    if (lanes > MAX_LANES || verdict != VM_RACE_NONE) {
        size[0] = size[1] = size[2] = 1;
        return verdict != VM_RACE_COPY;
    }
    if (vyre_ir_grid(test->program, test->bytes, grid, NULL) || grid[0] > MAX_GROUPS ||
        grid[1] != 1 || grid[2] != 1)
        grid[0] = grid[1] = grid[2] = 1;
    return 1;
}

static void wire_form(const uint8_t *data, size_t size, struct vyre_memory *memory)
{
    static uint8_t wire[MAX_BYTES];
    struct generated test = {0};
    uint64_t seed = number(data + 1);
    size_t length = size - HEADER_BYTES;
    memcpy(wire, data + HEADER_BYTES, length);
    vm_mutate_header(wire, length);
    if (vyre_ir_decode(memory, wire, length, &test.program, NULL)) return;
    test.buffer_count = test.program->buffer_count;
    test.buffers = calloc(test.buffer_count + 1, sizeof *test.buffers);
    test.bytes = calloc(test.buffer_count + 1, sizeof *test.bytes);
    REQUIRE(test.buffers && test.bytes);
    uint8_t *bytes = NULL;
    if (measure(&test, seed) && shape(&test)) bytes = settle(&test, memory, &length);
    for (uint32_t i = 0; i < test.buffer_count && bytes; i++) {
        if (test.program->buffers[i].access == IR_ACCESS_WORKGROUP) continue;
        test.buffers[i] = malloc(test.bytes[i] + 1);
        REQUIRE(test.buffers[i] != NULL);
    }
    if (bytes) {
        generate_inputs(&test, seed);
        compare(data[0], &test, bytes, length);
    }
    free(bytes);
    generated_free(&test);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vyre_memory memory;
    if (size < SEED_BYTES || size > MAX_BYTES) return 0;
    REQUIRE(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    if ((data[0] & 1) == 0)
        seed_form(data, size, &memory);
    else if (size >= HEADER_BYTES + IR_HEADER_BYTES)
        wire_form(data, size, &memory);
    REQUIRE(vyre_memory_live(&memory) == 0);
    return 0;
}

#ifdef VYRE_LIBFUZZER
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

/* From the seed form to the other, so that there is always a fresh program to change. 0: too long.
 */
static size_t write_out(uint8_t *data, size_t most)
{
    struct generate_options options = options_of(data);
    struct vyre_memory memory;
    struct generated test;
    size_t length = 0;
    REQUIRE(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    generate(&memory, &options, &test);
    if (vyre_ir_encode(test.program, data + HEADER_BYTES, most - HEADER_BYTES, &length, NULL))
        length = 0;
    generated_free(&test);
    if (length) data[0] |= 1;
    return length ? HEADER_BYTES + length : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    size_t length = size;
    int wire = size >= HEADER_BYTES + IR_HEADER_BYTES && (data[0] & 1);
    if (!wire && size >= SEED_BYTES && most > 1024 && seed % 4 == 0) {
        data[0] &= 0xFE;
        length = write_out(data, most);
        wire = length != 0;
        if (!wire) length = size;
    }
    if (!wire || seed % 16 == 1) return LLVMFuzzerMutate(data, length, most);
    return HEADER_BYTES +
           vm_mutate(data + HEADER_BYTES, length - HEADER_BYTES, most - HEADER_BYTES, seed / 16);
}
#endif
