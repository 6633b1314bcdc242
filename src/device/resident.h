/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The life of a resident kernel's warps: warp 0 is the poller until the kernel leaves, the others
 * of its block are aides (desk.h), every other warp is a worker that waits for tasks. It takes the
 * place of worker.h where workers cannot sleep and words of the host are far away; what slots do,
 * and what may be done to them, is the same code.
 *
 * The kernel leaves when it was stopped, when nothing has happened for park_ns (it parks, and a
 * submit wakes it), when queue 0 told it to park, or when it has stayed as long as it may
 * (stay_ns). All state that must live on lies in memory; a launch begins where the one before it
 * left.
 */
#ifndef VYRE_DEVICE_RESIDENT_H
#define VYRE_DEVICE_RESIDENT_H

#include "device/io_copy.h"
#include "device/resident_poll.h"
#include "device/short.h"

/* How long a worker naps between two looks at its place, at first and at most. */
#define DEV_NAP_FIRST_NS 20u
#define DEV_NAP_MOST_NS  400u

/* Something else than a frame has been in the room. */
DEV_FN void dev_room_used(struct dev_room *room)
{
    ((struct dev_frame *)(void *)room)->serial = 0;
}

#if defined(__CUDACC__)

/* What a warp shares while it is in a native operation. */
struct dev_native_room {
    struct dev_call call;
    vyre_cuda_call native;
    vyre_cuda_fn run;
};

static_assert(sizeof(struct dev_native_room) <= sizeof(struct dev_room), "it lies there");

/* Runs a native operation with all lanes of the warp. */
DEV_NO_INLINE void dev_resident_native(struct dev_runtime *rt, struct dev_room *room,
                                       uint32_t index)
{
    struct dev_native_room *mine = (struct dev_native_room *)(void *)room;
    struct dev_inflight *entry = &rt->inflight[index];
    const struct dev_handle *operation = &rt->handles[entry->operation];
    uint32_t fault = 0, code = 0;
    DEV_FIRST
    {
        fault = dev_entry_begin(rt, entry, &mine->call);
        mine->run = NULL;
        if (fault == VYRE_FAULT_NONE) {
            dev_native_fill(&mine->native, &mine->call, operation, DEV_WARP);
            dev_call_charge(&mine->call, operation->steps);
            mine->run = dev_native_function(operation);
            if (mine->run == NULL) fault = VYRE_FAULT_UNKNOWN_OPCODE;
        }
    }
    dev_warp_sync();
    if (mine->run != NULL) code = mine->run(&mine->native);
    dev_warp_sync();
    DEV_FIRST
    {
        if (code != 0) {
            mine->call.pc = code;
            fault = VYRE_FAULT_OPERATION;
        }
        dev_entry_finish(rt, index, mine->run != NULL ? &mine->call : NULL, fault);
    }
}

#endif

/* Runs what waits in the run queues. */
DEV_FN void dev_resident_entry(struct dev_runtime *rt, struct dev_room *room, uint32_t worker)
{
    uint32_t index = DEV_NONE, frame = DEV_NONE, program = 0, native = 0, io = 0;
    DEV_FIRST
    {
        index = dev_runq_pop(rt, VYRE_PRIORITY_IDLE, &frame);
        if (index != DEV_NONE) {
            dev_vitals_begin(rt, worker, &rt->inflight[index]);
            program = rt->inflight[index].run != DEV_NONE;
            native = rt->inflight[index].operation != DEV_NONE;
            io = rt->inflight[index].slot[VYRE_SLOT_OPCODE] == VYRE_OP_LOAD_MISS;
        }
    }
    index = dev_warp_first(index);
    if (index == DEV_NONE) return;
    program = dev_warp_first(program);
    native = dev_warp_first(native);
    io = dev_warp_first(io);
    if (io) {
        dev_fence_both(DEV_DEVICE); /* the piece as the poller left it, for all lanes */
        dev_io_copy(rt, index);
    } else if (program) {
        dev_fence_both(DEV_DEVICE); /* what others have left of the run, for all lanes */
        dev_entry_program(rt, index, worker, (struct dev_frame *)(void *)room,
                          dev_warp_first(frame));
    }
#if defined(__CUDACC__)
    else if (native) {
        dev_resident_native(rt, room, index);
        DEV_FIRST dev_room_used(room);
    }
#endif
    else
        DEV_FIRST dev_entry_run(rt, index);
    DEV_FIRST dev_vitals_end(rt, worker);
    dev_warp_sync();
}

/* Joins a run that the poller has told of. */
DEV_FN void dev_resident_join(struct dev_runtime *rt, struct dev_room *room, uint32_t worker,
                              uint32_t index)
{
    const struct dev_run *run = &rt->runs[rt->inflight[index].run];
    uint32_t late = 0;
    DEV_FIRST
    {
        /* All has been handed out: then the slot may have ended. */
        late = run->total != 0 && dev_load64_relaxed(&run->next) >= run->total;
        if (late)
            dev_run_drop(rt, index, 1);
        else
            dev_vitals_begin(rt, worker, &rt->inflight[index]);
    }
    if (dev_warp_first(late)) return;
    dev_entry_program(rt, index, worker, (struct dev_frame *)(void *)room, DEV_NONE);
    DEV_FIRST dev_vitals_end(rt, worker);
    dev_warp_sync();
}

/* Rows lie, or have lain, from there on: a frame that had something there to keep is gone. */
DEV_FN void dev_room_rows(struct dev_room *room, uint32_t at)
{
    DEV_FIRST
    {
        if (((struct dev_frame *)(void *)room)->lasting_bytes > at) dev_room_used(room);
    }
}

/* Runs a chunk. Its rows lie at the end of the room, so that a frame that leaves them the place is
 * still there for the next program of that kind. */
DEV_FN void dev_resident_chunk(struct dev_runtime *rt, struct dev_room *room, uint32_t worker,
                               const struct dev_task *task)
{
    uint32_t at = rt->room_bytes - (uint32_t)sizeof(struct dev_rows);
    struct dev_rows *rows = (struct dev_rows *)(void *)((unsigned char *)room + at);
    dev_room_rows(room, at); /* what ran before */
    struct dev_chunk_rows marks = dev_chunk_read(rt, rows, task);
    if (marks.programs == 0) {
        dev_chunk_run(rt, rows, task, &marks);
    } else {
        dev_chunk_mixed(rt, rows, (struct dev_frame *)(void *)room, task, &marks, worker);
        dev_warp_sync();
        dev_room_rows(room, at); /* what ran in it, and lent them the place */
    }
}

/* Waits for tasks and runs them until it is told to leave. */
DEV_FN void dev_resident_worker(struct dev_runtime *rt, struct dev_room *room, uint32_t worker)
{
    struct dev_handover *ring = rt->handover;
    struct dev_task task;
    DEV_FIRST dev_room_used(room);
    dev_warp_sync();
    for (;;) {
        uint32_t number = 0, nap = DEV_NAP_FIRST_NS;
        DEV_FIRST number = dev_add_relaxed(&ring->claimed, 1);
        number = dev_warp_first(number);
        while (!dev_task_read(ring, number, &task)) {
            dev_nap(nap);
            if (nap < DEV_NAP_MOST_NS) nap *= 2;
        }
        dev_fence_both(DEV_DEVICE); /* A17 pairs with R17 */
        DEV_FIRST dev_add_relaxed(&ring->picked, 1);
        if (task.kind == DEV_TASK_LEAVE) return;
        if (task.kind == DEV_TASK_CHUNK) {
            dev_task_widen(&task, &rt->queues[task.queue]);
            dev_resident_chunk(rt, room, worker, &task);
        } else {
            DEV_FIRST dev_record_write(ring, number, &task, 0);
            if (task.kind == DEV_TASK_RUN)
                dev_resident_join(rt, room, worker, (uint32_t)task.first);
            else
                dev_resident_entry(rt, room, worker);
        }
        dev_warp_sync();
    }
}

/* Runs warp `warp` of a launch until the kernel leaves. The desk is the first block's, all zero but
 * for the number of aides. */
DEV_FN void dev_resident(struct dev_runtime *rt, const struct dev_launch *launch, uint32_t warp,
                         struct dev_room *room, struct dev_desk *desk)
{
    const uint32_t first = launch->block_warps; /* worker */
    const uint32_t aide = dev_aide_number(warp, launch->block_warps);
    if (warp == 0)
        dev_resident_poller(rt, launch, room, desk);
    else if (warp >= first && warp - first < rt->workers)
        dev_resident_worker(rt, room, warp - first);
    else if (warp < first && aide < desk->aides) /* in other blocks a room lies there */
        dev_aide(rt, room, desk, aide, launch->flags & DEV_LAUNCH_CROWDED);
}

#endif
