/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Opening a directory: by its name in its parent, by the path of a root, or once more after its
 * node was taken away. Symbolic links that lead to a directory above themselves are found here, by
 * the identity of every directory of the path. Without the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "ingest/walk_core.h"

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* The length of a piece of a path that one call takes: up to a slash that is not its first byte. */
static size_t piece_of(const char *path)
{
    size_t bytes = strnlen(path, PATH_MAX);
    if (bytes < PATH_MAX) return bytes;
    bytes--;
    while (bytes > 0 && path[bytes] != '/')
        bytes--;
    return bytes;
}

/* Opens a directory by a path of any length; returns the descriptor, or -1 with errno. */
static int open_path(const struct vyre_walk *walk, const char *path)
{
    char piece[PATH_MAX];
    int at = AT_FDCWD;
    for (;;) {
        size_t bytes = piece_of(path);
        if (bytes == 0 && path[0] != '\0') {
            errno = ENAMETOOLONG;
            break;
        }
        memcpy(piece, path, bytes);
        piece[bytes] = '\0';
        int last = path[bytes] == '\0';
        int fd = walk->calls.openat(at, piece, last ? OPEN_FLAGS : OPEN_FLAGS | O_PATH);
        int saved = errno;
        if (at >= 0) close(at);
        errno = saved;
        if (last || fd < 0) return fd;
        at = fd;
        for (path += bytes; *path == '/';)
            path++;
    }
    if (at >= 0) close(at);
    return -1;
}

static int identify(const struct vyre_walk *walk, int fd, uint64_t *device, uint64_t *inode)
{
    struct stat status;
    if (walk->calls.fstatat(fd, "", &status, AT_EMPTY_PATH) != 0) return 0;
    *device = status.st_dev;
    *inode = status.st_ino;
    return 1;
}

/* Whether a directory is one of those above the node. (Takes the lock.) */
static int is_above(struct vyre_walk *walk, const struct walk_node *node)
{
    int found = 0;
    pthread_mutex_lock(&walk->lock);
    const struct walk_node *above = walk_node_at(walk, node->parent);
    for (; above && !above->on_stack && !found; above = walk_node_at(walk, above->parent))
        found = above->device == node->device && above->inode == node->inode;
    for (uint32_t i = 0; above && i <= above->level && !found; i++)
        found = walk->frames[i].device == node->device && walk->frames[i].inode == node->inode;
    pthread_mutex_unlock(&walk->lock);
    return found;
}

static int open_child(struct vyre_walk *walk, struct walk_node *node)
{
    const struct walk_node *parent = walk_node_at(walk, node->parent);
    const char *name = node->block + walk_name_start(node->block, parent->path_bytes);
    node->fd =
        walk->calls.openat(parent->fd, name, node->linked ? OPEN_FLAGS : OPEN_FLAGS | O_NOFOLLOW);
    return node->fd < 0 ? errno : 0;
}

/* A root may be anything. What it is, if not a directory to be walked, is left in `place`. */
static int open_root(struct vyre_walk *walk, struct walk_node *node)
{
    struct stat status;
    int failed = 0;
    node->place = VYRE_WALK_UNKNOWN;
    if (!(walk->options.flags & VYRE_WALK_FLAT)) {
        node->fd = open_path(walk, node->block);
        if (node->fd >= 0) return 0;
        failed = errno;
        if (failed == EMFILE || failed == ENFILE) return failed;
    }
    if (walk->calls.fstatat(AT_FDCWD, node->block, &status, 0) != 0)
        return failed && failed != ENOTDIR ? failed : errno;
    node->place = walk_mode_kind(status.st_mode);
    return node->place == VYRE_WALK_DIRECTORY ? failed : 0;
}

/* A directory that is not the one that it was has been put in its place meanwhile. */
static int open_again(struct vyre_walk *walk, struct walk_node *node)
{
    uint64_t device, inode;
    node->fd = open_path(walk, node->block);
    if (node->fd < 0) return errno;
    if (identify(walk, node->fd, &device, &inode) && device == node->device && inode == node->inode)
        return 0;
    close(node->fd);
    node->fd = -1;
    return ESTALE;
}

static int open_rest(struct vyre_walk *walk, struct walk_node *node)
{
    const struct walk_node *before = walk_node_at(walk, node->before);
    node->fd = fcntl(before->fd, F_DUPFD_CLOEXEC, 0);
    if (node->fd < 0) return errno;
    return lseek(node->fd, 0, SEEK_SET) < 0 ? errno : 0;
}

static int open_node(struct vyre_walk *walk, const struct walk_job *job)
{
    switch (job->kind) {
    case JOB_CHILD:
        return open_child(walk, job->node);
    case JOB_ROOT:
        return open_root(walk, job->node);
    case JOB_RESTORE:
        return open_again(walk, job->node);
    default:
        return open_rest(walk, job->node);
    }
}

int walk_read(struct walk_thread *thread, const struct walk_job *job)
{
    struct vyre_walk *walk = thread->walk;
    struct walk_node *node = job->node;
    if (node->stale >= 0) close(node->stale);
    node->stale = -1;
    if (walk->options.opens) pthread_rwlock_rdlock(walk->options.opens);
    node->error = open_node(walk, job);
    if (walk->options.opens) pthread_rwlock_unlock(walk->options.opens);
    if (node->fd < 0) return node->error != EMFILE && node->error != ENFILE;
    if (walk->options.flags & VYRE_WALK_FOLLOW) {
        identify(walk, node->fd, &node->device, &node->inode);
        if (job->kind == JOB_CHILD && node->linked && is_above(walk, node)) {
            close(node->fd);
            node->fd = -1;
            node->error = ELOOP;
            return 1;
        }
    }
    if (node->error == 0) walk_list(thread, node, job->demand);
    return 1;
}
