/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The state of the pump's engine over io_uring, and how it sleeps. All of it is the pump thread's
 * own, but for the words of the helper.
 */
#ifndef VYRE_INGEST_PUMP_URING_H
#define VYRE_INGEST_PUMP_URING_H

#include "ingest/pump.h"

struct uring {
    struct vyre_ring ring;
    struct pump_op *later; /* operations that found no room in the ring */
    uint32_t waking;       /* the ring waits for the event */
    uint32_t recalls;      /* cancels that found no room */
    uint64_t timer_ns;     /* when the ring's timer goes off; 0: there is none */
    uint32_t timer_index;  /* of that timer: those before it were removed */
    struct __kernel_timespec timer;
    uint32_t futex; /* the kernel waits for the word itself */
    uint32_t helping;
    uint32_t helper_stop; /* (atomic) */
    uint32_t helper_seen; /* the event when it was started */
    pthread_t helper;
    int event_fd;
    uint64_t event_count;
    uint32_t *buffers; /* of each entry of the table the handle, or 0 */
    uint32_t buffer_count;
    uint32_t ended; /* as runtime->io.ended was when the table was last swept */
    uint32_t no_buffers;
};

/* pump_uring_sleep.c
 * ------------------------------------------------------------------------------------------- */

/* Finds out how the device can wake the pump, and starts the helper where it takes one. */
vyre_status vyre_pump_uring_wake_start(struct vyre_pump *pump, vyre_error *err);
/* Ends the helper. The ring is closed. */
void vyre_pump_uring_wake_end(struct vyre_pump *pump);

/* A completion of an event or a timer. */
void vyre_pump_uring_woken(struct vyre_pump *pump, uint32_t index);

/* As the engine's sleep. */
void vyre_pump_uring_sleep(struct vyre_pump *pump, uint32_t seen, uint64_t until_ns);

/* Submits what is prepared, and counts what was lost. */
int vyre_pump_uring_submit(struct vyre_pump *pump, int wait);

#endif
