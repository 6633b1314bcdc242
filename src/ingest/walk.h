/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Directory trees as records in a fixed order: depth first, the names of a directory by their
 * bytes. Threads of its own read directories ahead; the engine's thread pulls records in batches,
 * without a system call and without waiting.
 *
 *     walk_add(root) ... walk_next(records) -> open them by (dirfd, name) -> walk_release(records)
 *
 * The invariant: the order does not depend on threads, memory or timing. Memory and descriptors are
 * bounded and taken at open. Names of directories that are held lie in one arena; what does not fit
 * is read again later, from the name after the last one that was handed out. So a directory of any
 * size and a tree of any depth are walked in the same memory, more slowly where they exceed it.
 *
 * A directory gives no record of its own, unless something is wrong with it. A path may be longer
 * than PATH_MAX: a record is opened relative to its directory's descriptor.
 *
 * Called by src/ingest only. Calls may come from any thread. Whoever holds a record must be able to
 * release it without getting another one: records hold their directories, of which there are few.
 */
#ifndef VYRE_INGEST_WALK_H
#define VYRE_INGEST_WALK_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/memory.h"

#define VYRE_WALK_PATH_LIMIT (1u << 15) /* bytes of a directory's path; beyond: ENAMETOOLONG */
#define VYRE_WALK_NAME_LIMIT 255u
#define VYRE_WALK_PATH_BYTES (VYRE_WALK_PATH_LIMIT + VYRE_WALK_NAME_LIMIT + 2u)

enum vyre_walk_kind {
    VYRE_WALK_REGULAR = 0,
    VYRE_WALK_DIRECTORY = 1, /* with an error; or a root, where flags say that it is not walked */
    VYRE_WALK_LINK = 2,      /* not followed, or with the error of following it: ELOOP, ENOENT */
    VYRE_WALK_FIFO = 3,
    VYRE_WALK_SOCKET = 4,
    VYRE_WALK_CHARACTER = 5,
    VYRE_WALK_BLOCK = 6,
    VYRE_WALK_UNKNOWN = 7, /* with an error: it went away, or could not be asked */
    VYRE_WALK_END = 8      /* the root has no more records */
};

enum vyre_walk_flag {
    VYRE_WALK_FOLLOW = 1, /* symbolic links inside a tree are followed; those given as roots are
                             followed without it too */
    VYRE_WALK_FLAT = 2    /* a root that is a directory gives one record and is not walked */
};

struct vyre_walk;

/* One thing found. Its memory and `dirfd` stay until vyre_walk_release. */
struct vyre_walk_record {
    uint64_t root;            /* the number given to vyre_walk_add */
    uint64_t mark;            /* what `visit` left; 0 where it was not called */
    const char *directory;    /* path of the directory, ended by NUL; "" for a root itself */
    const char *name;         /* in that directory, ended by NUL; "": the directory itself failed */
    uint32_t directory_bytes; /* without the NUL */
    uint32_t name_bytes;
    int32_t dirfd;   /* open it by openat(dirfd, name); AT_FDCWD for a root, whose name is its path;
                        -1 with an END, and with an error of the directory itself */
    int32_t error;   /* errno, or 0 */
    uint32_t kind;   /* enum vyre_walk_kind */
    uint32_t holder; /* the walker's */
};

/*
 * Called on a walker's thread for a regular file, in the order of the records as far as one thread
 * goes, several threads at a time; what it returns becomes the record's mark. 0: not now, the one
 * who gets the record reads the file. It may not wait for a later record, and since the marks of
 * later records may come before an earlier 0, whatever serves an earlier record must not be used up
 * by later ones. `thread` is below the number of threads.
 */
typedef uint64_t (*vyre_walk_visit_fn)(void *ctx, uint32_t thread,
                                       const struct vyre_walk_record *record);

/* Called on any thread, without a lock held, once after vyre_walk_next had nothing yet: there is
 * something now. */
typedef void (*vyre_walk_wake_fn)(void *ctx);

/* The calls of the system that it makes, so that tests can make them fail: as the functions of the
 * same names, -1 with errno. */
struct vyre_walk_calls {
    int (*openat)(int dirfd, const char *path, int flags);
    ssize_t (*getdents)(int fd, void *buffer, size_t bytes);
    int (*fstatat)(int dirfd, const char *path, struct stat *out, int flags);
};

struct vyre_walk_options {
    struct vyre_memory *memory;
    uint32_t flags;       /* enum vyre_walk_flag */
    uint32_t threads;     /* that read directories, 1..64 */
    uint32_t directories; /* held at once, each with a descriptor; 4..1024; 0: 128, or an eighth of
                             the limit on descriptors where that is less */
    uint32_t roots;       /* not yet ended, 1..65536; 0: 64 */
    uint32_t visits;      /* records visited ahead of vyre_walk_next; 0: 1024 */
    size_t arena_bytes;   /* for names, from 1 MiB on, rounded down to a power of two; 0: 8 MiB */
    vyre_walk_visit_fn visit;            /* NULL: none */
    vyre_walk_wake_fn wake;              /* NULL: none */
    int (*will_close)(void *ctx);        /* whether descriptors that ran out will be closed by who
                                            has the walker, however long it takes; NULL: no */
    pthread_rwlock_t *opens;             /* held for reading while it opens; NULL: none */
    void *ctx;                           /* of all three */
    const struct vyre_walk_calls *calls; /* NULL: the system's */
};

/* Takes all memory and starts the threads. Statuses: E_RANGE, E_NO_MEMORY, E_SYSTEM. */
vyre_status vyre_walk_open(const struct vyre_walk_options *options, struct vyre_walk **out,
                           vyre_error *err);

/*
 * Adds a root: a path of bytes, a directory or anything else. Its records come after those of the
 * roots before, the last of them an END; all carry `root`. The text is not copied and must stay
 * until the END was handed out and all its records were released. False: too many roots have not
 * ended; try again after some records.
 */
int vyre_walk_add(struct vyre_walk *walk, const char *path, uint64_t root);

enum vyre_walk_state {
    VYRE_WALK_SOME = 0,      /* records were handed out */
    VYRE_WALK_LATER = 1,     /* nothing yet: `wake` will be called */
    VYRE_WALK_IDLE = 2,      /* every root has ended */
    VYRE_WALK_CANCELLED = 3, /* nothing more comes */
    VYRE_WALK_HELD = 4       /* as LATER, but all room for directories is held by records that were
                                handed out: nothing comes until some are released */
};

/* Hands out up to `limit` records and stores how many in *count. Does not wait and does not read.
 */
enum vyre_walk_state vyre_walk_next(struct vyre_walk *walk, struct vyre_walk_record *records,
                                    uint32_t limit, uint32_t *count);

/* The same, but waits instead of returning LATER. */
enum vyre_walk_state vyre_walk_wait(struct vyre_walk *walk, struct vyre_walk_record *records,
                                    uint32_t limit, uint32_t *count);

/* Gives records back; each once. In any order, also after a cancel. */
void vyre_walk_release(struct vyre_walk *walk, const struct vyre_walk_record *records,
                       uint32_t count);

/* Writes the whole path, ended by NUL, and returns its length without it; VYRE_WALK_PATH_BYTES are
 * always enough. Where `bytes` are too few nothing is written. */
size_t vyre_walk_path(const struct vyre_walk_record *record, char *out, size_t bytes);

/*
 * Descriptors ran out for somebody else: closes what it can of its own, holds fewer directories
 * from then on, and returns whether one was closed. The last one that it gives is a reserve, so
 * that there is one even where records hold all directories. Where it is itself the one that finds
 * none, it does the same, and then waits a while for others to close theirs. Any thread.
 */
int vyre_walk_spare(struct vyre_walk *walk);

/* No directory is read after the ones under way; vyre_walk_next returns CANCELLED. Records that
 * were handed out stay. Any thread, also from `visit`. */
void vyre_walk_cancel(struct vyre_walk *walk);

/* Cancels, waits for the threads and frees all, records that were handed out included. NULL is
 * allowed. */
void vyre_walk_close(struct vyre_walk *walk);

/* What it has done so far; for tests and the report. */
struct vyre_walk_counts {
    uint64_t directories; /* listings that were read */
    uint64_t again;       /* of these, ones that did not fit at once or had to go meanwhile */
    uint64_t held_most;   /* directories held at once, at most */
    uint64_t bytes;       /* of memory; does not change */
};

void vyre_walk_query(struct vyre_walk *walk, struct vyre_walk_counts *counts);

#endif
