/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the runtime has to do with input and output that slots ask for: the mapping that device and
 * pump share, the list of buffers that the pump can see, and telling the pump what happens to the
 * device. The pump itself is a room above this one, and leaves its functions here.
 *
 * No buffer is touched by the pump after its slot has ended. The device waits for the pump's
 * answer; where the device itself is gone, `hold` is called before anybody learns how its slots
 * ended, and it returns when the pump has let go of everything.
 */
#ifndef VYRE_RUNTIME_IO_H
#define VYRE_RUNTIME_IO_H

#include <pthread.h>

#include "device/io_ring.h"
#include "runtime/port.h"

/* The request that is furthest past its deadline, or else the one that has waited longest. */
struct vyre_io_oldest {
    uint32_t waiting; /* requests under way */
    uint32_t queue;
    uint32_t tenant;
    uint32_t source;
    uint64_t ticket;
    uint64_t since_ns;
    uint64_t deadline_ns; /* 0: none */
};

/* The pump. All are called from any thread. */
struct vyre_io_pump {
    void (*poke)(void *pump);   /* a device that wakes nobody was woken itself */
    void (*hold)(void *pump);   /* ends all that is under way, and takes no request any more */
    void (*let_go)(void *pump); /* takes requests again, from the beginning of the rings */
    void (*end)(void *pump);    /* the device is gone; frees the pump and all its sources */
    int (*oldest)(void *pump, struct vyre_io_oldest *oldest); /* 0: nothing is under way */
};

/* A buffer that this process sees, by the index of its handle. */
struct vyre_io_buffer {
    uint32_t handle; /* (atomic) 0: none; R20 pairs with A20 in pump_take.c */
    uint32_t pinned; /* its memory is a mapping */
    unsigned char *base;
    uint64_t bytes;
};

struct vyre_io {
    pthread_mutex_t lock; /* one caller makes the pump; before all others */
    struct vyre_block block;
    uint32_t installed;             /* (lock) the device knows the block */
    uint32_t chunks;                /* in the block */
    struct vyre_io_buffer *buffers; /* max_handles of them; NULL until there is a pump */
    const struct vyre_io_pump *calls;
    void *pump;       /* (atomic) NULL: none */
    uint32_t without; /* enum vyre_pump_feature: what tests take away */
    uint32_t fixed;   /* (atomic) the pump has registered buffers, and wants to hear of their end */
    uint32_t ended;   /* (atomic) buffers that have lost their handles */
    const void *system; /* the calls of the system that the next pump makes, of ingest/ring.h; NULL:
                           the system's own. Set by tests */
};

void vyre_io_init(vyre *runtime);
void vyre_io_destroy(vyre *runtime);

/* Makes mapping and list. The first part of making a pump. (io.lock) E_UNSUPPORTED (io_entries is
 * 0), and as for buffers. */
vyre_status vyre_io_make(vyre *runtime, vyre_error *err);

/* The pump runs: the device may ask. (io.lock) E_STATE (paused), E_STOPPED, E_LOST. */
vyre_status vyre_io_install(vyre *runtime, const struct vyre_io_pump *calls, void *pump,
                            vyre_error *err);

/* buffer.c: a buffer has its handle, or loses it. (system.lock) */
void vyre_io_note(vyre *runtime, const vyre_buffer *buffer, int there);

/* As in struct vyre_io_pump; nothing where there is no pump. */
void vyre_io_poke(vyre *runtime);
void vyre_io_hold(vyre *runtime);
void vyre_io_let_go(vyre *runtime);
void vyre_io_end(vyre *runtime);
int vyre_io_oldest(vyre *runtime, struct vyre_io_oldest *oldest);

/* The rings as a device finds them that begins. None has them. */
void vyre_io_reset(vyre *runtime);

#endif
