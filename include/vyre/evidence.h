/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file evidence.h
 * What came back from a device, checked and handed over without a copy (readback); and what was
 * measured about it, with a record of what was not (evidence).
 *
 * Everything here works on structures in the caller's memory: no runtime, no allocation, no clock,
 * no global state. Any thread may call any function on its own structures. E_NULL is what every
 * function returns for a required pointer that is missing, and is not repeated below.
 */
#ifndef VYRE_EVIDENCE_H
#define VYRE_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Readback: the four buffers.
 * ----------------------------------------------------------------------- */

#define VYRE_READBACK_BUFFERS 4u

/** The buffers in the order in which they are passed to a device and come back. */
enum vyre_readback_index {
    VYRE_READBACK_CONTROL = 0,
    VYRE_READBACK_RING = 1,
    VYRE_READBACK_LOG = 2,
    VYRE_READBACK_IO = 3
};

/** The name of a buffer, such as "debug log"; "?" for a number that is none. */
VYRE_API const char *vyre_readback_name(uint32_t index);

/** A piece of the caller's memory, and how much of it is in use. */
typedef struct vyre_readback_buffer {
    void *bytes;   /**< any alignment; may be NULL where room is 0 */
    size_t length; /**< bytes in use */
    size_t room;   /**< bytes that there are */
} vyre_readback_buffer;

/** How many bytes came back. */
typedef struct vyre_readback_counters {
    uint64_t control_bytes;
    uint64_t ring_bytes;
    uint64_t log_bytes;
    uint64_t io_bytes;
    uint64_t total_bytes;
} vyre_readback_counters;

/**
 * Buffers that were accepted. Starts as zero bytes, or with memory of the caller in `buffers` that
 * the first drain hands over to the device's side.
 */
typedef struct vyre_readback {
    vyre_readback_buffer buffers[VYRE_READBACK_BUFFERS]; /**< by enum vyre_readback_index */
    uint32_t slot_count; /**< of the ring, from its length; 0 before the first drain */
    uint32_t reserved;
    vyre_readback_counters counters; /**< of the last drain */
} vyre_readback;

/**
 * Whether these are the four buffers of a ring with slot_count slots, judged by their lengths in
 * the order of the enum: control at least 640 bytes and whole words, ring exactly 64 bytes a slot,
 * debug log exactly 1028 bytes, I/O queue up to 64 whole slots, none included. *counters, which may
 * be NULL, receives their bytes. Statuses: E_READBACK_COUNT (not four), and with the buffer's
 * number as place E_RANGE (length above room), E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD,
 * E_WIRE_LENGTH, E_TOO_SMALL (ring or log shorter than they must be), E_WIRE_IO_SLOTS,
 * E_WIRE_OVERFLOW (more words or slots than the format counts).
 */
VYRE_API vyre_status vyre_readback_check(const vyre_readback_buffer *buffers, size_t count,
                                         uint32_t slot_count, vyre_readback_counters *counters,
                                         vyre_error *err);

/**
 * Takes over what a device has given back: checks `buffers` as above, then exchanges them with
 * those of *readback. No byte is copied. `buffers` then has what *readback had before, to be filled
 * by the next readback; its lengths are 0. If the check fails nothing is exchanged: *readback still
 * shows the last one that was good, and `buffers` is as it was. Statuses as above.
 */
VYRE_API vyre_status vyre_readback_drain(vyre_readback *readback, vyre_readback_buffer *buffers,
                                         size_t count, uint32_t slot_count, vyre_error *err);

/* Evidence: what was measured.
 * ---------------------------------------------------------------------- */

#define VYRE_EVIDENCE_SCHEMA   1u
#define VYRE_EVIDENCE_FAMILIES 4u

/** Families of figures, in the order in which missing ones are named. */
enum vyre_evidence_family {
    VYRE_EVIDENCE_RING = 0,     /**< occupancy and how long its decode took */
    VYRE_EVIDENCE_CONTROL = 1,  /**< how long the decode of the control buffer took */
    VYRE_EVIDENCE_COPY = 2,     /**< bytes copied by the host, and bytes that need not be */
    VYRE_EVIDENCE_RESIDENCY = 3 /**< bytes that stay on the device */
};

/** The name of a family: "ring", "control", "copy", "residency"; "?" for a number that is none. */
VYRE_API const char *vyre_evidence_family_name(uint32_t family);

/**
 * Figures of a runtime. Start from VYRE_EVIDENCE_INIT and let the calls below write it. Which
 * families are there follows from `readings` alone: one is covered if at least one reading of it
 * was noted, whatever its value. Sums stop at their greatest value.
 */
typedef struct vyre_evidence {
    uint32_t size;                             /**< sizeof(vyre_evidence), set by the caller */
    uint32_t schema;                           /**< VYRE_EVIDENCE_SCHEMA */
    uint64_t resident_device_bytes;            /**< of the last reading */
    uint64_t host_copy_bytes;                  /**< sum */
    uint64_t host_copy_avoided_bytes;          /**< sum */
    vyre_occupancy occupancy;                  /**< of the last reading */
    uint32_t reserved;                         /**< 0 */
    uint64_t control_decode_ns;                /**< sum */
    uint64_t ring_decode_ns;                   /**< sum */
    uint32_t readings[VYRE_EVIDENCE_FAMILIES]; /**< by enum vyre_evidence_family */
} vyre_evidence;

#define VYRE_EVIDENCE_INIT                                                                         \
    {                                                                                              \
        (uint32_t)sizeof(vyre_evidence), VYRE_EVIDENCE_SCHEMA, 0u, 0u, 0u,                         \
            {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}, 0u, 0u, 0u,                                      \
        {                                                                                          \
            0u, 0u, 0u, 0u                                                                         \
        }                                                                                          \
    }

/**
 * Notes a decode: a reading of RING and one of CONTROL. `times` is what vyre_snapshot_source.times
 * received by the decode of this snapshot; a decode without a clock is no reading. Status: E_SIZE.
 */
VYRE_API vyre_status vyre_evidence_note_decode(vyre_evidence *evidence,
                                               const vyre_snapshot *snapshot,
                                               const vyre_snapshot_times *times, vyre_error *err);

/** Notes bytes that the host has copied, and bytes that it would have copied elsewhere and had not
 * to. Status: E_SIZE. */
VYRE_API vyre_status vyre_evidence_note_copy(vyre_evidence *evidence, uint64_t copied_bytes,
                                             uint64_t avoided_bytes, vyre_error *err);

/** Notes the last drain: none of its bytes were copied. Statuses: E_SIZE, E_STATE (there was none).
 */
VYRE_API vyre_status vyre_evidence_note_readback(vyre_evidence *evidence,
                                                 const vyre_readback *readback, vyre_error *err);

/** Notes how many bytes stay on the device, such as vyre_description.buffer_bytes. Status: E_SIZE.
 */
VYRE_API vyre_status vyre_evidence_note_residency(vyre_evidence *evidence, uint64_t device_bytes,
                                                  vyre_error *err);

/** The families without a reading, in their order; `families` has room for
 * VYRE_EVIDENCE_FAMILIES. Status: E_SIZE. */
VYRE_API vyre_status vyre_evidence_missing(const vyre_evidence *evidence, uint32_t *families,
                                           uint32_t *count, vyre_error *err);

/** 1: this schema, and no family is missing. 0 otherwise, for NULL too. */
VYRE_API int vyre_evidence_complete(const vyre_evidence *evidence);

/** Copies avoided of all that would have been, in 1/10,000, rounded down; 0 where there were none,
 * and for NULL. */
VYRE_API uint32_t vyre_evidence_copy_avoidance_bps(const vyre_evidence *evidence);

/* Evidence of a decode's storage.
 * ------------------------------------------------------------------- */

/** What a decode needed of its storage, and what it was given. */
typedef struct vyre_decode_evidence {
    uint32_t size;               /**< sizeof(vyre_decode_evidence), set by the caller */
    uint32_t schema;             /**< VYRE_EVIDENCE_SCHEMA */
    uint32_t decoded_slot_count; /**< rows that are there */
    uint32_t slot_output_needed; /**< rows that the decode needed room for */
    uint32_t slot_output_capacity;
    uint32_t decoded_window_count;
    uint32_t window_output_needed;
    uint32_t window_output_capacity;
    uint32_t window_opcode_scratch_capacity;
    uint32_t window_accumulator_scratch_capacity;
    uint32_t uses_caller_owned_scratch; /**< 1: all rows lie in storage that the caller gave */
    uint32_t reserved;                  /**< 0 */
} vyre_decode_evidence;

#define VYRE_DECODE_EVIDENCE_INIT                                                                  \
    {                                                                                              \
        (uint32_t)sizeof(vyre_decode_evidence), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u         \
    }

/**
 * Describes the storage of a snapshot. `needs` is what vyre_snapshot_decode wrote, also by
 * E_TOO_SMALL; NULL: what was decoded is what was needed. Status: E_SIZE.
 */
VYRE_API vyre_status vyre_decode_evidence_read(const vyre_snapshot *snapshot,
                                               const vyre_snapshot_needs *needs,
                                               vyre_decode_evidence *evidence, vyre_error *err);

/** 1: this schema, storage of the caller, and room for all slots and windows that were decoded or
 * needed, in the scratch as well. 0 otherwise, for NULL too. */
VYRE_API int vyre_decode_evidence_complete(const vyre_decode_evidence *evidence);

#ifdef __cplusplus
}
#endif

#endif
