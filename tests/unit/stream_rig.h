/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of streams share: files with random text in a directory of their own, and a reader
 * that holds every chunk against those texts and against the rules of stream.h. Include it first.
 */
#ifndef VYRE_TESTS_STREAM_RIG_H
#define VYRE_TESTS_STREAM_RIG_H

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define RIG_FILES 64

/* A source and what it must give. */
struct rig_file {
    char path[256];
    unsigned char *text;
    uint64_t length;
    int status; /* that its last chunk must have */
    int error;
    uint32_t skipped;
    /* as read so far */
    uint64_t at;
    uint32_t chunks, last;
};

struct rig {
    char directory[64];
    uint64_t seed;
    struct rig_file files[RIG_FILES];
    uint32_t count;
    /* as read so far */
    uint64_t chunks, bytes;
    uint32_t wrong;
};

TAP_UNUSED static void rig_open(struct rig *rig, uint64_t seed)
{
    memset(rig, 0, sizeof *rig);
    rig->seed = seed;
    snprintf(rig->directory, sizeof rig->directory, "/tmp/vyre-stream-XXXXXX");
    if (!mkdtemp(rig->directory)) bail("cannot make %s", rig->directory);
}

TAP_UNUSED static void rig_forget(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->count; i++) {
        free(rig->files[i].text);
        unlink(rig->files[i].path);
    }
    rig->count = 0;
}

TAP_UNUSED static void rig_close(struct rig *rig)
{
    rig_forget(rig);
    if (rmdir(rig->directory) != 0) bail("cannot remove %s", rig->directory);
}

/* Letters, with a line end now and then. */
TAP_UNUSED static unsigned char *rig_text(struct rig *rig, uint64_t length, uint32_t line)
{
    unsigned char *text = malloc(length + 1);
    if (!text) bail("out of memory");
    for (uint64_t i = 0; i < length; i++) {
        uint64_t random = random_next(&rig->seed);
        text[i] = line != 0 && random % line == 0 ? '\n' : (unsigned char)('a' + random % 26);
    }
    return text;
}

/* A source that gives `length` bytes, as yet without a file. */
TAP_UNUSED static struct rig_file *rig_source(struct rig *rig, uint64_t length, uint32_t line)
{
    if (rig->count == RIG_FILES) bail("too many files");
    struct rig_file *file = &rig->files[rig->count];
    memset(file, 0, sizeof *file);
    char path[sizeof file->path];
    snprintf(path, sizeof path, "%s/%03u", rig->directory, rig->count);
    memcpy(file->path, path, sizeof path);
    file->text = rig_text(rig, length, line);
    file->length = length;
    rig->count++;
    return file;
}

TAP_UNUSED static void rig_put(int fd, const unsigned char *text, uint64_t length)
{
    while (length != 0) {
        ssize_t put = write(fd, text, length);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) bail("cannot write: errno %d", errno);
        text += put;
        length -= (uint64_t)put;
    }
}

TAP_UNUSED static struct rig_file *rig_file(struct rig *rig, uint64_t length, uint32_t line)
{
    struct rig_file *file = rig_source(rig, length, line);
    int fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) bail("cannot make %s", file->path);
    rig_put(fd, file->text, length);
    close(fd);
    return file;
}

/* Checking.
 * --------------------------------------------------------------------------------------------- */

/* A rule that a chunk breaks. */
TAP_FORMAT(3, 4)
static void rig_wrong(struct rig *rig, const vyre_chunk *chunk, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (rig->wrong++ < 5)
        note("chunk %" PRIu64 " of file %" PRIu64 " at %" PRIu64 ", %u bytes, overlap %u, flags "
             "0x%x, status %d, error %d: %s",
             chunk->number, chunk->file, chunk->offset, chunk->length, chunk->overlap, chunk->flags,
             chunk->status, chunk->error, text);
}

/* Whether the records of the options are whole. */
TAP_UNUSED static void rig_records(struct rig *rig, const struct rig_file *file,
                                   const vyre_stream_options *options, const vyre_chunk *chunk)
{
    uint64_t end = chunk->offset + chunk->length;
    bool last = (chunk->flags & VYRE_CHUNK_LAST) != 0;
    bool cut = (chunk->flags & VYRE_CHUNK_CUT) != 0;
    bool whole = true;
    if (options->separator >= 0)
        whole = chunk->length != 0 && file->text[end - 1] == options->separator;
    if (options->record_bytes != 0) whole = end % options->record_bytes == 0;
    if (last || chunk->length == 0) {
        if (cut) rig_wrong(rig, chunk, "the last one is said to be cut");
    } else if (whole == cut) {
        rig_wrong(rig, chunk, cut ? "whole, but said to be cut" : "cut, but not said to be");
    }
    if (cut && chunk->length < options->chunk_bytes - options->overlap_bytes &&
        options->record_bytes == 0)
        rig_wrong(rig, chunk, "cut, but not full");
}

TAP_UNUSED static void rig_place(struct rig *rig, struct rig_file *file,
                                 const vyre_stream_options *options, const vyre_chunk *chunk)
{
    bool ordered = (options->flags & VYRE_STREAM_UNORDERED) == 0;
    uint64_t expected = file->at > options->overlap_bytes ? options->overlap_bytes : file->at;
    if (ordered && chunk->offset + chunk->overlap != file->at)
        rig_wrong(rig, chunk, "begins elsewhere than at %" PRIu64, file->at);
    if (ordered && chunk->overlap != expected && chunk->length != 0)
        rig_wrong(rig, chunk, "overlap is not %" PRIu64, expected);
    if (ordered && ((chunk->flags & VYRE_CHUNK_FIRST) != 0) != (file->chunks == 0))
        rig_wrong(rig, chunk, "it is chunk %u of the file", file->chunks);
    if (file->last && (ordered || chunk->flags & VYRE_CHUNK_LAST))
        rig_wrong(rig, chunk, "comes after the last one");
    if (chunk->length > options->chunk_bytes) rig_wrong(rig, chunk, "longer than a chunk");
    if (chunk->offset + chunk->length > file->length)
        rig_wrong(rig, chunk, "past the end, %" PRIu64, file->length);
    else if (chunk->length != 0 &&
             memcmp(chunk->bytes, file->text + chunk->offset, chunk->length) != 0)
        rig_wrong(rig, chunk, "other bytes");
    if ((chunk->length != 0) != (chunk->bytes != NULL)) rig_wrong(rig, chunk, "bytes and length");
    if (chunk->bytes && (uintptr_t)chunk->bytes % 16 != 0) rig_wrong(rig, chunk, "misaligned");
}

/* A chunk that is not of several files. */
TAP_UNUSED static void rig_part(struct rig *rig, const vyre_stream_options *options,
                                const vyre_chunk *chunk)
{
    if (chunk->file >= rig->count) {
        rig_wrong(rig, chunk, "of no file");
        return;
    }
    struct rig_file *file = &rig->files[chunk->file];
    if (strcmp(chunk->path, file->path) != 0) rig_wrong(rig, chunk, "path %s", chunk->path);
    rig_place(rig, file, options, chunk);
    if (chunk->offset + chunk->length <= file->length) rig_records(rig, file, options, chunk);
    file->chunks++;
    file->at += chunk->length - chunk->overlap;
    rig->bytes += chunk->length - chunk->overlap;
    if ((chunk->flags & VYRE_CHUNK_LAST) == 0) {
        if (chunk->status != VYRE_OK) rig_wrong(rig, chunk, "a status, but not the last one");
        return;
    }
    file->last = 1;
    if (file->at != file->length && (options->flags & VYRE_STREAM_UNORDERED) == 0)
        rig_wrong(rig, chunk, "the last, of %" PRIu64, file->length);
    if (chunk->status != file->status || chunk->error != file->error)
        rig_wrong(rig, chunk, "not status %d, error %d", file->status, file->error);
    if (((chunk->flags & VYRE_CHUNK_SKIPPED) != 0) != (file->skipped != 0))
        rig_wrong(rig, chunk, "skipped, or not");
}

/* A chunk of several files. */
TAP_UNUSED static void rig_pieces(struct rig *rig, const vyre_chunk *chunk)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < chunk->piece_count; i++) {
        const vyre_piece *piece = &chunk->pieces[i];
        struct rig_file *file = &rig->files[piece->file];
        const unsigned char *bytes = chunk->bytes;
        if ((piece->length != 0 && piece->at % 16 != 0) || piece->at < at ||
            piece->at + piece->length > chunk->length)
            rig_wrong(rig, chunk, "piece %u lies at %u, %u bytes", i, piece->at, piece->length);
        for (; at < piece->at && piece->length != 0; at++)
            if (bytes[at] != 0) rig_wrong(rig, chunk, "byte %u between pieces", at);
        if (piece->length != file->length ||
            (piece->length != 0 && memcmp(bytes + piece->at, file->text, piece->length) != 0))
            rig_wrong(rig, chunk, "piece %u has other bytes", i);
        if (strcmp(piece->path, file->path) != 0) rig_wrong(rig, chunk, "path of piece %u", i);
        if (file->chunks++ != 0) rig_wrong(rig, chunk, "piece %u came before", i);
        if (piece->length != 0) at = piece->at + piece->length;
        file->last = 1;
        file->at = file->length;
        rig->bytes += piece->length;
    }
    if (at != chunk->length) rig_wrong(rig, chunk, "pieces end at %u", at);
}

TAP_UNUSED static void rig_check(struct rig *rig, const vyre_stream_options *options,
                                 const vyre_chunk *chunk)
{
    if (chunk->number != rig->chunks && (options->flags & VYRE_STREAM_UNORDERED) == 0)
        rig_wrong(rig, chunk, "number is not %" PRIu64, rig->chunks);
    rig->chunks++;
    if (chunk->pieces)
        rig_pieces(rig, chunk);
    else
        rig_part(rig, options, chunk);
}

/* All files, in order, to the stream. */
TAP_UNUSED static void rig_add(struct rig *rig, vyre_stream *stream)
{
    vyre_error err;
    rig->chunks = rig->bytes = rig->wrong = 0;
    for (uint32_t i = 0; i < rig->count; i++) {
        rig->files[i].at = rig->files[i].chunks = rig->files[i].last = 0;
        must(vyre_stream_add_path(stream, rig->files[i].path, &err), &err);
    }
    must(vyre_stream_end(stream, &err), &err);
}

/* Whether the report says what was read. */
TAP_UNUSED static bool rig_report(struct rig *rig, vyre_stream *stream)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;
    uint64_t copied = 0;
    must(vyre_stream_query(stream, &report, &err), &err);
    for (uint32_t i = 0; i < VYRE_PATHS; i++)
        if (i != VYRE_PATH_BOUNCE) copied += report.way[i].bytes;
    if (report.files_found != rig->count ||
        report.files_read + report.files_failed + report.files_skipped != rig->count ||
        report.bytes != rig->bytes || copied < rig->bytes) {
        note("report: %" PRIu64 " found, %" PRIu64 " read, %" PRIu64 " failed, %" PRIu64
             " skipped, %" PRIu64 " bytes, %" PRIu64 " by all ways; %u files, %" PRIu64 " bytes",
             report.files_found, report.files_read, report.files_failed, report.files_skipped,
             report.bytes, copied, rig->count, rig->bytes);
        return false;
    }
    return true;
}

/* Whether every file was read to its end. */
TAP_UNUSED static bool rig_ended(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->count; i++) {
        const struct rig_file *file = &rig->files[i];
        if (file->last && file->at == file->length) continue;
        rig->wrong++;
        note("file %u of %" PRIu64 " bytes: %" PRIu64 " were read", i, file->length, file->at);
    }
    return rig->wrong == 0;
}

/* Reads all that the stream gives and holds it against the files. */
TAP_UNUSED static bool rig_read(struct rig *rig, const vyre_stream_options *options,
                                vyre_stream *stream)
{
    vyre_chunk *chunk;
    vyre_error err;
    for (;;) {
        chunk = NULL;
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        rig_check(rig, options, chunk);
        vyre_stream_release(stream, chunk);
    }
    return rig_report(rig, stream) && rig_ended(rig);
}

/* Opens, reads all files, closes. */
TAP_UNUSED static bool rig_run(struct rig *rig, vyre *runtime, const vyre_stream_options *options)
{
    vyre_stream *stream = NULL;
    vyre_error err;
    must(vyre_stream_open(runtime, options, &stream, &err), &err);
    rig_add(rig, stream);
    bool right = rig_read(rig, options, stream);
    vyre_stream_close(stream);
    return right;
}

#endif
