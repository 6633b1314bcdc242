/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre bench vm` for a device that is not in this process: programs on a GPU beside native
 * kernels, which vyre-peers launches in the ordinary way. Its table, the peers, the break-even
 * point, and what its report has beside the common one. Called by bench_vm.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_vm_cuda.h"

#define ROUNDS 3u

#define BENCH_ROWS         "bench_vm_cuda_lines.def"
#define BENCH_ROW_LINE(id) GPU_LINE_##id
#include "bench_rows.h"

static const char *const kernel_names[] = {
#define NAME(name) #name,
    VM_GPU_KERNELS(NAME) VM_SIZED(NAME)
#undef NAME
};

/* Finds out what there is, before anything takes long. */
static int begin(struct bench *bench)
{
    struct gpu_state *state = bench->state;
    vyre *runtime = NULL;
    vyre_error err;
    size_t block = state->sizes.block * sizeof(float);
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code != 0) return code;
    state->device.description.size = (uint32_t)sizeof state->device.description;
    if (vyre_describe(runtime, &state->device.description, &err) != VYRE_OK)
        return cli_fail("cannot describe a runtime", &err);
    snprintf(bench->choice, sizeof bench->choice, "%s", state->device.description.choice);
    bench->workers = state->device.description.workers;
    state->exact = malloc(block);
    state->room = malloc(block);
    if (vm_gpu_blocks_make(&state->sizes, &state->blocks) != 0 || state->exact == NULL ||
        state->room == NULL) {
        cli_complain("no memory for the inputs", NULL, "give fewer --elements");
        return CLI_EXIT_ENVIRONMENT;
    }
    return 0;
}

static void end(struct bench *bench)
{
    struct gpu_state *state = bench->state;
    gpu_close(bench);
    vm_gpu_blocks_free(&state->blocks);
    free(state->exact);
    free(state->room);
}

int bench_step_gpu_native(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    char seconds[32];
    char elements[32];
    const char *const options[] = {"--native", seconds, "--elements", elements, NULL};
    if (state->device.description.backend != VYRE_BACKEND_CUDA) {
        bench_note(bench, line, "not available: no GPU");
        return 0;
    }
    gpu_close(bench);
    snprintf(seconds, sizeof seconds, "%.3f", (double)bench->slice_ns / 1e9);
    snprintf(elements, sizeof elements, "%u", state->sizes.elements);
    bench_peers_measure(bench, options, line);
    return 0;
}

int gpu_need_native(struct bench *bench, uint32_t line, uint32_t native)
{
    if (bench->series[native].count > bench->series[line].count) return 0;
    if (bench->series[GPU_LINE_NATIVE_SAXPY].note[0] != '\0') return 0; /* there are none */
    return bench_step_gpu_native(bench, GPU_LINE_NATIVE_SAXPY);
}

/* The last value of a line; NAN where there is none. */
static double last(const struct bench *bench, uint32_t line)
{
    const struct bench_series *series = &bench->series[line];
    return series->count != 0 ? series->value[series->count - 1] : NAN;
}

void gpu_break_even(struct bench *bench, uint32_t line, uint32_t native, uint32_t sizes,
                    uint32_t even)
{
    double before = NAN;
    bench_note(bench, even, ""); /* of an earlier round */
    for (uint32_t i = 0; i < sizes; i++) {
        double ratio = last(bench, line + i) / last(bench, native + i);
        if (!isfinite(ratio)) break;
        if (ratio >= 1 && i == 0) {
            bench_note(bench, even, "a launch is faster already for the least size");
            return;
        }
        if (ratio >= 1) {
            /* Straight lines between the sizes, both axes logarithmic. */
            double part = log(1 / before) / log(ratio / before);
            bench_add(bench, even, (double)GPU_SIZE(i - 1) * pow(4, part));
            return;
        }
        before = ratio;
    }
    bench_note(bench, even,
               isfinite(before) ? "a slot is faster for every size that was measured"
                                : "there is nothing to compare with");
}

static void print_head(const struct bench *bench)
{
    const struct gpu_state *state = bench->state;
    puts(bench->args->pin ? "placement: each measuring thread on a CPU of its own"
                          : "placement: threads are left to the scheduler (--pin binds them)");
    printf("sizes:     %u elements, %u points, %u jobs of %u elements\n", state->sizes.elements,
           state->sizes.pixels, state->sizes.jobs, GPU_SHARE);
}

/* What each program needs: the figures by register count depend on it. */
static void print_programs(const struct bench *bench)
{
    const struct gpu_state *state = bench->state;
    int printed = 0;
    for (uint32_t i = 0; i < GPU_KERNELS; i++) {
        const vyre_kernel_info *info = &state->program[i].info;
        if (info->size == 0) continue;
        if (printed++ == 0)
            printf("\n%s%-*s %9s %9s %12s %15s%s\n", cli_tone(stdout, CLI_TONE_TITLE),
                   bench->table->name_width, "program", "lanes", "registers", "instructions",
                   "workgroup bytes", cli_tone(stdout, CLI_TONE_OFF));
        printf("%-*s %9u %9u %12u %15u\n", bench->table->name_width, kernel_names[i],
               info->workgroup[0], info->registers, info->instructions, info->workgroup_bytes);
    }
}

static void json_run(const struct bench *bench)
{
    const struct gpu_state *state = bench->state;
    cli_json_count("elements", state->sizes.elements);
    cli_json_count("points", state->sizes.pixels);
    cli_json_count("jobs", state->sizes.jobs);
    for (uint32_t i = 0; i < GPU_KERNELS; i++) {
        char key[64];
        if (state->program[i].info.size == 0) continue;
        snprintf(key, sizeof key, "registers_%s", kernel_names[i]);
        cli_json_count(key, state->program[i].info.registers);
    }
}

static const struct bench_table table = {
    .command = "bench vm",
    BENCH_TABLE_ROWS,
    .peer_width = 26,
    .name_width = 28,
    .rounds = ROUNDS,
    .pins_if_asked = 1,
    .not_measured =
        "Data is in memory of the device; the time of a run is from before its slot is prepared "
        "to\n"
        "its completion, that of a native kernel from before the launch to the return of the "
        "wait;\n"
        "medians of single runs. GB/s count each byte once that must be read or written. T/s are\n"
        "10^12 bytecode instructions a second times the lanes that execute them. A job is a saxpy\n"
        "over data of its own: vyre's come from one thread, as one slot each, all in flight; "
        "native\n"
        "ones as launches on one stream with one wait at the end, and as one graph that was made\n"
        "and uploaded before. The graph is the fastest of three: a chain, eight chains, no\n"
        "dependencies. Inputs repeat after at most 2^20 elements.\n"
        "Not measured: copies between host and device, loading programs, making graphs, several\n"
        "queues, other priorities than NORMAL, programs with print or faults, several streams.",
    .begin = begin,
    .end = end,
    .print_head = print_head,
    .print_apart = print_programs,
    .json_run = json_run,
};

int bench_vm_cuda_run(struct bench *bench, const struct cli_args *args)
{
    static struct gpu_state state; /* too large for a stack */
    memset(&state, 0, sizeof state);
    vm_gpu_sizes(args->elements == VYRE_DEFAULT ? GPU_MOST_ELEMENTS : args->elements, &state.sizes);
    bench->table = &table;
    bench->state = &state;
    return bench_run(bench, args);
}
