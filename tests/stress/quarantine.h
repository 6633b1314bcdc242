/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An allocator that does not give memory back at once. What is freed is filled with a pattern and
 * kept for a while; when it goes at last, the pattern must still be there. So it sees writes after
 * the end of a buffer's life by anybody, the kernel included, whose writes no sanitizer sees. The
 * program's own are caught at once where the address sanitizer runs: what is kept is poisoned.
 */
#ifndef VYRE_TESTS_QUARANTINE_H
#define VYRE_TESTS_QUARANTINE_H

#include "support.h"

#include <sys/mman.h>

#if UNDER_ASAN
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#    define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define QUARANTINE_BYTES  ((size_t)96 << 20)
#define QUARANTINE_PIECES 4096u
#define QUARANTINE_FILL   0xB7

struct quarantine_piece {
    unsigned char *memory;
    size_t size;
    int mapped; /* by mmap */
};

static struct {
    pthread_mutex_t lock;
    struct quarantine_piece pieces[QUARANTINE_PIECES];
    uint64_t first, after; /* [first, after) are kept */
    size_t bytes;
    int64_t live_blocks, live_bytes;
    uint64_t checked; /* bytes */
    uint64_t written; /* pieces that were written to */
} quarantine = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The first piece goes. (lock) */
TAP_UNUSED static void quarantine_let_go(void)
{
    struct quarantine_piece *piece = &quarantine.pieces[quarantine.first++ % QUARANTINE_PIECES];
    ASAN_UNPOISON_MEMORY_REGION(piece->memory, piece->size);
    size_t at = 0;
    while (at < piece->size && piece->memory[at] == QUARANTINE_FILL)
        at++;
    if (at < piece->size) {
        quarantine.written++;
        note("byte %zu of %zu was written after its memory was given back", at, piece->size);
    }
    quarantine.checked += piece->size;
    quarantine.bytes -= piece->size;
    if (piece->mapped)
        munmap(piece->memory, piece->size);
    else
        free(piece->memory);
}

TAP_UNUSED static void quarantine_keep(void *memory, size_t size, int mapped)
{
    memset(memory, QUARANTINE_FILL, size);
    ASAN_POISON_MEMORY_REGION(memory, size);
    pthread_mutex_lock(&quarantine.lock);
    quarantine.live_blocks--;
    quarantine.live_bytes -= (int64_t)size;
    while (quarantine.first != quarantine.after &&
           (quarantine.bytes + size > QUARANTINE_BYTES ||
            quarantine.after - quarantine.first == QUARANTINE_PIECES))
        quarantine_let_go();
    quarantine.pieces[quarantine.after++ % QUARANTINE_PIECES] =
        (struct quarantine_piece){memory, size, mapped};
    quarantine.bytes += size;
    pthread_mutex_unlock(&quarantine.lock);
}

TAP_UNUSED static void *quarantine_count(void *memory, size_t size)
{
    if (!memory) return NULL;
    pthread_mutex_lock(&quarantine.lock);
    quarantine.live_blocks++;
    quarantine.live_bytes += (int64_t)size;
    pthread_mutex_unlock(&quarantine.lock);
    return memory;
}

TAP_UNUSED static void *quarantine_alloc(void *ctx, size_t size, size_t align)
{
    void *memory = NULL;
    (void)ctx;
    if (posix_memalign(&memory, align, size) != 0) return NULL;
    return quarantine_count(memory, size);
}

TAP_UNUSED static void quarantine_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    quarantine_keep(memory, size, 0);
}

TAP_UNUSED static void *quarantine_map(void *ctx, size_t size, int *fd)
{
    (void)ctx;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    *fd = -1;
    return quarantine_count(memory, size);
}

TAP_UNUSED static void quarantine_unmap(void *ctx, void *memory, size_t size, int fd)
{
    (void)ctx;
    (void)fd;
    quarantine_keep(memory, size, 1);
}

TAP_UNUSED static vyre_allocator quarantine_allocator(void)
{
    return (vyre_allocator){quarantine_alloc, quarantine_free, quarantine_map, quarantine_unmap,
                            NULL};
}

/* Lets everything go; two tests. */
TAP_UNUSED static void quarantine_end(void)
{
    while (quarantine.first != quarantine.after)
        quarantine_let_go();
    is_u64(quarantine.written, 0,
           "nobody has written to memory that was given back (%" PRIu64 " MiB of it looked at)",
           quarantine.checked >> 20);
    ok(quarantine.live_blocks == 0 && quarantine.live_bytes == 0, "no memory is left");
}

#endif
