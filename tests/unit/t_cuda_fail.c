/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every call of the driver fails once: the n-th call, for n from 1 until nothing fails any more,
 * over the whole life of a device. What fails says so with a status in the domain of CUDA, and
 * nothing is left. Then the same for every piece of memory of this process.
 */
#include "cuda_fixture.h"

#include <sys/mman.h>

/* Until the kernel has begun so often, or died. */
static void await_begun(uint32_t least)
{
    while (atomic_load(&stub.began) < least && atomic_load(&stub.deaths) == 0)
        breathe();
}

/* The kernel parks, is armed and woken. */
static void round_trip(struct rig *rig)
{
    await_begun(1);
    tell(PARK);
    while (!__atomic_load_n(&fake.armed, __ATOMIC_ACQUIRE) && atomic_load(&stub.deaths) == 0)
        breathe();
    dev_wake_parked(rig_page(rig));
    await_begun(2);
}

/* What is asked of a device that runs; the first failure ends it. */
static vyre_status use(struct rig *rig, vyre_error *err)
{
    static const char ptx[] = ".version 7.0\n";
    struct vyre_native_image image = {ptx, sizeof ptx - 1, "op"};
    struct vyre_mapping mapping = {NULL, 0, -1};
    uint64_t small = 0, large = 0, shared = 0, number;
    char bytes[64] = "bytes";
    int later = 0;
    vyre_status status = cuda->memory->alloc(rig->run, 64, &small, err);
    if (!status) status = cuda->memory->alloc(rig->run, (size_t)3 << 20, &large, err);
    if (!status) status = cuda->memory->write(rig->run, small, bytes, sizeof bytes, err);
    if (!status) status = cuda->memory->read(rig->run, bytes, small, sizeof bytes, err);
    if (!status) status = vyre_memory_map(&rig->memory, 4096, "shared", &mapping, err);
    if (!status) status = cuda->memory->share(rig->run, &mapping, &shared, err);
    if (!status) {
        round_trip(rig);
        status = link_told(rig, &image, &number, err);
        cuda->wake(rig->run);
    }
    if (shared) cuda->memory->unshare(rig->run, &mapping, &rig->memory, &later);
    if (!later) vyre_memory_unmap(&rig->memory, &mapping);
    if (small) cuda->memory->free(rig->run, small, 64);
    if (large) cuda->memory->free(rig->run, large, (size_t)3 << 20);
    return status;
}

/* A kernel that runs, or waits to be woken, stops. */
static void stop(struct rig *rig)
{
    tell(STOP);
    if (rig->run && rig->run->launch.page) cuda->wake(rig->run);
}

/* One life with a failure at call n. Returns whether that call came. */
static bool walk(uint32_t n, uint32_t *wrong)
{
    struct rig rig;
    vyre_error err = {0};
    fake_reset();
    fake.fail_at = n;
    fake.fail_with = VYRE_CU_UNKNOWN;
    rig_prepare(&rig, 7);
    vyre_status status = rig_open(&rig, &err);
    if (!status) status = use(&rig, &err);
    uint32_t during = __atomic_load_n(&fake.failed, __ATOMIC_RELAXED);
    stop(&rig);
    rig_close(&rig);
    bool said = !status || (err.status == status && err.domain == VYRE_DOMAIN_CUDA &&
                            err.code == VYRE_CU_UNKNOWN && err.fix[0]);
    bool died = atomic_load(&stub.deaths) > 0;
    if (!said || (status && !during) || fake.hung || fake.alive || fake.used ||
        vyre_memory_live(&rig.memory)) {
        note("call %u: status %s, domain %u, %u hung, %u alive, %zu bytes of the device, %" PRIu64
             " of memory, died %d: %s",
             n, vyre_status_name(status), err.domain, fake.hung, fake.alive, fake.used,
             vyre_memory_live(&rig.memory), died, err.message);
        (*wrong)++;
    }
    return fake.failed;
}

/* An allocator that fails once. */
static struct {
    _Atomic uint32_t asked;
    uint32_t fail_at;
} memory;

static void *take(void *ctx, size_t size, size_t align)
{
    (void)ctx;
    if (atomic_fetch_add(&memory.asked, 1) + 1 == memory.fail_at) return NULL;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void give(void *ctx, void *pointer, size_t size)
{
    (void)ctx, (void)size;
    free(pointer);
}

static void *take_map(void *ctx, size_t size, int *fd)
{
    (void)ctx;
    *fd = -1;
    if (atomic_fetch_add(&memory.asked, 1) + 1 == memory.fail_at) return NULL;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

static void give_map(void *ctx, void *base, size_t size, int fd)
{
    (void)ctx, (void)fd;
    munmap(base, size);
}

static bool walk_memory(uint32_t n, uint32_t *wrong)
{
    static const vyre_allocator hooks = {take, give, take_map, give_map, NULL};
    struct rig rig;
    vyre_error err = {0};
    fake_reset();
    rig_prepare(&rig, 7);
    vyre_memory_init(&rig.memory, &hooks, NULL);
    atomic_store(&memory.asked, 0);
    memory.fail_at = n;
    vyre_status status = rig_open(&rig, &err);
    if (!status) status = use(&rig, &err);
    stop(&rig);
    rig_close(&rig);
    bool failed = atomic_load(&memory.asked) >= n;
    if (status != (failed ? VYRE_E_NO_MEMORY : VYRE_OK) || fake.hung || fake.alive || fake.used ||
        vyre_memory_live(&rig.memory)) {
        note("piece %u: status %s, %u hung, %u alive, %" PRIu64 " of memory: %s", n,
             vyre_status_name(status), fake.hung, fake.alive, vyre_memory_live(&rig.memory),
             err.message);
        (*wrong)++;
    }
    return failed;
}

int main(void)
{
    uint32_t n = 0, wrong = 0, beyond = 0;
    while (beyond < 8) /* a life has some calls more or less, as threads meet */
        beyond = walk(++n, &wrong) ? 0 : beyond + 1;
    note("%u calls", n - beyond);
    ok(n > 70, "every call of a life has failed once");
    is_u64(wrong, 0, "each failure was said, and nothing was left");
    for (n = 1; walk_memory(n, &wrong); n++) {}
    note("%u pieces of memory", n - 1);
    ok(n > 8, "every piece of memory was missing once");
    is_u64(wrong, 0, "each time it was said, and nothing was left");
    return done();
}
