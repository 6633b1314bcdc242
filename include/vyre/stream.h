/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file stream.h
 * Streams: bytes of files, directory trees, pipes and sockets, read ahead by io_uring into chunks
 * that the device sees; a program runs over each chunk by a slot of its own; results come back in
 * order; memory stays as it was at open.
 *
 *     vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
 *     options.program = program;                                in u8 text[], out u32 count[1]
 *     vyre_stream_open(runtime, &options, &stream, &err);
 *     vyre_stream_add_path(stream, "access.log", &err);
 *     vyre_stream_end(stream, &err);
 *     while (!vyre_stream_next(stream, VYRE_FOREVER, &chunk, &err) && chunk) {
 *         sum += *(const uint32_t *)chunk->result;
 *         vyre_stream_release(stream, chunk);
 *     }
 *     vyre_stream_close(stream);
 *
 * A stream has a queue and a thread of its own. The thread is the only one that talks to the ring
 * and submits; vyre_stream_next reaps. Sources may be added, and the stream paused, cancelled or
 * closed, from any thread at any time, reads under way or not.
 *
 * Backpressure is by chunks: `depth` of them are all there are. One is read into, run over, handed
 * out and released; while none is free nothing is read.
 */
#ifndef VYRE_STREAM_H
#define VYRE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/buffer.h"
#include "vyre/program.h"
#include "vyre/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vyre_stream vyre_stream;

enum vyre_stream_flag {
    VYRE_STREAM_UNORDERED =
        1,                   /**< chunks are handed out as they end, not in the order of reading */
    VYRE_STREAM_DIRECT = 2,  /**< O_DIRECT where the file system allows it; what does not is read
                                through the page cache, and counted so */
    VYRE_STREAM_RECURSE = 4, /**< a path that is a directory is walked */
    VYRE_STREAM_FOLLOW = 8,  /**< symbolic links inside a tree are followed; loops are found */
    VYRE_STREAM_MERGE = 16   /**< small files that lie in one chunk are run over by one slot, as
                                if they were one text; without it each file has slots of its own */
};

/** How bytes are read. */
enum vyre_stream_io {
    VYRE_STREAM_IO_AUTO = 0,  /**< io_uring with what measures best, else what there is: the report
                                 names the choice and its cause */
    VYRE_STREAM_IO_URING = 1, /**< io_uring, or an error that names what forbids it */
    VYRE_STREAM_IO_PREAD = 2  /**< threads that call pread */
};

/** Features of io_uring; what a ring has and why not the others stands in the report. */
enum vyre_stream_ring {
    VYRE_RING_SINGLE_ISSUER = 1,   /**< one thread submits, and runs the completions' work itself */
    VYRE_RING_SQPOLL = 2,          /**< a kernel thread submits */
    VYRE_RING_IOPOLL = 4,          /**< completions are polled for; O_DIRECT alone */
    VYRE_RING_REGISTERED_RING = 8, /**< the ring's own descriptor is registered */
    VYRE_RING_FIXED_BUFFERS = 16,  /**< chunks are registered: READ_FIXED */
    VYRE_RING_FIXED_FILES = 32     /**< files are registered */
};

typedef struct vyre_chunk vyre_chunk;

/** Receives a chunk on the stream's delivery thread, and owns it until vyre_stream_release; any
 * result but 0 cancels the stream. The last call has chunk NULL: all has ended. */
typedef int (*vyre_stream_deliver_fn)(void *ctx, vyre_stream *stream, vyre_chunk *chunk);

/** How to open a stream. Start from VYRE_STREAM_OPTIONS_INIT. */
typedef struct vyre_stream_options {
    uint32_t size;          /**< sizeof(vyre_stream_options) */
    uint32_t flags;         /**< enum vyre_stream_flag */
    uint32_t chunk_bytes;   /**< a multiple of 4096 up to 1 GiB; default 1 MiB */
    uint32_t depth;         /**< chunks, 2..1024, of less than 4 GiB together; default 8 */
    uint32_t overlap_bytes; /**< so many last bytes of a chunk begin the next one of the same file;
                               at most half a chunk; default 0 */
    uint32_t record_bytes;  /**< records of this size are not cut; 0: none */
    int32_t separator;      /**< a byte that ends records, which are not cut; default -1: none */
    uint32_t io;            /**< enum vyre_stream_io; default AUTO */
    uint32_t ring;          /**< enum vyre_stream_ring: those that may be used; default all, of
                               which those are taken that measure better. With io URING those that
                               are named must be had; all, or 0, name none */
    uint32_t threads;       /**< that walk trees, and of PREAD; default 0: as suits the machine */
    uint32_t tenant;        /**< whose slots; default VYRE_TENANT_DEFAULT */
    uint32_t priority;      /**< enum vyre_priority of the slots; default NORMAL */
    vyre_program *program;  /**< runs over each chunk; NULL: chunks are read and handed out */
    vyre_buffer *const *buffers; /**< buffers[i] for buffer i of the program; NULL where the stream
                                    binds its own: exactly one that the program reads and does not
                                    write, the chunk, and at most one that it writes, the result.
                                    May be NULL as a whole */
    uint32_t buffer_count;       /**< as many as the program has, or 0 */
    uint32_t scalar_count;       /**< scalar parameters that go with every slot */
    const uint32_t *scalars;     /**< their bits; copied */
    vyre_stream_deliver_fn deliver; /**< NULL: vyre_stream_next hands out */
    void *deliver_ctx;
    int32_t output;    /**< a descriptor that every result is written to, in the order of reading,
                          by the stream's ring; default -1: none. It stays the caller's */
    uint32_t reserved; /**< 0 */
} vyre_stream_options;

#define VYRE_STREAM_OPTIONS_INIT                                                                   \
    {                                                                                              \
        (uint32_t)sizeof(vyre_stream_options), 0u, 1u << 20, 8u, 0u, 0u, -1, 0u, 0xFFFFFFFFu, 0u,  \
            0u, 2u, 0, 0, 0u, 0u, 0, 0, 0, -1, 0u                                                  \
    }

/**
 * Opens a stream; close it with vyre_stream_close, before the runtime. All memory that it will ever
 * use is taken here, but for the paths of sources that wait.
 *
 * The result of a chunk: a buffer of fixed size has it for each chunk (`out`: zeroed before each
 * run). One without a size has as many elements as the chunk. One that the program also reads
 * (`inout`) is carried from chunk to chunk in the order of reading, starts zeroed or, where it is
 * given in `buffers`, as it is, and shows after each chunk what has been gathered so far.
 *
 * Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE, E_CONFLICT (a record size and a separator, both;
 * UNORDERED with a result that is carried, or with an output; an output without a program),
 * E_UNSUPPORTED (a program of another shape; the fix says which), E_NO_MEMORY, E_LIMIT, E_SYSTEM
 * (io_uring was demanded and cannot be had: the message names the cause, the fix what to change; or
 * the output is no descriptor), E_NOT_PERMITTED (the output cannot be written to), E_STOPPED,
 * E_LOST.
 */
VYRE_API vyre_status vyre_stream_open(vyre *runtime, const vyre_stream_options *options,
                                      vyre_stream **stream, vyre_error *err);

/* Sources. Each has a number, from 0 on, in the order in which they were added or found.
 * --------------------------------------------------------------------------------------------- */

/**
 * Adds a file, a tree (with RECURSE), a FIFO or a device by its path, which is bytes and need not
 * be UTF-8. What is wrong with it shows in its record, not here. Waits while 65,536 sources are not
 * begun. Any thread. Statuses: E_NULL, E_STATE (after vyre_stream_end), E_NO_MEMORY, E_STOPPED
 * (cancelled).
 */
VYRE_API vyre_status vyre_stream_add_path(vyre_stream *stream, const char *path, vyre_error *err);

/** Adds a descriptor, which stays the caller's and must stay open until the stream is closed: a
 * file is read from offset 0, anything else until its end. `name` stands in its chunks; may be
 * NULL. As vyre_stream_add_path; also E_RANGE. */
VYRE_API vyre_status vyre_stream_add_fd(vyre_stream *stream, int fd, const char *name,
                                        vyre_error *err);

/** There will be no more sources: the stream ends after the last of them. Any thread. Statuses:
 * E_NULL. */
VYRE_API vyre_status vyre_stream_end(vyre_stream *stream, vyre_error *err);

/* Chunks.
 * --------------------------------------------------------------------------------------------- */

enum vyre_chunk_flag {
    VYRE_CHUNK_FIRST = 1,    /**< of its file */
    VYRE_CHUNK_LAST = 2,     /**< of its file: its end, or what ended it (status) */
    VYRE_CHUNK_CUT = 4,      /**< ends in the middle of a record that is longer than a chunk */
    VYRE_CHUNK_SHRANK = 8,   /**< LAST: the file was longer when it was opened */
    VYRE_CHUNK_GREW = 16,    /**< LAST: the file was shorter when it was opened; all was read */
    VYRE_CHUNK_SKIPPED = 32, /**< not a source that can be read: a directory without RECURSE, a
                                symbolic link that is not followed, a socket's file */
    VYRE_CHUNK_RAGGED =
        64 /**< the last bytes do not fill an element; the program did not see them */
};

/** One file inside a chunk of several (MERGE). */
typedef struct vyre_piece {
    uint64_t file;
    const char *path;
    uint32_t at;     /**< where in the chunk */
    uint32_t length; /**< bytes; the next piece begins at a multiple of 16, zeros between,
                          or where this one ends if it is empty */
} vyre_piece;

/** A chunk, or the record of a source that gave none; the caller's until vyre_stream_release. */
struct vyre_chunk {
    uint64_t number; /**< in the order of reading, from 0 on */
    uint64_t file;   /**< number of the source */
    const char *path;
    uint64_t offset;  /**< in the file, of the first byte */
    uint32_t length;  /**< bytes */
    uint32_t overlap; /**< the first so many were the last ones of the chunk before */
    uint32_t flags;   /**< enum vyre_chunk_flag */
    int32_t status;   /**< VYRE_OK, or what is wrong: E_SYSTEM with `error` where a call of the
                         system failed (reading, or writing the result), E_INTERNAL never */
    int32_t error;    /**< errno, or 0 */
    uint32_t piece_count;
    const vyre_piece *pieces; /**< MERGE: the files in it, else NULL */
    const void *bytes;        /**< the chunk's bytes; NULL where there are none */
    const void *result;    /**< what the program left; NULL without a program, or after a fault */
    uint64_t result_bytes; /**< its length */
    vyre_completion completion; /**< of its slot; outcome 0 where there was none */
};

/**
 * The next chunk, in order; *chunk is NULL at the end of the stream. One thread at a time.
 * Statuses: E_NULL, E_TIMEOUT, E_STATE (a stream with a deliver function), E_STOPPED (cancelled;
 * chunks that were read are not handed out), E_LOST (the device is gone, or died with a result that
 * is carried), E_SYSTEM (the ring has lost requests).
 */
VYRE_API vyre_status vyre_stream_next(vyre_stream *stream, uint64_t timeout_ns, vyre_chunk **chunk,
                                      vyre_error *err);

/** Gives a chunk back; its bytes, result and path are gone. NULL is allowed. Any thread. */
VYRE_API void vyre_stream_release(vyre_stream *stream, vyre_chunk *chunk);

/** Nothing new is read until vyre_stream_resume; what is under way goes on. Any thread. Statuses:
 * E_NULL. */
VYRE_API vyre_status vyre_stream_pause(vyre_stream *stream, vyre_error *err);
VYRE_API vyre_status vyre_stream_resume(vyre_stream *stream, vyre_error *err);

/** Ends the stream early: reads under way are cancelled, slots end, vyre_stream_next returns
 * E_STOPPED. Any thread; chunks that were handed out stay valid. Statuses: E_NULL. */
VYRE_API vyre_status vyre_stream_cancel(vyre_stream *stream, vyre_error *err);

/** Cancels, waits until neither kernel nor device touches its memory, and frees it. No other thread
 * may use it; chunks that were handed out are gone. Not from inside deliver. NULL is allowed. */
VYRE_API void vyre_stream_close(vyre_stream *stream);

/* The report.
 * --------------------------------------------------------------------------------------------- */

/** Ways that bytes take. */
enum vyre_stream_path {
    VYRE_PATH_DIRECT = 0,    /**< from the device by O_DIRECT into the chunk: no CPU copied them */
    VYRE_PATH_CACHE = 1,     /**< the kernel copied them from the page cache into the chunk */
    VYRE_PATH_STREAM = 2,    /**< the kernel copied them from a pipe or a socket into the chunk */
    VYRE_PATH_BOUNCE = 3,    /**< copied once more by us: overlaps and cut records moved to the next
                                chunk, unaligned tails */
    VYRE_PATH_PACK = 4,      /**< small files, several to a chunk, from the page cache */
    VYRE_PATH_GPUDIRECT = 5, /**< from the disk into the GPU's memory */
    VYRE_PATHS = 6
};

typedef struct vyre_stream_way {
    uint64_t bytes;
    uint64_t operations;
} vyre_stream_way;

/** What a stream has done so far. Start from VYRE_STREAM_REPORT_INIT. */
typedef struct vyre_stream_report {
    uint32_t size;         /**< sizeof(vyre_stream_report) */
    uint32_t io;           /**< enum vyre_stream_io: the way that is used */
    uint32_t ring;         /**< enum vyre_stream_ring: the features that are used */
    uint32_t threads;      /**< the stream's own: reading, walking, delivering */
    uint64_t files_found;  /**< read + failed + skipped + those not ended yet */
    uint64_t files_read;   /**< to their end */
    uint64_t files_failed; /**< of which the record says why */
    uint64_t files_skipped;
    uint64_t chunks;        /**< handed to the device, or out where there is no program */
    uint64_t faulted;       /**< chunks whose slot did not end as done */
    uint64_t bytes;         /**< read; overlaps not counted twice */
    uint64_t bytes_written; /**< to the output */
    uint64_t memory_bytes;  /**< all that the stream holds; does not change */
    uint64_t waits_device;  /**< how often reading waited for the device or the one who releases */
    uint64_t waits_io;      /**< how often the device and the caller waited for reading */
    uint64_t cpu_ns;        /**< CPU time of the stream's threads */
    vyre_stream_way way[VYRE_PATHS];
    char choice[256]; /**< why this way: what was probed, what was refused and by whom */
} vyre_stream_report;

#define VYRE_STREAM_REPORT_INIT                                                                    \
    {                                                                                              \
        (uint32_t)sizeof(vyre_stream_report), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u,  \
            0u, 0u, {{0u, 0u}},                                                                    \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/** Any thread. Statuses: E_NULL, E_SIZE. */
VYRE_API vyre_status vyre_stream_query(vyre_stream *stream, vyre_stream_report *report,
                                       vyre_error *err);

/** The name of a way, such as "direct"; of the path report, JSON and metrics. NULL past the last.
 */
VYRE_API const char *vyre_stream_path_name(uint32_t path);

/** What io_uring offers this process: fills io, ring and choice of *report as a stream with these
 * options would (NULL: the defaults), and opens none. Any thread. Statuses: E_NULL, E_SIZE. */
VYRE_API vyre_status vyre_stream_probe(const vyre_stream_options *options,
                                       vyre_stream_report *report, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
