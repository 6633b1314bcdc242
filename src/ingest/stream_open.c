/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Opening and closing. All memory is taken here but for the paths of sources that wait; closing
 * waits until neither kernel nor device touches it.
 */
#include <unistd.h>

#include "ingest/stream.h"
#include "runtime/options.h"

/* The queue holds every slot that can be outstanding. */
static vyre_status open_queue(vyre_stream *stream, vyre_error *err)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    uint64_t records = (uint64_t)stream->options.depth * stream->cell_records;
    if (!stream->shape.program) return VYRE_OK;
    options.slots = (uint32_t)vyre_stream_power(records * (stream->shape.carried ? 4 : 1));
    options.tenant = stream->options.tenant;
    vyre_status status = vyre_queue_open(stream->runtime, &options, &stream->queue, err);
    stream->memory_bytes += dev_queue_bytes(options.slots);
    if (status || (stream->options.flags & VYRE_STREAM_UNORDERED) == 0) return status;
    void *completions = NULL;
    status = vyre_memory_alloc(stream->memory, VYRE_STREAM_REAP, sizeof(vyre_completion),
                               "completions of a stream", &completions, err);
    stream->completions = completions;
    if (!status)
        status = vyre_ticket_map_init(&stream->by_ticket, stream->memory, options.slots, err);
    stream->any = status == VYRE_OK;
    return status;
}

/* Whether files are open that will be closed once they are read. */
static int will_close(void *stream)
{
    return __atomic_load_n(&((vyre_stream *)stream)->files_open, __ATOMIC_RELAXED) != 0;
}

static vyre_status open_walk(vyre_stream *stream, vyre_error *err)
{
    struct vyre_walk_options options = {.memory = stream->memory,
                                        .threads = stream->readers.count,
                                        .roots = VYRE_STREAM_ROOTS,
                                        .wake = vyre_stream_walk_wake,
                                        .will_close = will_close,
                                        .opens = &stream->opens,
                                        .ctx = stream};
    if ((stream->options.flags & VYRE_STREAM_RECURSE) == 0) return VYRE_OK;
    if (stream->options.flags & VYRE_STREAM_FOLLOW) options.flags |= VYRE_WALK_FOLLOW;
    vyre_status status = vyre_walk_open(&options, &stream->walk, err);
    if (status) return status;
    struct vyre_walk_counts counts;
    vyre_walk_query(stream->walk, &counts);
    stream->memory_bytes += counts.bytes;
    return VYRE_OK;
}

/* Opening.
 * --------------------------------------------------------------------------------------------- */

static vyre_status build(vyre_stream *stream, vyre_error *err)
{
    vyre_status status = vyre_stream_shape_make(stream, err);
    if (!status && stream->shape.carried && stream->options.flags & VYRE_STREAM_UNORDERED)
        status =
            vyre_fail_with(err, VYRE_E_CONFLICT, "leave UNORDERED out, or make the result `out`",
                           "the result is carried from chunk to chunk; the stream is unordered");
    if (!status && stream->options.output >= 0 && stream->shape.result == VYRE_STREAM_NONE)
        status = vyre_fail_with(err, VYRE_E_CONFLICT, "give the kernel an `out` buffer",
                                "an output, and a program without a result");
    stream->restarts = vyre_stream_restarts(stream->runtime);
    stream->serial = stream->shape.carried || stream->options.output >= 0;
    if (!status) status = vyre_stream_output_open(stream, err);
    if (!status) status = vyre_stream_size(stream, err);
    if (!status) status = vyre_stream_tables_take(stream, err);
    if (!status) status = vyre_stream_chunks_take(stream, err);
    if (!status) status = vyre_stream_shape_bind(stream, err);
    if (!status) status = open_queue(stream, err);
    if (status) return status;
    vyre_stream_lay_out(stream);
    status = open_walk(stream, err);
    if (!status) status = vyre_stream_engine_start(stream, err);
    if (!status) status = vyre_stream_readers_start(stream, err);
    return status ? status : vyre_stream_delivery_start(stream, err);
}

/* Who wants the spare descriptor waits for no more than the opens that are under way. */
static void init_opens(vyre_stream *stream)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&stream->opens, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

vyre_status vyre_stream_open_calls(vyre *runtime, const vyre_stream_options *given,
                                   const struct vyre_stream_calls *calls, vyre_stream **out,
                                   vyre_error *err)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    void *memory;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!given) return vyre_fail(err, VYRE_E_NULL, "options is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    vyre_status status =
        vyre_options_read(&options, given, sizeof options, "vyre_stream_options", err);
    if (!status) status = vyre_stream_check(&options, err);
    if (status) return status;
    status = vyre_memory_alloc(&runtime->memory, 1, sizeof(vyre_stream), "stream", &memory, err);
    if (status) return status;
    vyre_stream *stream = memory;
    stream->runtime = runtime;
    stream->memory = &runtime->memory;
    stream->calls = calls;
    stream->options = options;
    stream->memory_bytes = sizeof *stream;
    stream->wake_fd = stream->spare_fd = stream->output.fd = -1;
    init_opens(stream);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->room, NULL);
    pthread_mutex_init(&stream->readers.lock, NULL);
    pthread_cond_init(&stream->readers.work, NULL);
    status = build(stream, err);
    if (status)
        vyre_stream_close(stream);
    else
        *out = stream;
    return status;
}

vyre_status vyre_stream_open(vyre *runtime, const vyre_stream_options *options,
                             vyre_stream **stream, vyre_error *err)
{
    return vyre_stream_open_calls(runtime, options, &vyre_stream_system_calls, stream, err);
}

/* Ending.
 * --------------------------------------------------------------------------------------------- */

vyre_status vyre_stream_cancel(vyre_stream *stream, vyre_error *err)
{
    if (!stream) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    vyre_stream_fail(stream, VYRE_E_STOPPED);
    return VYRE_OK;
}

static vyre_status set_paused(vyre_stream *stream, uint32_t paused, vyre_error *err)
{
    if (!stream) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    __atomic_store_n(&stream->paused, paused, __ATOMIC_SEQ_CST);
    vyre_stream_wake(stream);
    return VYRE_OK;
}

vyre_status vyre_stream_pause(vyre_stream *stream, vyre_error *err)
{
    return set_paused(stream, 1, err);
}

vyre_status vyre_stream_resume(vyre_stream *stream, vyre_error *err)
{
    return set_paused(stream, 0, err);
}

/* Files that a stream which ended early has open. */
static void close_files(vyre_stream *stream)
{
    for (uint32_t i = 0; stream->files && i < stream->file_count; i++)
        if (stream->files[i].used && stream->files[i].own) close(stream->files[i].fd);
}

void vyre_stream_close(vyre_stream *stream)
{
    if (!stream) return;
    vyre_stream_fail(stream, VYRE_E_STOPPED);
    vyre_stream_thread_join(&stream->delivery);
    vyre_stream_engine_stop(stream);
    vyre_stream_readers_stop(stream);
    vyre_queue_close(stream->queue);
    vyre_stream_output_close(stream);
    close_files(stream);
    vyre_walk_close(stream->walk);
    if (stream->wake_fd >= 0) close(stream->wake_fd); /* nobody is left who could use it */
    if (stream->spare_fd >= 0) close(stream->spare_fd);
    vyre_stream_shape_free(stream);
    vyre_buffer_free(stream->chunks);
    vyre_stream_sources_free(stream);
    if (stream->any) vyre_ticket_map_destroy(&stream->by_ticket, stream->memory);
    if (stream->completions)
        vyre_memory_free(stream->memory, stream->completions,
                         VYRE_STREAM_REAP * sizeof(vyre_completion));
    vyre_stream_tables_free(stream);
    pthread_rwlock_destroy(&stream->opens);
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->room);
    pthread_mutex_destroy(&stream->readers.lock);
    pthread_cond_destroy(&stream->readers.work);
    vyre_memory_free(stream->memory, stream, sizeof *stream);
}
