/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA backend over the fake driver: memory beside a running kernel, launches without a rest,
 * linking, death, and a kernel that does not end. The fake counts the calls that would never have
 * returned: there may be none. Parking and waking are in t_cuda_wake.c.
 */
#include "cuda_fixture.h"

static void test_life(void)
{
    struct rig rig;
    fake_reset();
    start(&rig, 16);
    is_u64(rig.run->launch.blocks, 2, "16 workers and the poller are two blocks");
    is_u64(rig.run->room_bytes, 6272, "one a multiprocessor: all of its shared memory is rooms");
    uint64_t shift = atomic_load(&stub.shift);
    ok(shift > FAKE_CLOCK_BEHIND_NS / 2 && shift < FAKE_CLOCK_BEHIND_NS + 1000000000u,
       "the kernel knows how far its clock is behind: %" PRIu64, shift);
    is_u64(atomic_load(&stub.stay_ns), 0, "without a watchdog it may stay");
    ok(!cuda->on_worker(rig.run), "no thread of this process is a worker");
    cuda->help(rig.run);
    finish(&rig, "life");
}

static void test_memory(void)
{
    struct rig rig;
    uint64_t small, large, more;
    size_t bytes = (size_t)5 << 20;
    unsigned char *data = malloc(bytes), *back = malloc(bytes);
    vyre_error err;
    fake_reset();
    start(&rig, 7);
    works(cuda->memory->alloc(rig.run, 100, &small, &err), &err, "a small piece");
    works(cuda->memory->alloc(rig.run, bytes, &large, &err), &err, "a large piece");
    works(cuda->memory->alloc(rig.run, 0, &more, &err), &err, "a piece without bytes");
    works(cuda->memory->read(rig.run, back, large, bytes, &err), &err, "read beside the kernel");
    size_t set = 0;
    for (size_t i = 0; i < bytes; i++)
        set += back[i] != 0;
    is_u64(set, 0, "device memory is zero at first");
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i * 7 + i / 4096);
    works(cuda->memory->write(rig.run, large, data, bytes, &err), &err, "write in pieces");
    works(cuda->memory->read(rig.run, back, large, bytes, &err), &err, "read in pieces");
    ok(memcmp(data, back, bytes) == 0, "what was written is read");
    works(cuda->memory->write(rig.run, small, data + 1, 99, &err), &err, "odd places");
    works(cuda->memory->read(rig.run, back, small + 1, 98, &err), &err, "and back");
    ok(memcmp(data + 2, back, 98) == 0, "the same bytes");
    refused(cuda->memory->alloc(rig.run, (size_t)2 << 30, &more, &err), VYRE_E_NO_MEMORY, &err,
            "more than there is");
    is_u64(err.domain, VYRE_DOMAIN_CUDA, "in the domain of CUDA");
    ok(strstr(err.message, "1024 MiB are free"), "the message says what is left: %s", err.message);
    refused(cuda->memory->alloc(rig.run, SIZE_MAX - 5, &more, &err), VYRE_E_OVERFLOW, &err,
            "more than there are addresses");
    cuda->memory->free(rig.run, small, 100);
    cuda->memory->free(rig.run, large, bytes);
    cuda->memory->free(rig.run, more, 0);
    free(data);
    free(back);
    finish(&rig, "memory");
}

static void test_share(void)
{
    struct rig rig;
    struct vyre_mapping mapping, kept;
    uint64_t address, device;
    int later = 7;
    vyre_error err;
    fake_reset();
    start(&rig, 7);
    must(vyre_memory_map(&rig.memory, 8192, "shared", &mapping, &err), &err);
    works(cuda->memory->share(rig.run, &mapping, &address, &err), &err, "share beside a kernel");
    must(cuda->memory->alloc(rig.run, 4096, &device, &err), &err);
    memset(mapping.base, 0x5A, 4096);
    works(cuda->memory->write(rig.run, device, mapping.base, 4096, &err), &err, "from shared");
    works(cuda->memory->read(rig.run, (char *)mapping.base + 4096, device, 4096, &err), &err,
          "to shared");
    ok(memcmp(mapping.base, (char *)mapping.base + 4096, 4096) == 0, "without a bounce");
    cuda->memory->free(rig.run, device, 4096);
    kept = mapping;
    cuda->memory->unshare(rig.run, &mapping, &rig.memory, &later);
    is_u64(later, 1, "beside a running kernel it is unregistered later");
    ok(mapping.base == NULL && kept.base != NULL, "and the mapping is the backend's");
    uint64_t before = vyre_memory_live(&rig.memory);
    tell(PARK);
    ok(armed(), "the kernel parks");
    before -= vyre_memory_live(&rig.memory);
    ok(before > 0, "and the mapping was unmapped before the next launch was armed");
    must(vyre_memory_map(&rig.memory, 4096, "shared", &mapping, &err), &err);
    must(cuda->memory->share(rig.run, &mapping, &address, &err), &err);
    before = vyre_memory_live(&rig.memory);
    cuda->memory->unshare(rig.run, &mapping, &rig.memory, &later);
    is_u64(later, 1, "beside an armed one it is unregistered later too");
    ok(reaches(&stub.began, 2), "and the kernel is woken");
    tell(PARK);
    ok(armed() && vyre_memory_live(&rig.memory) < before, "so that it can be");
    cuda->wake(rig.run);
    ok(reaches(&stub.began, 3), "it runs a third time");
    tell(TOLD);
    ok(parked(&rig), "and is told to park");
    must(vyre_memory_map(&rig.memory, 4096, "shared", &mapping, &err), &err);
    must(cuda->memory->share(rig.run, &mapping, &address, &err), &err);
    cuda->memory->unshare(rig.run, &mapping, &rig.memory, &later);
    is_u64(later, 0, "while none is armed at once");
    vyre_memory_unmap(&rig.memory, &mapping);
    cuda->wake(rig.run);
    ok(reaches(&stub.began, 4), "and it runs a fourth time");
    finish(&rig, "share");
}

static void test_relaunch(void)
{
    struct rig rig;
    fake_reset();
    fake.device[0].watchdog = 1;
    start(&rig, 7);
    is_u64(atomic_load(&stub.stay_ns), 1000000000u, "beside a watchdog it may stay for a second");
    for (uint32_t i = 0; i < 5; i++) {
        tell(AGAIN);
        ok(reaches(&stub.began, i + 2), "a kernel that leaves to return is launched, nobody wakes");
    }
    struct dev_handover *ring = rig.resident.handover;
    is_u64(ring->claimed, 0, "the hand-over area begins as zeroes");
    ring->claimed = 99;
    tell(AGAIN);
    ok(reaches(&stub.began, 7), "launched again");
    is_u64(ring->claimed, 99, "and a launch goes on with it");
    cuda->wake(rig.run);
    tell(PARK);
    ok(reaches(&stub.began, 8), "a wake that came beside the kernel is not lost");
    finish(&rig, "relaunch");
}

static const char ptx[] = "// two functions\n.version 7.0\n";

/* And is woken in the end. */
static vyre_status link_and_run(struct rig *rig, const struct vyre_native_image *image,
                                uint64_t *number, vyre_error *err)
{
    uint32_t began = atomic_load(&stub.began);
    vyre_status status = link_told(rig, image, number, err);
    cuda->wake(rig->run);
    if (!reaches(&stub.began, began + 1)) bail("the kernel does not run again");
    return status;
}

static void test_link(void)
{
    struct rig rig;
    struct vyre_native_image one = {ptx, sizeof ptx - 1, "first_op"};
    struct vyre_native_image two = {ptx, sizeof ptx - 1, "second_op"};
    struct vyre_native_image elf = {"\177ELF....", 8, "third_op"};
    uint64_t number = 0;
    vyre_error err;
    fake_reset();
    start(&rig, 7);
    ok(strstr(fake.table, "vyre_native_table[1] = {0};"), "a table without functions at first");
    is_u64(fake.inputs, 2, "kernel and table");
    works(link_and_run(&rig, &one, &number, &err), &err, "link while parked");
    is_u64(number, 1, "numbers begin at 1");
    works(link_and_run(&rig, &two, &number, &err), &err, "a second function of the same image");
    is_u64(number, 2, "has its own number");
    is_u64(fake.inputs, 3, "the image is linked once");
    works(link_and_run(&rig, &elf, &number, &err), &err, "a cubin");
    is_u64(number, 3, "has the next");
    ok(strstr(fake.table, "vyre_native_table[4] = {0, first_op, second_op, third_op};"),
       "the table names all three");
    ok(strstr(fake.table, ".extern .func (.param .b32 code) second_op (.param .b64 call);"),
       "and declares them");
    works(link_and_run(&rig, &one, &number, &err), &err, "one that is known");
    is_u64(number, 1, "keeps its number");
    is_u64(atomic_load(&stub.began), 5, "the kernel ran after each");
    finish(&rig, "link");
}

static void test_link_fails(void)
{
    struct rig rig;
    struct vyre_native_image good = {ptx, sizeof ptx - 1, "first_op"};
    struct vyre_native_image bad = {"junk", 4, "other_op"};
    struct vyre_native_image name = {ptx, sizeof ptx - 1, "f; .global"};
    uint64_t number = 77;
    vyre_error err;
    fake_reset();
    start(&rig, 7);
    refused(cuda->link(rig.run, &good, &number, &err), VYRE_E_BUSY, &err,
            "a kernel that does not park");
    works(link_and_run(&rig, &good, &number, &err), &err, "then it parks, and is kept so");
    refused(link_and_run(&rig, &name, &number, &err), VYRE_E_RANGE, &err, "not a name");
    name.function = NULL;
    refused(link_and_run(&rig, &name, &number, &err), VYRE_E_RANGE, &err, "no name");
    name = (struct vyre_native_image){ptx, 0, "f"};
    refused(link_and_run(&rig, &name, &number, &err), VYRE_E_RANGE, &err, "no image");
    fake.link_log = "error   : Undefined reference to 'other_op'\nfatal   : link failed\n";
    refused(link_and_run(&rig, &bad, &number, &err), VYRE_E_SYSTEM, &err, "a link that fails");
    ok(strstr(err.message, "Undefined reference to 'other_op'"), "the first line: %s", err.message);
    is_u64(err.code, VYRE_CU_INVALID_PTX, "the code");
    is_u64(atomic_load(&stub.errors), 2, "all lines are in the log");
    fake.link_log = NULL;
    fake.blocks_each = 0;
    refused(link_and_run(&rig, &bad, &number, &err), VYRE_E_RANGE, &err, "a kernel without room");
    fake.blocks_each = 2;
    is_u64(number, 1, "the number was not touched");
    works(link_and_run(&rig, &good, &number, &err), &err, "what was linked before still is");
    finish(&rig, "link fails");
}

static void test_room(void)
{
    struct rig rig;
    vyre_error err;
    fake_reset();
    fake.blocks_each = 1;
    rig_prepare(&rig, 64);
    refused(rig_open(&rig, &err), VYRE_E_RANGE, &err, "more blocks than run at once");
    ok(strstr(err.fix, "48 or less"), "the fix says how many workers: %s", err.fix);
    tell(STOP); /* a kernel that runs all the same */
    rig_close(&rig);
    fake_reset();
    fake.blocks_each = 1;
    fake.device[0].shared = 64 << 10;
    rig_prepare(&rig, 32);
    refused(rig_open(&rig, &err), VYRE_E_RANGE, &err,
            "blocks of eight warps: more than run at once");
    ok(strstr(err.fix, "24 or less"), "the fix says how many workers: %s", err.fix);
    tell(STOP);
    rig_close(&rig);
    fake_reset();
    fake.device[0].mode = VYRE_CU_MODE_EXCLUSIVE;
    fake.retain_result = VYRE_CU_DEVICE_UNAVAILABLE;
    rig_prepare(&rig, 7);
    refused(rig_open(&rig, &err), VYRE_E_BUSY, &err, "a GPU that somebody has for himself");
    is_u64(err.code, VYRE_CU_DEVICE_UNAVAILABLE, "the code");
    tell(STOP);
    rig_close(&rig);
    is_u64(fake.alive, 0, "nothing is left");
    is_u64(vyre_memory_live(&rig.memory), 0, "no memory is left");
}

static void test_death(int result, enum command command, const char *word)
{
    struct rig rig;
    fake_reset();
    start(&rig, 7);
    fake.kernel_result = result;
    tell(command);
    ok(reaches(&stub.deaths, 1), "a kernel that died ends the process: %s", word);
    ok(strstr(stub.line, word), "and the log says so: %s", stub.line);
    rig_close(&rig);
    is_u64(vyre_memory_live(&rig.memory), 0, "what belongs to this process is freed");
}

static void test_deaf(void)
{
    struct rig rig;
    fake_reset();
    start(&rig, 7);
    uint64_t before = vyre_clock_ns();
    cuda->join(rig.run);
    ok(vyre_clock_ns() - before >= 1000000000u, "join waits for a kernel that does not stop");
    uint32_t alive = fake.alive;
    cuda->memory->free(rig.run, rig.image.address, rig.image.bytes);
    cuda->destroy(rig.run);
    is_u64(fake.alive, alive, "and nothing under it is freed");
    is_u64(fake.hung, 0, "no call that would not return");
    finish(&rig, "once it has ended");
}

int main(void)
{
    test_life();
    test_memory();
    test_share();
    test_relaunch();
    test_link();
    test_link_fails();
    test_room();
    test_death(VYRE_CU_ILLEGAL_ADDRESS, PARK, "CUDA_ERROR_ILLEGAL_ADDRESS");
    test_death(0, VANISH, "ended on its own");
    test_deaf();
    return done();
}
