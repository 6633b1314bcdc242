/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file source.h
 * Sources: files, pipes and sockets that slots read and write. A slot names a source by its handle
 * (vyre_prep_load, the operation LOAD_MISS) and waits without holding a worker, while the pump, a
 * thread of this process, moves the bytes between the source and a buffer. docs/io.md tells the
 * whole of it.
 *
 * The pump is started with the first source and lives until vyre_close. All functions may be called
 * from any thread.
 */
#ifndef VYRE_SOURCE_H
#define VYRE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/queue.h"
#include "vyre/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vyre_source vyre_source;

enum vyre_source_flag {
    VYRE_SOURCE_PARTIAL = 1 /**< a READ ends with the bytes that come first; else it goes on until
                               all have come, or the source has ended */
};

/** How to open a source. Start from VYRE_SOURCE_OPTIONS_INIT. */
typedef struct vyre_source_options {
    uint32_t size;     /**< sizeof(vyre_source_options) */
    int32_t fd;        /**< what is read and written; the source keeps a duplicate of it */
    uint32_t tenant;   /**< whose slots may use it; VYRE_TENANT_ANY: all; default
                          VYRE_TENANT_DEFAULT */
    uint32_t rights;   /**< enum vyre_right; default READ */
    uint32_t flags;    /**< enum vyre_source_flag */
    uint32_t reserved; /**< 0 */
    uint64_t offset;   /**< offset 0 of the source is this byte of the file */
    uint64_t length;   /**< slots may not go past it; 0: there is no such bound */
} vyre_source_options;

#define VYRE_SOURCE_OPTIONS_INIT                                                                   \
    {                                                                                              \
        (uint32_t)sizeof(vyre_source_options), -1, 0u, 1u, 0u, 0u, 0u, 0u                          \
    }

/**
 * Makes a source of a descriptor. What can be read at an offset (files, block devices) is read so;
 * all else (pipes, sockets, terminals) is a stream: its reads are served one after the other in the
 * order in which the device asked for them, and so are its writes. A file that is opened with
 * O_DIRECT is read so; then buffer, offset and length must be aligned as it demands.
 *
 * The caller may close its descriptor afterwards. Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE (no
 * descriptor, a directory, a tenant or right that there is none of; a window of a stream),
 * E_CONFLICT (a right that the descriptor was not opened for; a window that O_APPEND would write
 * past), E_LIMIT (1024 sources), E_NO_MEMORY, E_SYSTEM, E_STATE (paused), E_STOPPED, E_LOST,
 * E_UNSUPPORTED (io_entries was 0; or io_engine was URING, and the message says why it cannot be
 * had).
 */
VYRE_API vyre_status vyre_source_open(vyre *runtime, const vyre_source_options *options,
                                      vyre_source **source, vyre_error *err);

/** The number by which slots name the source; never 0. 0 where source is NULL. */
VYRE_API uint32_t vyre_source_handle(const vyre_source *source);

/**
 * Closes the source. Slots that wait for it end first: one whose bytes are just being moved ends as
 * ever, all others with the fault IO and ECANCELED, and so do slots that name it later, with EBADF.
 * Returns when none is left. NULL is allowed; what is not closed goes with vyre_close.
 */
VYRE_API void vyre_source_close(vyre_source *source);

/** What a slot asks for. Start from VYRE_LOAD_INIT. */
typedef struct vyre_load {
    uint32_t size;   /**< sizeof(vyre_load) */
    uint32_t op;     /**< enum vyre_io_op: READ into the buffer, WRITE from it, FENCE: ends when
                        all earlier ones of its tenant have ended; default READ */
    uint32_t source; /**< vyre_source_handle */
    uint32_t buffer; /**< vyre_buffer_handle; READ needs the right to write it, WRITE to read it */
    uint64_t offset; /**< in the source; of a stream 0 or UINT64_MAX */
    uint64_t at;     /**< in the buffer */
    uint32_t length; /**< in bytes */
    uint32_t prefetch; /**< 1: READ, but only until the system has the bytes at hand: the slot does
                          not wait, and has no buffer; length 0: up to the end. Else 0 */
} vyre_load;

#define VYRE_LOAD_INIT                                                                             \
    {                                                                                              \
        (uint32_t)sizeof(vyre_load), 1u, 0u, 0u, 0u, 0u, 0u, 0u                                    \
    }

/** Result 3 of a slot that moved bytes. */
enum vyre_load_path {
    VYRE_LOAD_STRAIGHT = 1, /**< the system moved them between the source and the buffer */
    VYRE_LOAD_BOUNCED = 2   /**< through a chunk of pinned memory, from where a worker copied them:
                               this process does not see the buffer */
};

/**
 * Prepares a slot that reads or writes a source. Results of its completion: 0 and 1 low and high
 * half of the bytes moved, fewer than asked for only where the source has ended (or, with
 * VYRE_SOURCE_PARTIAL, more were not there), or a fault; 2 the errno of the fault IO; 3 enum
 * vyre_load_path. Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE (op, prefetch).
 */
VYRE_API vyre_status vyre_prep_load(vyre_slot *slot, const vyre_load *load, vyre_error *err);

/** What the pump of a runtime does, and has done. */
typedef struct vyre_pump_report {
    uint32_t size;       /**< sizeof(vyre_pump_report), set by the caller */
    uint32_t engine;     /**< URING or PREAD; AUTO: there is no pump yet */
    uint32_t entries;    /**< requests that can be under way */
    uint32_t underway;   /**< requests that are */
    uint32_t sources;    /**< that are open */
    uint32_t features;   /**< enum vyre_pump_feature */
    uint64_t requests;   /**< taken from the device, cancels not counted */
    uint64_t reads;      /**< of them */
    uint64_t writes;     /**< of them */
    uint64_t prefetches; /**< of them */
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t straight_requests; /**< READs and WRITEs between the source and the buffer itself */
    uint64_t straight_bytes;
    uint64_t fixed_requests; /**< those of them for which the buffer was registered with io_uring */
    uint64_t bounce_requests; /**< READs and WRITEs through chunks; a long slot has several */
    uint64_t bounce_bytes;
    uint64_t failed;    /**< requests that ended with an error of the system */
    uint64_t forbidden; /**< requests that were refused: source, tenant, right or extent */
    uint64_t cancelled; /**< requests whose slot, or source, was to end */
    uint64_t
        short_moves;  /**< moves that brought fewer bytes than asked for, and were gone on with */
    uint64_t retries; /**< moves that were interrupted or found nothing, and were made again */
    uint64_t turns;   /**< how often the pump looked and found something */
    uint64_t sleeps;  /**< and how often it slept */
    uint64_t lost_events; /**< completions that io_uring says it had no room for, or did not take */
    char choice[256];     /**< what was chosen and why, one line */
} vyre_pump_report;

#define VYRE_PUMP_REPORT_INIT                                                                      \
    {                                                                                              \
        (uint32_t)sizeof(vyre_pump_report), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,    \
            0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,                                            \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/** What of io_uring the pump uses. */
enum vyre_pump_feature {
    VYRE_PUMP_DEFERRED = 1,      /**< single issuer with deferred task work */
    VYRE_PUMP_FIXED_FILES = 2,   /**< sources are registered */
    VYRE_PUMP_FIXED_BUFFERS = 4, /**< PINNED buffers are registered, as far as that succeeds */
    VYRE_PUMP_FUTEX = 8          /**< the device wakes it through the ring itself */
};

/** Fills *report. Statuses: E_NULL, E_SIZE. */
VYRE_API vyre_status vyre_pump_read(vyre *runtime, vyre_pump_report *report, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
