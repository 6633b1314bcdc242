/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The vitals page as the runtime reads it, and what the watchdog has to say about it. For vitals.c,
 * watchdog.c and stall.c.
 */
#ifndef VYRE_RUNTIME_VITALS_H
#define VYRE_RUNTIME_VITALS_H

#include "runtime/internal.h"
#include "vyre/telemetry.h"

/* Time since the last heartbeat; 0 before the first. */
uint64_t vyre_vitals_age(const vyre *runtime, uint64_t now_ns);

/* Copies a worker's line; whether the worker is at a slot. */
int vyre_vitals_worker(const vyre *runtime, uint32_t worker, struct dev_vital_worker *line);
vyre_vital_worker vyre_vitals_busy(uint32_t worker, const struct dev_vital_worker *line,
                                   uint64_t now_ns);

/* (system.lock) */
vyre_vital_queue vyre_vitals_of_queue(const vyre_queue *queue);

/* Whether nobody looks for work and nobody is at a slot; `busy` is the number of busy workers. */
int vyre_vitals_asleep(const vyre *runtime, uint32_t busy);

/* One look of the watchdog, and what becomes of it. */
struct vyre_sight {
    uint64_t now_ns;
    uint64_t beats;
    uint64_t idle_ns; /* since the last heartbeat, or since somebody waits for the first */
    uint32_t busy;    /* entries of the arrays */
    uint32_t overdue; /* those of them whose slot is long past its deadline */
    vyre_vital_worker *worker;
    uint64_t *since_ns;
    uint64_t *deadline_ns;
    struct vyre_io_oldest io; /* waiting 0: no slot waits for input or output */
};

/* What a device is accused of. */
enum vyre_complaint {
    VYRE_COMPLAINT_STALLED, /* no heartbeat, though there is work */
    VYRE_COMPLAINT_OVERDUE  /* heartbeats, but slots that do not end; the sight has only these */
};

/* stall.c: a report in lines. */

/* Bytes that the text of a report may take. */
size_t vyre_stall_text_bytes(const vyre *runtime);

/* Writes the report; cuts it where there is no room. */
void vyre_stall_text(vyre *runtime, enum vyre_complaint complaint, const struct vyre_sight *sight,
                     char *text, size_t room);

#endif
