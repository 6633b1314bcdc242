/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file sketch.h
 * Counting many keys in little memory: count-min sketches, and the five that describe a snapshot.
 *
 * A sketch has `depth` rows of `width` counters. A key is counted in one counter of each row, and
 * its estimate is the least of them: never below the true count, and above it only by what other
 * keys have put into the same counters. With width e/x and depth ln(1/y), rounded up, an estimate
 * exceeds the truth by more than the part x of all that was added with a probability of at most y,
 * as far as the rows scatter keys like chance.
 *
 * Counters stop at UINT64_MAX. The storage is the caller's, so nothing here allocates; any thread
 * may call any function on its own sketches. E_NULL is what every function returns for a required
 * pointer that is missing, and is not repeated below.
 *
 *     uint64_t storage[3 * 16];
 *     vyre_sketch sketch = VYRE_SKETCH_INIT;
 *     sketch.counters = storage, sketch.room = 3 * 16;
 *     vyre_sketch_reshape(&sketch, 3, 16, &err);
 *     vyre_sketch_add(&sketch, opcode, 1, &err);
 */
#ifndef VYRE_SKETCH_H
#define VYRE_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A count-min sketch. Start from VYRE_SKETCH_INIT, give it storage, then vyre_sketch_reshape. */
typedef struct vyre_sketch {
    uint64_t *counters; /**< storage of the caller: `depth` rows of `width` */
    size_t room;        /**< counters that the storage has */
    size_t depth;       /**< set by vyre_sketch_reshape, as is width */
    size_t width;
} vyre_sketch;

#define VYRE_SKETCH_INIT                                                                           \
    {                                                                                              \
        0, 0u, 0u, 0u                                                                              \
    }

/** The counters that a shape takes: depth times width. Statuses: E_RANGE (a side is 0), E_OVERFLOW
 * (their bytes cannot be counted). */
VYRE_API vyre_status vyre_sketch_size(size_t depth, size_t width, size_t *counters,
                                      vyre_error *err);

/** Gives a sketch a shape, the same or another, and sets all its counters to 0. Statuses: E_RANGE,
 * E_OVERFLOW, E_TOO_SMALL (the storage has not that many counters). */
VYRE_API vyre_status vyre_sketch_reshape(vyre_sketch *sketch, size_t depth, size_t width,
                                         vyre_error *err);

/*
 * In all calls below E_STATE means a sketch that has no shape, or one whose shape was not given to
 * it by a reshape.
 */

/** Sets all counters to 0. Status: E_STATE. */
VYRE_API vyre_status vyre_sketch_clear(vyre_sketch *sketch, vyre_error *err);

/** Counts `amount` more of a key; 0 changes nothing. Status: E_STATE. */
VYRE_API vyre_status vyre_sketch_add(vyre_sketch *sketch, uint32_t key, uint64_t amount,
                                     vyre_error *err);

/** How often a key was counted, at least: UINT64_MAX is "that or more". Status: E_STATE. */
VYRE_API vyre_status vyre_sketch_estimate(const vyre_sketch *sketch, uint32_t key,
                                          uint64_t *estimate, vyre_error *err);

/** Adds what another sketch has counted; it may be the same one. Statuses: E_STATE,
 * E_SKETCH_SHAPE (depth or width differ). */
VYRE_API vyre_status vyre_sketch_merge(vyre_sketch *sketch, const vyre_sketch *other,
                                       vyre_error *err);

/* Sketches of snapshots.
 * ----------------------------------------------------------------------------- */

#define VYRE_SKETCHES 5u

/**
 * What snapshots show, as five sketches of one shape. Start from VYRE_SKETCHES_INIT, give it
 * storage for all five, then vyre_sketches_reshape. Each can be asked by vyre_sketch_estimate.
 * Empty slots count as well, with the words that are in them.
 */
typedef struct vyre_sketches {
    uint64_t *counters;        /**< storage of the caller for all five */
    size_t room;               /**< counters that it has */
    vyre_sketch opcode;        /**< slots by opcode */
    vyre_sketch active_opcode; /**< active slots by opcode */
    vyre_sketch tenant;        /**< slots by tenant */
    vyre_sketch status;        /**< slots by their status word as it is */
    vyre_sketch metric;        /**< executed operations by opcode, as the control buffer has them */
    uint64_t total_slots;
    uint64_t active_slots; /**< vyre_slot_status_active */
} vyre_sketches;

#define VYRE_SKETCHES_INIT                                                                         \
    {                                                                                              \
        0, 0u, VYRE_SKETCH_INIT, VYRE_SKETCH_INIT, VYRE_SKETCH_INIT, VYRE_SKETCH_INIT,             \
            VYRE_SKETCH_INIT, 0u, 0u                                                               \
    }

/** The counters that five sketches of a shape take. Statuses: E_RANGE, E_OVERFLOW. */
VYRE_API vyre_status vyre_sketches_size(size_t depth, size_t width, size_t *counters,
                                        vyre_error *err);

/** Gives all five a shape and sets everything to 0. Statuses: E_RANGE, E_OVERFLOW, E_TOO_SMALL. */
VYRE_API vyre_status vyre_sketches_reshape(vyre_sketches *sketches, size_t depth, size_t width,
                                           vyre_error *err);

/** Sets everything to 0. Status: E_STATE. */
VYRE_API vyre_status vyre_sketches_clear(vyre_sketches *sketches, vyre_error *err);

/**
 * Adds a snapshot to what was counted before; vyre_sketches_clear first for that snapshot alone.
 * Statuses: E_STATE (also a snapshot that was decoded without slots), E_SIZE.
 */
VYRE_API vyre_status vyre_sketches_add(vyre_sketches *sketches, const vyre_snapshot *snapshot,
                                       vyre_error *err);

/** Adds what others have counted; they may be the same. Statuses: E_STATE, E_SKETCH_SHAPE. */
VYRE_API vyre_status vyre_sketches_merge(vyre_sketches *sketches, const vyre_sketches *others,
                                         vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
