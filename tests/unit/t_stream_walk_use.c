/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The walker of directory trees while it is used: records that are held, descriptors that run out
 * or are given to others, waking, visits, and a cancel at any moment.
 */
#include "walk_rig.h"

#include <sys/resource.h>

/* Records that are kept hold their directories; the walker says so and goes on when they come back.
 */
static void held_records(void)
{
    struct vyre_walk_record records[600];
    struct vyre_walk_options options = walk_options(2);
    uint32_t kept = 0, count, handed = 0, helds = 0;
    enum vyre_walk_state state;
    options.directories = 8;
    struct vyre_walk *walk = walk_open(&options);
    vyre_walk_add(walk, scratch_path("many"), 7);
    while ((state = vyre_walk_wait(walk, &records[kept], 1, &count)) != VYRE_WALK_IDLE) {
        handed += count;
        kept += count;
        if (state != VYRE_WALK_HELD) continue;
        helds++;
        if (kept == 0) bail("held, but nothing is kept");
        vyre_walk_release(walk, records, kept);
        kept = 0;
    }
    is_u64(handed, 201, "every record came");
    ok(helds > 10, "directories were held by records %u times", helds);
    vyre_walk_release(walk, records, kept);
    vyre_walk_close(walk);
}

/* Fewer descriptors than directories that it may hold. */
static void few_descriptors(void)
{
    struct rlimit before, low;
    struct text expected = {0};
    int fd = openat(scratch.fd, "many", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    expect_tree(&expected, fd, scratch_path("many"));
    text_add(&expected, "E 7");
    close(fd);
    getrlimit(RLIMIT_NOFILE, &before);
    for (uint32_t more = 4; more < 12; more += 3) {
        struct vyre_walk_options options = walk_options(2);
        options.directories = 64;
        low = before;
        low.rlim_cur = (rlim_t)(dup(0) + (int)more);
        close((int)(low.rlim_cur - more));
        setrlimit(RLIMIT_NOFILE, &low);
        struct text got = walk_once(&options, scratch_path("many"), NULL);
        setrlimit(RLIMIT_NOFILE, &before);
        same_text(&got, &expected, "%u descriptors are left", more);
    }
    text_free(&expected);
}

/* Descriptors for somebody else: what was read ahead goes, then the reserve, then there is none;
 * the walk goes on as if nothing had been. */
static void spared(void)
{
    struct text expected = {0}, got = {0};
    struct vyre_walk_options options = walk_options(2);
    struct vyre_walk_record record;
    uint32_t count, spares = 0, wrong = 0;
    int fd = openat(scratch.fd, "many", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    expect_tree(&expected, fd, scratch_path("many"));
    text_add(&expected, "E 7");
    close(fd);
    uint32_t before = count_descriptors();
    struct vyre_walk *walk = walk_open(&options);
    vyre_walk_add(walk, scratch_path("many"), 7);
    for (uint32_t i = 0; vyre_walk_wait(walk, &record, 1, &count) == VYRE_WALK_SOME; i++) {
        text_record(&got, &record);
        if (i % 16 == 3) {
            uint32_t left = before + 6;
            /* What is left is the path down to the record: three levels, and one that two threads
             * may each be about to open. Who is not scheduled before it counts finds what they have
             * read ahead since, so it asks again. */
            for (uint32_t turn = 0; turn < 10 && left > before + 5; turn++) {
                while (vyre_walk_spare(walk))
                    spares++;
                left = count_descriptors();
            }
            wrong += left > before + 5;
        }
        vyre_walk_release(walk, &record, 1);
    }
    vyre_walk_close(walk);
    same_text(&got, &expected, "the walk goes on after it gave its descriptors");
    text_free(&expected);
    ok(spares > 10 && wrong == 0, "it gave %u of them", spares);
}

/* Without waiting: the wake function says when to ask again. */
static void wake(void *ctx)
{
    atomic_fetch_add((_Atomic uint32_t *)ctx, 1);
}

static void woken(void)
{
    _Atomic uint32_t wakes = 0;
    struct vyre_walk_options options = walk_options(2);
    struct vyre_walk_record records[8];
    uint32_t count, seen = 0, laters = 0, handed = 0;
    options.wake = wake;
    options.ctx = &wakes;
    struct vyre_walk *walk = walk_open(&options);
    vyre_walk_add(walk, scratch_path("many"), 7);
    for (enum vyre_walk_state state;;) {
        seen = atomic_load(&wakes);
        state = vyre_walk_next(walk, records, 8, &count);
        handed += count;
        vyre_walk_release(walk, records, count);
        if (state == VYRE_WALK_IDLE) break;
        if (state != VYRE_WALK_LATER) continue;
        laters++;
        if (!reaches(&wakes, seen + 1)) bail("nobody woke us");
    }
    is_u64(handed, 201, "every record came");
    is_u64(atomic_load(&wakes), laters, "woken once for each wait");
    vyre_walk_close(walk);
}

/* Visits: each regular file once, on a walker's thread; the order stays. */
struct visits {
    _Atomic uint64_t called, threads;
};

static uint64_t visit(void *ctx, uint32_t thread, const struct vyre_walk_record *record)
{
    struct visits *visits = ctx;
    struct stat status;
    atomic_fetch_or(&visits->threads, 1ull << thread);
    uint64_t number = atomic_fetch_add(&visits->called, 1) + 1;
    if (fstatat(record->dirfd, record->name, &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    return number % 3 == 0 ? 0 : status.st_ino;
}

static void visited(void)
{
    struct visits visits = {0};
    struct vyre_walk_options options = walk_options(2);
    struct vyre_walk_record records[16];
    struct text expected = {0}, got = {0};
    uint64_t regular = 0, marked = 0, wrong = 0;
    uint32_t count;
    options.visit = visit;
    options.ctx = &visits;
    options.visits = 64;
    options.directories = 32;
    struct vyre_walk *walk = walk_open(&options);
    vyre_walk_add(walk, scratch_path("random"), 7);
    while (vyre_walk_wait(walk, records, 16, &count) == VYRE_WALK_SOME) {
        for (uint32_t i = 0; i < count; i++) {
            struct stat status = {0};
            text_record(&got, &records[i]);
            regular += records[i].kind == VYRE_WALK_REGULAR;
            marked += records[i].mark != 0;
            if (records[i].mark)
                fstatat(records[i].dirfd, records[i].name, &status, AT_SYMLINK_NOFOLLOW);
            wrong += records[i].mark != status.st_ino;
        }
        vyre_walk_release(walk, records, count);
    }
    vyre_walk_close(walk);
    int fd = openat(scratch.fd, "random", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    expect_tree(&expected, fd, scratch_path("random"));
    text_add(&expected, "E 7");
    same_text(&got, &expected, "the order is the same with visits");
    is_u64(atomic_load(&visits.called), regular, "each regular file was visited once");
    is_u64(marked, regular - regular / 3, "and has its mark, but those without");
    is_u64(wrong, 0, "which is its own");
    text_free(&expected);
    close(fd);
}

/* Ended at any moment: nothing is left and nothing hangs. */
static void *cancel_later(void *argument)
{
    vyre_walk_cancel(argument);
    return NULL;
}

static void cancelled(uint64_t seed)
{
    uint32_t descriptors = count_descriptors(), wrong = 0;
    uint64_t calls = 0;
    for (uint32_t i = 0; i < 300; i++) {
        struct visits visits = {0};
        struct vyre_walk_options options = walk_options(1 + random_below(&seed, 3));
        struct vyre_walk_record records[8];
        uint32_t count, batches = random_below(&seed, 40);
        enum vyre_walk_state state = VYRE_WALK_SOME;
        pthread_t thread;
        options.directories = 4 + random_below(&seed, 30);
        options.arena_bytes = 1u << 20;
        options.visit = random_below(&seed, 2) ? visit : NULL;
        options.ctx = &visits;
        struct vyre_walk *walk = walk_open(&options);
        vyre_walk_add(walk, scratch_path("random"), 7);
        vyre_walk_add(walk, scratch_path("many"), 8);
        for (uint32_t k = 0; k < batches && state == VYRE_WALK_SOME; k++) {
            state = vyre_walk_wait(walk, records, 8, &count);
            if (random_below(&seed, 8)) vyre_walk_release(walk, records, count);
        }
        if (i % 3 == 0 && pthread_create(&thread, NULL, cancel_later, walk) != 0) bail("a thread");
        if (i % 3 == 1) vyre_walk_cancel(walk);
        if (i % 3 == 0) {
            while (vyre_walk_wait(walk, records, 8, &count) == VYRE_WALK_SOME) {}
            pthread_join(thread, NULL);
        }
        if (i % 3 != 2) wrong += vyre_walk_next(walk, records, 8, &count) != VYRE_WALK_CANCELLED;
        calls += atomic_load(&visits.called);
        vyre_walk_close(walk);
    }
    is_u64(wrong, 0, "nothing comes after a cancel");
    note("%" PRIu64 " visits before", calls);
    walk_clean(descriptors, "walks that were cancelled");
    vyre_walk_close(NULL);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    scratch_make();
    make_many("many");
    close(make_random("random", seed));
    held_records();
    few_descriptors();
    spared();
    woken();
    visited();
    cancelled(seed);
    return done();
}
