/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What options a stream refuses, as far as that needs neither a runtime nor a look at the program.
 */
#include "ingest/stream.h"

#define FLAGS_ALL                                                                                  \
    ((uint32_t)(VYRE_STREAM_UNORDERED | VYRE_STREAM_DIRECT | VYRE_STREAM_RECURSE |                 \
                VYRE_STREAM_FOLLOW | VYRE_STREAM_MERGE))
#define CHUNK_MOST   (1u << 30)
#define DEPTH_MOST   1024u
#define THREADS_MOST 64u

static vyre_status check_sizes(const vyre_stream_options *options, vyre_error *err)
{
    if (options->chunk_bytes == 0 || options->chunk_bytes % VYRE_STREAM_PAGE != 0 ||
        options->chunk_bytes > CHUNK_MOST)
        return vyre_fail_with(err, VYRE_E_RANGE, "use a multiple of 4096, such as 1048576",
                              "chunk_bytes is %u, not a multiple of 4096 up to 1 GiB",
                              options->chunk_bytes);
    if (options->depth < 2 || options->depth > DEPTH_MOST)
        return vyre_fail(err, VYRE_E_RANGE, "depth is %u; 2 to %u chunks", options->depth,
                         DEPTH_MOST);
    if ((uint64_t)options->chunk_bytes * options->depth > UINT32_MAX)
        return vyre_fail_with(err, VYRE_E_RANGE, "use smaller or fewer chunks",
                              "%u chunks of %u bytes; together they may have less than 4 GiB",
                              options->depth, options->chunk_bytes);
    if (options->overlap_bytes > options->chunk_bytes / 2)
        return vyre_fail(err, VYRE_E_RANGE, "overlap_bytes is %u, more than half a chunk of %u",
                         options->overlap_bytes, options->chunk_bytes);
    if (options->separator < -1 || options->separator > 255)
        return vyre_fail(err, VYRE_E_RANGE, "separator is %d; a byte, or -1 for none",
                         options->separator);
    if (options->record_bytes != 0 && options->separator >= 0)
        return vyre_fail(err, VYRE_E_CONFLICT, "records of %u bytes, and records that end with %d",
                         options->record_bytes, options->separator);
    return VYRE_OK;
}

static vyre_status check_ways(const vyre_stream_options *options, vyre_error *err)
{
    if (options->flags & ~FLAGS_ALL)
        return vyre_fail(err, VYRE_E_RESERVED,
                         "flags 0x%x has bits that this version does not know", options->flags);
    if (options->io > VYRE_STREAM_IO_PREAD)
        return vyre_fail(err, VYRE_E_RANGE, "io is %u; 0 chooses, 1 is io_uring, 2 is pread",
                         options->io);
    if (options->threads > THREADS_MOST)
        return vyre_fail(err, VYRE_E_RANGE, "threads is %u, at most %u", options->threads,
                         THREADS_MOST);
    if (options->priority >= VYRE_PRIORITIES)
        return vyre_fail(err, VYRE_E_RANGE, "priority is %u, below %u", options->priority,
                         VYRE_PRIORITIES);
    if (options->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", options->reserved);
    if (options->output < -1)
        return vyre_fail(err, VYRE_E_RANGE, "output is %d; a descriptor, or -1 for none",
                         options->output);
    if (options->output >= 0 && options->flags & VYRE_STREAM_UNORDERED)
        return vyre_fail_with(err, VYRE_E_CONFLICT, "leave UNORDERED or the output out",
                              "an output is written in order; the stream is unordered");
    if (options->output >= 0 && !options->program)
        return vyre_fail_with(err, VYRE_E_CONFLICT, "give a program whose results are written",
                              "an output without a program: there are no results");
    return VYRE_OK;
}

static vyre_status check_program(const vyre_stream_options *options, vyre_error *err)
{
    if (options->buffer_count != 0 && !options->buffers)
        return vyre_fail(err, VYRE_E_NULL, "buffers is null, buffer_count is %u",
                         options->buffer_count);
    if (options->scalar_count != 0 && !options->scalars)
        return vyre_fail(err, VYRE_E_NULL, "scalars is null, scalar_count is %u",
                         options->scalar_count);
    if (!options->program && (options->buffer_count | options->scalar_count) != 0)
        return vyre_fail(err, VYRE_E_NULL, "buffers or scalars, but program is null");
    return VYRE_OK;
}

vyre_status vyre_stream_check(const vyre_stream_options *options, vyre_error *err)
{
    vyre_status status = check_sizes(options, err);
    if (!status) status = check_ways(options, err);
    return status ? status : check_program(options, err);
}
