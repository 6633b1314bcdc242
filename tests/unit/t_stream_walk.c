/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The walker of directory trees: its order, whatever threads and memory it has; what it does with
 * links, other kinds of files and roots.
 */
#include "walk_rig.h"

#include <sys/socket.h>
#include <sys/un.h>

/* The same tree with every combination of few and many. */
static void any_order(uint64_t seed)
{
    int fd = make_random("random", seed);
    struct text expected = {0};
    expect_tree(&expected, fd, scratch_path("random"));
    text_add(&expected, "E 7");
    note("%" PRIu64 " records", expected.lines);
    uint32_t descriptors = count_descriptors();
    for (uint32_t threads = 1; threads <= 4; threads++) {
        for (uint32_t directories = 4; directories <= 256; directories *= 4) {
            struct vyre_walk_options options = walk_options(threads);
            struct vyre_walk_counts counts;
            options.directories = directories;
            options.arena_bytes = 1u << 20;
            struct text got = walk_once(&options, scratch_path("random"), &counts);
            same_text(&got, &expected, "%u threads, %u directories held at most", threads,
                      directories);
            ok(counts.held_most <= directories, "held %" PRIu64, counts.held_most);
        }
    }
    text_free(&expected);
    walk_clean(descriptors, "walks in order");
    close(fd);
}

/* A directory whose names do not fit is read several times. */
static void large_directory(void)
{
    int fd = make_directory(scratch.fd, "large");
    for (uint32_t i = 0; i < 30000; i++) {
        char name[64];
        snprintf(name, sizeof name, "name-%u-%08x", i % 7, i * 2654435761u);
        make_file(fd, name, "", 0);
    }
    close(make_directory(fd, "name-3-8"));
    close(make_directory(fd, "name-3-7"));
    struct text expected = {0};
    expect_tree(&expected, fd, scratch_path("large"));
    text_add(&expected, "E 7");
    for (uint32_t i = 0; i < 2; i++) {
        struct vyre_walk_options options = walk_options(2);
        struct vyre_walk_counts counts;
        options.arena_bytes = i ? 1u << 20 : 16u << 20;
        struct text got = walk_once(&options, scratch_path("large"), &counts);
        same_text(&got, &expected, "%" PRIu64 " names in %zu bytes", expected.lines,
                  options.arena_bytes);
        ok((counts.again != 0) == (i == 1), "read again %" PRIu64 " times", counts.again);
    }
    text_free(&expected);
    close(fd);
}

/* A tree that is deeper than one path reaches: on every level there are files before and after the
 * next one, so that every level must be found again on the way up. */
static void deep_tree(const char *top, uint32_t levels, uint32_t name_bytes)
{
    char name[VYRE_WALK_NAME_LIMIT + 1];
    memset(name, 'm', sizeof name);
    name[name_bytes] = '\0';
    int fd = make_directory(scratch.fd, top);
    for (uint32_t i = 0; i < levels; i++) {
        make_file(fd, "before", "", 0);
        make_file(fd, "past", "", 0);
        int child = make_directory(fd, name);
        close(fd);
        fd = child;
    }
    make_file(fd, "bottom", "", 0);
    close(fd);
}

/* What must come of it; levels from `limit` on are not entered. */
static struct text expect_deep(const char *top, uint32_t levels, uint32_t name_bytes)
{
    static char path[VYRE_WALK_PATH_LIMIT * 2];
    struct text text = {0};
    int length = snprintf(path, sizeof path, "%s", scratch_path("%s", top));
    uint32_t entered = 0;
    text_add(&text, "R %s/before", path);
    for (; entered < levels; entered++) {
        size_t below = (size_t)length + 1 + name_bytes;
        path[length] = '/';
        memset(path + length + 1, 'm', name_bytes);
        path[below] = '\0';
        if (below > VYRE_WALK_PATH_LIMIT) {
            text_add(&text, "D!%d %s", ENAMETOOLONG, path);
            path[length] = '\0';
            break;
        }
        length = (int)below;
        text_add(&text, "R %s/%s", path, entered + 1 == levels ? "bottom" : "before");
    }
    if (entered == levels) length -= (int)name_bytes + 1;
    for (uint32_t i = entered < levels ? entered + 1 : levels; i > 0; i--) {
        path[length] = '\0';
        text_add(&text, "R %s/past", path);
        length -= (int)name_bytes + 1;
    }
    text_add(&text, "E 7");
    return text;
}

static void deep(void)
{
    const uint32_t shapes[3][2] = {{60, 200}, {700, 1}, {150, 250}};
    uint32_t descriptors = count_descriptors();
    for (uint32_t i = 0; i < 3; i++) {
        char top[16];
        snprintf(top, sizeof top, "deep%u", i);
        deep_tree(top, shapes[i][0], shapes[i][1]);
        struct text expected = expect_deep(top, shapes[i][0], shapes[i][1]);
        for (uint32_t threads = 1; threads <= 3; threads++) {
            struct vyre_walk_options options = walk_options(threads);
            struct vyre_walk_counts counts;
            options.directories = threads == 3 ? 64 : 4;
            options.arena_bytes = 1u << 20;
            struct text got = walk_once(&options, scratch_path("%s", top), &counts);
            same_text(&got, &expected, "%u levels of %u bytes, %u threads", shapes[i][0],
                      shapes[i][1], threads);
            ok(counts.again != 0, "levels had to be found again");
        }
        text_free(&expected);
    }
    walk_clean(descriptors, "deep trees");
}

/* A file below PATH_MAX levels can be opened by what its record holds. */
static void opened_by_record(void)
{
    struct vyre_walk_options options = walk_options(2);
    struct vyre_walk *walk = walk_open(&options);
    struct vyre_walk_record record;
    uint32_t count, opened = 0, records = 0;
    vyre_walk_add(walk, scratch_path("deep0"), 0);
    while (vyre_walk_wait(walk, &record, 1, &count) == VYRE_WALK_SOME) {
        if (record.kind == VYRE_WALK_REGULAR) {
            int fd = openat(record.dirfd, record.name, O_RDONLY | O_CLOEXEC);
            records++;
            opened += fd >= 0;
            if (fd >= 0) close(fd);
        }
        vyre_walk_release(walk, &record, 1);
    }
    vyre_walk_close(walk);
    is_u64(records, 121, "two files a level and one at the bottom");
    is_u64(opened, records, "all of them could be opened");
}

static void links(void)
{
    int fd = make_directory(scratch.fd, "links"), child = make_directory(fd, "inner");
    make_file(child, "file", "", 0);
    make_link(child, "up", "..");
    make_link(child, "self", ".");
    make_link(fd, "again", "inner");
    make_link(fd, "circle", "circle");
    make_link(fd, "file", "inner/file");
    make_link(fd, "gone", "nowhere");
    struct vyre_walk_options options = walk_options(2);
    const char *path = scratch_path("links");
    struct text expected = {0}, got = walk_once(&options, path, NULL);
    expect_tree(&expected, fd, path);
    text_add(&expected, "E 7");
    same_text(&got, &expected, "links are not followed");
    text_free(&expected);

    const char *const rows[] = {"R %s/again/file", "L!%d %s/again/self", "L!%d %s/again/up",
                                "L!%d %s/circle",  "R %s/file",          "L!%d %s/gone",
                                "R %s/inner/file", "L!%d %s/inner/self", "L!%d %s/inner/up"};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char row[64];
        const char *rest = strchr(rows[i], '/');
        int error = strcmp(rest, "/gone") == 0 ? ENOENT : ELOOP;
        if (rows[i][0] == 'R')
            snprintf(row, sizeof row, "R ");
        else
            snprintf(row, sizeof row, "L!%d ", error);
        text_add(&expected, "%s%s%s", row, path, rest);
    }
    text_add(&expected, "E 7");
    options.flags = VYRE_WALK_FOLLOW;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        options.threads = threads;
        options.directories = 4;
        got = walk_once(&options, path, NULL);
        same_text(&got, &expected, "links are followed, and loops found, by %u threads", threads);
    }
    text_free(&expected);
    close(child);
    close(fd);
}

static void kinds(void)
{
    int fd = make_directory(scratch.fd, "kinds");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", fd);
    if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof address) != 0) bail("a socket");
    if (mkfifoat(fd, "fifo", 0600) != 0) bail("a fifo");
    make_file(fd, "file\xff\xfe", "", 0);
    make_link(fd, "link", "file");
    int devices = mknodat(fd, "null", S_IFCHR | 0600, (dev_t)259) == 0;
    struct vyre_walk_options options = walk_options(1);
    struct text expected = {0}, got = walk_once(&options, scratch_path("kinds"), NULL);
    expect_tree(&expected, fd, scratch_path("kinds"));
    text_add(&expected, "E 7");
    is_u64(expected.lines, 5 + (devices ? 1 : 0), "of every kind one%s",
           devices ? "" : ", but a device, which may not be made here");
    same_text(&got, &expected, "and each is reported as such");
    text_free(&expected);
    close(sock);
    close(fd);
}

static void roots(void)
{
    int fd = make_directory(scratch.fd, "roots"), child = make_directory(fd, "tree");
    make_file(child, "a", "", 0);
    make_file(fd, "file", "", 0);
    make_link(fd, "link", "tree");
    struct vyre_walk_options options = walk_options(2);
    options.roots = 4;
    struct vyre_walk *walk = walk_open(&options);
    const char *paths[] = {scratch_path("roots/file"), scratch_path("roots/tree/"),
                           scratch_path("roots/none"), scratch_path("roots/link"), ""};
    uint32_t added = 0;
    for (uint32_t i = 0; i < 5; i++)
        added += (uint32_t)vyre_walk_add(walk, paths[i], i);
    is_u64(added, 4, "no more roots than asked for");
    struct text got = walk_all(walk, 3), expected = {0};
    text_add(&expected, "R %s", paths[0]);
    text_add(&expected, "E 0");
    text_add(&expected, "R %sa", paths[1]);
    text_add(&expected, "E 1");
    text_add(&expected, "U!%d %s", ENOENT, paths[2]);
    text_add(&expected, "E 2");
    text_add(&expected, "R %s/a", paths[3]);
    text_add(&expected, "E 3");
    same_text(&got, &expected, "a file, a tree, nothing, and a link to a tree");
    text_free(&expected);
    ok(vyre_walk_add(walk, paths[4], 4), "there is room again");
    got = walk_all(walk, 1);
    text_add(&expected, "U!%d ", ENOENT);
    text_add(&expected, "E 4");
    same_text(&got, &expected, "an empty path");
    text_free(&expected);
    vyre_walk_close(walk);
    options.flags = VYRE_WALK_FLAT;
    got = walk_once(&options, paths[1], NULL);
    text_add(&expected, "D %s", paths[1]);
    text_add(&expected, "E 7");
    same_text(&got, &expected, "a directory that is not walked");
    text_free(&expected);
    close(child);
    close(fd);
}

/* Many small trees at once, in the order in which they were added. */
static void many_roots(void)
{
    static char paths[200][PATH_MAX];
    struct text expected = {0};
    make_many("many");
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", scratch_path("many/%u", i));
        text_add(&expected, "R %s/below/x", paths[i]);
        text_add(&expected, "E %u", i);
    }
    struct vyre_walk_options options = walk_options(3);
    options.directories = 16;
    options.roots = 200;
    struct vyre_walk *walk = walk_open(&options);
    for (uint32_t i = 0; i < 200; i++)
        vyre_walk_add(walk, paths[i], i);
    struct text got = walk_all(walk, 64);
    same_text(&got, &expected, "200 trees");
    vyre_walk_close(walk);
    text_free(&expected);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    scratch_make();
    any_order(seed);
    large_directory();
    deep();
    opened_by_record();
    links();
    kinds();
    roots();
    many_roots();
    return done();
}
