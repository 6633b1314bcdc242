/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of broken sources share: all that a stream hands out, kept by path and held
 * against the rules of stream.h, and the tests that one source was read, failed or was skipped, and
 * that the counts of the report add up.
 */
#ifndef VYRE_TESTS_STREAM_FAULTS_H
#define VYRE_TESTS_STREAM_FAULTS_H

#include "tree.h"

#include "vyre/stream.h"

/* What came of one source. */
struct caught {
    char *path;
    uint64_t file;
    uint64_t bytes; /* overlaps not counted */
    uint64_t hash;
    uint32_t chunks;
    uint32_t flags; /* of all its chunks */
    int32_t status; /* of the last one */
    int32_t error;
};

struct catch
{
    struct caught *all;
    uint64_t count, room;
    uint64_t chunks, bytes;
    uint32_t wrong; /* broken rules */
};

/* FNV-1a */
#define HASH_START 0xCBF29CE484222325u

TAP_UNUSED static uint64_t hash_bytes(uint64_t hash, const void *bytes, uint64_t length)
{
    const unsigned char *at = bytes;
    for (uint64_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001B3u;
    return hash;
}

/* Bytes that tell their place: every file of tests has these, from its own start on. */
TAP_UNUSED static void fill(void *bytes, uint64_t length, uint32_t start)
{
    for (uint64_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)((start + i) * 167 + (i >> 8) * 13);
}

TAP_UNUSED static unsigned char *filled(uint64_t length, uint32_t start)
{
    unsigned char *bytes = malloc(length + 1);
    if (!bytes) bail("no memory");
    fill(bytes, length, start);
    return bytes;
}

TAP_UNUSED static void make_filled(int at, const char *name, uint64_t length, uint32_t start)
{
    unsigned char *bytes = filled(length, start);
    make_file(at, name, bytes, length);
    free(bytes);
}

/* Catching.
 * ------------------------------------------------------------------------------------------------
 */

TAP_UNUSED static struct caught *catch_entry(struct catch *caught, uint64_t file, const char *path)
{
    for (uint64_t i = caught->count; i > 0; i--)
        if (caught->all[i - 1].file == file) return &caught->all[i - 1];
    if (caught->count == caught->room) {
        caught->room = caught->room * 2 + 64;
        caught->all = realloc(caught->all, caught->room * sizeof *caught->all);
        if (!caught->all) bail("no memory");
    }
    struct caught *entry = &caught->all[caught->count++];
    memset(entry, 0, sizeof *entry);
    entry->file = file;
    entry->path = strdup(path);
    entry->hash = HASH_START;
    return entry;
}

TAP_UNUSED static void catch_rule(struct catch *caught, const vyre_chunk *chunk, bool kept,
                                  const char *rule)
{
    if (kept) return;
    if (caught->wrong++ < 8)
        note("chunk %" PRIu64 " of %s at %" PRIu64 ", %u bytes, flags 0x%x, status %d, error %d: "
             "%s",
             chunk->number, chunk->path, chunk->offset, chunk->length, chunk->flags, chunk->status,
             chunk->error, rule);
}

/* The whole files of a chunk of several (MERGE). */
TAP_UNUSED static void catch_pieces(struct catch *caught, const vyre_chunk *chunk)
{
    catch_rule(caught, chunk, chunk->number == caught->chunks, "numbers are without gaps");
    for (uint32_t i = 0; i < chunk->piece_count; i++) {
        const vyre_piece *piece = &chunk->pieces[i];
        struct caught *entry = catch_entry(caught, piece->file, piece->path);
        bool inside = piece->at <= chunk->length && piece->length <= chunk->length - piece->at;
        catch_rule(caught, chunk, entry->chunks == 0, "a piece of a file that was read before");
        catch_rule(caught, chunk, inside, "a piece that is not in the chunk");
        if (inside && piece->length)
            entry->hash = hash_bytes(entry->hash, (const unsigned char *)chunk->bytes + piece->at,
                                     piece->length);
        entry->bytes = piece->length;
        entry->flags = VYRE_CHUNK_FIRST | VYRE_CHUNK_LAST;
        entry->chunks = 1;
        caught->bytes += piece->length;
    }
    caught->chunks++;
}

/* Keeps what a chunk says, and looks whether it may say so. */
TAP_UNUSED static void catch_chunk(struct catch *caught, const vyre_chunk *chunk)
{
    if (chunk->pieces) {
        catch_pieces(caught, chunk);
        return;
    }
    struct caught *entry = catch_entry(caught, chunk->file, chunk->path);
    const unsigned char *bytes = chunk->bytes;
    bool first = (chunk->flags & VYRE_CHUNK_FIRST) != 0;
    bool last = (chunk->flags & VYRE_CHUNK_LAST) != 0;
    catch_rule(caught, chunk, chunk->number == caught->chunks, "numbers are without gaps");
    catch_rule(caught, chunk, strcmp(entry->path, chunk->path) == 0, "it had another path");
    catch_rule(caught, chunk, (entry->flags & VYRE_CHUNK_LAST) == 0, "comes after the last one");
    catch_rule(caught, chunk, first == (entry->chunks == 0), "FIRST");
    catch_rule(caught, chunk, chunk->offset + chunk->overlap == entry->bytes, "offset");
    catch_rule(caught, chunk, chunk->overlap <= chunk->length, "overlap");
    catch_rule(caught, chunk, (bytes != NULL) == (chunk->length != 0), "bytes and length");
    catch_rule(caught, chunk, chunk->status == VYRE_OK || chunk->status == VYRE_E_SYSTEM, "status");
    catch_rule(caught, chunk, (chunk->error != 0) == (chunk->status == VYRE_E_SYSTEM), "error");
    catch_rule(caught, chunk, chunk->status == VYRE_OK || last || chunk->result_bytes != 0,
               "a status before the last chunk");
    if (bytes)
        entry->hash =
            hash_bytes(entry->hash, bytes + chunk->overlap, chunk->length - chunk->overlap);
    entry->bytes += chunk->length - chunk->overlap;
    entry->flags |= chunk->flags;
    entry->status = chunk->status;
    entry->error = chunk->error;
    entry->chunks++;
    caught->bytes += chunk->length - chunk->overlap;
    caught->chunks++;
}

/* The next chunk is caught and released; false: the stream has ended. */
TAP_UNUSED static bool catch_one(vyre_stream *stream, struct catch *caught)
{
    vyre_chunk *chunk = NULL;
    vyre_error err;
    must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
    if (!chunk) return false;
    catch_chunk(caught, chunk);
    vyre_stream_release(stream, chunk);
    return true;
}

TAP_UNUSED static void catch_rest(vyre_stream *stream, struct catch *caught)
{
    while (catch_one(stream, caught)) {}
}

TAP_UNUSED static void catch_free(struct catch *caught)
{
    for (uint64_t i = 0; i < caught->count; i++)
        free(caught->all[i].path);
    free(caught->all);
    memset(caught, 0, sizeof *caught);
}

TAP_UNUSED static const struct caught *catch_find(const struct catch *caught, const char *path)
{
    static const struct caught none = {.path = NULL};
    for (uint64_t i = 0; i < caught->count; i++)
        if (strcmp(caught->all[i].path, path) == 0) return &caught->all[i];
    return &none;
}

/* Tests.
 * ------------------------------------------------------------------------------------------------
 */

/* How it was read: the name of the way stands in every test. */
static const char *way = "";

/* The last name of a path, as it can be printed. */
TAP_UNUSED static const char *shown(const char *path)
{
    static char text[256];
    const char *name = strrchr(path, '/');
    snprintf(text, sizeof text, "%s", name ? name + 1 : path);
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
    return text;
}

/* Whether a source was read to its end, with these bytes. */
TAP_UNUSED static bool reads_as(const struct catch *caught, const char *path, const void *bytes,
                                uint64_t length)
{
    const struct caught *entry = catch_find(caught, path);
    return entry->path && entry->flags & VYRE_CHUNK_LAST && entry->status == VYRE_OK &&
           !(entry->flags & VYRE_CHUNK_SKIPPED) && entry->bytes == length &&
           entry->hash == hash_bytes(HASH_START, bytes, length);
}

TAP_UNUSED static void say_caught(const struct catch *caught, const char *path)
{
    const struct caught *entry = catch_find(caught, path);
    if (!entry->path)
        note("  there is no record of %s", path);
    else
        note("  %s: %" PRIu64 " bytes in %u chunks, flags 0x%x, status %d, error %d", path,
             entry->bytes, entry->chunks, entry->flags, entry->status, entry->error);
}

/* One test: a file of make_filled was read whole. */
TAP_UNUSED static void was_read(const struct catch *caught, const char *path, uint64_t length,
                                uint32_t start)
{
    unsigned char *bytes = filled(length, start);
    if (!ok(reads_as(caught, path, bytes, length), "%s: %s is read", way, shown(path)))
        say_caught(caught, path);
    free(bytes);
}

/* One test: it failed with this errno. */
TAP_UNUSED static void has_failed(const struct catch *caught, const char *path, int error)
{
    const struct caught *entry = catch_find(caught, path);
    if (!ok(entry->path && entry->flags & VYRE_CHUNK_LAST && entry->status == VYRE_E_SYSTEM &&
                entry->error == error,
            "%s: %s failed: %s", way, shown(path), strerror(error)))
        say_caught(caught, path);
}

TAP_UNUSED static void was_skipped(const struct catch *caught, const char *path)
{
    const struct caught *entry = catch_find(caught, path);
    if (!ok(entry->path && entry->flags & VYRE_CHUNK_LAST && entry->flags & VYRE_CHUNK_SKIPPED &&
                entry->bytes == 0,
            "%s: %s is skipped", way, shown(path)))
        say_caught(caught, path);
}

/* Whether the report agrees with what was caught. */
TAP_UNUSED static bool adds_up(vyre_stream *stream, const struct catch *caught)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;
    uint64_t failed = 0, skipped = 0, ways = 0;
    must(vyre_stream_query(stream, &report, &err), &err);
    for (uint64_t i = 0; i < caught->count; i++) {
        const struct caught *entry = &caught->all[i];
        failed += entry->status != VYRE_OK;
        skipped += entry->status == VYRE_OK && entry->flags & VYRE_CHUNK_SKIPPED;
    }
    for (uint32_t i = 0; i < VYRE_PATHS; i++)
        if (i != VYRE_PATH_BOUNCE) ways += report.way[i].bytes;
    uint64_t read = caught->count - failed - skipped;
    if (caught->wrong == 0 && report.files_found == caught->count && report.files_read == read &&
        report.files_failed == failed && report.files_skipped == skipped &&
        report.bytes == caught->bytes && ways >= caught->bytes)
        return true;
    note("report: %" PRIu64 " found, %" PRIu64 " read, %" PRIu64 " failed, %" PRIu64
         " skipped, %" PRIu64 " bytes, %" PRIu64 " by all ways",
         report.files_found, report.files_read, report.files_failed, report.files_skipped,
         report.bytes, ways);
    note("caught: %" PRIu64 " found, %" PRIu64 " read, %" PRIu64 " failed, %" PRIu64
         " skipped, %" PRIu64 " bytes, %u broken rules",
         caught->count, read, failed, skipped, caught->bytes, caught->wrong);
    return false;
}

/* Streams.
 * ------------------------------------------------------------------------------------------------
 */

TAP_UNUSED static vyre_stream_options small_chunks(uint32_t io)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    options.chunk_bytes = 16384;
    options.depth = 4;
    options.threads = 2;
    options.io = io;
    options.ring = io == VYRE_STREAM_IO_URING ? 0 : 0xFFFFFFFFu;
    return options;
}

TAP_UNUSED static vyre_stream *open_stream(vyre *rt, const vyre_stream_options *options)
{
    vyre_stream *stream = NULL;
    vyre_error err;
    must(vyre_stream_open(rt, options, &stream, &err), &err);
    return stream;
}

TAP_UNUSED static void add_path(vyre_stream *stream, const char *path)
{
    vyre_error err;
    must(vyre_stream_add_path(stream, path, &err), &err);
}

TAP_UNUSED static void end_sources(vyre_stream *stream)
{
    vyre_error err;
    must(vyre_stream_end(stream, &err), &err);
}

/* The last test of a stream: it adds up. Closes it. */
TAP_UNUSED static void finish(vyre_stream *stream, struct catch *caught, const char *what)
{
    ok(adds_up(stream, caught), "%s: %s: read, failed and skipped add up to %" PRIu64, way, what,
       caught->count);
    vyre_stream_close(stream);
    catch_free(caught);
}

/* Whether there is an io_uring for us. */
TAP_UNUSED static bool has_uring(void)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_AUTO);
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;
    must(vyre_stream_probe(&options, &report, &err), &err);
    return report.io == VYRE_STREAM_IO_URING;
}

/* Runs tests once for each way to read. */
TAP_UNUSED static void each_way(vyre *rt, void (*tests)(vyre *rt, uint32_t io))
{
    way = "io_uring";
    if (has_uring())
        tests(rt, VYRE_STREAM_IO_URING);
    else
        skip("there is no io_uring here");
    way = "pread";
    tests(rt, VYRE_STREAM_IO_PREAD);
}

#endif
