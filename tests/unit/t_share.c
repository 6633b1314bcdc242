/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory shared with others, both ways: on the CPU backend in this process and in a device host,
 * and on the CUDA backend over the fake driver, whose shared memory is a memfd that another process
 * can map too. What a death of the host leaves of it, and everything that can be wrong with a
 * descriptor.
 */
#include "share_peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "cuda_fixture.h"

#define STEP  ((size_t)2 << 20) /* of the fake GPU's memory */
#define WORDS 1000u
#define BYTES (WORDS * sizeof(uint32_t))

enum place { CPU_PROCESS = 0, CPU_HOST = 1, FAKE_GPU = 2 };

static const char *const place_name[] = {"cpu", "cpu in a host", "fake gpu"};

static vyre *open_place(enum place place)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = place == FAKE_GPU ? VYRE_BACKEND_CUDA : VYRE_BACKEND_CPU;
    options.workers = 3;
    options.place = place == CPU_PROCESS ? VYRE_PLACE_PROCESS : VYRE_PLACE_HOST;
    if (place == FAKE_GPU) options.host = VYRE_FAKE_HOST;
    return open_with(&options);
}

static vyre_buffer *make_shared(vyre *rt, size_t bytes)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    options.flags = VYRE_BUFFER_SHARED;
    must(vyre_buffer_create_with(rt, bytes, &options, &buffer, &err), &err);
    return buffer;
}

static void fill(uint32_t *words, uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * 2654435761u + seed;
}

static bool holds(vyre_buffer *buffer, const uint32_t *words)
{
    uint32_t found[WORDS];
    vyre_error err;
    must(vyre_buffer_read(buffer, 0, found, BYTES, &err), &err);
    return memcmp(found, words, BYTES) == 0;
}

/* Adds one to each word of a buffer by a program; false: this device runs none. */
static bool add_one(vyre *rt, vyre_buffer *buffer)
{
    static const char source[] = "@guard(y)\nkernel add(inout u32 y[]) { y[i] = y[i] + 1; }\n";
    vyre_program *program = NULL;
    vyre_bindings *bindings = NULL;
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    vyre_status status =
        vyre_program_compile(rt, source, sizeof source - 1, NULL, NULL, &program, &err);
    if (status == VYRE_E_UNSUPPORTED) return false;
    must(status, &err);
    must(vyre_bindings_create(program, &buffer, 1, &bindings, &err), &err);
    vyre_queue *queue = vyre_queue_default(rt);
    run.program = program;
    run.bindings = bindings;
    run.grid[0] = (WORDS + 63) / 64;
    must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    if (wait_for(queue, submit(queue)).outcome != VYRE_DONE) bail("the program did not end well");
    vyre_bindings_free(bindings);
    must(vyre_program_unload(program, &err), &err);
    return true;
}

/* Another process maps the memory, looks for `expected`, and leaves `left` there. */
static bool other_process(const vyre_share *share, const uint32_t *expected, const uint32_t *left)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        void *mapped =
            mmap(NULL, (size_t)share->extent, PROT_READ | PROT_WRITE, MAP_SHARED, share->fd, 0);
        if (mapped == MAP_FAILED || memcmp(mapped, expected, BYTES) != 0) _exit(1);
        memcpy(mapped, left, BYTES);
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_export(enum place place)
{
    const char *name = place_name[place];
    uint32_t words[WORDS], zero[WORDS] = {0}, found[WORDS];
    uint32_t before = count_descriptors();
    vyre_share share = VYRE_SHARE_INIT, again = VYRE_SHARE_INIT;
    vyre_error err;
    vyre *rt = open_place(place);
    vyre_buffer *buffer = make_shared(rt, BYTES);
    works(vyre_buffer_export(buffer, &share, &err), &err, "%s: exported", name);
    is_u64(share.kind, place == FAKE_GPU ? VYRE_SHARE_CUDA : VYRE_SHARE_MEMORY, "%s: kind", name);
    ok(share.bytes == BYTES && share.extent >= BYTES, "%s: sizes", name);
    ok(place == FAKE_GPU ? strncmp(share.device, "GPU-", 4) == 0 : share.device[0] == '\0',
       "%s: the device is '%s'", name, share.device);
    ok((fcntl(share.fd, F_GETFD) & FD_CLOEXEC) != 0, "%s: the descriptor is closed on exec", name);
    struct peer_memory memory = peer_open(&share);
    bool all_zero = true;
    for (size_t i = 0; i < memory.extent; i++)
        all_zero &= ((const unsigned char *)memory.mapped)[i] == 0;
    ok(all_zero, "%s: the whole extent is zero at first", name);
    fill(words, 1);
    must(vyre_buffer_write(buffer, 0, words, BYTES, &err), &err);
    peer_read(&memory, found, BYTES);
    ok(memcmp(found, words, BYTES) == 0, "%s: the other side sees what was written", name);
    fill(found, 2);
    ok(other_process(&share, words, found), "%s: so does another process", name);
    ok(holds(buffer, found), "%s: and its bytes are seen here", name);
    if (add_one(rt, buffer)) {
        peer_read(&memory, words, BYTES);
        bool same = true;
        for (uint32_t i = 0; i < WORDS; i++)
            same &= words[i] == found[i] + 1;
        ok(same, "%s: a program's stores are seen by the other side", name);
    } else {
        skip("no programs on this device");
    }
    works(vyre_buffer_export(buffer, &again, &err), &err, "%s: exported a second time", name);
    ok(again.fd != share.fd, "%s: a descriptor of its own", name);
    close(again.fd);
    vyre_buffer_free(buffer);
    fill(words, 3);
    peer_write(&memory, words, BYTES);
    peer_read(&memory, found, BYTES);
    ok(memcmp(found, words, BYTES) == 0, "%s: the memory outlives the buffer", name);
    ok(memcmp(found, zero, BYTES) != 0, "%s: with what is in it", name);
    peer_close(&memory);
    close(share.fd);
    vyre_close(rt);
    is_u64(count_descriptors(), before, "%s: no descriptor is left", name);
}

/* Memory that the other side made. */
static void test_import(enum place place, uint32_t kind)
{
    const char *name = place_name[place];
    uint32_t words[WORDS], found[WORDS];
    uint32_t before = count_descriptors();
    vyre_share share, out = VYRE_SHARE_INIT;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    void *mapped = NULL;
    vyre *rt = open_place(place);
    struct peer_memory memory = peer_make("fake-gpu-0", STEP, &share);
    share.kind = kind;
    share.bytes = BYTES;
    fill(words, 4);
    peer_write(&memory, words, BYTES);
    works(vyre_buffer_import(rt, &share, NULL, &buffer, &err), &err, "%s: imported, kind %u", name,
          kind);
    close(share.fd);
    is_u64(vyre_buffer_size(buffer), BYTES, "%s: its size", name);
    ok(vyre_buffer_handle(buffer) != 0, "%s: it has a handle", name);
    ok(holds(buffer, words), "%s: what was in it is there", name);
    if (add_one(rt, buffer)) {
        peer_read(&memory, found, BYTES);
        bool same = true;
        for (uint32_t i = 0; i < WORDS; i++)
            same &= found[i] == words[i] + 1;
        ok(same, "%s: a program changes the other side's memory", name);
    } else {
        skip("no programs on this device");
    }
    vyre_status status = vyre_buffer_map(buffer, &mapped, &err);
    if (kind == VYRE_SHARE_MEMORY)
        ok(status == VYRE_OK && mapped != NULL, "%s: host memory can be mapped", name);
    else
        refused(status, VYRE_E_UNSUPPORTED, &err, "%s: GPU memory cannot be mapped", name);
    works(vyre_buffer_export(buffer, &out, &err), &err, "%s: and exported on", name);
    ok(out.kind == kind && out.extent >= BYTES, "%s: as what it is", name);
    close(out.fd);
    vyre_buffer_free(buffer);
    fill(words, 5);
    peer_write(&memory, words, BYTES); /* still mapped: else this ends the test */
    peer_close(&memory);
    vyre_close(rt);
    is_u64(count_descriptors(), before, "%s: no descriptor is left", name);
}

static uint32_t host_of(vyre *rt, uint32_t *restarts)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    *restarts = about.restarts;
    return about.host_pid;
}

static void kill_host(vyre *rt)
{
    uint32_t restarts, now = 0;
    uint32_t pid = host_of(rt, &restarts);
    kill((pid_t)pid, SIGKILL);
    for (uint64_t waited = 0; now == restarts || now == 0; waited += 50000) {
        if (waited > PATIENCE_NS) bail("no new host came");
        breathe();
        host_of(rt, &now);
    }
}

static void test_death(enum place place)
{
    const char *name = place_name[place];
    uint32_t ours[WORDS], theirs[WORDS], found[WORDS];
    uint32_t before = count_descriptors();
    vyre_share share = VYRE_SHARE_INIT, given;
    vyre_buffer *imported = NULL;
    vyre_error err;
    vyre *rt = open_place(place);
    vyre_buffer *exported = make_shared(rt, BYTES);
    must(vyre_buffer_export(exported, &share, &err), &err);
    struct peer_memory lent = peer_open(&share), made = peer_make("fake-gpu-0", STEP, &given);
    given.kind = share.kind;
    given.bytes = BYTES;
    must(vyre_buffer_import(rt, &given, NULL, &imported, &err), &err);
    fill(ours, 6);
    fill(theirs, 7);
    must(vyre_buffer_write(exported, 0, ours, BYTES, &err), &err);
    peer_write(&made, theirs, BYTES);
    for (uint32_t round = 0; round < 2; round++) {
        kill_host(rt);
        ok(holds(exported, ours), "%s: an exported buffer outlives its host", name);
        ok(holds(imported, theirs), "%s: so does an imported one", name);
        fill(ours, 8 + round);
        must(vyre_buffer_write(exported, 0, ours, BYTES, &err), &err);
        peer_read(&lent, found, BYTES);
        ok(memcmp(found, ours, BYTES) == 0, "%s: it is still the memory that others see", name);
        fill(theirs, 18 + round);
        peer_write(&made, theirs, BYTES);
        ok(holds(imported, theirs), "%s: and theirs is still theirs", name);
        ok(wait_for(vyre_queue_default(rt), submit_op(vyre_queue_default(rt), VYRE_OP_NOP, NULL, 0))
                   .outcome == VYRE_DONE,
           "%s: slots run", name);
    }
    vyre_buffer_free(exported);
    vyre_buffer_free(imported);
    vyre_close(rt);
    close(share.fd);
    close(given.fd);
    peer_close(&lent);
    peer_close(&made);
    is_u64(count_descriptors(), before, "%s: no descriptor is left", name);
}

/* Refusals.
 * ------------------------------------------------------------------------------------------------
 */

static void try_import(vyre *rt, const vyre_share *share, vyre_status expected, const char *what)
{
    vyre_buffer *buffer = NULL;
    vyre_error err = {0};
    uint32_t before = count_descriptors();
    refused(vyre_buffer_import(rt, share, NULL, &buffer, &err), expected, &err, "%s", what);
    ok(buffer == NULL && count_descriptors() == before, "%s: nothing is left", what);
}

static void test_arguments(enum place place)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *plain = NULL, *buffer = NULL;
    vyre_share share = VYRE_SHARE_INIT, wrong;
    vyre_error err;
    vyre *rt = open_place(place);
    must(vyre_buffer_create(rt, 100, VYRE_DEVICE, &plain, &err), &err);
    refused(vyre_buffer_export(plain, &share, &err), VYRE_E_STATE, &err,
            "a buffer that was not made for it");
    ok(share.fd == -1, "the share is as it was");
    refused(vyre_buffer_export(NULL, &share, &err), VYRE_E_NULL, &err, "no buffer");
    refused(vyre_buffer_export(plain, NULL, &err), VYRE_E_NULL, &err, "no share");
    share.size = 8;
    refused(vyre_buffer_export(plain, &share, &err), VYRE_E_SIZE, &err, "a share of 8 bytes");
    share.size = sizeof share;
    options.flags = VYRE_BUFFER_SHARED | VYRE_BUFFER_RESTORED;
    refused(vyre_buffer_create_with(rt, 100, &options, &buffer, &err), VYRE_E_CONFLICT, &err,
            "shared and restored");
    struct peer_memory memory = peer_make("fake-gpu-0", STEP, &share);
    if (place != FAKE_GPU) share.kind = VYRE_SHARE_MEMORY;
    options.flags = VYRE_BUFFER_RESTORED;
    refused(vyre_buffer_import(rt, &share, &options, &buffer, &err), VYRE_E_CONFLICT, &err,
            "imported and restored");
    refused(vyre_buffer_import(NULL, &share, NULL, &buffer, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_buffer_import(rt, NULL, NULL, &buffer, &err), VYRE_E_NULL, &err, "no share");
    refused(vyre_buffer_import(rt, &share, NULL, NULL, &err), VYRE_E_NULL, &err, "no room");
    wrong = share, wrong.kind = 0;
    try_import(rt, &wrong, VYRE_E_RANGE, "kind 0");
    wrong = share, wrong.kind = 3;
    try_import(rt, &wrong, VYRE_E_RANGE, "kind 3");
    wrong = share, wrong.reserved = 1;
    try_import(rt, &wrong, VYRE_E_RESERVED, "a reserved word");
    wrong = share, wrong.bytes = 0;
    try_import(rt, &wrong, VYRE_E_RANGE, "no bytes");
    wrong = share, wrong.extent = share.bytes - 1;
    try_import(rt, &wrong, VYRE_E_RANGE, "an extent below the bytes");
    wrong = share, wrong.bytes = wrong.extent = UINT64_MAX;
    try_import(rt, &wrong, VYRE_E_OVERFLOW, "more than there are addresses");
    wrong = share, memset(wrong.device, 'x', sizeof wrong.device);
    try_import(rt, &wrong, VYRE_E_RANGE, "a device without end");
    wrong = share, wrong.fd = -1;
    try_import(rt, &wrong, VYRE_E_SYSTEM, "no descriptor");
    wrong = share, wrong.size = 4;
    try_import(rt, &wrong, VYRE_E_SIZE, "a share of 4 bytes");
    close(share.fd);
    peer_close(&memory);
    vyre_close(rt);
}

static void test_memory_refused(enum place place)
{
    int ends[2];
    vyre_share share, wrong;
    vyre *rt = open_place(place);
    struct peer_memory memory = peer_make("some", 8192, &share);
    if (pipe(ends) != 0) bail("no pipe");
    share.kind = VYRE_SHARE_MEMORY;
    wrong = share, wrong.fd = ends[0];
    try_import(rt, &wrong, VYRE_E_NOT_PERMITTED, "a pipe for memory");
    wrong = share, wrong.bytes = wrong.extent = 8193;
    try_import(rt, &wrong, VYRE_E_TOO_SMALL, "less memory than bytes");
    if (place != FAKE_GPU) {
        wrong = share, wrong.kind = VYRE_SHARE_CUDA;
        try_import(rt, &wrong, VYRE_E_UNSUPPORTED, "GPU memory for threads");
    }
    close(ends[0]);
    close(ends[1]);
    close(share.fd);
    peer_close(&memory);
    vyre_close(rt);
}

static void test_gpu_refused(void)
{
    int ends[2];
    vyre_share share, wrong, far, other;
    vyre_error err;
    vyre *rt = open_place(FAKE_GPU);
    struct peer_memory memory = peer_make("fake-gpu-0", 2 * STEP, &share);
    struct peer_memory elsewhere = peer_make("fake-gpu-1", STEP, &far);
    struct peer_memory plain = peer_make("plain", STEP, &other);
    if (pipe(ends) != 0) bail("no pipe");
    wrong = share, wrong.fd = ends[0];
    try_import(rt, &wrong, VYRE_E_NOT_PERMITTED, "a pipe for GPU memory");
    try_import(rt, &other, VYRE_E_NOT_PERMITTED, "host memory for GPU memory");
    try_import(rt, &far, VYRE_E_CONFLICT, "memory of another GPU");
    wrong = share;
    snprintf(wrong.device, sizeof wrong.device, "GPU-00000000-0000-0000-0000-000000000000");
    try_import(rt, &wrong, VYRE_E_CONFLICT, "memory that is said to be of another GPU");
    wrong = share, wrong.bytes = 100, wrong.extent = 2 * STEP - 4096;
    try_import(rt, &wrong, VYRE_E_MISALIGNED, "an extent between two steps");
    wrong = share, wrong.bytes = 100, wrong.extent = 0;
    try_import(rt, &wrong, VYRE_E_MISALIGNED, "no extent, and bytes between two steps");
    wrong = share, wrong.bytes = 100, wrong.extent = 4 * STEP;
    try_import(rt, &wrong, VYRE_E_TOO_SMALL, "an extent that is too large");
    vyre_buffer *buffer = NULL;
    wrong = share, wrong.extent = 0;
    works(vyre_buffer_import(rt, &wrong, NULL, &buffer, &err), &err, "after all that it works");
    vyre_share lent = VYRE_SHARE_INIT;
    must(vyre_buffer_export(buffer, &lent, &err), &err);
    works(vyre_buffer_import(rt, &lent, NULL, &buffer, &err), &err, "what was exported comes back");
    close(lent.fd);
    close(ends[0]);
    close(ends[1]);
    close(share.fd);
    close(far.fd);
    close(other.fd);
    peer_close(&memory);
    peer_close(&elsewhere);
    peer_close(&plain);
    vyre_close(rt);
}

static void test_unable(void)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_share share;
    vyre_error err;
    char number[16];
    snprintf(number, sizeof number, "%d", VYRE_CU_HANDLE_AS_DESCRIPTOR);
    setenv("VYRE_FAKE_LACKS", number, 1);
    vyre *rt = open_place(FAKE_GPU);
    unsetenv("VYRE_FAKE_LACKS");
    struct peer_memory memory = peer_make("fake-gpu-0", STEP, &share);
    options.flags = VYRE_BUFFER_SHARED;
    refused(vyre_buffer_create_with(rt, 100, &options, &buffer, &err), VYRE_E_UNSUPPORTED, &err,
            "a GPU that cannot share: making a buffer");
    try_import(rt, &share, VYRE_E_UNSUPPORTED, "a GPU that cannot share: importing");
    works(vyre_buffer_create(rt, 100, VYRE_DEVICE, &buffer, &err), &err, "others can be made");
    close(share.fd);
    peer_close(&memory);
    vyre_close(rt);
}

static void test_own_map(void)
{
    static struct vyre_memory like; /* its hooks are the library's own */
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre_share share;
    vyre_memory_init(&like, NULL, NULL);
    options.backend = VYRE_BACKEND_CPU;
    options.workers = 1;
    options.allocator = &like.hooks;
    vyre *rt = open_with(&options);
    struct peer_memory memory = peer_make("some", 4096, &share);
    share.kind = VYRE_SHARE_MEMORY;
    try_import(rt, &share, VYRE_E_UNSUPPORTED, "an allocator with a map of its own");
    close(share.fd);
    peer_close(&memory);
    vyre_close(rt);
}

/* The backend alone, with each call of the driver failing once; no kernel has been started. */
static bool walk(uint32_t n, uint32_t *wrong)
{
    struct rig rig;
    struct vyre_backend_lent lent = {.fd = -1}, back;
    vyre_error err = {0};
    uint32_t descriptors = count_descriptors();
    fake_reset();
    rig_prepare(&rig, 7);
    struct vyre_backend_setup setup = {&rig.memory, &rig.log, &rig.options};
    must(cuda->open(&setup, &rig.run, &err), &err);
    fake.fail_with = VYRE_CU_UNKNOWN;
    fake.fail_at = fake.calls + n;
    vyre_status status = cuda->memory->lend(rig.run, 5000, &lent, &err);
    if (!status) {
        back = (struct vyre_backend_lent){.extent = lent.extent, .fd = lent.fd};
        status = cuda->memory->borrow(rig.run, &back, &err);
        if (!status) cuda->memory->give_back(rig.run, back.address, back.extent);
        cuda->memory->give_back(rig.run, lent.address, lent.extent);
        close(lent.fd);
    }
    bool failed = fake.failed;
    fake.fail_at = 0;
    cuda->destroy(rig.run);
    if (fake.hung || fake.alive || fake.used || vyre_memory_live(&rig.memory) ||
        count_descriptors() != descriptors || (status && !err.message[0])) {
        note("call %u: status %s, %u hung, %u alive", n, vyre_status_name(status), fake.hung,
             fake.alive);
        (*wrong)++;
    }
    return failed;
}

int main(void)
{
    for (enum place place = CPU_PROCESS; place <= FAKE_GPU; place++) {
        test_export(place);
        test_import(place, VYRE_SHARE_MEMORY);
        test_arguments(place);
        test_memory_refused(place);
    }
    test_import(FAKE_GPU, VYRE_SHARE_CUDA);
    test_death(CPU_HOST);
    test_death(FAKE_GPU);
    test_gpu_refused();
    test_unable();
    test_own_map();
    uint32_t n = 1, wrong = 0;
    while (walk(n, &wrong))
        n++;
    ok(n > 15, "every call of sharing has failed once (%u)", n - 1);
    is_u64(wrong, 0, "each time nothing was left");
    return done();
}
