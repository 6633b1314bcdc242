/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Parking and waking on the CUDA backend, over the fake driver: a kernel that has parked is armed,
 * and a word releases it, whenever that is stored and whoever stores it. Stopping, linking and
 * closing beside an armed one; GPUs whose streams cannot wait; the clock of a launch that was woken
 * late.
 */
#include "cuda_fixture.h"

static void test_word(void)
{
    struct rig rig;
    fake_reset();
    start(&rig, 7);
    struct dev_page *page = rig_page(&rig);
    dev_wake_parked(page);
    is_u64(page->release, 0, "a kernel that runs is not woken");
    tell(PARK);
    ok(armed(), "one that parks is armed");
    is_u64(page->sleepers, 1, "and says which it was");
    is_u64(atomic_load(&stub.began), 1, "the next has not begun");
    dev_wake_parked(page);
    ok(reaches(&stub.began, 2), "a store to the word wakes it");
    is_u64(__atomic_load_n(&page->release, __ATOMIC_RELAXED), 2, "the word names the launch");
    ok(page->woken_ns != 0 && page->woken_ns <= vyre_clock_ns(), "and when that was");
    dev_release(page, 1);
    is_u64(__atomic_load_n(&page->release, __ATOMIC_RELAXED), 2, "it never goes back");
    finish(&rig, "word");
}

/* Released before it is armed, and before it has even parked. */
static void test_early(void)
{
    struct rig rig;
    fake_reset();
    start(&rig, 7);
    dev_release(rig_page(&rig), 2);
    tell(PARK);
    ok(reaches(&stub.began, 2), "a release that comes before the park is not lost");
    tell(TOLD);
    ok(parked(&rig), "told to park, it is not armed");
    is_u64(__atomic_load_n(&fake.armed, __ATOMIC_ACQUIRE), 0, "at once, for somebody links");
    dev_wake_parked(rig_page(&rig));
    breathe();
    is_u64(atomic_load(&stub.began), 2, "nor woken by the word");
    cuda->wake(rig.run);
    ok(reaches(&stub.began, 3), "before who told it to has woken it");
    tell(TOLD);
    ok(reaches(&stub.began, 3) && parked(&rig), "told again");
    dev_wake_parked(rig_page(&rig));
    ok(reaches(&stub.began, 4), "it is not waited for him for ever");
    cuda->wake(rig.run);
    tell(PARK);
    ok(reaches(&stub.began, 5), "a call of wake beside a kernel is not lost");
    finish(&rig, "early");
}

/* The kernel says that it sleeps before it has left: one wake from then on is enough, whether it
 * comes before or after the end, before or after the next one is armed. */
static void test_race(uint64_t seed, uint32_t rounds, int waits)
{
    struct rig rig;
    uint64_t state = seed;
    uint32_t lost = 0;
    fake_reset();
    fake.device[0].no_waits = !waits;
    start(&rig, 7);
    struct dev_page *page = rig_page(&rig);
    for (uint32_t i = 1; i <= rounds && !lost; i++) {
        tell(PARK);
        while (!__atomic_load_n(&page->sleepers, __ATOMIC_SEQ_CST))
            sched_yield();
        if (random_below(&state, 4) == 0) breathe();
        for (uint32_t spin = random_below(&state, 3000); spin > 0; spin--)
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
        dev_wake_parked(page);
        if (!reaches(&stub.began, i + 1)) lost++;
    }
    is_u64(lost, 0, "%u parks, each followed by a launch", rounds);
    is_u64(atomic_load(&stub.began), rounds + 1, "and none by two");
    finish(&rig, "race");
}

struct waker {
    pthread_t thread;
    struct dev_page *page;
    _Atomic uint32_t stop;
};

/* What a producer does again and again. */
static void *keep_waking(void *argument)
{
    struct waker *waker = argument;
    while (!atomic_load(&waker->stop)) {
        dev_fence_full();
        if (dev_load_relaxed(&waker->page->poller) == 0) dev_wake_parked(waker->page);
        sched_yield();
    }
    return NULL;
}

static void test_two(uint32_t rounds)
{
    struct rig rig;
    struct waker waker[2];
    uint32_t lost = 0;
    fake_reset();
    start(&rig, 7);
    for (uint32_t i = 0; i < 2; i++) {
        waker[i].page = rig_page(&rig);
        atomic_init(&waker[i].stop, 0);
        if (pthread_create(&waker[i].thread, NULL, keep_waking, &waker[i])) bail("no thread");
    }
    for (uint32_t i = 1; i <= rounds && !lost; i++) {
        tell(PARK);
        if (!reaches(&stub.began, i + 1)) lost++;
    }
    for (uint32_t i = 0; i < 2; i++) {
        atomic_store(&waker[i].stop, 1);
        pthread_join(waker[i].thread, NULL);
    }
    is_u64(lost, 0, "%u parks, two who wake at once", rounds);
    is_u64(atomic_load(&stub.number), atomic_load(&stub.began), "one launch each");
    finish(&rig, "two");
}

/* The word as somebody left it who meant a device before this one: one launch too many. */
static void test_ahead(void)
{
    struct rig rig;
    fake_reset();
    start(&rig, 7);
    dev_release(rig_page(&rig), 5000);
    tell(PARK);
    ok(reaches(&stub.began, 2), "a word that is far ahead releases a launch");
    is_u64(atomic_load(&stub.number), 5000, "which has its number");
    tell(PARK);
    ok(armed(), "and the next one waits");
    is_u64(atomic_load(&stub.began), 2, "no other had begun");
    dev_wake_parked(rig_page(&rig));
    ok(reaches(&stub.began, 3), "until it is woken");
    finish(&rig, "ahead");
}

static void test_wrap(void)
{
    struct rig rig;
    vyre_error err;
    fake_reset();
    rig_prepare(&rig, 7);
    rig.before = UINT32_MAX - 2;
    must(rig_open(&rig, &err), &err);
    uint32_t began = 1;
    static const uint32_t number[] = {UINT32_MAX - 1, UINT32_MAX, 1, 2};
    for (uint32_t i = 0; i < 4; i++) {
        if (!reaches(&stub.began, began)) bail("launch %u never began", began);
        is_u64(atomic_load(&stub.number), number[i], "numbers go round, and 0 is none");
        if (i == 3) break;
        tell(PARK);
        ok(armed(), "it is armed");
        dev_wake_parked(rig_page(&rig));
        began++;
    }
    finish(&rig, "wrap");
}

static void test_stop(void)
{
    struct rig rig;
    struct vyre_mapping mapping;
    uint64_t address;
    vyre_error err;
    int later;
    fake_reset();
    start(&rig, 7);
    tell(PARK);
    ok(armed(), "the kernel is armed");
    tell(STOP);
    must(vyre_memory_map(&rig.memory, 4096, "shared", &mapping, &err), &err);
    must(cuda->memory->share(rig.run, &mapping, &address, &err), &err);
    cuda->memory->unshare(rig.run, &mapping, &rig.memory, &later);
    is_u64(later, 1, "something waits for its end");
    dev_wake_parked(rig_page(&rig));
    cuda->join(rig.run);
    is_u64(rig.run->launch.threaded, 0, "released, it stops");
    is_u64(fake.armed, 0, "and none is armed any more");
    is_u64(fake.launches, 2, "nor launched");
    finish(&rig, "stop");
}

/* Nobody stops it: join gives up, and nothing is freed under what may still begin. */
static void test_abandon(void)
{
    struct rig rig;
    fake_reset();
    start(&rig, 7);
    tell(PARK);
    ok(armed(), "the kernel is armed");
    cuda->join(rig.run);
    is_u64(rig.run->launch.abandoned, 1, "join gives up a kernel that nobody released");
    uint32_t alive = fake.alive;
    cuda->destroy(rig.run);
    is_u64(fake.alive, alive, "and nothing is freed");
    tell(STOP);
    dev_wake_parked(rig_page(&rig));
    finish(&rig, "once it was released");
}

static void test_link(void)
{
    static const char ptx[] = ".version 7.0\n";
    struct rig rig;
    struct vyre_native_image image = {ptx, sizeof ptx - 1, "op"};
    uint64_t number = 0;
    vyre_error err;
    fake_reset();
    start(&rig, 7);
    tell(PARK);
    ok(armed(), "the kernel is armed");
    refused(cuda->link(rig.run, &image, &number, &err), VYRE_E_BUSY, &err, "no link beside it");
    is_u64(atomic_load(&stub.began), 1, "it has not begun");
    /* What a request to park on queue 0 does. */
    dev_wake_parked(rig_page(&rig));
    works(link_told(&rig, &image, &number, &err), &err, "released and told to park, it is");
    is_u64(atomic_load(&stub.began), 2, "it had begun once for that");
    cuda->wake(rig.run);
    ok(reaches(&stub.began, 3), "it runs again");
    /* While somebody else has something for it all the time. */
    tell(TOLD);
    while (!__atomic_load_n(&rig_page(&rig)->sleepers, __ATOMIC_SEQ_CST))
        sched_yield();
    dev_wake_parked(rig_page(&rig));
    image.function = "other";
    works(link_soon(&rig, &image, &number, &err), &err,
          "a producer that wakes it does not keep a link out");
    is_u64(number, 2, "it has its number");
    cuda->wake(rig.run);
    ok(reaches(&stub.began, 4), "it runs again");
    finish(&rig, "link");
}

static void test_no_waits(void)
{
    struct rig rig;
    struct vyre_mapping mapping;
    uint64_t address;
    vyre_error err;
    int later;
    fake_reset();
    fake.device[0].no_waits = 1;
    start(&rig, 7);
    tell(PARK);
    ok(parked(&rig), "a stream that cannot wait: the kernel parks");
    must(vyre_memory_map(&rig.memory, 4096, "shared", &mapping, &err), &err);
    must(cuda->memory->share(rig.run, &mapping, &address, &err), &err);
    cuda->memory->unshare(rig.run, &mapping, &rig.memory, &later);
    is_u64(later, 0, "none is armed, so memory is unregistered at once");
    vyre_memory_unmap(&rig.memory, &mapping);
    is_u64(atomic_load(&stub.began), 1, "it rests");
    dev_wake_parked(rig_page(&rig));
    ok(reaches(&stub.began, 2), "until the word is seen");
    is_u64(fake.armed, 0, "without a wait in the stream");
    finish(&rig, "no waits");
}

static void test_clock(void)
{
    const uint64_t second = 1000000000u, ms = 1000000u, woken = 1000 * second;
    struct dev_launch launch = {.clock_shift = -5000, .clock_ns = woken - 10 * second};
    static const struct {
        int64_t ahead; /* how far the launch's clock is ahead of the time it was woken */
        int64_t corrected;
        const char *what;
    } cases[] = {
        {7000, 0, "a clock that is right"},
        {1000000, 0, "one that is wrong by as much as a millisecond"},
        {-1000001, 1000001, "one that is behind"},
        {3000000, -3000000, "one that is ahead"},
        {-50000000, 9765625, "one that is behind by more than can be drift"},
        {50000000, -9765625, "one that is ahead by more than that"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t now = woken + (uint64_t)cases[i].ahead;
        is_u64((uint64_t)(dev_launch_shift(&launch, now, woken) + 5000),
               (uint64_t)cases[i].corrected, "%s", cases[i].what);
    }
    launch.clock_ns = woken;
    is_u64((uint64_t)(dev_launch_shift(&launch, woken - 5 * ms, woken) + 5000), 0,
           "one that was measured after the word was raised stays");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    test_word();
    test_early();
    test_race(seed, UNDER_ASAN || UNDER_TSAN ? 600 : 3000, 1); /* where each takes longer */
    test_race(seed, 100, 0);
    test_two(500);
    test_ahead();
    test_wrap();
    test_stop();
    test_abandon();
    test_link();
    test_no_waits();
    test_clock();
    return done();
}
