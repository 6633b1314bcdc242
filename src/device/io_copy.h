/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Copying between a chunk, which the pump sees, and a buffer, which it does not: the work of a
 * worker for a slot that asked for input or output. All lanes of a warp copy; then the entry goes
 * back to the poller.
 */
#ifndef VYRE_DEVICE_IO_COPY_H
#define VYRE_DEVICE_IO_COPY_H

#include "device/io.h"
#include "device/warp.h"

#define DEV_IO_UNROLL 8u /* wide loads of a lane that are under way at once */

/* Copies bytes; the two places are alike modulo DEV_IO_ALIGN. */
DEV_FN void dev_io_move(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
#if defined(__CUDACC__)
    uint32_t lane = dev_lane();
    uint32_t head = (DEV_IO_ALIGN - ((uint32_t)(uintptr_t)to & (DEV_IO_ALIGN - 1))) % DEV_IO_ALIGN;
    if (head > bytes) head = bytes;
    if (lane < head) to[lane] = ((const volatile unsigned char *)from)[lane];
    struct dev_word128 *wide = (struct dev_word128 *)(void *)(to + head);
    const struct dev_word128 *source = (const struct dev_word128 *)(const void *)(from + head);
    uint32_t count = (bytes - head) / DEV_IO_ALIGN, i = lane;
    for (; i + (DEV_IO_UNROLL - 1) * DEV_WARP < count; i += DEV_IO_UNROLL * DEV_WARP) {
        struct dev_word128 word[DEV_IO_UNROLL];
#    pragma unroll
        for (uint32_t k = 0; k < DEV_IO_UNROLL; k++)
            word[k] = dev_load128_relaxed(&source[i + k * DEV_WARP]);
#    pragma unroll
        for (uint32_t k = 0; k < DEV_IO_UNROLL; k++)
            dev_store128_relaxed(&wide[i + k * DEV_WARP], word[k]);
    }
    for (; i < count; i += DEV_WARP)
        dev_store128_relaxed(&wide[i], dev_load128_relaxed(&source[i]));
    uint32_t tail = head + count * DEV_IO_ALIGN + lane;
    if (tail < bytes) to[tail] = ((const volatile unsigned char *)from)[tail];
#else
    __builtin_memcpy(to, from, bytes);
#endif
}

/* Copies the piece of an entry that was popped, and hands it back. */
DEV_NO_INLINE void dev_io_copy(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io *io = &rt->io;
    const struct dev_io_wait *wait = &io->waits[index];
    const uint32_t *arg = dev_io_args(rt, index);
    unsigned char *chunk =
        io->chunks + (size_t)wait->chunk * DEV_IO_CHUNK + dev_io_shift(rt, index);
    unsigned char *buffer = (unsigned char *)(uintptr_t)dev_io_buffer(rt, index)->address +
                            dev_io_pair(&arg[DEV_IO_ARG_AT]) + wait->done;
    if (dev_io_kind(arg) == DEV_IO_READ)
        dev_io_move(buffer, chunk, wait->piece);
    else
        dev_io_move(chunk, buffer, wait->piece);
    dev_fence_both(DEV_SYSTEM); /* what each lane has copied, for whoever hears of it */
    dev_warp_sync();
    DEV_FIRST
    {
        dev_lock(&rt->sched);
        dev_store_relaxed(&rt->inflight[index].slot[VYRE_SLOT_STATUS], VYRE_SLOT_WAIT_IO);
        rt->inflight[index].next = DEV_NONE;
        if (io->back == DEV_NONE)
            dev_store_relaxed(&io->back, index);
        else
            rt->inflight[io->back_last].next = index;
        io->back_last = index;
        dev_unlock(&rt->sched);
    }
    dev_warp_sync();
}

#endif
