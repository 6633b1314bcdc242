/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A number for how everything is laid out that an application and its device host share: structures
 * in shared memory, messages, requests to queue 0. Both say theirs in their HELLO. Two builds of
 * one version that differ there would else talk past each other.
 */
#ifndef VYRE_RUNTIME_LAYOUT_NUMBER_H
#define VYRE_RUNTIME_LAYOUT_NUMBER_H

#include "device/system.h"
#include "runtime/protocol.h"

static inline uint32_t host_layout(void)
{
    static const size_t facts[] = {sizeof(struct dev_page),
                                   offsetof(struct dev_page, poller),
                                   offsetof(struct dev_page, sleepers),
                                   offsetof(struct dev_page, state),
                                   offsetof(struct dev_page, left),
                                   offsetof(struct dev_page, again),
                                   offsetof(struct dev_page, told),
                                   offsetof(struct dev_page, release),
                                   offsetof(struct dev_page, woken_ns),
                                   sizeof(struct dev_queue_page),
                                   offsetof(struct dev_queue_page, bell),
                                   offsetof(struct dev_queue_page, waiter),
                                   offsetof(struct dev_queue_page, watcher),
                                   offsetof(struct dev_queue_page, event),
                                   offsetof(struct dev_queue_page, final_head),
                                   offsetof(struct dev_queue_page, taken),
                                   offsetof(struct dev_queue_page, copied),
                                   sizeof(struct dev_bell),
                                   offsetof(struct dev_bell, tail),
                                   offsetof(struct dev_bell, special),
                                   sizeof(struct dev_params),
                                   offsetof(struct dev_params, ticket),
                                   offsetof(struct dev_params, deadline_ns),
                                   offsetof(struct dev_params, scalar),
                                   DEV_QUEUE_PARAMS_AT,
                                   VYRE_SLOT_BYTES,
                                   VYRE_SLOT_ARGS,
                                   VYRE_COMPLETION_BYTES,
                                   VYRE_COMPLETION_LAP,
                                   DEV_VITALS_AT,
                                   sizeof(struct dev_vitals),
                                   offsetof(struct dev_vitals, beats),
                                   offsetof(struct dev_vitals, beat_ns),
                                   sizeof(struct dev_vital_worker),
                                   offsetof(struct dev_vital_worker, since_ns),
                                   offsetof(struct dev_vital_worker, deadline_ns),
                                   sizeof(struct dev_vital_queue),
                                   offsetof(struct dev_vital_queue, inflight),
                                   sizeof(struct dev_bindings),
                                   sizeof(struct dev_bound),
                                   sizeof(struct dev_inflight),
                                   sizeof(struct dev_log),
                                   sizeof(struct dev_io_page),
                                   offsetof(struct dev_io_page, deadline_ns),
                                   offsetof(struct dev_io_page, answered),
                                   offsetof(struct dev_io_page, event),
                                   sizeof(struct dev_io_request),
                                   offsetof(struct dev_io_request, offset),
                                   sizeof(struct dev_io_answer),
                                   offsetof(struct dev_io_answer, deadline_ns),
                                   DEV_IO_RINGS_AT,
                                   DEV_IO_CHUNK,
                                   DEV_IO_FOLLOWS,
                                   DEV_RIGHT_SEEN,
                                   sizeof(struct host_devices),
                                   sizeof(vyre_caps),
                                   sizeof(vyre_error),
                                   DEV_SYS_REPLAY,
                                   DEV_SYS_IO,
                                   DEV_QUEUE_HELD,
#define HOST_FACT(name, number, type, fds, text) (number), sizeof(type),
                                   HOST_TYPES(HOST_FACT)
#undef HOST_FACT
    };
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        sum = (sum ^ (uint32_t)facts[i]) * 16777619u;
    return sum;
}

#endif
