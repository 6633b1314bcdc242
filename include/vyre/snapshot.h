/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file snapshot.h
 * What the control buffer and the ring say at one moment: counters, the state of every slot, slots
 * grouped into windows; and what two such moments say about progress.
 *
 * Everything here works on bytes and structures in the caller's memory: no runtime, no allocation,
 * no global state. Any thread may call any function on its own structures. The bytes need no
 * alignment; they must not change while a call reads them and must not overlap what it writes.
 * Images of a runtime come from vyre/tenant.h. E_NULL is what every function returns for a required
 * pointer that is missing, and is not repeated below. docs/telemetry.md explains the numbers.
 *
 *     vyre_snapshot_source source = VYRE_SNAPSHOT_SOURCE_INIT;
 *     vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
 *     vyre_snapshot_needs needs;
 *     source.control = control, source.control_bytes = control_bytes;
 *     source.ring = ring, source.ring_bytes = ring_bytes;
 *     vyre_snapshot_measure(&source, &needs, &err);
 *     snapshot.slots = malloc(needs.slots * sizeof *snapshot.slots);
 *     snapshot.slot_room = needs.slots;
 *     vyre_snapshot_decode(&source, &snapshot, NULL, &err);       again and again
 */
#ifndef VYRE_SNAPSHOT_H
#define VYRE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a snapshot.
 * -------------------------------------------------------------------------- */

#define VYRE_SNAPSHOT_TENANTS 32u

/** What the control buffer says. */
typedef struct vyre_snapshot_control {
    uint32_t shutdown;     /**< 1: the word is not 0 */
    uint32_t done_count;   /**< slots executed; counts modulo 2^32 */
    uint32_t epoch;        /**< fences passed */
    uint32_t metric_count; /**< entries of `metrics` that are in use */
    vyre_wire_metric metrics[VYRE_CONTROL_METRIC_COUNT]; /**< counters that are not 0, ascending by
                                                            opcode; the unused entries are 0 */
    uint32_t tenant_fairness[VYRE_SNAPSHOT_TENANTS];
    uint32_t priority_fairness[VYRE_PRIORITIES];
} vyre_snapshot_control;

/** How many slots are in which state. */
typedef struct vyre_occupancy {
    uint32_t empty;
    uint32_t published;
    uint32_t claimed;
    uint32_t done;
    uint32_t wait_io;
    uint32_t yield;
    uint32_t requeue;
    uint32_t fault;
    uint32_t unknown; /**< a status word above 7 */
} vyre_occupancy;

/** One slot, whatever its words say: an empty one shows what was left in it. The first seven
 * members are its words 0 to 6 in their order. */
typedef struct vyre_snapshot_slot {
    uint32_t status; /**< the word as it is; above 7 it is no state of enum vyre_slot_status */
    uint32_t opcode;
    uint32_t tenant;
    uint32_t priority;
    uint32_t args[3];
    uint32_t slot; /**< its index in the ring */
} vyre_snapshot_slot;

/**
 * The slots that share a window id and an opcode. A slot belongs to a window if its opcode is one
 * of the window opcodes, whatever its state. EMPTY and unknown slots are counted by their class and
 * in none of the seven states.
 */
typedef struct vyre_snapshot_window {
    uint32_t ticket; /**< the window id: argument 0 of its slots */
    uint32_t opcode;
    uint32_t tenant;    /**< of the slot with the lowest index; the others may differ */
    uint32_t required;  /**< slots whose argument 1 is VYRE_WINDOW_REQUIRED */
    uint32_t lookahead; /**< slots whose argument 1 is VYRE_WINDOW_LOOKAHEAD */
    uint32_t published;
    uint32_t claimed;
    uint32_t done;
    uint32_t wait_io;
    uint32_t yield;
    uint32_t requeue;
    uint32_t fault;
    uint32_t active; /**< 1: a slot of it is PUBLISHED, CLAIMED, WAIT_IO, YIELD or REQUEUE */
} vyre_snapshot_window;

/** What vyre_snapshot_source.omit may ask for. */
enum vyre_snapshot_omit {
    VYRE_SNAPSHOT_OMIT_SLOTS = 1 /**< no row a slot: occupancy, counters and windows alone */
};

/**
 * A snapshot. Start from VYRE_SNAPSHOT_INIT and give it storage: `slots` and `windows` are arrays
 * of the caller with so many entries as slot_room and window_room say, and may be NULL with room 0.
 * A decode fills everything else, and replaces what the last one left there. A snapshot that was
 * never decoded, or was cleared, is that of a ring without slots.
 */
typedef struct vyre_snapshot {
    uint32_t size;             /**< sizeof(vyre_snapshot), set by the caller */
    uint32_t omitted;          /**< source.omit of the decode */
    vyre_snapshot_slot *slots; /**< storage; slot_count rows, by index */
    vyre_snapshot_window
        *windows;             /**< storage; window_count rows, ascending by ticket, then opcode */
    uint32_t slot_room;       /**< entries of `slots`, set by the caller */
    uint32_t window_room;     /**< entries of `windows`, set by the caller */
    uint32_t slot_count;      /**< rows of `slots`; 0 where they were omitted */
    uint32_t window_count;    /**< rows of `windows` */
    uint32_t scratch_windows; /**< windows that the scratch of the decode had room for */
    uint32_t scratch_opcodes; /**< window opcodes of the decode, repeated ones counted once */
    vyre_occupancy occupancy; /**< of all slots, omitted ones too */
    vyre_snapshot_control control;
} vyre_snapshot;

#define VYRE_SNAPSHOT_INIT                                                                         \
    {                                                                                              \
        (uint32_t)sizeof(vyre_snapshot), 0u, 0, 0, 0u, 0u, 0u, 0u, 0u, 0u,                         \
            {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u},                                                  \
        {                                                                                          \
            0u, 0u, 0u, 0u, {{0u, 0u}}, {0u},                                                      \
            {                                                                                      \
                0u                                                                                 \
            }                                                                                      \
        }                                                                                          \
    }

/** How long the two halves of a decode took. */
typedef struct vyre_snapshot_times {
    uint64_t control_ns;
    uint64_t ring_ns; /**< windows and their order included */
} vyre_snapshot_times;

/** What is decoded, and how. Start from VYRE_SNAPSHOT_SOURCE_INIT. */
typedef struct vyre_snapshot_source {
    uint32_t size; /**< sizeof(vyre_snapshot_source) */
    uint32_t omit; /**< set of enum vyre_snapshot_omit; 0: everything */
    const void *control;
    size_t control_bytes; /**< 640 or more, a multiple of 4; observable words are passed over */
    const void *ring;
    size_t ring_bytes;              /**< a multiple of 64; 0 is a ring without slots */
    const uint32_t *window_opcodes; /**< in any order, repeated ones count once; never written */
    size_t window_opcode_count;     /**< 0: no windows */
    void *scratch;              /**< for windows; any alignment; may serve many snapshots in turn */
    size_t scratch_bytes;       /**< see vyre_snapshot_measure and vyre_snapshot_scratch_size */
    vyre_snapshot_times *times; /**< receives how long a decode that succeeded took; NULL: no clock
                                   is read */
} vyre_snapshot_source;

#define VYRE_SNAPSHOT_SOURCE_INIT                                                                  \
    {                                                                                              \
        (uint32_t)sizeof(vyre_snapshot_source), 0u, 0, 0u, 0, 0u, 0, 0u, 0, 0u, 0                  \
    }

/** The storage that a decode needs. */
typedef struct vyre_snapshot_needs {
    uint32_t slots;       /**< vyre_snapshot.slot_room */
    uint32_t windows;     /**< vyre_snapshot.window_room */
    size_t scratch_bytes; /**< vyre_snapshot_source.scratch_bytes */
} vyre_snapshot_needs;

/* Decode.
 * ------------------------------------------------------------------------------------------- */

/**
 * The storage that is enough for any ring of this length. Each slot might be a window of its own,
 * so with window opcodes `windows` is the number of slots. Statuses: E_SIZE, E_RESERVED, a bad
 * control buffer (E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD, E_WIRE_OVERFLOW), a bad ring
 * (E_WIRE_MISALIGNED, E_WIRE_LENGTH, E_WIRE_OVERFLOW), E_OVERFLOW.
 */
VYRE_API vyre_status vyre_snapshot_measure(const vyre_snapshot_source *source,
                                           vyre_snapshot_needs *needs, vyre_error *err);

/** Bytes of scratch for so many windows and window opcodes; 0 without opcodes. Status: E_OVERFLOW.
 */
VYRE_API vyre_status vyre_snapshot_scratch_size(uint32_t windows, size_t opcodes, size_t *bytes,
                                                vyre_error *err);

/**
 * Decodes both buffers into *snapshot. A call that fails changes nothing in it or in its storage;
 * the scratch may have changed.
 *
 * `needs` may be NULL. It is written by success and by E_TOO_SMALL. Where the windows did not fit,
 * it names numbers that are enough for certain, and may be more than the windows turn out to need;
 * otherwise it is exact.
 *
 * With room for as many windows as there are slots (what vyre_snapshot_measure says) the ring is
 * read once. With less room it is read a second time for the rows of the slots, because none may be
 * written before it is known that the windows fit.
 *
 * Statuses: those of vyre_snapshot_measure, E_TOO_SMALL (the message names what is needed and what
 * was given).
 */
VYRE_API vyre_status vyre_snapshot_decode(const vyre_snapshot_source *source,
                                          vyre_snapshot *snapshot, vyre_snapshot_needs *needs,
                                          vyre_error *err);

/** Decodes the control buffer alone. Statuses: a bad control buffer, as above. */
VYRE_API vyre_status vyre_snapshot_control_decode(const void *bytes, size_t length,
                                                  vyre_snapshot_control *control, vyre_error *err);

/** Drops what was decoded and keeps the storage. Status: E_SIZE. */
VYRE_API vyre_status vyre_snapshot_clear(vyre_snapshot *snapshot, vyre_error *err);

/* Questions to a snapshot.
 * -------------------------------------------------------------------------- */

/** 1 for PUBLISHED, CLAIMED, WAIT_IO, YIELD and REQUEUE, else 0. */
VYRE_API int vyre_slot_status_active(uint32_t status);

/** The name of a status word in small letters, such as "wait_io"; "unknown" above 7. */
VYRE_API const char *vyre_slot_status_name(uint32_t status);

/**
 * Copies the rows of the active slots, by index, into storage for `room` of them; it may be NULL
 * with room 0. *count receives how many there are, with E_TOO_SMALL too; then no row is written.
 * Statuses: E_SIZE, E_TOO_SMALL, E_STATE (the snapshot was decoded without slots).
 */
VYRE_API vyre_status vyre_snapshot_active_slots(const vyre_snapshot *snapshot,
                                                vyre_snapshot_slot *slots, uint32_t room,
                                                uint32_t *count, vyre_error *err);

/** The same for the active windows, by ticket and opcode. Statuses: E_SIZE, E_TOO_SMALL. */
VYRE_API vyre_status vyre_snapshot_active_windows(const vyre_snapshot *snapshot,
                                                  vyre_snapshot_window *windows, uint32_t room,
                                                  uint32_t *count, vyre_error *err);

/** The sum of all nine counters, at most UINT32_MAX; 0 for NULL. */
VYRE_API uint32_t vyre_occupancy_total(const vyre_occupancy *occupancy);

/** The sum of all but empty and done, at most UINT32_MAX; 0 for NULL. */
VYRE_API uint32_t vyre_occupancy_depth(const vyre_occupancy *occupancy);

/* Counters.
 * ------------------------------------------------------------------------------------------ */

/**
 * Figures of one snapshot. Those named gpu_ are the wire format's names: they say how much of the
 * ring is empty, not what the GPU does. ppm: of 1,000,000; bps: of 10,000; rounded down, 0 for a
 * ring without slots.
 */
typedef struct vyre_counters {
    uint32_t total_slots;            /**< vyre_occupancy_total */
    uint32_t queue_depth;            /**< vyre_occupancy_depth */
    uint32_t gpu_idle_slots;         /**< empty slots */
    uint32_t gpu_idle_ppm;           /**< empty slots of all */
    uint32_t frontier_density_bps;   /**< queue_depth of all */
    uint32_t occupancy_proxy_bps;    /**< slots that are not empty of all, done ones included */
    uint32_t drained_slots;          /**< the done count of the control buffer */
    uint32_t unreclaimed_done_slots; /**< slots that are done and not used again */
    uint64_t tenant_fairness_total;
    uint64_t priority_fairness_total;
    uint32_t tenant_fairness_skew; /**< greatest minus least of the tenants that are not 0 */
    uint32_t requeue_slots;
    uint32_t fault_slots;
    uint32_t reserved; /**< 0 */
} vyre_counters;

/** The counters of a snapshot. Status: E_SIZE. */
VYRE_API vyre_status vyre_snapshot_counters(const vyre_snapshot *snapshot, vyre_counters *counters,
                                            vyre_error *err);

/* Health: two snapshots of the same ring.
 * ----------------------------------------------------------- */

/** What happened between two snapshots. All but done_delta is of the later one. */
typedef struct vyre_health {
    uint32_t done_delta; /**< slots executed in between, modulo 2^32 */
    uint32_t queue_depth;
    uint32_t fault_slots;
    uint32_t requeue_slots;
    uint32_t gpu_idle_ppm;
    uint32_t suspected_stall; /**< 1: something waits, nothing was executed, nothing has faulted */
} vyre_health;

/**
 * Compares a snapshot with an earlier one. The caller chooses the time between them; a stall is a
 * suspicion, since one long slot looks the same. The done count wraps: from 9 to 7 in one epoch
 * are 4294967294 slots. An epoch below the earlier one means that the device was started again in
 * between, or that the two were exchanged. Statuses: E_SIZE, E_SNAPSHOT_EPOCH.
 */
VYRE_API vyre_status vyre_health_since(const vyre_snapshot *current, const vyre_snapshot *previous,
                                       vyre_health *health, vyre_error *err);

/* Requeue accounting.
 * -------------------------------------------------------------------------------- */

/** How often work was put back and moved up. All of it stops at its greatest value. Starts as zero
 * bytes. */
typedef struct vyre_requeues {
    uint64_t requeues;        /**< slots that went back into the queue */
    uint64_t aged_promotions; /**< slots that were moved up because of their age */
    uint32_t greatest_age;    /**< of those slots, in the caller's unit */
    uint32_t reserved;        /**< 0 */
} vyre_requeues;

/** Counts a slot of this age that goes back into the queue. */
VYRE_API vyre_status vyre_requeues_note(vyre_requeues *requeues, uint32_t age, vyre_error *err);
/** Counts a slot that was moved up at this age. */
VYRE_API vyre_status vyre_requeues_note_promotion(vyre_requeues *requeues, uint32_t age,
                                                  vyre_error *err);
/**
 * Adds what a snapshot shows: its REQUEUE slots. A ring does not carry ages or promotions; those
 * come from the two calls above and from tasks. Status: E_SIZE.
 */
VYRE_API vyre_status vyre_requeues_add_snapshot(vyre_requeues *requeues,
                                                const vyre_snapshot *snapshot, vyre_error *err);
/** Adds what a count of tasks shows: the sum of their requeue counts and the greatest age. */
VYRE_API vyre_status vyre_requeues_add_tasks(vyre_requeues *requeues, const vyre_wire_tasks *tasks,
                                             vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
