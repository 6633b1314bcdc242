/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The readers: threads that open what was found and read small files, and that read all files where
 * there is no ring. A job is a cell; until it comes back by the stack of cells that are done, the
 * cell and its items are the reader's.
 */
#include <errno.h>
#include <signal.h>

#include "ingest/stream.h"

/* One call of pread for a cell whose file has no ring. */
static void read_once(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    struct iovec into = {cell->bytes + cell->filled, cell->asked};
    ssize_t got = stream->calls->read(stream->calls->ctx, cell->file->fd, &into,
                                      (int64_t)(cell->offset + cell->filled));
    cell->read_result = got < 0 ? -errno : (int32_t)got;
}

static struct vyre_stream_cell *take(struct vyre_stream_readers *readers)
{
    pthread_mutex_lock(&readers->lock);
    while (!readers->first && !readers->stop)
        pthread_cond_wait(&readers->work, &readers->lock);
    struct vyre_stream_cell *cell = readers->first;
    if (cell) {
        readers->first = cell->next;
        if (!readers->first) readers->last = NULL;
    }
    pthread_mutex_unlock(&readers->lock);
    return cell;
}

static void *read_jobs(void *argument)
{
    vyre_stream *stream = argument;
    struct vyre_stream_cell *cell;
    while ((cell = take(&stream->readers)) != NULL) {
        if (cell->job == VYRE_JOB_OPEN)
            vyre_stream_pack(stream, cell);
        else
            read_once(stream, cell);
        vyre_stream_push(&stream->done, cell);
        vyre_stream_wake(stream);
    }
    return NULL;
}

void vyre_stream_readers_give(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    struct vyre_stream_readers *readers = &stream->readers;
    cell->next = NULL;
    pthread_mutex_lock(&readers->lock);
    if (readers->last)
        readers->last->next = cell;
    else
        readers->first = cell;
    readers->last = cell;
    pthread_cond_signal(&readers->work);
    pthread_mutex_unlock(&readers->lock);
}

vyre_status vyre_stream_thread_start(struct vyre_stream_thread *thread, void *(*run)(void *),
                                     vyre_stream *stream, vyre_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread->thread, NULL, run, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return vyre_fail_errno(err, failed, "starting a thread of a stream");
    thread->started = 1;
    return VYRE_OK;
}

void vyre_stream_thread_join(struct vyre_stream_thread *thread)
{
    if (thread->started) pthread_join(thread->thread, NULL);
    thread->started = 0;
}

vyre_status vyre_stream_readers_start(vyre_stream *stream, vyre_error *err)
{
    struct vyre_stream_readers *readers = &stream->readers;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < readers->count && !status; i++)
        status = vyre_stream_thread_start(&readers->threads[i], read_jobs, stream, err);
    return status;
}

void vyre_stream_readers_stop(vyre_stream *stream)
{
    struct vyre_stream_readers *readers = &stream->readers;
    pthread_mutex_lock(&readers->lock);
    readers->stop = 1;
    pthread_cond_broadcast(&readers->work);
    pthread_mutex_unlock(&readers->lock);
    for (uint32_t i = 0; readers->threads && i < readers->count; i++)
        vyre_stream_thread_join(&readers->threads[i]);
}
