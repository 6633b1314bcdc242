/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The walker from outside: opening and closing, roots in, records out.
 */
#include "ingest/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ingest/walk_core.h"

#define DIRECTORIES_DEFAULT 128u
#define DIRECTORIES_MOST    1024u
#define ARENA_DEFAULT       ((size_t)8 << 20)
#define ARENA_LEAST         ((size_t)1 << 20)
#define ARENA_MOST          ((size_t)1 << 30)

static int system_openat(int dirfd, const char *path, int flags)
{
    return openat(dirfd, path, flags);
}

static ssize_t system_getdents(int fd, void *buffer, size_t bytes)
{
    return getdents64(fd, buffer, bytes);
}

static int system_fstatat(int dirfd, const char *path, struct stat *out, int flags)
{
    return fstatat(dirfd, path, out, flags);
}

static const struct vyre_walk_calls system_calls = {system_openat, system_getdents, system_fstatat};

static uint32_t default_directories(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 8 >= DIRECTORIES_DEFAULT)
        return DIRECTORIES_DEFAULT;
    return limit.rlim_cur / 8 < 4 ? 4 : (uint32_t)(limit.rlim_cur / 8);
}

static uint32_t power_above(uint32_t value)
{
    uint32_t power = 1;
    while (power < value)
        power *= 2;
    return power;
}

static vyre_status settle(struct vyre_walk_options *options, vyre_error *err)
{
    if (options->directories == 0) options->directories = default_directories();
    if (options->roots == 0) options->roots = 64;
    if (options->visits == 0) options->visits = 1024;
    if (options->arena_bytes == 0) options->arena_bytes = ARENA_DEFAULT;
    if (options->threads < 1 || options->threads > 64)
        return vyre_fail(err, VYRE_E_RANGE, "%u threads to walk trees; 1 to 64 can be had",
                         options->threads);
    if (options->directories < 4 || options->directories > DIRECTORIES_MOST)
        return vyre_fail(err, VYRE_E_RANGE, "%u directories held at once; 4 to %u can be",
                         options->directories, DIRECTORIES_MOST);
    if (options->roots > 65536 || options->visits > 65536)
        return vyre_fail(err, VYRE_E_RANGE, "%u roots and %u visits; up to 65536 can be had",
                         options->roots, options->visits);
    if (options->arena_bytes < ARENA_LEAST || options->arena_bytes > ARENA_MOST)
        return vyre_fail(err, VYRE_E_RANGE, "%zu bytes for names; %zu to %zu can be had",
                         options->arena_bytes, ARENA_LEAST, ARENA_MOST);
    size_t arena = ARENA_LEAST;
    while (arena * 2 <= options->arena_bytes)
        arena *= 2;
    options->arena_bytes = arena;
    if (!options->calls) options->calls = &system_calls;
    return VYRE_OK;
}

/* Everything that is allocated, in one table, so that taking and giving back agree. */
struct piece {
    void **at;
    size_t count, size;
    const char *what;
};

#define PIECES 9

static void pieces_of(struct vyre_walk *walk, struct piece pieces[PIECES])
{
    const struct vyre_walk_options *options = &walk->options;
    size_t visits = options->visit ? walk->slot_mask + 1 : 1;
    const struct piece all[PIECES] = {
        {(void **)&walk->nodes, options->directories, sizeof *walk->nodes, "directories"},
        {(void **)&walk->arena, options->arena_bytes, 1, "names of directories"},
        {(void **)&walk->units, walk->unit_count, 1, "a map of the names"},
        {(void **)&walk->frames, WALK_LEVELS, sizeof *walk->frames, "levels of a tree"},
        {(void **)&walk->path, VYRE_WALK_PATH_BYTES, 1, "a path"},
        {(void **)&walk->roots, walk->root_mask + 1, sizeof *walk->roots, "roots of trees"},
        {(void **)&walk->slots, visits, sizeof *walk->slots, "files read ahead"},
        {(void **)&walk->threads, options->threads, sizeof *walk->threads, "threads that walk"},
        {(void **)&walk->dents, options->threads, WALK_DENTS_BYTES, "directory entries"},
    };
    memcpy(pieces, all, sizeof all);
}

static void free_pieces(struct vyre_walk *walk)
{
    struct piece pieces[PIECES];
    pieces_of(walk, pieces);
    for (int i = 0; i < PIECES; i++)
        vyre_memory_free(walk->options.memory, *pieces[i].at, pieces[i].count * pieces[i].size);
}

static vyre_status take_pieces(struct vyre_walk *walk, vyre_error *err)
{
    struct piece pieces[PIECES];
    pieces_of(walk, pieces);
    walk->counts.bytes = sizeof *walk;
    for (int i = 0; i < PIECES; i++) {
        vyre_status status = vyre_memory_alloc(walk->options.memory, pieces[i].count,
                                               pieces[i].size, pieces[i].what, pieces[i].at, err);
        if (status) return status;
        walk->counts.bytes += pieces[i].count * pieces[i].size;
    }
    for (uint32_t i = walk->options.directories; i > 0; i--) {
        walk->nodes[i - 1].fd = -1;
        walk->nodes[i - 1].next_sibling = walk->free_list;
        walk->free_list = (uint16_t)i;
    }
    return VYRE_OK;
}

static vyre_status start_threads(struct vyre_walk *walk, vyre_error *err)
{
    sigset_t all, before;
    int failed = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 0; i < walk->options.threads && !failed; i++) {
        struct walk_thread *thread = &walk->threads[i];
        thread->walk = walk;
        thread->index = i;
        thread->dents = walk->dents + (size_t)i * WALK_DENTS_BYTES;
        failed = pthread_create(&thread->thread, NULL, walk_thread_main, thread);
        if (!failed) walk->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? vyre_fail_errno(err, failed, "starting a thread that walks trees") : VYRE_OK;
}

vyre_status vyre_walk_open(const struct vyre_walk_options *options, struct vyre_walk **out,
                           vyre_error *err)
{
    struct vyre_walk_options chosen = *options;
    struct vyre_walk *walk;
    void *memory;
    vyre_status status = settle(&chosen, err);
    if (status) return status;
    status = vyre_memory_alloc(chosen.memory, 1, sizeof *walk, "a walker", &memory, err);
    if (status) return status;
    walk = memory;
    walk->options = chosen;
    walk->calls = *chosen.calls;
    walk->node_limit = chosen.directories;
    walk->unit_count = walk->free_units = (uint32_t)(chosen.arena_bytes / WALK_UNIT_BYTES);
    walk->root_mask = power_above(chosen.roots) - 1;
    walk->slot_mask = power_above(chosen.visits) - 1;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP); /* held for a moment only */
    pthread_mutex_init(&walk->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_cond_init(&walk->work, NULL);
    pthread_cond_init(&walk->ready, NULL);
    walk->reserve = open("/", O_PATH | O_CLOEXEC); /* what it is does not matter */
    status = take_pieces(walk, err);
    if (!status) status = start_threads(walk, err);
    if (status) {
        vyre_walk_close(walk);
        return status;
    }
    *out = walk;
    return VYRE_OK;
}

int vyre_walk_add(struct vyre_walk *walk, const char *path, uint64_t root)
{
    pthread_mutex_lock(&walk->lock);
    int room = walk->root_head - walk->root_tail < walk->options.roots;
    if (room) {
        struct walk_root *place = &walk->roots[walk->root_head++ & walk->root_mask];
        memset(place, 0, sizeof *place);
        place->path = path;
        place->number = root;
        if (walk->sleepers) pthread_cond_signal(&walk->work);
    }
    pthread_mutex_unlock(&walk->lock);
    return room;
}

/* The records of the visited ones, in order. (lock) */
static uint32_t take_slots(struct vyre_walk *walk, struct vyre_walk_record *records, uint32_t limit)
{
    uint32_t count = 0;
    while (count < limit && walk->slot_tail != walk->slot_head) {
        struct walk_slot *slot = &walk->slots[walk->slot_tail & walk->slot_mask];
        if (!slot->ready) break;
        records[count++] = slot->record;
        walk->slot_tail++;
    }
    return count;
}

/* Wakes a thread that has something to do again. (lock) */
static void rouse(struct vyre_walk *walk, enum vyre_walk_state state)
{
    if (walk->sleepers == 0) return;
    int roomy = walk->crowded && walk->held <= walk->node_limit / 2;
    int visits = walk->options.visit && walk->slot_head - walk->slot_tail <= walk->slot_mask / 2;
    if ((state == VYRE_WALK_LATER && walk->wanted) || roomy || visits)
        pthread_cond_signal(&walk->work);
}

static enum vyre_walk_state next(struct vyre_walk *walk, struct vyre_walk_record *records,
                                 uint32_t limit, uint32_t *count)
{
    enum vyre_walk_state state = VYRE_WALK_SOME;
    uint32_t taken = 0;
    if (walk->options.visit && !walk->cancelled) {
        taken = take_slots(walk, records, limit);
        if (taken < limit) state = walk_available(walk);
    } else {
        while (taken < limit) {
            state = walk_step(walk, &records[taken]);
            if (state != VYRE_WALK_SOME) break;
            taken++;
        }
    }
    *count = taken;
    rouse(walk, state);
    if (taken) return VYRE_WALK_SOME;
    if (state == VYRE_WALK_LATER || state == VYRE_WALK_HELD) walk->hungry = state;
    return state;
}

enum vyre_walk_state vyre_walk_next(struct vyre_walk *walk, struct vyre_walk_record *records,
                                    uint32_t limit, uint32_t *count)
{
    pthread_mutex_lock(&walk->lock);
    enum vyre_walk_state state = next(walk, records, limit, count);
    pthread_mutex_unlock(&walk->lock);
    return state;
}

enum vyre_walk_state vyre_walk_wait(struct vyre_walk *walk, struct vyre_walk_record *records,
                                    uint32_t limit, uint32_t *count)
{
    pthread_mutex_lock(&walk->lock);
    enum vyre_walk_state state = next(walk, records, limit, count);
    while (state == VYRE_WALK_LATER) {
        pthread_cond_wait(&walk->ready, &walk->lock);
        state = next(walk, records, limit, count);
    }
    pthread_mutex_unlock(&walk->lock);
    return state;
}

void vyre_walk_release(struct vyre_walk *walk, const struct vyre_walk_record *records,
                       uint32_t count)
{
    uint32_t freed = 0;
    pthread_mutex_lock(&walk->lock);
    for (uint32_t i = 0; i < count; i++) {
        struct walk_node *node = walk_node_at(walk, records[i].holder);
        if (!node || --node->refs != 0 || !node->ended) continue;
        walk_node_free(walk, node);
        freed++;
    }
    if (freed || walk->starved) {
        int starved = walk->starved != 0;
        walk->starved = 0;
        if (starved && walk->sleepers)
            pthread_cond_signal(&walk->work);
        else
            rouse(walk, VYRE_WALK_SOME);
    }
    pthread_mutex_unlock(&walk->lock);
}

size_t vyre_walk_path(const struct vyre_walk_record *record, char *out, size_t bytes)
{
    uint32_t start = 0;
    if (record->directory_bytes)
        start = record->name_bytes ? walk_name_start(record->directory, record->directory_bytes)
                                   : record->directory_bytes;
    size_t length = (size_t)start + record->name_bytes;
    if (length + 1 > bytes) return length;
    memcpy(out, record->directory, record->directory_bytes);
    if (start > record->directory_bytes) out[record->directory_bytes] = '/';
    memcpy(out + start, record->name, record->name_bytes);
    out[length] = '\0';
    return length;
}

int vyre_walk_spare(struct vyre_walk *walk)
{
    pthread_mutex_lock(&walk->lock);
    int spared = walk_spare(walk);
    pthread_mutex_unlock(&walk->lock);
    return spared;
}

void vyre_walk_cancel(struct vyre_walk *walk)
{
    pthread_mutex_lock(&walk->lock);
    __atomic_store_n(&walk->cancelled, 1, __ATOMIC_RELAXED);
    int hungry = walk->hungry != 0;
    walk->hungry = 0;
    pthread_cond_broadcast(&walk->ready);
    pthread_mutex_unlock(&walk->lock);
    if (hungry && walk->options.wake) walk->options.wake(walk->options.ctx);
}

void vyre_walk_query(struct vyre_walk *walk, struct vyre_walk_counts *counts)
{
    pthread_mutex_lock(&walk->lock);
    *counts = walk->counts;
    pthread_mutex_unlock(&walk->lock);
}

void vyre_walk_close(struct vyre_walk *walk)
{
    if (!walk) return;
    vyre_walk_cancel(walk);
    pthread_mutex_lock(&walk->lock);
    walk->stop = 1;
    pthread_cond_broadcast(&walk->work);
    pthread_mutex_unlock(&walk->lock);
    for (uint32_t i = 0; i < walk->started; i++)
        pthread_join(walk->threads[i].thread, NULL);
    if (walk->reserve >= 0) close(walk->reserve);
    for (uint32_t i = 0; walk->started && i < walk->options.directories; i++) {
        if (walk->nodes[i].fd >= 0) close(walk->nodes[i].fd);
    }
    pthread_cond_destroy(&walk->ready);
    pthread_cond_destroy(&walk->work);
    pthread_mutex_destroy(&walk->lock);
    free_pieces(walk);
    vyre_memory_free(walk->options.memory, walk, sizeof *walk);
}
