/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A stream over sources that are broken, odd or slow: each gives its own record with its own
 * status, and the others are read as if it were not there.
 */
#include "stream_faults.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CHUNK 16384u

/* Files that change while they are read.
 * ------------------------------------------------------------------------------------------------
 */

/* With two chunks in all, not more than these have been read when the first one is handed out. */
static void changing(vyre *rt, uint32_t io, bool shrinks)
{
    const uint64_t before = 64 * CHUNK, after = shrinks ? 20 * CHUNK + 100 : 70 * CHUNK + 100;
    vyre_stream_options options = small_chunks(io);
    struct catch caught = {0};
    options.depth = 2;
    make_filled(scratch.fd, "changing", after > before ? after : before, 0);
    make_filled(scratch.fd, "after", 1000, 7);
    if (truncate(scratch_path("changing"), (off_t)before) != 0) bail("truncate");
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("changing"));
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    vyre_chunk *chunk = NULL;
    vyre_error err;
    must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
    catch_chunk(&caught, chunk);
    if (shrinks) {
        if (truncate(scratch_path("changing"), (off_t)after) != 0) bail("truncate");
    } else {
        make_filled(scratch.fd, "changing.new", after, 0);
        unsigned char *bytes = filled(after, 0);
        int fd = openat(scratch.fd, "changing", O_WRONLY | O_APPEND | O_CLOEXEC);
        if (write(fd, bytes + before, after - before) != (ssize_t)(after - before)) bail("append");
        close(fd);
        free(bytes);
    }
    vyre_stream_release(stream, chunk);
    catch_rest(stream, &caught);
    was_read(&caught, scratch_path("changing"), after, 0);
    uint32_t flags = catch_find(&caught, scratch_path("changing"))->flags;
    ok((flags & (VYRE_CHUNK_SHRANK | VYRE_CHUNK_GREW)) ==
           (shrinks ? VYRE_CHUNK_SHRANK : VYRE_CHUNK_GREW),
       "%s: and its last chunk says that it %s", way, shrinks ? "shrank" : "grew");
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, shrinks ? "a file that shrinks" : "a file that grows");
}

/* All of it goes away: nothing is read past what there was. */
static void emptied(vyre *rt, uint32_t io)
{
    vyre_stream_options options = small_chunks(io);
    struct catch caught = {0};
    options.depth = 2;
    make_filled(scratch.fd, "emptied", 40 * CHUNK, 0);
    make_filled(scratch.fd, "after", 1000, 7);
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("emptied"));
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    if (!catch_one(stream, &caught)) bail("no first chunk");
    if (truncate(scratch_path("emptied"), 0) != 0) bail("truncate");
    catch_rest(stream, &caught);
    const struct caught *entry = catch_find(&caught, scratch_path("emptied"));
    unsigned char *bytes = filled(40 * CHUNK, 0);
    ok(entry->bytes < 40 * CHUNK && entry->flags & VYRE_CHUNK_SHRANK &&
           entry->hash == hash_bytes(HASH_START, bytes, entry->bytes),
       "%s: what was read before is right", way);
    free(bytes);
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, "a file that is emptied");
}

/* Trees.
 * ------------------------------------------------------------------------------------------------
 */

/* A tree that is removed while it is walked: what was found and is gone failed with ENOENT. */
static void removed(vyre *rt, uint32_t io)
{
    vyre_stream_options options = small_chunks(io);
    struct catch caught = {0};
    uint64_t gone = 0, others = 0;
    options.depth = 2;
    options.flags = VYRE_STREAM_RECURSE;
    int fd = make_directory(scratch.fd, "removed");
    for (uint32_t i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%02u", i);
        int child = make_directory(fd, name);
        for (uint32_t k = 0; k < 40; k++) {
            snprintf(name, sizeof name, "f%02u", k);
            make_filled(child, name, 3000, i + k);
        }
        close(child);
    }
    make_filled(scratch.fd, "after", 1000, 7);
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("removed"));
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    if (!catch_one(stream, &caught)) bail("no first chunk");
    tree_empty(&fd);
    unlinkat(scratch.fd, "removed", AT_REMOVEDIR);
    catch_rest(stream, &caught);
    for (uint64_t i = 0; i < caught.count; i++) {
        gone += caught.all[i].error == ENOENT;
        others += caught.all[i].error != 0 && caught.all[i].error != ENOENT;
    }
    ok(gone > 0 && others == 0, "%s: %" PRIu64 " files or directories were gone", way, gone);
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, "a tree that is removed");
    close(fd);
}

static void links(vyre *rt, uint32_t io, bool follow)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    options.flags = VYRE_STREAM_RECURSE | (follow ? VYRE_STREAM_FOLLOW : 0);
    int fd = make_directory(scratch.fd, "links"), child = make_directory(fd, "inner");
    make_filled(child, "file", 5000, 1);
    make_link(child, "up", "..");
    make_link(fd, "circle", "circle");
    make_link(fd, "copy", "inner/file");
    make_link(fd, "gone", "nowhere");
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("links"));
    end_sources(stream);
    catch_rest(stream, &caught);
    was_read(&caught, scratch_path("links/inner/file"), 5000, 1);
    if (follow) {
        was_read(&caught, scratch_path("links/copy"), 5000, 1);
        has_failed(&caught, scratch_path("links/inner/up"), ELOOP);
        has_failed(&caught, scratch_path("links/circle"), ELOOP);
        has_failed(&caught, scratch_path("links/gone"), ENOENT);
    } else {
        was_skipped(&caught, scratch_path("links/copy"));
        was_skipped(&caught, scratch_path("links/inner/up"));
        was_skipped(&caught, scratch_path("links/circle"));
        was_skipped(&caught, scratch_path("links/gone"));
    }
    is_u64(caught.count, 5, "%s: nothing else is found", way);
    finish(stream, &caught, follow ? "links that are followed" : "links that are not");
    close(child);
    tree_empty(&fd);
    unlinkat(scratch.fd, "links", AT_REMOVEDIR);
    close(fd);
}

/* Paths that are longer than the kernel takes at once. */
static void deep(vyre *rt, uint32_t io)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    char name[201];
    uint64_t longest = 0, whole = 0;
    unsigned char *bytes = filled(20000, 3);
    options.flags = VYRE_STREAM_RECURSE;
    memset(name, 'n', sizeof name);
    name[200] = '\0';
    int fd = make_directory(scratch.fd, "deep");
    for (uint32_t i = 0; i < 30; i++) {
        make_file(fd, "small", bytes, 100);
        make_file(fd, "large", bytes, 20000);
        int child = make_directory(fd, name);
        close(fd);
        fd = child;
    }
    close(fd);
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("deep"));
    end_sources(stream);
    catch_rest(stream, &caught);
    for (uint64_t i = 0; i < caught.count; i++) {
        size_t length = strlen(caught.all[i].path);
        uint64_t expected = strcmp(caught.all[i].path + length - 5, "small") == 0 ? 100 : 20000;
        if (length > longest) longest = length;
        whole += caught.all[i].status == VYRE_OK && caught.all[i].bytes == expected &&
                 caught.all[i].hash == hash_bytes(HASH_START, bytes, expected);
    }
    is_u64(whole, 60, "%s: 60 files are read", way);
    ok(longest > PATH_MAX, "%s: the longest path has %" PRIu64 " bytes", way, longest);
    finish(stream, &caught, "a deep tree");
    free(bytes);
    fd = openat(scratch.fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tree_empty(&fd);
    unlinkat(scratch.fd, "deep", AT_REMOVEDIR);
    close(fd);
}

/* Files of every odd kind, with and without a tree around them. */
static void odd(vyre *rt, uint32_t io, bool tree)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    options.flags = tree ? VYRE_STREAM_RECURSE : 0;
    const uint64_t sparse = 40 * CHUNK + 5;
    int fd = make_directory(scratch.fd, "odd");
    make_file(fd, "empty", "", 0);
    make_filled(fd, "name\xff\xfe\x01\n", 3000, 5);
    make_filled(fd, "one chunk", CHUNK, 6);
    close(make_directory(fd, "sub"));
    int hole = openat(fd, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (pwrite(hole, "end", 3, (off_t)sparse - 3) != 3) bail("a sparse file");
    close(hole);
    unsigned char *expected = calloc(1, sparse);
    memcpy(expected + sparse - 3, "end", 3);
    vyre_stream *stream = open_stream(rt, &options);
    const char *names[] = {"empty", "name\xff\xfe\x01\n", "one chunk", "sparse", "sub", "none"};
    if (tree) add_path(stream, scratch_path("odd"));
    for (uint32_t i = 0; i < 6 && !tree; i++)
        add_path(stream, scratch_path("odd/%s", names[i]));
    end_sources(stream);
    catch_rest(stream, &caught);
    was_read(&caught, scratch_path("odd/empty"), 0, 0);
    is_u64(catch_find(&caught, scratch_path("odd/empty"))->chunks, 1, "%s: in one record", way);
    was_read(&caught, scratch_path("odd/%s", names[1]), 3000, 5);
    was_read(&caught, scratch_path("odd/one chunk"), CHUNK, 6);
    ok(reads_as(&caught, scratch_path("odd/sparse"), expected, sparse), "%s: holes are zeros", way);
    if (!tree) was_skipped(&caught, scratch_path("odd/sub"));
    if (!tree) has_failed(&caught, scratch_path("odd/none"), ENOENT);
    is_u64(caught.count, tree ? 4 : 6, "%s: so many sources", way);
    finish(stream, &caught, "odd files");
    free(expected);
    tree_empty(&fd);
    unlinkat(scratch.fd, "odd", AT_REMOVEDIR);
    close(fd);
}

/* The hash of a file by simple reads; *length is 0 where it cannot be read. */
static uint64_t simply(const char *path, uint64_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t hash = HASH_START;
    unsigned char bytes[4096];
    ssize_t got;
    *length = 0;
    while (fd >= 0 && (got = read(fd, bytes, sizeof bytes)) > 0) {
        hash = hash_bytes(hash, bytes, (uint64_t)got);
        *length += (uint64_t)got;
    }
    if (fd >= 0) close(fd);
    return hash;
}

/* Files of the kernel say that they have no bytes, and have some. */
static void size_zero(vyre *rt, uint32_t io)
{
    const char *const paths[] = {"/proc/version", "/proc/self/limits", "/proc/kallsyms"};
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    uint64_t before[3], length, after;
    for (uint32_t i = 0; i < 3; i++)
        before[i] = simply(paths[i], &length);
    vyre_stream *stream = open_stream(rt, &options);
    for (uint32_t i = 0; i < 3; i++)
        add_path(stream, paths[i]);
    end_sources(stream);
    catch_rest(stream, &caught);
    for (uint32_t i = 0; i < 3; i++) {
        const struct caught *entry = catch_find(&caught, paths[i]);
        after = simply(paths[i], &length);
        if (length == 0 || after != before[i]) {
            skip("this file of the kernel cannot be read, or has changed");
            continue;
        }
        if (!ok(entry->path && entry->status == VYRE_OK && entry->bytes == length &&
                    entry->hash == after,
                "%s: %s has %" PRIu64 " bytes", way, paths[i], length))
            say_caught(&caught, paths[i]);
        ok((entry->flags & (VYRE_CHUNK_GREW | VYRE_CHUNK_SHRANK)) == 0,
           "%s: and is not said to have changed", way);
    }
    finish(stream, &caught, "files of the kernel");
}

/* Pipes and sockets.
 * ------------------------------------------------------------------------------------------------
 */

struct writer {
    int fd;
    uint64_t length;
    bool reset;
    pthread_t thread;
};

/* Writes all, and closes the way that is wanted. */
static void *write_all(void *argument)
{
    struct writer *writer = argument;
    unsigned char *bytes = filled(writer->length, 0);
    for (uint64_t at = 0; at < writer->length;) {
        ssize_t put = write(writer->fd, bytes + at, writer->length - at);
        if (put <= 0) break;
        at += (uint64_t)put;
    }
    if (writer->reset) {
        struct linger linger = {1, 0};
        setsockopt(writer->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    close(writer->fd);
    free(bytes);
    return NULL;
}

/* A socket whose other side writes and goes away in order. */
static void closed_socket(vyre *rt, uint32_t io, uint64_t length)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    int pair[2];
    vyre_error err;
    make_filled(scratch.fd, "after", 1000, 7);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) bail("a pair of sockets");
    struct writer writer = {.fd = pair[1], .length = length};
    vyre_stream *stream = open_stream(rt, &options);
    must(vyre_stream_add_fd(stream, pair[0], "/the socket", &err), &err);
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    if (pthread_create(&writer.thread, NULL, write_all, &writer) != 0) bail("a thread");
    catch_rest(stream, &caught);
    pthread_join(writer.thread, NULL);
    was_read(&caught, "/the socket", length, 0);
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, "a socket that is closed");
    close(pair[0]);
}

/* One that is torn down: its record says so. */
static void reset_socket(vyre *rt, uint32_t io)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    vyre_error err;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (struct sockaddr *)&address, &bytes) != 0 ||
        connect(client, (struct sockaddr *)&address, sizeof address) != 0) {
        skip("there is no loopback network here");
        close(server);
        close(client);
        return;
    }
    int peer = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    make_filled(scratch.fd, "after", 1000, 7);
    struct writer writer = {.fd = peer, .length = 0, .reset = true};
    vyre_stream *stream = open_stream(rt, &options);
    must(vyre_stream_add_fd(stream, client, "/torn", &err), &err);
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    write_all(&writer);
    catch_rest(stream, &caught);
    has_failed(&caught, "/torn", ECONNRESET);
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, "a socket that is torn down");
    close(server);
    close(client);
}

/* A FIFO that says nothing for long, and comes first: the others do not wait for it. */
static void slow_fifo(vyre *rt, uint32_t io)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    unsigned char *bytes = filled(3 * CHUNK, 0);
    make_filled(scratch.fd, "small", 1000, 1);
    make_filled(scratch.fd, "large", 10 * CHUNK + 1, 2);
    if (mkfifoat(scratch.fd, "fifo", 0600) != 0) bail("a fifo");
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("fifo"));
    add_path(stream, scratch_path("small"));
    add_path(stream, scratch_path("large"));
    end_sources(stream);
    while (!(catch_find(&caught, scratch_path("small"))->flags & VYRE_CHUNK_LAST) ||
           !(catch_find(&caught, scratch_path("large"))->flags & VYRE_CHUNK_LAST))
        if (!catch_one(stream, &caught)) bail("%s: the stream ended before the FIFO", way);
    ok(catch_find(&caught, scratch_path("fifo"))->path == NULL,
       "%s: the files are read before the FIFO has a writer", way);
    int fd = openat(scratch.fd, "fifo", O_WRONLY | O_CLOEXEC);
    if (fd < 0) bail("the FIFO has no reader");
    uint64_t at = 0;
    for (uint64_t step = 1; at < 3 * CHUNK; step = step * 3 + 1) {
        uint64_t more = step < 3 * CHUNK - at ? step : 3 * CHUNK - at;
        if (write(fd, bytes + at, more) != (ssize_t)more)
            bail("the FIFO does not take %" PRIu64, more);
        at += more;
        breathe();
    }
    close(fd);
    catch_rest(stream, &caught);
    was_read(&caught, scratch_path("fifo"), 3 * CHUNK, 0);
    was_read(&caught, scratch_path("small"), 1000, 1);
    was_read(&caught, scratch_path("large"), 10 * CHUNK + 1, 2);
    finish(stream, &caught, "a slow FIFO");
    unlinkat(scratch.fd, "fifo", 0);
    free(bytes);
}

/* What it is cannot be read: not opened for reading, or closed. */
static void bad_descriptors(vyre *rt, uint32_t io)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    vyre_error err;
    int write_only = openat(scratch.fd, "wo", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (write(write_only, "x", 1) != 1) bail("write");
    int directory = dup(scratch.fd), shut = dup(0);
    close(shut);
    make_filled(scratch.fd, "after", 1000, 7);
    vyre_stream *stream = open_stream(rt, &options);
    must(vyre_stream_add_fd(stream, write_only, "/write only", &err), &err);
    must(vyre_stream_add_fd(stream, 1000000, "/none", &err), &err);
    must(vyre_stream_add_fd(stream, directory, "/directory", &err), &err);
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    catch_rest(stream, &caught);
    has_failed(&caught, "/write only", EBADF);
    has_failed(&caught, "/none", EBADF);
    was_skipped(&caught, "/directory");
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, "descriptors that cannot be read");
    close(write_only);
    close(directory);
}

static void all(vyre *rt, uint32_t io)
{
    uint32_t descriptors = count_descriptors();
    changing(rt, io, true);
    changing(rt, io, false);
    emptied(rt, io);
    removed(rt, io);
    links(rt, io, false);
    links(rt, io, true);
    deep(rt, io);
    odd(rt, io, false);
    odd(rt, io, true);
    size_zero(rt, io);
    closed_socket(rt, io, 0);
    closed_socket(rt, io, 10 * CHUNK + 77);
    reset_socket(rt, io);
    slow_fifo(rt, io);
    bad_descriptors(rt, io);
    is_u64(settle_descriptors(rt, descriptors), descriptors, "%s: no descriptor is left", way);
}

int main(void)
{
    scratch_make();
    vyre *rt = open_cpu(1);
    each_way(rt, all);
    vyre_close(rt);
    return done();
}
