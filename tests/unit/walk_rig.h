/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of the walker share: a tree as text, one line a record, written by a simple reader
 * and by the walker; both must agree byte for byte.
 *
 *     R path        a regular file; D directory, L link, F fifo, S socket, C B devices, U unknown
 *     D!13 path     with this errno
 *     E 7           the end of root 7
 */
#ifndef VYRE_TESTS_WALK_RIG_H
#define VYRE_TESTS_WALK_RIG_H

#include "meter.h"
#include "tree.h"

#include "ingest/walk.h"

struct text {
    char *bytes;
    size_t length, room;
    uint64_t lines;
};

TAP_UNUSED static void text_line(struct text *text, const char *line, size_t length)
{
    while (text->length + length + 2 > text->room) {
        text->room = text->room * 2 + 4096;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes) bail("no memory");
    }
    memcpy(text->bytes + text->length, line, length);
    text->length += length;
    text->bytes[text->length++] = '\n';
    text->bytes[text->length] = '\0';
    text->lines++;
}

TAP_FORMAT(2, 3) static void text_add(struct text *text, const char *format, ...)
{
    static char line[VYRE_WALK_PATH_BYTES + 64];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_line(text, line, (size_t)length);
}

TAP_UNUSED static void text_free(struct text *text)
{
    free(text->bytes);
    memset(text, 0, sizeof *text);
}

/* One test: the texts are the same. Frees the first one. */
TAP_FORMAT(4, 5)
static int tap_same_text(struct text *got, const struct text *expected, const char *place,
                         const char *format, ...)
{
    const char *a = got->bytes ? got->bytes : "", *b = expected->bytes ? expected->bytes : "";
    int same = got->length == expected->length && strcmp(a, b) == 0;
    va_list args;
    va_start(args, format);
    tap_result(same, place, format, args);
    va_end(args);
    if (!same) {
        size_t at = 0, line = 0;
        for (; a[at] && a[at] == b[at]; at++) {
            if (a[at] == '\n') line = at + 1;
        }
        printf("#   %" PRIu64 " lines, expected %" PRIu64 "; got \"%.*s\", expected \"%.*s\"\n",
               got->lines, expected->lines, (int)strcspn(a + line, "\n"), a + line,
               (int)strcspn(b + line, "\n"), b + line);
    }
    text_free(got);
    return same;
}

#define same_text(got, expected, ...) tap_same_text((got), (expected), TAP_PLACE, __VA_ARGS__)

static char kind_letter(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return 'R';
    case S_IFDIR:
        return 'D';
    case S_IFLNK:
        return 'L';
    case S_IFIFO:
        return 'F';
    case S_IFSOCK:
        return 'S';
    case S_IFCHR:
        return 'C';
    default:
        return 'B';
    }
}

/* What the walker must say about the tree at `fd`, links not followed. */
TAP_UNUSED static void expect_tree(struct text *text, int fd, const char *path)
{
    uint32_t count = 0;
    char **names = tree_names(fd, &count);
    const char *slash = *path && path[strlen(path) - 1] == '/' ? "" : "/";
    for (uint32_t i = 0; i < count; i++) {
        struct stat status;
        if (fstatat(fd, names[i], &status, AT_SYMLINK_NOFOLLOW) != 0) bail("stat %s", names[i]);
        if (S_ISDIR(status.st_mode)) {
            size_t bytes = strlen(path) + strlen(names[i]) + 2;
            char *below = malloc(bytes);
            int child = openat(fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (!below || child < 0) bail("open %s", names[i]);
            snprintf(below, bytes, "%s%s%s", path, slash, names[i]);
            expect_tree(text, child, below);
            close(child);
            free(below);
        } else {
            text_add(text, "%c %s%s%s", kind_letter(status.st_mode), path, slash, names[i]);
        }
        free(names[i]);
    }
    free(names);
}

/* Trees.
 * ------------------------------------------------------------------------------------------------
 */

/* A name of random bytes, without NUL and slash. */
TAP_UNUSED static void random_name(uint64_t *seed, char *name, uint32_t most)
{
    uint32_t bytes = 1 + random_below(seed, most);
    for (uint32_t i = 0; i < bytes; i++) {
        do
            name[i] = (char)random_below(seed, random_below(seed, 2) ? 256 : 128);
        while (name[i] == '\0' || name[i] == '/');
    }
    name[bytes] = '\0';
    if (name[0] == '.') name[0] = 'd';
}

TAP_UNUSED static void random_tree(uint64_t *seed, int fd, uint32_t levels)
{
    uint32_t entries = random_below(seed, 24);
    for (uint32_t i = 0; i < entries; i++) {
        char name[64];
        random_name(seed, name, random_below(seed, 3) ? 12 : 60);
        uint32_t what = random_below(seed, 8);
        if (faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
        if (what < 3 && levels) {
            int child = make_directory(fd, name);
            random_tree(seed, child, levels - 1);
            close(child);
        } else if (what == 3) {
            make_link(fd, name, what & 1 ? "nowhere" : "..");
        } else if (what == 4) {
            if (mkfifoat(fd, name, 0600) != 0) bail("mkfifo");
        } else {
            make_file(fd, name, "x", 1);
        }
    }
}

/* A random tree in the scratch directory, opened. */
TAP_UNUSED static int make_random(const char *top, uint64_t seed)
{
    int fd = make_directory(scratch.fd, top);
    do
        random_tree(&seed, fd, 3);
    while (count_entries(scratch_path("%s", top)) < 20);
    return fd;
}

/* 200 directories, in each of them one more with a file. */
TAP_UNUSED static void make_many(const char *top)
{
    int fd = make_directory(scratch.fd, top);
    for (uint32_t i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        int child = make_directory(fd, name), below = make_directory(child, "below");
        make_file(below, "x", "", 0);
        close(below);
        close(child);
    }
    close(fd);
}

/* The walker.
 * ------------------------------------------------------------------------------------------------
 */

static struct meter walk_meter;
static struct vyre_memory walk_memory;

/* Options with the allocator of the test. */
TAP_UNUSED static struct vyre_walk_options walk_options(uint32_t threads)
{
    struct vyre_walk_options options = {.memory = &walk_memory, .threads = threads};
    vyre_allocator hooks = meter_allocator(&walk_meter);
    vyre_memory_init(&walk_memory, &hooks, NULL);
    return options;
}

TAP_UNUSED static struct vyre_walk *walk_open(const struct vyre_walk_options *options)
{
    struct vyre_walk *walk = NULL;
    vyre_error err;
    must(vyre_walk_open(options, &walk, &err), &err);
    return walk;
}

TAP_UNUSED static void text_record(struct text *text, const struct vyre_walk_record *record)
{
    static char path[VYRE_WALK_PATH_BYTES];
    size_t bytes = vyre_walk_path(record, path, sizeof path);
    if (record->kind == VYRE_WALK_END)
        text_add(text, "E %" PRIu64, record->root);
    else if (bytes >= sizeof path || strlen(path) != bytes)
        text_add(text, "a path of %zu bytes", bytes);
    else if (record->error)
        text_add(text, "%c!%d %s", "RDLFSCBUE"[record->kind], record -> error, path);
    else
        text_add(text, "%c %s", "RDLFSCBUE"[record->kind], path);
}

/* Walks to the end of the roots that were added, by batches of `batch`; what was found as text. */
TAP_UNUSED static struct text walk_all(struct vyre_walk *walk, uint32_t batch)
{
    struct vyre_walk_record records[64];
    struct text text = {0};
    enum vyre_walk_state state;
    uint32_t count;
    while ((state = vyre_walk_wait(walk, records, batch, &count)) == VYRE_WALK_SOME) {
        for (uint32_t i = 0; i < count; i++)
            text_record(&text, &records[i]);
        vyre_walk_release(walk, records, count);
    }
    if (state != VYRE_WALK_IDLE) text_add(&text, "ended with state %d", (int)state);
    return text;
}

/* Opens, walks one root with number 7, closes. */
TAP_UNUSED static struct text walk_once(const struct vyre_walk_options *options, const char *path,
                                        struct vyre_walk_counts *counts)
{
    struct vyre_walk *walk = walk_open(options);
    if (!vyre_walk_add(walk, path, 7)) bail("no room for a root");
    struct text text = walk_all(walk, 64);
    if (counts) vyre_walk_query(walk, counts);
    vyre_walk_close(walk);
    return text;
}

/* Two tests: the walker has left neither memory nor descriptors. */
TAP_UNUSED static void walk_clean(uint32_t descriptors, const char *after)
{
    ok(meter_clean(&walk_meter), "no memory is left after %s", after);
    is_u64(count_descriptors(), descriptors, "no descriptor is left after %s", after);
}

#endif
