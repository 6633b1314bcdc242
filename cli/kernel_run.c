/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * One run of a program on a runtime: buffers made and filled, the program loaded and bound, one
 * slot submitted and awaited. Used by `exec` and `conform`; it complains about nothing, the run
 * says what failed.
 */
#include "kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A program has at most 16384 buffers; beside them stand the program and its binding set. */
enum { HANDLES = 16384 + 64, LEAST_FRAME_BYTES = 1 << 20 };
#define CANCEL_NS 5000000000ull
#define ANSWER_S  5

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int kernel_open(const struct cli_args *args, uint64_t frame_bytes, vyre **runtime)
{
    vyre_options options = cli_program_options(args);
    vyre_error err;

    options.max_handles = HANDLES;
    options.continuations = 0; /* one run at a time: nobody waits for a turn */
    options.frame_bytes = frame_bytes < LEAST_FRAME_BYTES ? LEAST_FRAME_BYTES : frame_bytes;
    if (options.frame_bytes > KERNEL_MOST_FRAME_BYTES)
        options.frame_bytes = KERNEL_MOST_FRAME_BYTES;
    if (vyre_open(runtime, &options, &err) != VYRE_OK)
        return cli_fail("cannot open a runtime", &err);
    return CLI_EXIT_DONE;
}

/* Fills an error the way the library does, for what the command itself finds. */
static vyre_status refuse(vyre_error *err, vyre_status status, const char *message)
{
    memset(err, 0, sizeof *err);
    err->status = status;
    snprintf(err->message, sizeof err->message, "%s", message);
    snprintf(err->fix, sizeof err->fix, "%s", vyre_status_fix(status));
    return status;
}

static int is_bound(const struct kernel_run *run, uint32_t i)
{
    return (run->kernel->buffers[i].flags & VYRE_KERNEL_BUFFER_WORKGROUP) == 0 &&
           !run->bound[i].by_slot;
}

vyre_status kernel_grid(const struct kernel *kernel, const struct kernel_bound *bound,
                        uint32_t grid[3], vyre_error *err)
{
    const uint32_t none = VYRE_KERNEL_BUFFER_WORKGROUP | VYRE_KERNEL_BUFFER_SCALAR;
    uint64_t *bytes = calloc((size_t)kernel->info.buffers + 1, sizeof *bytes);

    if (bytes == NULL) return refuse(err, VYRE_E_NO_MEMORY, vyre_status_text(VYRE_E_NO_MEMORY));
    for (uint32_t i = 0; i < kernel->info.buffers; i++)
        bytes[i] = (kernel->buffers[i].flags & none) != 0 ? 0 : bound[i].length;
    vyre_status status = vyre_kernel_grid(kernel->kernel, bytes, kernel->info.buffers, grid, err);
    free(bytes);
    return status;
}

static vyre_status make_buffer(struct kernel_run *run, uint32_t i)
{
    struct kernel_bound *bound = &run->bound[i];
    /* There is no empty buffer. One byte holds no element of more than that, so it stands for it.
     */
    size_t length = bound->length == 0 ? 1 : bound->length;

    if (bound->length == 0 && run->kernel->buffers[i].stride <= 1)
        return refuse(&run->err, VYRE_E_UNSUPPORTED, "a buffer of bytes cannot be empty");
    vyre_status status =
        vyre_buffer_create(run->runtime, length, VYRE_DEVICE, &bound->buffer, &run->err);
    if (status != VYRE_OK || bound->bytes == NULL || bound->length == 0) return status;
    return vyre_buffer_write(bound->buffer, 0, bound->bytes, bound->length, &run->err);
}

static vyre_status make_buffers(struct kernel_run *run)
{
    vyre_status status = VYRE_OK;

    run->doing = "cannot make a buffer";
    for (uint32_t i = 0; i < run->kernel->info.buffers && status == VYRE_OK; i++)
        if (is_bound(run, i)) status = make_buffer(run, i);
    return status;
}

static vyre_status load_and_bind(struct kernel_run *run)
{
    uint32_t count = run->kernel->info.buffers;
    vyre_buffer **buffers;
    vyre_status status;

    run->doing = "cannot load the program";
    /* The library keeps a kernel alive for its programs; ours is only lent. */
    status =
        vyre_program_load_kernel(run->runtime, run->kernel->kernel, NULL, &run->program, &run->err);
    if (status != VYRE_OK) return status;
    run->doing = "cannot bind the buffers";
    buffers = calloc((size_t)count + 1, sizeof *buffers);
    if (buffers == NULL)
        return refuse(&run->err, VYRE_E_NO_MEMORY, vyre_status_text(VYRE_E_NO_MEMORY));
    for (uint32_t i = 0; i < count; i++)
        buffers[i] = run->bound[i].buffer;
    status = vyre_bindings_create(run->program, buffers, count, &run->bindings, &run->err);
    free(buffers);
    return status;
}

static vyre_status prepare(struct kernel_run *run, vyre_queue *queue)
{
    vyre_run slot = VYRE_RUN_INIT;
    uint32_t scalars[VYRE_RUN_MAX_SCALARS] = {0};
    uint32_t count = 0, by_slot = 0;

    run->doing = "cannot prepare the run";
    for (uint32_t i = 0; i < run->kernel->info.buffers; i++) {
        if ((run->kernel->buffers[i].flags & VYRE_KERNEL_BUFFER_SCALAR) == 0) continue;
        if (count < VYRE_RUN_MAX_SCALARS) scalars[count] = run->bound[i].scalar;
        by_slot += (uint32_t)run->bound[i].by_slot;
        count++;
    }
    memcpy(slot.grid, run->grid, sizeof slot.grid);
    slot.program = run->program;
    slot.bindings = run->bindings;
    slot.queue = queue;
    if (by_slot > 0) {
        slot.scalars = scalars;
        slot.scalar_count = count;
    }
    return vyre_prep_run(vyre_queue_slot(queue), &slot, &run->err);
}

int kernel_ask(vyre *runtime, void *(*ask)(void *), void *argument)
{
    struct timespec until;
    pthread_t thread;
    int asked = pthread_create(&thread, NULL, ask, argument) == 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ANSWER_S;
    if (asked && pthread_timedjoin_np(thread, NULL, &until) == 0) return 1;
    vyre_stop(runtime, NULL); /* what waits for it ends with it */
    if (asked) pthread_join(thread, NULL);
    return 0;
}

struct wish {
    vyre_queue *queue;
    uint64_t ticket;
};

static void *cancel(void *argument)
{
    const struct wish *wish = argument;

    vyre_cancel(wish->queue, wish->ticket, NULL);
    return NULL;
}

/* Ends a run that takes too long. */
static void end_run(struct kernel_run *run, vyre_queue *queue, uint64_t ticket)
{
    struct wish wish = {queue, ticket};

    kernel_ask(run->runtime, cancel, &wish);
    run->stuck = vyre_wait(queue, ticket, CANCEL_NS, &run->end, NULL) != VYRE_OK;
    if (run->stuck) run->end.outcome = VYRE_LOST;
}

static vyre_status submit_and_wait(struct kernel_run *run, vyre_queue *queue)
{
    uint64_t ticket = 0, start_ns = now_ns();

    run->doing = "cannot submit the run";
    vyre_status status = vyre_queue_submit(queue, &ticket, &run->err);
    if (status != VYRE_OK) return status;
    run->doing = "the run did not end";
    status = vyre_wait(queue, ticket, run->timeout_ns, &run->end, &run->err);
    run->ns = now_ns() - start_ns;
    if (status != VYRE_E_TIMEOUT) return status;
    end_run(run, queue, ticket);
    run->ns = now_ns() - start_ns;
    /* It may have ended by itself meanwhile. */
    return run->end.outcome == VYRE_CANCELLED || run->end.outcome == VYRE_LOST ? status : VYRE_OK;
}

vyre_status kernel_run(struct kernel_run *run)
{
    vyre_queue *queue = vyre_queue_default(run->runtime);

    vyre_status status = make_buffers(run);
    if (status == VYRE_OK) status = load_and_bind(run);
    if (status == VYRE_OK) status = prepare(run, queue);
    if (status == VYRE_OK) status = submit_and_wait(run, queue);
    return status;
}

void kernel_run_free(struct kernel_run *run)
{
    /* A slot that still runs holds all of this; closing the runtime stops it and frees the rest. */
    if (run->stuck) return;
    vyre_bindings_free(run->bindings);
    run->bindings = NULL;
    vyre_program_unload(run->program, NULL);
    run->program = NULL;
    for (uint32_t i = 0; run->bound != NULL && i < run->kernel->info.buffers; i++) {
        vyre_buffer_free(run->bound[i].buffer);
        run->bound[i].buffer = NULL;
    }
}

size_t kernel_result(const struct kernel_run *run, uint32_t i, size_t *start)
{
    const vyre_kernel_buffer_info *info = &run->kernel->buffers[i];
    int whole = info->range_start == 0 && info->range_end == 0;
    size_t end = whole ? run->bound[i].length : (size_t)info->range_end;

    *start = (size_t)info->range_start;
    if (end > run->bound[i].length) end = run->bound[i].length;
    return *start < end ? end - *start : 0;
}

vyre_status kernel_fetch(struct kernel_run *run, uint32_t i, void *bytes)
{
    size_t start, length = kernel_result(run, i, &start);

    run->doing = "cannot read a result";
    if (length == 0) return VYRE_OK;
    return vyre_buffer_read(run->bound[i].buffer, start, bytes, length, &run->err);
}

uint64_t kernel_groups_run(const struct kernel_run *run)
{
    return run->end.result[0] | (uint64_t)run->end.result[1] << 32;
}

uint64_t kernel_fault_group(const struct kernel_run *run)
{
    return run->end.result[2] | (uint64_t)run->end.result[3] << 32;
}

int kernel_fault_has_place(const vyre_completion *end)
{
    return end->fault >= VYRE_FAULT_DIVISION && end->fault <= VYRE_FAULT_ASYNC_TAG;
}

/* A source traps where an assertion fails, and has its text. */
void kernel_fault_message(const struct kernel_run *run, char message[400])
{
    const vyre_completion *end = &run->end;
    vyre_position position = {"", 0, 0};
    char claim[160] = "";

    vyre_kernel_position(run->kernel->kernel, end->pc, &position, NULL);
    if (end->fault == VYRE_FAULT_TRAP) source_statement(&run->kernel->source, position, claim);
    if (strncmp(claim, "assert", 6) == 0)
        snprintf(message, 400, "the program faulted with TRAP: `%s` failed", claim);
    else if (end->fault == VYRE_FAULT_TRAP)
        snprintf(message, 400, "the program faulted with TRAP: it trapped at address %u",
                 end->result[4]);
    else
        snprintf(message, 400, "the program faulted with %s: %s", vyre_fault_name(end->fault),
                 vyre_fault_text(end->fault));
}

void kernel_fault_place(const struct kernel_run *run, char text[KERNEL_PLACE_ROOM])
{
    uint64_t group = kernel_fault_group(run);
    uint64_t x = run->grid[0] == 0 ? 1 : run->grid[0], y = run->grid[1] == 0 ? 1 : run->grid[1];
    vyre_position position = {"", 0, 0};
    char path[200] = "";
    int len = 0;

    vyre_kernel_place(run->kernel->kernel, run->end.pc, path, sizeof path, NULL);
    vyre_kernel_position(run->kernel->kernel, run->end.pc, &position, NULL);
    if (position.line > 0)
        len = snprintf(text, KERNEL_PLACE_ROOM, "%.250s:%u:%u, ", position.file,
                       (unsigned)position.line, (unsigned)position.column);
    snprintf(text + len, KERNEL_PLACE_ROOM - (size_t)len,
             "instruction %u%s%s%s, workgroup %llu (%llu,%llu,%llu), lane %u", run->end.pc,
             path[0] != '\0' ? " (" : "", path, path[0] != '\0' ? ")" : "",
             (unsigned long long)group, (unsigned long long)(group % x),
             (unsigned long long)(group / x % y), (unsigned long long)(group / x / y),
             run->end.result[5]);
}

const char *kernel_outcome_name(const vyre_completion *end)
{
    switch (end->outcome) {
    case VYRE_DONE:
        return "done";
    case VYRE_FAULTED:
        return "faulted";
    case VYRE_CANCELLED:
        return "cancelled";
    default:
        return "lost";
    }
}
