/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The oracle's schedule: workgroups one after the other, x fastest; inside a workgroup every
 * invocation takes one step in turn. A barrier opens when all that have not finished wait at it.
 */
#include "oracle/oracle_inside.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

static void workgroup_start(struct oracle *o)
{
    const struct ir_program *program = o->program;
    const uint32_t *size = program->workgroup;
    memset(o->branch, 0, o->id_count);
    for (uint32_t i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].access == IR_ACCESS_WORKGROUP) memset(o->memory[i], 0, o->bytes[i]);
    for (uint32_t i = 0; i < o->lane_count; i++) {
        struct oracle_lane *lane = &o->lanes[i];
        lane->local[0] = i % size[0];
        lane->local[1] = i / size[0] % size[1];
        lane->local[2] = i / size[0] / size[1];
        lane->waiting = 0;
        lane->declared_count = 0;
        for (uint32_t name = 0; name < program->name_count; name++)
            lane->vars[name].live = 0;
        lane->depth = 1;
        lane->frames[0] = (struct oracle_frame){.next = program->entry.first};
    }
}

/* One step, or as many as the schedule wants; 0 where it can take none. */
static int turn(struct oracle *o, struct oracle_lane *lane)
{
    int progress = 0;
    while (lane->depth != 0 && !lane->waiting && !o->run->error) {
        progress = 1;
        o->run->steps++;
        if (o->run->step_limit != 0 && o->run->steps > o->run->step_limit)
            (void)oracle_fail(o, ORACLE_STEPS, IR_NONE);
        else
            oracle_step(o, lane);
        if (o->run->schedule != ORACLE_ONE_BY_ONE) break;
    }
    return progress;
}

/* A turn for every invocation; 0 where none could take a step. */
static int round_of_turns(struct oracle *o)
{
    int progress = 0, backwards = o->run->schedule == ORACLE_BACKWARDS;
    for (uint32_t i = 0; i < o->lane_count && !o->run->error; i++)
        progress |= turn(o, &o->lanes[backwards ? o->lane_count - 1 - i : i]);
    return progress && !o->run->error;
}

static void workgroup_run(struct oracle *o)
{
    int waiting;
    workgroup_start(o);
    do {
        while (round_of_turns(o))
            continue;
        waiting = 0;
        for (uint32_t i = 0; i < o->lane_count; i++) {
            waiting |= o->lanes[i].waiting && o->lanes[i].depth != 0;
            o->lanes[i].waiting = 0;
        }
    } while (waiting && !o->run->error);
}

static int lanes_make(struct oracle *o)
{
    uint32_t names = o->program->name_count + 1;
    o->lanes = calloc(o->lane_count, sizeof *o->lanes);
    if (o->lanes == NULL) return 0;
    for (uint32_t i = 0; i < o->lane_count; i++) {
        o->lanes[i].vars = calloc(names, sizeof *o->lanes[i].vars);
        o->lanes[i].declared = calloc(names, sizeof *o->lanes[i].declared);
        if (o->lanes[i].vars == NULL || o->lanes[i].declared == NULL) return 0;
    }
    return 1;
}

static int memory_make(struct oracle *o)
{
    const struct ir_program *program = o->program;
    o->memory = calloc(program->buffer_count + 1, sizeof *o->memory);
    o->bytes = calloc(program->buffer_count + 1, sizeof *o->bytes);
    if (o->memory == NULL || o->bytes == NULL) return 0;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const struct ir_buffer *buffer = &program->buffers[i];
        if (buffer->access != IR_ACCESS_WORKGROUP) {
            o->memory[i] = o->run->buffers[i];
            o->bytes[i] = o->run->bytes[i];
            continue;
        }
        struct oracle_width width = oracle_width_of(&buffer->type);
        o->bytes[i] =
            width.bits ? (buffer->count * width.bits + 7) / 8 : buffer->count * width.size;
        o->memory[i] = calloc(1, o->bytes[i] + 1);
        if (o->memory[i] == NULL) return 0;
    }
    return 1;
}

static int make(struct oracle *o, struct oracle_run *run)
{
    const struct ir_program *program = run->program;
    uint64_t lanes = program->workgroup[0];
    lanes *= (uint64_t)program->workgroup[1] * program->workgroup[2];
    if (lanes > UINT32_MAX) return 0;
    o->run = run;
    o->program = program;
    o->lane_count = (uint32_t)lanes;
    o->id_count = program->node_count + program->expr_count + 1;
    o->barrier_inside = calloc(o->id_count, 1);
    o->branch = calloc(o->id_count, 1);
    return o->barrier_inside && o->branch && lanes_make(o) && memory_make(o);
}

static void unmake(struct oracle *o)
{
    for (uint32_t i = 0; o->lanes && i < o->lane_count; i++) {
        oracle_copies_free(&o->lanes[i]);
        free(o->lanes[i].vars);
        free(o->lanes[i].declared);
    }
    for (uint32_t i = 0; o->memory && i < o->program->buffer_count; i++)
        if (o->program->buffers[i].access == IR_ACCESS_WORKGROUP) free(o->memory[i]);
    free(o->lanes);
    free(o->memory);
    free(o->bytes);
    free(o->barrier_inside);
    free(o->branch);
}

static void grid_run(struct oracle *o)
{
    const uint32_t *grid = o->run->grid;
    uint64_t count = (uint64_t)grid[0] * grid[1] * grid[2];
    for (uint64_t i = 0; i < count && !o->run->error; i++) {
        uint64_t at = o->run->schedule == ORACLE_BACKWARDS ? count - 1 - i : i;
        o->group[0] = (uint32_t)(at % grid[0]);
        o->group[1] = (uint32_t)(at / grid[0] % grid[1]);
        o->group[2] = (uint32_t)(at / grid[0] / grid[1]);
        workgroup_run(o);
    }
}

int oracle_run(struct oracle_run *run)
{
    struct oracle o = {0};
    fenv_t caller;
    run->error = ORACLE_OK;
    run->error_id = IR_NONE;
    run->out_of_bounds = 0;
    run->steps = 0;
    /* Whatever rounding and flushing the caller has set. */
    (void)fegetenv(&caller);
    (void)fesetenv(FE_DFL_ENV);
    if (make(&o, run))
        grid_run(&o);
    else
        run->error = ORACLE_NO_MEMORY;
    unmake(&o);
    (void)fesetenv(&caller);
    return (int)run->error;
}

const char *oracle_error_name(enum oracle_error error)
{
    static const char *const names[] = {
        "none",     "kind", "division", "cast",  "index", "id",        "name",  "buffer",
        "operator", "call", "barrier",  "async", "trap",  "statement", "steps", "no memory"};
    return (size_t)error < sizeof names / sizeof names[0] ? names[error] : "unknown";
}
