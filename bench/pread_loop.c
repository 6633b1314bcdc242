/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The plain way to read a file: threads that call pread for one block after the other and look at
 * every byte of it, unless they are to read and nothing more. Each takes the next block that nobody
 * has, so no thread waits for another, and adds up the 32-bit words of what it read; the sum is the
 * caller's to check.
 */
#include "pread_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 64 };

struct loop {
    const struct pread_wish *wish;
    int fd;
    _Atomic uint64_t next; /* block, counted on from pass to pass */
    atomic_int error;      /* errno of a read that failed */
};

struct reader {
    struct loop *loop;
    pthread_t thread;
    unsigned char *block;
    uint64_t bytes;
    uint32_t sum;
};

static uint32_t sum_words(const unsigned char *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i + 4 <= length; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        sum += word;
    }
    return sum;
}

/* Reads one block whole; returns its length, or -1. */
static ssize_t read_block(const struct loop *loop, unsigned char *to, uint64_t offset)
{
    size_t want = loop->wish->block;
    size_t have = 0;
    if (want > loop->wish->bytes - offset) want = (size_t)(loop->wish->bytes - offset);
    while (have < want) {
        ssize_t got = pread(loop->fd, to + have, want - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (got == 0) errno = EIO; /* the file is shorter than it was */
            return -1;
        }
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static void *reader_main(void *start)
{
    struct reader *reader = start;
    struct loop *loop = reader->loop;
    uint64_t blocks = (loop->wish->bytes + loop->wish->block - 1) / loop->wish->block;
    for (;;) {
        uint64_t block = atomic_fetch_add(&loop->next, 1);
        if (block >= blocks * loop->wish->passes || atomic_load(&loop->error) != 0) return NULL;
        ssize_t got = read_block(loop, reader->block, block % blocks * loop->wish->block);
        if (got < 0) {
            atomic_store(&loop->error, errno);
            return NULL;
        }
        reader->bytes += (uint64_t)got;
        if (!loop->wish->bare) reader->sum += sum_words(reader->block, (size_t)got);
    }
}

static int run(struct loop *loop, struct reader *readers, uint32_t count, struct pread_rate *rate)
{
    uint32_t started = 0;
    for (uint32_t i = 0; i < count; i++) {
        readers[i].loop = loop;
        readers[i].block = aligned_alloc(4096, loop->wish->block);
        /* Its pages are there before the clock starts, as those of a stream are. */
        if (readers[i].block == NULL) return ENOMEM;
        memset(readers[i].block, 0, loop->wish->block);
    }
    uint64_t begin_ns = bench_clock_ns();
    uint64_t begin_cpu_ns = bench_process_cpu_ns();
    while (started < count &&
           pthread_create(&readers[started].thread, NULL, reader_main, &readers[started]) == 0)
        started++;
    for (uint32_t i = 0; i < started; i++)
        pthread_join(readers[i].thread, NULL);
    rate->elapsed_ns = bench_clock_ns() - begin_ns;
    rate->cpu_ns = bench_process_cpu_ns() - begin_cpu_ns;
    if (started < count) return EAGAIN;
    return atomic_load(&loop->error);
}

void peer_pread_loop(const struct pread_wish *wish, struct pread_rate *rate)
{
    struct loop loop = {.wish = wish};
    struct reader readers[MOST_THREADS];
    uint32_t count = wish->threads < MOST_THREADS ? wish->threads : MOST_THREADS;
    memset(rate, 0, sizeof *rate);
    memset(readers, 0, sizeof readers);
    loop.fd = open(wish->path, O_RDONLY | O_CLOEXEC);
    if (loop.fd < 0) {
        rate->error = errno;
        return;
    }
    rate->error = run(&loop, readers, count, rate);
    for (uint32_t i = 0; i < count; i++) {
        rate->bytes += readers[i].bytes;
        rate->sum += readers[i].sum;
        free(readers[i].block);
    }
    close(loop.fd);
}
