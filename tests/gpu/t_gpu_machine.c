/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a machine of another kind could do differently, on the CPU backend in this process and on
 * the device under test: registers by their number and lanes, masks many levels deep, loads and
 * stores of elements side by side or scattered, workgroup memory larger than a block of a GPU has,
 * barriers, subgroups, atomics that collide, wide loads, grids of every shape, faults with their
 * place, the log. All of it with an ample budget and with so small ones that workgroups are put
 * aside and resumed at almost every back edge (pair.h).
 *
 * Then what cannot be compared byte by byte: a loop that does not end is ended by its deadline, by
 * being cancelled, and the device goes on.
 *
 *   t_gpu_machine [--slots BUDGETS] [--seed N]      with 1 fewer combinations, too
 */
#include "pair.h"

#include "kernels.h"
#include "machine_sources.h"

#define FRAME_BYTES (16u << 20)

static struct gpu_args args;

/* A kernel and what it is given.
 * ------------------------------------------------------------------------------------------- */

static vyre_kernel *compile(const char *source, uint32_t flags)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    options.flags = flags;
    vyre_status status = vyre_kernel_compile(source, strlen(source), &options, &kernel, &err);
    if (status) bail("%s\n%.300s", err.message, source);
    return kernel;
}

/* Bits for one element: small numbers, any bits, floats of a handy size. */
static uint32_t some_bits(const char *type, uint64_t *state)
{
    static const uint32_t floats[] = {0,          0x80000000u, 0x3F800000, 0xBF800000u, 0x7F800000,
                                      0xFF800000, 0x7FC00001,  0x00000001, 0x807FFFFFu, 0x7F7FFFFF};
    uint32_t kind = random_below(state, 8), bits = (uint32_t)random_next(state);
    if (strcmp(type, "f32") != 0) return kind < 3 ? bits % 16 : bits;
    if (kind == 0) return floats[bits % 10];
    return kind < 6 ? (bits & 0x83FFFFFFu) | 0x3C000000u : bits;
}

/* One run with every buffer that has no size of its own `elements` long and full of bits. */
static bool run_kernel(struct pair *pair, const char *name, vyre_kernel *kernel,
                       const uint32_t grid[3], uint32_t elements)
{
    unsigned char *before[16] = {NULL};
    uint64_t bytes[16] = {0}, state = args.seed;
    uint32_t scalars[VYRE_RUN_MAX_SCALARS];
    vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
    vyre_error err;
    struct trial trial = {.name = name, .kernel = kernel, .before = before, .bytes = bytes};
    must(vyre_kernel_query(kernel, &info, &err), &err);
    if (info.buffers > 16) bail("%s has %u buffers", name, info.buffers);
    for (uint32_t i = 0; i < info.buffers; i++) {
        vyre_kernel_buffer_info buffer = VYRE_KERNEL_BUFFER_INFO_INIT;
        must(vyre_kernel_buffer(kernel, i, &buffer, &err), &err);
        if (buffer.flags & VYRE_KERNEL_BUFFER_WORKGROUP) continue;
        if (buffer.flags & VYRE_KERNEL_BUFFER_SCALAR) {
            scalars[trial.scalar_count++] = some_bits(buffer.type, &state);
            continue;
        }
        bytes[i] = buffer.bytes ? buffer.bytes : (uint64_t)elements * buffer.stride;
        before[i] = malloc((size_t)bytes[i] + 4);
        if (!before[i]) bail("out of memory");
        for (uint64_t k = 0; k < bytes[i]; k += 4) {
            uint32_t bits = some_bits(buffer.type, &state);
            memcpy(before[i] + k, &bits, 4);
        }
    }
    memcpy(trial.grid, grid, sizeof trial.grid);
    trial.count = info.buffers;
    trial.scalars = scalars;
    bool same = pair_run(pair, &trial);
    for (uint32_t i = 0; i < 16; i++)
        free(before[i]);
    return same;
}

static bool run_source(struct pair *pair, const char *name, const char *source, uint32_t flags,
                       uint32_t groups, uint32_t elements)
{
    const uint32_t grid[3] = {groups, 1, 1};
    vyre_kernel *kernel = compile(source, flags);
    bool same = run_kernel(pair, name, kernel, grid, elements);
    vyre_kernel_free(kernel);
    return same;
}

/* Registers, masks, workgroup memory.
 * ------------------------------------------------------------------------------------------- */

static void check_registers(struct pair *pair, const char *budget)
{
    static const uint32_t lanes[] = {1, 31, 32, 33, 64, 100, 256, 1000, 1024};
    static const uint32_t counts[] = {2, 4, 8, 12, 16, 24, 32, 48, 60, 64, 80, 128, 250, 500, 900};
    uint32_t before = pair->wrong, most = 0;
    for (size_t l = 0; l < sizeof lanes / sizeof lanes[0]; l++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
            const uint32_t grid[3] = {3, 1, 1};
            char name[64];
            vyre_error err;
            if ((!gpu_is_cuda() || args.slots == 1) && c % 3 != l % 3) continue;
            char *source = source_registers(lanes[l], counts[c]);
            vyre_kernel *kernel = compile(source, 0);
            must(vyre_kernel_query(kernel, &info, &err), &err);
            snprintf(name, sizeof name, "%u registers, %u lanes", info.registers, lanes[l]);
            run_kernel(pair, name, kernel, grid, 3 * lanes[l]);
            if (info.registers > most) most = info.registers;
            vyre_kernel_free(kernel);
            free(source);
        }
    ok(pair->wrong == before && most > 800, "%s: up to %u registers, 1 to 1024 lanes", budget,
       most);
}

/* Some registers in the room and some in device memory, met by instructions of every kind. */
static void check_mixed(struct pair *pair, const char *budget)
{
    static const uint32_t lanes[] = {1, 31, 32, 64, 100, 128, 129, 256, 500, 1024};
    static const uint32_t words[] = {2, 3, 5, 8, 13, 21, 34};
    const uint32_t grid[3] = {3, 1, 1};
    uint32_t before = pair->wrong, count = gpu_is_cuda() && args.slots > 1 ? 200 : 40;
    uint64_t state = args.seed;
    for (uint32_t run = 0; run < count; run++) {
        uint32_t n = lanes[random_below(&state, sizeof lanes / sizeof lanes[0])];
        uint32_t w = words[random_below(&state, sizeof words / sizeof words[0])];
        char name[64], *source = source_mixed(n, w, &state);
        vyre_kernel *kernel = compile(source, 0);
        snprintf(name, sizeof name, "%u words and floats, %u lanes", w, n);
        run_kernel(pair, name, kernel, grid, 3 * n);
        vyre_kernel_free(kernel);
        free(source);
    }
    is_u64(pair->wrong, before, "%s: every kind of instruction, many registers", budget);
}

static void check_masks(struct pair *pair, const char *budget)
{
    uint32_t before = pair->wrong;
    for (uint32_t depth = 1; depth <= SOURCE_MOST_DEPTH; depth += depth < 8 ? 1 : 9) {
        char name[64], *source = source_nested(depth);
        snprintf(name, sizeof name, "%u branches deep", depth);
        run_source(pair, name, source, 0, 4, 4 * 96);
        free(source);
    }
    is_u64(pair->wrong, before, "%s: masks many levels deep", budget);
}

/* Elements side by side, and every way in which they may not be: shifted, scattered, turned round,
 * met by several lanes, out of bounds, of some lanes only. */
static void check_places(struct pair *pair, const char *budget)
{
    static const uint32_t lanes[] = {1, 3, 4, 31, 33, 64, 100, 127, 128, 129, 132, 256, 260, 1024};
    static const char *const places[] = {"i",
                                         "i",
                                         "i + 1",
                                         "i + 4",
                                         "i * 4",
                                         "i * 2 + 1",
                                         "i ^ 1",
                                         "i / 4 * 4 + 3 - i % 4",
                                         "i % 8",
                                         "i / 8 * 4 + i % 4",
                                         "(n - i) * 4 % n",
                                         "(n - 1 - i) / 4 * 4 + i % 4",
                                         "i + 4294967292",
                                         "i + (k & 4)",
                                         "k % n"};
    static const char *const conditions[] = {
        "true",       "true",       "i % 3 != 1", "i + 2 < n",    "i / 4 % 2 == 0",
        "i >= n / 2", "i == k % n", "k % 2 == 0", "(i & k) != 0", "i / 128 % 2 == 1"};
    const uint32_t all = sizeof places / sizeof places[0], grid[3] = {1, 1, 1};
    uint32_t before = pair->wrong, count = gpu_is_cuda() && args.slots > 1 ? 1500 : 300;
    uint64_t state = args.seed;
    for (uint32_t run = 0; run < count; run++) {
        const char *const expression[4] = {
            places[random_below(&state, all)], places[random_below(&state, all)],
            places[random_below(&state, all)], conditions[random_below(&state, 10)]};
        uint32_t n = lanes[random_below(&state, sizeof lanes / sizeof lanes[0])];
        uint32_t elements[] = {n, n + 3, 4 * n + 8, n / 2 + 1};
        char name[200];
        snprintf(name, sizeof name, "%u lanes, x[%s], y[%s], y[%s] = if %s", n, expression[0],
                 expression[1], expression[2], expression[3]);
        char *source = source_places(n, random_below(&state, 2) ? "u32" : "f32", expression);
        vyre_kernel *kernel = compile(source, 0);
        run_kernel(pair, name, kernel, grid, elements[random_below(&state, 4)]);
        vyre_kernel_free(kernel);
        free(source);
    }
    is_u64(pair->wrong, before, "%s: elements side by side and scattered", budget);
}

/* Loads side by side, from units of every number, and views that are shorter than a row. */
static void check_pairs(struct pair *pair, const char *budget)
{
    static const uint32_t lanes[] = {1,   2,   5,   32,  33,  96,  100, 128, 160,
                                     192, 224, 256, 257, 288, 320, 512, 1000};
    static const char *const places[] = {"i",
                                         "i",
                                         "i",
                                         "i + 4",
                                         "i + 1",
                                         "i % 128",
                                         "(i + 128) % n",
                                         "i ^ 4",
                                         "k % n",
                                         "i + 4294967292",
                                         "n - 4 - i",
                                         "i * 2",
                                         "i / 4 * 4"};
    static const char *const conditions[] = {"true",           "i % 3 != 1",       "i + 2 < n",
                                             "i / 4 % 2 == 0", "i / 128 % 2 == 1", "(i & k) != 0",
                                             "x[i] == x[i]"};
    const uint32_t grid[3] = {1, 1, 1}, all = sizeof places / sizeof places[0];
    uint32_t before = pair->wrong, count = gpu_is_cuda() && args.slots > 1 ? 1500 : 300;
    uint64_t state = args.seed;
    for (uint32_t run = 0; run < count; run++) {
        const char *const expression[4] = {
            places[random_below(&state, all)], places[random_below(&state, all)],
            conditions[random_below(&state, 7)], places[random_below(&state, all)]};
        uint32_t n = lanes[random_below(&state, sizeof lanes / sizeof lanes[0])];
        uint32_t elements[] = {random_below(&state, 8), n, n + 3, 2 * n + 4, n - 1, n / 2 + 1};
        uint32_t length = elements[random_below(&state, 6)];
        char name[200];
        snprintf(name, sizeof name, "%u lanes, %u elements, [%s], [%s] if %s, [%s] =", n, length,
                 expression[0], expression[1], expression[2], expression[3]);
        char *source = source_pairs(n, random_below(&state, 2) ? "u32" : "f32", expression);
        vyre_kernel *kernel = compile(source, 0);
        run_kernel(pair, name, kernel, grid, length);
        vyre_kernel_free(kernel);
        free(source);
    }
    is_u64(pair->wrong, before, "%s: loads side by side", budget);
}

static void check_workgroup_memory(struct pair *pair, const char *budget)
{
    static const uint32_t words[] = {1, 1000, 12288, 12289, 25000, 58112, 60000, 300000};
    uint32_t before = pair->wrong;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char name[64], *source = source_workgroup_memory(256, words[i]);
        snprintf(name, sizeof name, "%u bytes of workgroup memory", 4 * words[i]);
        run_source(pair, name, source, 0, 5, 5 * 256);
        free(source);
    }
    is_u64(pair->wrong, before, "%s: workgroup memory to 1.2 MB", budget);
}

/* Sources as they stand.
 * ------------------------------------------------------------------------------------------- */

static void check_sources(struct pair *pair, const char *budget)
{
    for (size_t i = 0; i < sizeof machine_sources / sizeof machine_sources[0]; i++) {
        const struct machine_source *source = &machine_sources[i];
        uint32_t before = pair->wrong;
        run_source(pair, source->name, source->text, source->flags, source->groups,
                   source->elements);
        bool ends = pair->cpu.end.fault == source->fault;
        ok(pair->wrong == before && ends, "%s: %s%s", budget, source->name,
           ends ? "" : ": not the fault that was meant");
    }
}

/* out[i] = in[n - 1 - i], elements of a type that the language does not have. */
static struct code code_reverse(uint8_t type)
{
    code_begin();
    workgroup(48, 1, 1);
    in("from", type, 0);
    rw("to", type, 0);
    return code_end(
        program(let("i", gid(0)), store("to", sub(sub(len("to"), u32(3)), var("i")),
                                        load("from", var("i"))))); /* two are beyond the start */
}

static void check_wide(struct pair *pair, const char *budget)
{
    static const uint8_t types[] = {IR_TYPE_U8,       IR_TYPE_U16, IR_TYPE_U64, IR_TYPE_VEC2_U32,
                                    IR_TYPE_VEC4_U32, IR_TYPE_F64, IR_TYPE_F16};
    const uint32_t grid[3] = {4, 1, 1};
    uint32_t before = pair->wrong;
    for (size_t i = 0; i < sizeof types; i++) {
        struct code code = code_reverse(types[i]);
        vyre_kernel *kernel = NULL;
        vyre_error err;
        char name[32];
        must(vyre_kernel_read(code.bytes, code.length, NULL, &kernel, &err), &err);
        snprintf(name, sizeof name, "elements of type %u", types[i]);
        run_kernel(pair, name, kernel, grid, 4 * 48);
        ok(pair->cpu.end.out_of_bounds == 2, "%s: 2 stores are out of bounds", name);
        vyre_kernel_free(kernel);
        code_free(&code);
    }
    is_u64(pair->wrong, before, "%s: elements of 1 to 16 bytes", budget);
}

static void check_grids(struct pair *pair, const char *budget)
{
    static const uint32_t grids[][3] = {{1, 1, 1},  {7, 5, 3},    {1, 1, 40}, {1, 300, 1},
                                        {0, 5, 5},  {3, 0, 1},    {1, 1, 0},  {2, 2, 2},
                                        {65, 2, 1}, {20000, 1, 1}};
    vyre_kernel *kernel = compile(source_grid, 0);
    uint32_t before = pair->wrong;
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        char name[64];
        if (grids[i][0] > 1000 && !pair->patient) continue;
        snprintf(name, sizeof name, "a grid of %u x %u x %u", grids[i][0], grids[i][1],
                 grids[i][2]);
        run_kernel(pair, name, kernel, grids[i], 4096);
    }
    vyre_kernel_free(kernel);
    is_u64(pair->wrong, before, "%s: grids on every axis, and of nothing", budget);
}

/* Loops that do not end.
 * ------------------------------------------------------------------------------------------- */

static uint64_t submit_run(struct pair_side *side, vyre_program *program, vyre_bindings *bindings,
                           uint32_t groups, uint64_t deadline_ns)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    vyre_slot *slot = next_slot(side->queue);
    run.program = program;
    run.bindings = bindings;
    run.grid[0] = groups;
    must(vyre_prep_run(slot, &run, &err), &err);
    if (deadline_ns) must(vyre_slot_deadline(side->queue, slot, deadline_ns, &err), &err);
    return submit(side->queue);
}

static void check_ends(struct pair_side *side, const char *who)
{
    static const uint32_t groups[] = {1, 50, 100000};
    vyre_kernel *kernel = compile(source_forever, 0);
    vyre_program *program = NULL;
    vyre_bindings *bindings = NULL;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    must(vyre_program_load_kernel(side->rt, kernel, NULL, &program, &err), &err);
    must(vyre_buffer_create(side->rt, 64, VYRE_DEVICE, &buffer, &err), &err);
    must(vyre_bindings_create(program, &buffer, 1, &bindings, &err), &err);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        uint64_t ticket = submit_run(side, program, bindings, groups[i], 20000000);
        vyre_completion end = wait_for(side->queue, ticket);
        ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_DEADLINE,
           "%s: the deadline ends %u workgroups that would not end", who, groups[i]);
        ticket = submit_run(side, program, bindings, groups[i], 0);
        vyre_status asked = vyre_cancel(side->queue, ticket, &err);
        end = wait_for(side->queue, ticket);
        ok(asked == VYRE_OK && end.outcome == VYRE_CANCELLED && end.fault == VYRE_FAULT_CANCELLED,
           "%s: and so does being cancelled", who);
    }
    must(vyre_prep_nop(next_slot(side->queue), &err), &err);
    is_u64(wait_for(side->queue, submit(side->queue)).outcome, VYRE_DONE, "%s: it goes on", who);
    vyre_bindings_free(bindings);
    works(vyre_program_unload(program, &err), &err, "%s: the program can be unloaded", who);
    vyre_buffer_free(buffer);
    vyre_kernel_free(kernel);
}

struct budget {
    const char *name;
    uint32_t steps, continuations;
};

static void check_all(const struct budget *budget)
{
    vyre_options options = gpu_options();
    struct pair pair;
    options.step_budget = budget->steps;
    options.continuations = budget->continuations;
    options.frame_bytes = FRAME_BYTES;
    pair_open(&pair, &options);
    check_sources(&pair, budget->name);
    check_masks(&pair, budget->name);
    check_places(&pair, budget->name);
    check_pairs(&pair, budget->name);
    check_wide(&pair, budget->name);
    check_grids(&pair, budget->name);
    check_registers(&pair, budget->name);
    check_mixed(&pair, budget->name);
    check_workgroup_memory(&pair, budget->name);
    if (pair.patient) check_ends(&pair.cpu, "cpu");
    check_ends(&pair.device, "device");
    note("%s: %u runs, of which %u fault", budget->name, pair.runs, pair.faults);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    static const struct budget budgets[] = {{"an ample budget", VYRE_DEFAULT, 16},
                                            {"a budget of 1 step", 1, 16},
                                            {"a budget of 5 steps, one to put aside", 5, 1}};
    args = gpu_arguments(argc, argv, sizeof budgets / sizeof budgets[0]);
    for (size_t i = 0; i < args.slots && i < sizeof budgets / sizeof budgets[0]; i++)
        check_all(&budgets[i]);
    return done();
}
