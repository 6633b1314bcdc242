/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Directory trees for tests: a scratch directory that goes away with the program, files and
 * directories below it by descriptor and name, and the same tree as a simple reader sees it.
 */
#ifndef VYRE_TESTS_TREE_H
#define VYRE_TESTS_TREE_H

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

static struct {
    char path[PATH_MAX / 2];
    int fd;
    pid_t owner;
} scratch = {"", -1, 0};

/* Making and removing.
 * ------------------------------------------------------------------------------------------------
 */

TAP_UNUSED static char **tree_names(int fd, uint32_t *count);

/* Empties a directory of any depth; *fd changes, for only two levels are ever open. */
TAP_UNUSED static void tree_empty(int *fd)
{
    uint32_t count = 0;
    char **names = tree_names(*fd, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (unlinkat(*fd, names[i], 0) != 0 && (errno == EISDIR || errno == EPERM)) {
            int child = openat(*fd, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (child >= 0) {
                close(*fd);
                tree_empty(&child);
                *fd = openat(child, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                close(child);
            }
            unlinkat(*fd, names[i], AT_REMOVEDIR);
        }
        free(names[i]);
    }
    free(names);
}

TAP_UNUSED static void scratch_remove(void)
{
    if (scratch.fd < 0 || scratch.owner != getpid()) return;
    tree_empty(&scratch.fd);
    close(scratch.fd);
    rmdir(scratch.path);
}

/* Makes the scratch directory. */
TAP_UNUSED static int scratch_make(void)
{
    const char *place = getenv("TMPDIR");
    snprintf(scratch.path, sizeof scratch.path, "%s/vyre-test-XXXXXX",
             place && *place ? place : "/tmp");
    if (!mkdtemp(scratch.path)) bail("cannot make a directory %s", scratch.path);
    scratch.fd = open(scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch.fd < 0) bail("cannot open %s", scratch.path);
    scratch.owner = getpid();
    atexit(scratch_remove);
    return scratch.fd;
}

/* The path of something in the scratch directory; one of eight buffers in turn, which each thread
 * has for itself. */
TAP_FORMAT(1, 2) static const char *scratch_path(const char *format, ...)
{
    static _Thread_local char paths[8][PATH_MAX];
    static _Thread_local uint32_t turn;
    char *path = paths[turn++ % 8];
    int at = snprintf(path, PATH_MAX, "%s/", scratch.path);
    va_list args;
    va_start(args, format);
    vsnprintf(path + at, (size_t)(PATH_MAX - at), format, args);
    va_end(args);
    return path;
}

/* Makes a directory and opens it. */
TAP_UNUSED static int make_directory(int at, const char *name)
{
    if (mkdirat(at, name, 0777) != 0) bail("mkdir %s: %s", name, strerror(errno));
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) bail("open %s: %s", name, strerror(errno));
    return fd;
}

TAP_UNUSED static void make_file(int at, const char *name, const void *bytes, size_t length)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) bail("create %s: %s", name, strerror(errno));
    if (length && write(fd, bytes, length) != (ssize_t)length) bail("write %s", name);
    close(fd);
}

TAP_UNUSED static void make_link(int at, const char *name, const char *target)
{
    if (symlinkat(target, at, name) != 0) bail("symlink %s: %s", name, strerror(errno));
}

/* A simple reader.
 * ------------------------------------------------------------------------------------------------
 */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a directory, by their bytes. The caller frees them. */
TAP_UNUSED static char **tree_names(int fd, uint32_t *count)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory) bail("cannot list a directory: %s", strerror(errno));
    char **names = NULL;
    uint32_t room = 0;
    *count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (*count == room) names = realloc(names, (room = room * 2 + 64) * sizeof *names);
        if (!names || !(names[(*count)++] = strdup(entry->d_name))) bail("no memory");
    }
    closedir(directory);
    if (*count) qsort(names, *count, sizeof *names, compare_names);
    return names;
}

#endif
