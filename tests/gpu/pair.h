/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The same run of a program on two runtimes, the CPU backend in this process and the device under
 * test: the same buffers before, the same bytes, end and log afterwards. Include it first.
 *
 * Workgroups have no order, so what a run leaves that faults is only known where it has one
 * workgroup; which fault is reported only where no workgroup was put aside (the lowest one's). The
 * names of programs and the first byte that differs are printed.
 */
#ifndef VYRE_TESTS_PAIR_H
#define VYRE_TESTS_PAIR_H

#include "gpu.h"
#include "same_run.h"

/* One of the two. */
struct pair_side {
    vyre *rt;
    vyre_queue *queue;
    uint64_t cursor; /* of the log */
    vyre_status status;
    vyre_error err;
    vyre_completion end;
    unsigned char **after; /* by buffer */
    vyre_log_record log[64];
    size_t logged;
    uint64_t lost;
};

struct pair {
    struct pair_side cpu, device;
    bool patient; /* no workgroup is put aside */
    uint32_t runs, faults, wrong;
};

/* One run. */
struct trial {
    const char *name;
    vyre_kernel *kernel;
    uint32_t grid[3];
    uint32_t count;         /* of the kernel's buffers */
    unsigned char **before; /* NULL: workgroup memory, and scalars that come with the slot */
    const uint64_t *bytes;
    const uint32_t *scalars;
    uint32_t scalar_count;
    uint32_t pinned; /* every so many-th buffer is pinned; 0: none */
};

/* `options` are the device's. */
TAP_UNUSED static void pair_open(struct pair *pair, const vyre_options *options)
{
    vyre_options plain = VYRE_OPTIONS_INIT;
    memset(pair, 0, sizeof *pair);
    plain.backend = VYRE_BACKEND_CPU;
    plain.place = VYRE_PLACE_PROCESS;
    plain.workers = 2;
    plain.max_handles = options->max_handles;
    plain.frame_bytes = options->frame_bytes;
    pair->device.rt = gpu_open(options);
    pair->cpu.rt = open_with(&plain);
    pair->device.queue = vyre_queue_default(pair->device.rt);
    pair->cpu.queue = vyre_queue_default(pair->cpu.rt);
    pair->patient = options->step_budget == VYRE_DEFAULT;
}

TAP_UNUSED static void pair_close(struct pair *pair)
{
    vyre_close(pair->cpu.rt);
    vyre_close(pair->device.rt);
}

/* Runs.
 * ------------------------------------------------------------------------------------------- */

static vyre_status pair_fill(struct pair_side *side, const struct trial *trial,
                             vyre_buffer **buffers)
{
    for (uint32_t i = 0; i < trial->count; i++) {
        vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
        size_t bytes = trial->bytes[i] ? (size_t)trial->bytes[i] : 1;
        if (!trial->before[i]) continue;
        how.kind = trial->pinned != 0 && i % trial->pinned == 0 ? VYRE_PINNED : VYRE_DEVICE;
        vyre_status status =
            vyre_buffer_create_with(side->rt, bytes, &how, &buffers[i], &side->err);
        if (!status && trial->bytes[i])
            status = vyre_buffer_write(buffers[i], 0, trial->before[i], bytes, &side->err);
        if (status) return status;
    }
    return VYRE_OK;
}

static vyre_status pair_submit(struct pair_side *side, const struct trial *trial,
                               const vyre_run *run, vyre_buffer **buffers)
{
    uint64_t ticket;
    vyre_slot *slot = vyre_queue_slot(side->queue);
    if (!slot) bail("the queue is full where it must not be");
    vyre_status status = vyre_prep_run(slot, run, &side->err);
    if (!status) status = vyre_queue_submit(side->queue, &ticket, &side->err);
    if (!status) status = vyre_wait(side->queue, ticket, PATIENCE_NS, &side->end, &side->err);
    for (uint32_t i = 0; i < trial->count && !status; i++)
        if (buffers[i] && trial->bytes[i])
            status = vyre_buffer_read(buffers[i], 0, side->after[i], (size_t)trial->bytes[i],
                                      &side->err);
    if (!status)
        status = vyre_tenant_log(side->rt, 0, &side->cursor, side->log, 64, &side->logged,
                                 &side->lost, &side->err);
    return status;
}

/* Loads, runs once, reads everything back; the status says whether that could be done. */
TAP_UNUSED static vyre_status pair_run_side(struct pair_side *side, const struct trial *trial)
{
    vyre_buffer **buffers = calloc(trial->count + 1, sizeof(vyre_buffer *));
    vyre_program *program = NULL;
    vyre_run run = VYRE_RUN_INIT;
    side->after = calloc(trial->count + 1, sizeof(unsigned char *));
    if (!buffers || !side->after) bail("out of memory");
    for (uint32_t i = 0; i < trial->count; i++)
        if (trial->before[i] && !(side->after[i] = malloc((size_t)trial->bytes[i] + 1)))
            bail("out of memory");
    side->status = vyre_program_load_kernel(side->rt, trial->kernel, NULL, &program, &side->err);
    if (!side->status) side->status = pair_fill(side, trial, buffers);
    if (!side->status)
        side->status =
            vyre_bindings_create(program, buffers, trial->count, &run.bindings, &side->err);
    run.program = program;
    memcpy(run.grid, trial->grid, sizeof run.grid);
    run.scalars = trial->scalars;
    run.scalar_count = trial->scalar_count;
    run.queue = side->queue;
    if (!side->status) side->status = pair_submit(side, trial, &run, buffers);
    vyre_bindings_free(run.bindings);
    for (uint32_t i = 0; i < trial->count; i++)
        vyre_buffer_free(buffers[i]);
    free(buffers);
    vyre_program_unload(program, NULL);
    return side->status;
}

static void pair_forget(struct pair_side *side, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(side->after[i]);
    free(side->after);
    side->after = NULL;
}

/* Comparison.
 * ------------------------------------------------------------------------------------------- */

static int pair_order(const void *a, const void *b)
{
    const vyre_log_record *x = a, *y = b;
    if (x->format != y->format) return x->format < y->format ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

/* Records have no order, and their slots are each device's own. */
static bool pair_same_log(const struct trial *trial, struct pair_side *a, struct pair_side *b)
{
    if (a->lost != 0 || b->lost != 0) { /* which ones were lost is not said */
        if (a->lost + a->logged == b->lost + b->logged) return true;
        return same_run_fails(trial->name, "records of the log", a->lost + a->logged,
                              b->lost + b->logged);
    }
    if (a->logged != b->logged)
        return same_run_fails(trial->name, "records of the log", a->logged, b->logged);
    qsort(a->log, a->logged, sizeof a->log[0], pair_order);
    qsort(b->log, b->logged, sizeof b->log[0], pair_order);
    for (size_t i = 0; i < a->logged; i++)
        if (pair_order(&a->log[i], &b->log[i]) != 0)
            return same_run_fails(trial->name, "a record of the log, of its last word", a->log[i].b,
                                  b->log[i].b);
    return true;
}

static bool pair_same(struct pair *pair, const struct trial *trial)
{
    uint64_t groups = (uint64_t)trial->grid[0] * trial->grid[1] * trial->grid[2];
    struct pair_side *a = &pair->cpu, *b = &pair->device;
    uint32_t rules = (groups <= 1 ? SAME_RUN_ALONE : 0) | (pair->patient ? SAME_RUN_PATIENT : 0);
    if (a->status != b->status) {
        note("%s: cpu: %s; device: %s", trial->name,
             a->status ? a->err.message : vyre_status_name(a->status),
             b->status ? b->err.message : vyre_status_name(b->status));
        return false;
    }
    if (a->status) {
        note("%s: it can be run nowhere: %s", trial->name, a->err.message);
        return false;
    }
    if (!same_run_end(trial->name, &a->end, &b->end, rules)) return false;
    if (a->end.outcome != VYRE_DONE && groups > 1) return true;
    if (!pair_same_log(trial, a, b)) return false;
    for (uint32_t i = 0; i < trial->count; i++)
        if (trial->before[i] &&
            !same_run_bytes(trial->name, i, a->after[i], b->after[i], (size_t)trial->bytes[i]))
            return false;
    return true;
}

/* Runs it on both; false, and counted, where they differ. The CPU's end stays in pair->cpu.end. */
TAP_UNUSED static bool pair_run(struct pair *pair, const struct trial *trial)
{
    pair_run_side(&pair->cpu, trial);
    pair_run_side(&pair->device, trial);
    bool same = pair_same(pair, trial);
    pair_forget(&pair->cpu, trial->count);
    pair_forget(&pair->device, trial->count);
    pair->runs++;
    pair->faults += pair->cpu.status == VYRE_OK && pair->cpu.end.outcome != VYRE_DONE;
    pair->wrong += !same;
    return same;
}

#endif
