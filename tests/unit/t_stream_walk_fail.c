/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The walker where the system refuses: each call fails once at every place it is made, directories
 * go away or are replaced while they are read, memory runs out. What is wrong is one record, and
 * everything else comes in its order.
 */
#include "walk_rig.h"

/* Calls that fail.
 * ------------------------------------------------------------------------------------------------
 */

enum call { CALL_OPENAT, CALL_GETDENTS, CALL_FSTATAT, CALLS };

static struct {
    _Atomic uint32_t seen[CALLS];
    uint32_t at; /* this one fails, from 1 on */
    enum call call;
    int error;
    bool hide_types;
    void (*before)(enum call call, uint32_t number); /* called with every call */
} seam;

static bool fails(enum call call)
{
    uint32_t number = atomic_fetch_add(&seam.seen[call], 1) + 1;
    if (seam.before) seam.before(call, number);
    if (call != seam.call || number != seam.at) return false;
    errno = seam.error;
    return true;
}

static int seam_openat(int dirfd, const char *path, int flags)
{
    return fails(CALL_OPENAT) ? -1 : openat(dirfd, path, flags);
}

static ssize_t seam_getdents(int fd, void *buffer, size_t bytes)
{
    if (fails(CALL_GETDENTS)) return -1;
    ssize_t got = getdents64(fd, buffer, bytes);
    for (ssize_t at = 0; seam.hide_types && at < got;) {
        struct dirent64 *entry = (void *)((char *)buffer + at);
        entry->d_type = DT_UNKNOWN;
        at += entry->d_reclen;
    }
    return got;
}

static int seam_fstatat(int dirfd, const char *path, struct stat *out, int flags)
{
    return fails(CALL_FSTATAT) ? -1 : fstatat(dirfd, path, out, flags);
}

static const struct vyre_walk_calls seam_calls = {seam_openat, seam_getdents, seam_fstatat};

static void seam_set(enum call call, uint32_t at, int error)
{
    for (int i = 0; i < CALLS; i++)
        atomic_store(&seam.seen[i], 0);
    seam.call = call;
    seam.at = at;
    seam.error = error;
}

static struct vyre_walk_options seam_options(uint32_t threads)
{
    struct vyre_walk_options options = walk_options(threads);
    options.calls = &seam_calls;
    options.directories = 16;
    options.arena_bytes = 1u << 20;
    return options;
}

/* One record instead of a part of the tree.
 * ------------------------------------------------------------------------------------------------
 */

static size_t line_bytes(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? (size_t)(end - line) + 1 : strlen(line);
}

/* Whether a line's path is the failed one or lies below it. */
static bool concerns(const char *line, const char *failed, size_t failed_bytes)
{
    const char *path = strchr(line, ' ');
    return path && strncmp(path + 1, failed, failed_bytes) == 0 &&
           strchr("/\n", path[1 + failed_bytes]);
}

/*
 * Whether `got` is `expected` with one record of an error in it, or with none if that is allowed,
 * and lacks nothing but lines that the error concerns.
 */
static bool only_lacks(const char *got, const char *expected, int error, bool must_fail)
{
    char mark[16];
    snprintf(mark, sizeof mark, "!%d ", error);
    const char *at = strstr(got, mark), *failed = at ? at + strlen(mark) : "";
    size_t failed_bytes = strcspn(failed, "\n");
    if (!at) return !must_fail && strcmp(got, expected) == 0;
    while (*got) {
        size_t bytes = line_bytes(got);
        if (got + 1 == at) {
            got += bytes;
            continue;
        }
        while (strncmp(got, expected, bytes) != 0) {
            if (!*expected || !concerns(expected, failed, failed_bytes)) return false;
            expected += line_bytes(expected);
        }
        got += bytes;
        expected += bytes;
    }
    while (*expected && concerns(expected, failed, failed_bytes))
        expected += line_bytes(expected);
    return *expected == '\0';
}

static void build(const char *top)
{
    int fd = make_directory(scratch.fd, top);
    for (uint32_t i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "dir%u", i);
        int child = make_directory(fd, name), below = make_directory(child, "below");
        make_file(below, "x", "", 0);
        make_file(below, "y", "", 0);
        make_file(child, "a", "", 0);
        make_file(child, "z", "", 0);
        make_link(child, "link", "a");
        close(below);
        close(child);
    }
    make_file(fd, "last", "", 0);
    close(fd);
}

static const char *const call_names[CALLS] = {"openat", "getdents", "fstatat"};

/* Every call of a kind fails once; errors of `error` must be reported, or may be got around. */
static void each_call(enum call call, int error, bool must_fail)
{
    struct text expected = {0};
    const char *top = scratch_path("tree");
    uint32_t wrong = 0, tried = 0;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct vyre_walk_options options = seam_options(threads);
        options.flags = call == CALL_FSTATAT ? VYRE_WALK_FOLLOW : 0;
        seam.hide_types = call == CALL_FSTATAT;
        seam_set(CALLS, 0, 0);
        expected = walk_once(&options, top, NULL);
        uint32_t calls = atomic_load(&seam.seen[call]);
        for (uint32_t at = 1; at <= calls; at++) {
            seam_set(call, at, error);
            struct text got = walk_once(&options, top, NULL);
            bool fine = only_lacks(got.bytes, expected.bytes, error, must_fail);
            if (!fine) note("%s %u of %u:\n%s", call_names[call], at, calls, got.bytes);
            wrong += !fine;
            tried++;
            text_free(&got);
        }
        text_free(&expected);
    }
    seam.hide_types = false;
    ok(wrong == 0 && tried > 6, "%s fails with %d at each of %u calls", call_names[call], error,
       tried);
}

static void hidden_types(void)
{
    struct vyre_walk_options options = seam_options(2);
    struct text expected = walk_once(&options, scratch_path("tree"), NULL);
    seam.hide_types = true;
    seam_set(CALLS, 0, 0);
    struct text got = walk_once(&options, scratch_path("tree"), NULL);
    seam.hide_types = false;
    same_text(&got, &expected, "a file system that does not say what its entries are");
    text_free(&expected);
}

/* Things that happen meanwhile.
 * ------------------------------------------------------------------------------------------------
 */

static void remove_before_open(enum call call, uint32_t number)
{
    if (call == CALL_OPENAT && number == 2) unlinkat(scratch.fd, "removed/empty", AT_REMOVEDIR);
}

static void removed_before(void)
{
    int fd = make_directory(scratch.fd, "removed");
    close(make_directory(fd, "empty"));
    make_file(fd, "file", "", 0);
    struct vyre_walk_options options = seam_options(1);
    struct text expected = {0};
    seam_set(CALLS, 0, 0);
    seam.before = remove_before_open;
    struct text got = walk_once(&options, scratch_path("removed"), NULL);
    seam.before = NULL;
    text_add(&expected, "D!%d %s/removed/empty", ENOENT, scratch.path);
    text_add(&expected, "R %s/removed/file", scratch.path);
    text_add(&expected, "E 7");
    same_text(&got, &expected, "a directory that went away before it was opened");
    text_free(&expected);
    close(fd);
}

static void remove_while_read(enum call call, uint32_t number)
{
    if (call != CALL_GETDENTS || number != 2) return;
    unlinkat(scratch.fd, "emptied/file", 0);
    unlinkat(scratch.fd, "emptied", AT_REMOVEDIR);
}

static void removed_while(void)
{
    int fd = make_directory(scratch.fd, "emptied");
    make_file(fd, "file", "", 0);
    close(fd);
    struct vyre_walk_options options = seam_options(1);
    struct text expected = {0};
    seam_set(CALLS, 0, 0);
    seam.before = remove_while_read;
    struct text got = walk_once(&options, scratch_path("emptied"), NULL);
    seam.before = NULL;
    text_add(&expected, "R %s/emptied/file", scratch.path);
    text_add(&expected, "D!%d %s/emptied", ENOENT, scratch.path);
    text_add(&expected, "E 7");
    same_text(&got, &expected, "a directory that went away between two calls");
    text_free(&expected);
}

/* Levels that were let go are found again by their path; what stands there may be another one. */
static void replaced(void)
{
    int fd = make_directory(scratch.fd, "moved");
    for (uint32_t i = 0; i < 12; i++) {
        make_file(fd, "z", "", 0);
        int child = make_directory(fd, "m");
        close(fd);
        fd = child;
    }
    make_file(fd, "bottom", "", 0);
    close(fd);
    struct vyre_walk_options options = seam_options(1);
    options.directories = 4;
    struct vyre_walk *walk = walk_open(&options);
    struct vyre_walk_record record;
    uint32_t count, stale = 0, gone = 0, regular = 0, others = 0;
    vyre_walk_add(walk, scratch_path("moved"), 7);
    while (vyre_walk_wait(walk, &record, 1, &count) == VYRE_WALK_SOME) {
        if (record.kind == VYRE_WALK_REGULAR && strcmp(record.name, "bottom") == 0) {
            renameat(scratch.fd, "moved/m/m", scratch.fd, "elsewhere");
            close(make_directory(scratch.fd, "moved/m/m"));
        }
        regular += record.kind == VYRE_WALK_REGULAR;
        stale += record.error == ESTALE;
        gone += record.error == ENOENT;
        others += record.error != 0 && record.error != ESTALE && record.error != ENOENT;
        vyre_walk_release(walk, &record, 1);
    }
    vyre_walk_close(walk);
    is_u64(stale, 1, "a directory in the place of another is not read");
    ok(gone >= 6 && others == 0, "and what was below it is not found: %u directories", gone);
    is_u64(regular + stale + gone, 13, "every level has given its file or its error");
}

/* Opening.
 * ------------------------------------------------------------------------------------------------
 */

static void no_memory(void)
{
    struct vyre_walk_options options = seam_options(2);
    uint32_t refusals = 0, wrong = 0;
    options.visit = NULL;
    for (uint64_t at = 1;; at++) {
        struct vyre_walk *walk = (void *)&walk_meter;
        vyre_error err;
        atomic_store(&walk_meter.fail_at, atomic_load(&walk_meter.calls) + at);
        vyre_status status = vyre_walk_open(&options, &walk, &err);
        atomic_store(&walk_meter.fail_at, 0);
        if (status == VYRE_OK) {
            vyre_walk_close(walk);
            break;
        }
        refusals++;
        wrong +=
            status != VYRE_E_NO_MEMORY || walk != (void *)&walk_meter || !meter_clean(&walk_meter);
    }
    ok(refusals > 5 && wrong == 0, "no memory at each of %u places, and nothing left", refusals);
    ok(meter_clean(&walk_meter), "nothing is left");
}

static void ranges(void)
{
    struct vyre_walk *walk = NULL;
    vyre_error err;
    const struct vyre_walk_options bad[] = {
        {.memory = &walk_memory},
        {.memory = &walk_memory, .threads = 65},
        {.memory = &walk_memory, .threads = 1, .directories = 3},
        {.memory = &walk_memory, .threads = 1, .directories = 1025},
        {.memory = &walk_memory, .threads = 1, .roots = 65537},
        {.memory = &walk_memory, .threads = 1, .arena_bytes = 1000},
    };
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused(vyre_walk_open(&bad[i], &walk, &err), VYRE_E_RANGE, &err, "options %u", i);
    ok(walk == NULL, "nothing was stored");
}

int main(void)
{
    scratch_make();
    build("tree");
    uint32_t descriptors = count_descriptors();
    each_call(CALL_OPENAT, EACCES, true);
    each_call(CALL_OPENAT, EIO, true);
    each_call(CALL_OPENAT, EMFILE, false);
    each_call(CALL_GETDENTS, EIO, true);
    each_call(CALL_GETDENTS, EINTR, false);
    each_call(CALL_FSTATAT, EIO, false);
    hidden_types();
    removed_before();
    removed_while();
    replaced();
    no_memory();
    ranges();
    walk_clean(descriptors, "all failures");
    return done();
}
