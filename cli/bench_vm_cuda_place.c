/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The programs of `vyre bench vm` on a device: a runtime with its queue, buffers of the device that
 * a program fills, programs loaded and bound when a step first asks for them, runs that are timed,
 * and results that are read back and compared.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_vm_cuda.h"

/* On a GPU the longest run takes milliseconds; the same on a few CPUs, beside others, much more. */
#define LOST_NS     120000000000ull
#define QUEUE_SLOTS 16384u
#define WARM_UP     3u
#define SPOILT      0xA5A5A5A5u

_Static_assert(QUEUE_SLOTS >= GPU_JOBS, "all jobs are in flight at once");

uint32_t gpu_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double gpu_median(uint32_t *samples, size_t count)
{
    qsort(samples, count, sizeof samples[0], compare);
    return ((double)samples[(count - 1) / 2] + samples[count / 2]) / 2;
}

static void forget(struct gpu_state *state)
{
    state->runtime = NULL;
    state->queue = NULL;
    memset(state->buffer, 0, sizeof state->buffer);
    for (uint32_t i = 0; i < GPU_KERNELS; i++) {
        state->program[i].program = NULL;
        state->program[i].bindings = NULL;
    }
}

void gpu_close(struct bench *bench)
{
    bench_device_close(bench); /* with its queue, programs and buffers */
    forget(bench->state);
}

static int make_buffers(struct gpu_state *state)
{
    vyre_error err;
    for (uint32_t i = 0; i < GPU_BUFFERS; i++) {
        size_t words = i == GPU_COUNTS ? GPU_BINS : state->sizes.elements;
        if (vyre_buffer_create(state->runtime, words * sizeof(uint32_t), VYRE_DEVICE,
                               &state->buffer[i], &err) != VYRE_OK)
            return cli_fail("cannot make a buffer of the device", &err);
    }
    return 0;
}

/* Runs `repeat` once with a block of the host. */
static int repeat(struct bench *bench, const void *block, uint32_t block_words,
                  enum gpu_buffer which, uint32_t words)
{
    struct gpu_state *state = bench->state;
    struct gpu_run run = {GPU_KERNEL_repeat, (words + GPU_LANES - 1) / GPU_LANES, {0}};
    struct gpu_program *program = &state->program[GPU_KERNEL_repeat];
    size_t bytes = block_words * sizeof(uint32_t);
    vyre_buffer *bound[2] = {NULL, state->buffer[which]};
    vyre_completion completion;
    vyre_error err;
    int code = gpu_load(bench, GPU_KERNEL_repeat);
    if (code != 0) return code;
    if (vyre_buffer_create(state->runtime, bytes, VYRE_DEVICE, &bound[0], &err) != VYRE_OK)
        return cli_fail("cannot make a buffer of the device", &err);
    if (vyre_buffer_write(bound[0], 0, block, bytes, &err) != VYRE_OK)
        code = cli_fail("cannot fill a buffer", &err);
    if (code == 0 &&
        vyre_bindings_create(program->program, bound, 2, &program->bindings, &err) != VYRE_OK)
        code = cli_fail("cannot bind buffers", &err);
    if (code == 0) code = gpu_run_once(bench, &run, &completion);
    vyre_bindings_free(program->bindings);
    program->bindings = NULL;
    vyre_buffer_free(bound[0]);
    return code;
}

static int fill_buffers(struct bench *bench)
{
    struct gpu_state *state = bench->state;
    uint32_t block = state->blocks.count;
    uint32_t words = state->sizes.elements;
    int code = repeat(bench, state->blocks.x, block, GPU_X, words);
    if (code == 0) code = repeat(bench, state->blocks.y, block, GPU_Y, words);
    if (code == 0) code = repeat(bench, state->blocks.words, block, GPU_WORDS, words);
    return code;
}

int gpu_ready(struct bench *bench)
{
    struct gpu_state *state = bench->state;
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    vyre *runtime = NULL;
    if (state->runtime != NULL) return 0;
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code != 0) return code;
    options.slots = QUEUE_SLOTS;
    options.wait_mode = VYRE_WAIT_SPIN;
    if (vyre_queue_open(runtime, &options, &state->queue, &err) != VYRE_OK)
        return cli_fail("cannot open a queue", &err);
    state->runtime = runtime;
    code = make_buffers(state);
    return code == 0 ? fill_buffers(bench) : code;
}

/* The buffer for a parameter of this name; NULL: none, as for scalars and workgroup memory. */
static vyre_buffer *buffer_called(const struct gpu_state *state, enum gpu_kernel kernel,
                                  const char *name)
{
    int counts = kernel == GPU_KERNEL_reduction || kernel == GPU_KERNEL_histogram;
    if (strcmp(name, "x") == 0) return state->buffer[GPU_X];
    if (strcmp(name, "y") == 0) return state->buffer[GPU_Y];
    if (strcmp(name, "words") == 0) return state->buffer[GPU_WORDS];
    if (strcmp(name, "result") == 0) return state->buffer[counts ? GPU_COUNTS : GPU_RESULT];
    return NULL;
}

static int bind_buffers(struct gpu_state *state, enum gpu_kernel kernel)
{
    struct gpu_program *program = &state->program[kernel];
    const vyre_kernel *made = vyre_program_kernel(program->program);
    vyre_buffer *bound[8] = {NULL};
    vyre_error err;
    if (program->info.buffers > sizeof bound / sizeof bound[0])
        return bench_wrong("a program of the benchmark has too many buffers");
    for (uint32_t i = 0; i < program->info.buffers; i++) {
        vyre_kernel_buffer_info info = VYRE_KERNEL_BUFFER_INFO_INIT;
        if (vyre_kernel_buffer(made, i, &info, &err) != VYRE_OK)
            return cli_fail("cannot describe a buffer", &err);
        if ((info.flags & (VYRE_KERNEL_BUFFER_WORKGROUP | VYRE_KERNEL_BUFFER_SCALAR)) == 0)
            bound[i] = buffer_called(state, kernel, info.name);
    }
    if (vyre_bindings_create(program->program, bound, program->info.buffers, &program->bindings,
                             &err) != VYRE_OK)
        return cli_fail("cannot bind buffers", &err);
    return 0;
}

int gpu_load(struct bench *bench, enum gpu_kernel kernel)
{
    static const struct vm_bytes *const bytes[] = {
#define BYTES(name) &vm_program_##name,
        VM_GPU_KERNELS(BYTES) VM_SIZED(BYTES)
#undef BYTES
    };
    struct gpu_state *state = bench->state;
    struct gpu_program *program = &state->program[kernel];
    vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
    vyre_error err;
    if (program->program != NULL) return 0;
    if (vyre_program_load(state->runtime, bytes[kernel]->bytes, bytes[kernel]->length, NULL,
                          &program->program, &err) != VYRE_OK)
        return cli_fail("cannot load a program", &err);
    if (vyre_kernel_query(vyre_program_kernel(program->program), &info, &err) != VYRE_OK)
        return cli_fail("cannot describe a program", &err);
    program->info = info;
    return kernel == GPU_KERNEL_repeat ? 0 : bind_buffers(state, kernel); /* it binds each time */
}

void gpu_note_registers(struct bench *bench, uint32_t line, enum gpu_kernel kernel,
                        uint32_t registers)
{
    struct gpu_state *state = bench->state;
    char text[64];
    if (state->program[kernel].info.registers == registers) return;
    snprintf(text, sizeof text, "the program needs %u registers",
             state->program[kernel].info.registers);
    bench_note(bench, line, text);
}

int gpu_prepare(struct gpu_state *state, vyre_slot *slot, const struct gpu_run *run)
{
    const struct gpu_program *program = &state->program[run->kernel];
    vyre_run made = VYRE_RUN_INIT;
    vyre_error err;
    made.program = program->program;
    made.bindings = program->bindings;
    made.grid[0] = run->groups;
    made.scalars = run->scalars;
    made.scalar_count = program->info.scalars;
    if (vyre_prep_run(slot, &made, &err) != VYRE_OK) return cli_fail("cannot prepare a run", &err);
    return 0;
}

int gpu_run_once(struct bench *bench, const struct gpu_run *run, vyre_completion *completion)
{
    struct gpu_state *state = bench->state;
    vyre_slot *slot = vyre_queue_slot(state->queue);
    if (slot == NULL) return bench_wrong("an empty queue says that it is full");
    int code = gpu_prepare(state, slot, run);
    return code == 0 ? bench_submit_and_wait(state->queue, LOST_NS, completion) : code;
}

int gpu_time_runs(struct bench *bench, const struct gpu_run *run, uint64_t duration_ns, double *ns,
                  uint64_t *runs)
{
    vyre_completion completion;
    size_t count = 0;
    int code = 0;
    for (*runs = 0; *runs < WARM_UP && code == 0; ++*runs)
        code = gpu_run_once(bench, run, &completion);
    uint64_t end = bench_clock_ns() + duration_ns;
    while (code == 0 && count < bench->sample_capacity) {
        uint64_t begin = bench_clock_ns();
        code = gpu_run_once(bench, run, &completion);
        uint64_t now = bench_clock_ns();
        bench->samples[count++] = bench_sample(now - begin);
        ++*runs;
        if (now > end) break;
    }
    if (code == 0 && completion.out_of_bounds != 0)
        return bench_wrong("a program of the benchmark left its buffers");
    if (code == 0) *ns = gpu_median(bench->samples, count);
    return code;
}

int gpu_spoil(struct bench *bench, uint32_t words)
{
    uint32_t word = SPOILT;
    return repeat(bench, &word, 1, GPU_RESULT, words);
}

int gpu_clear_counters(struct bench *bench)
{
    struct gpu_state *state = bench->state;
    static const uint32_t zeroes[GPU_BINS];
    vyre_error err;
    if (vyre_buffer_write(state->buffer[GPU_COUNTS], 0, zeroes, sizeof zeroes, &err) != VYRE_OK)
        return cli_fail("cannot clear the counters", &err);
    return 0;
}

int gpu_read(struct bench *bench, enum gpu_buffer which, uint64_t first, uint32_t count)
{
    struct gpu_state *state = bench->state;
    vyre_error err;
    if (vyre_buffer_read(state->buffer[which], first * sizeof(uint32_t), state->room,
                         count * sizeof(uint32_t), &err) != VYRE_OK)
        return cli_fail("cannot read a result", &err);
    return 0;
}

int gpu_check_floats(struct bench *bench, uint32_t line, uint32_t count)
{
    struct gpu_state *state = bench->state;
    uint32_t block = count < state->blocks.count ? count : state->blocks.count;
    for (uint32_t at = 0; at < count; at += block) {
        uint32_t here = count - at < block ? count - at : block;
        if (state->whole[line] && at != 0 && at + block < count) continue;
        int code = gpu_read(bench, GPU_RESULT, at, here);
        if (code != 0) return code;
        if (memcmp(state->room, state->exact, here * sizeof(float)) != 0)
            return bench_wrong("a program gives another result than the same in C");
    }
    state->whole[line] = 1;
    return 0;
}
