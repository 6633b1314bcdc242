/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Finding and starting a device host: what is refused, and what the error says. This program is
 * also the host of several of its tests: started with VYRE_TEST_FAKE it speaks on descriptor 3, or
 * does not.
 */
#include "meter.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/error.h"
#include "runtime/layout_number.h"

static void fake_hello(const char *version, uint16_t header_version, uint32_t pid, uint32_t layout)
{
    struct {
        struct host_header header;
        struct host_hello hello;
    } packet = {.header = {HOST_MAGIC, header_version, HOST_HELLO, 0, sizeof packet.hello},
                .hello = {.protocol = HOST_PROTOCOL, .pid = pid, .layout = layout}};
    snprintf(packet.hello.version, sizeof packet.hello.version, "%s", version);
    if (send(HOST_SOCKET, &packet, sizeof packet, MSG_NOSIGNAL) < 0) _exit(8);
}

static void fake_send(const char *version, uint16_t header_version, uint32_t pid)
{
    fake_hello(version, header_version, pid, host_layout());
}

/* A host that answers one request: with a GPU that cannot be used, or with a refusal. */
static void fake_answer(int refuses)
{
    struct host_message message;
    struct host_devices devices = {.count = 1};
    vyre_error no = {0};
    vyre_fail_with(&no, VYRE_E_UNSUPPORTED, "install one", "there is no driver");
    snprintf(devices.device[0].reason, sizeof devices.device[0].reason, "it is too old");
    snprintf(devices.device[0].fix, sizeof devices.device[0].fix, "choose a newer one");
    struct host_reply reply = {refuses ? VYRE_E_UNSUPPORTED : VYRE_OK,
                               (uint32_t)(refuses ? sizeof no : sizeof devices)};
    fake_send(VYRE_VERSION, HOST_PROTOCOL, (uint32_t)getpid());
    do {
        if (host_receive(HOST_SOCKET, &message, 1, NULL)) _exit(8);
    } while (message.header.type == HOST_HELLO);
    struct host_sending sending = {.type = HOST_REPLY,
                                   .serial = message.header.serial,
                                   .payload = &reply,
                                   .payload_bytes = sizeof reply,
                                   .extra = refuses ? (const void *)&no : &devices,
                                   .extra_bytes = reply.bytes};
    host_send(HOST_SOCKET, &sending, NULL);
}

/* The other side of the tests below. */
static void be_fake(const char *kind)
{
    char byte;
    if (strcmp(kind, "exit") == 0) _exit(3);
    if (strcmp(kind, "version") == 0) fake_send("9.9.9", HOST_PROTOCOL, (uint32_t)getpid());
    if (strcmp(kind, "layout") == 0)
        fake_hello(VYRE_VERSION, HOST_PROTOCOL, (uint32_t)getpid(), host_layout() + 1);
    if (strcmp(kind, "devices") == 0) fake_answer(0);
    if (strcmp(kind, "refuse") == 0) fake_answer(1);
    if (strcmp(kind, "protocol") == 0) fake_send(VYRE_VERSION, 99, (uint32_t)getpid());
    if (strcmp(kind, "pid") == 0) fake_send(VYRE_VERSION, HOST_PROTOCOL, 1);
    if (strcmp(kind, "garbage") == 0 && send(HOST_SOCKET, "what?", 5, MSG_NOSIGNAL) < 0) _exit(8);
    if (strcmp(kind, "deaf") == 0) fake_send(VYRE_VERSION, HOST_PROTOCOL, (uint32_t)getpid());
    while (read(HOST_SOCKET, &byte, 1) > 0) {}
    _exit(0);
}

static vyre_options host_options(const char *host)
{
    vyre_options options = cpu_options(1);
    options.place = VYRE_PLACE_HOST;
    options.host = host;
    return options;
}

static void fakes(void)
{
    static const struct {
        const char *kind;
        vyre_status status;
        const char *says;
        const char *fix;
    } cases[] = {
        {"exit", VYRE_E_SYSTEM, "ended with status 3", "VYRE_HOST"},
        {"version", VYRE_E_UNSUPPORTED, "9.9.9", VYRE_VERSION},
        {"layout", VYRE_E_UNSUPPORTED, "layout", "together"},
        {"protocol", VYRE_E_CONFLICT, "version 99", "one version"},
        {"pid", VYRE_E_NOT_PERMITTED, "process", ""},
        {"garbage", VYRE_E_SIZE, "bytes", ""},
    };
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) bail("who am I?");
    self[n] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vyre_options options = host_options(self);
        vyre *rt = NULL;
        vyre_error err;
        setenv("VYRE_TEST_FAKE", cases[i].kind, 1);
        refused(vyre_open(&rt, &options, &err), cases[i].status, &err, "a host of kind %s",
                cases[i].kind);
        ok(strstr(err.message, cases[i].says) && strstr(err.fix, cases[i].fix), "%s | %s",
           err.message, err.fix);
        ok(strstr(err.message, "t_hosted") != NULL, "the path is named");
    }
    unsetenv("VYRE_TEST_FAKE");
}

/* What a host says about GPUs reaches the application whole. */
static void said_of_devices(void)
{
    vyre_device devices[2] = {VYRE_DEVICE_INIT, VYRE_DEVICE_INIT};
    char self[4096], before[4096] = "";
    size_t count = 0;
    vyre_error err;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) bail("who am I?");
    self[n] = '\0';
    if (getenv("VYRE_HOST")) snprintf(before, sizeof before, "%s", getenv("VYRE_HOST"));
    setenv("VYRE_HOST", self, 1);
    setenv("VYRE_TEST_FAKE", "devices", 1);
    works(vyre_devices(devices, 2, &count, &err), &err, "GPUs are listed");
    is_u64(count, 1, "one");
    is_str(devices[0].reason, "it is too old", "that cannot be used");
    is_str(devices[0].fix, "choose a newer one", "and what would help");
    setenv("VYRE_TEST_FAKE", "refuse", 1);
    refused(vyre_devices(devices, 2, &count, &err), VYRE_E_UNSUPPORTED, &err, "none are listed");
    is_str(err.message, "there is no driver", "why");
    is_str(err.fix, "install one", "and what would help");
    vyre_caps caps = VYRE_CAPS_INIT;
    works(vyre_backend_caps(VYRE_BACKEND_CUDA, &caps, &err), &err, "caps say the same");
    ok(!caps.supported && strcmp(caps.reason, "there is no driver") == 0 &&
           strcmp(caps.fix, "install one") == 0,
       "%s | %s", caps.reason, caps.fix);
    unsetenv("VYRE_TEST_FAKE");
    if (before[0])
        setenv("VYRE_HOST", before, 1);
    else
        unsetenv("VYRE_HOST");
    /* What is true of this machine, whichever it is. */
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre *rt = NULL;
    options.backend = VYRE_BACKEND_CUDA;
    options.device = "GPU-ffffffff-none";
    refused(vyre_open(&rt, &options, &err), VYRE_E_UNSUPPORTED, &err, "a GPU that is not there");
    options.device = "9999";
    refused(vyre_open(&rt, &options, &err), VYRE_E_UNSUPPORTED, &err, "nor by its index");
    if (vyre_devices(devices, 2, &count, &err))
        ok(err.message[0] && err.fix[0], "%s | %s", err.message, err.fix);
}

static void not_found(void)
{
    vyre_options options = host_options("/nowhere/vyre-host");
    vyre *rt = NULL;
    vyre_error err;
    refused(vyre_open(&rt, &options, &err), VYRE_E_NOT_FOUND, &err, "options.host names nothing");
    ok(strstr(err.message, "/nowhere/vyre-host") && strstr(err.fix, "host name an executable"),
       "%s | %s", err.message, err.fix);
    options = host_options("/etc/passwd");
    refused(vyre_open(&rt, &options, &err), VYRE_E_NOT_FOUND, &err, "or no executable");
    const char *before = getenv("VYRE_HOST");
    char *kept = before ? strdup(before) : NULL;
    setenv("VYRE_HOST", "/nowhere/else", 1);
    options = host_options(NULL);
    refused(vyre_open(&rt, &options, &err), VYRE_E_NOT_FOUND, &err, "VYRE_HOST names nothing");
    ok(strstr(err.message, "VYRE_HOST") != NULL, "%s", err.message);

    /* AUTO says why it is not the GPU, and CUDA why it cannot be had. */
    vyre_options automatic = VYRE_OPTIONS_INIT;
    vyre_description about = VYRE_DESCRIPTION_INIT;
    automatic.workers = 1;
    must(vyre_open(&rt, &automatic, &err), &err);
    must(vyre_describe(rt, &about, &err), &err);
    ok(about.backend == VYRE_BACKEND_CPU && strstr(about.choice, "VYRE_HOST"), "%s", about.choice);
    vyre_close(rt);
    automatic.backend = VYRE_BACKEND_CUDA;
    refused(vyre_open(&rt, &automatic, &err), VYRE_E_UNSUPPORTED, &err, "no CUDA without a host");
    vyre_device device = VYRE_DEVICE_INIT;
    size_t count = 0;
    refused(vyre_devices(&device, 1, &count, &err), VYRE_E_NOT_FOUND, &err, "nor a list of GPUs");
    if (kept)
        setenv("VYRE_HOST", kept, 1);
    else
        unsetenv("VYRE_HOST");
    free(kept);
}

/* AUTO without a GPU, and a host was named: that one has the workers. */
static void named_host(void)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre_description about = VYRE_DESCRIPTION_INIT;
    char path[4096];
    vyre *rt = NULL;
    vyre_error err;
    vyre_caps caps = VYRE_CAPS_INIT;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n <= 0) bail("who am I?");
    path[n] = '\0';
    snprintf(strrchr(path, '/'), 16, "/vyre-host");
    must(vyre_backend_caps(VYRE_BACKEND_CUDA, &caps, &err), &err);
    options.workers = 1;
    options.host = path;
    works(vyre_open(&rt, &options, &err), &err, "AUTO and a host");
    must(vyre_describe(rt, &about, &err), &err);
    ok(about.place == VYRE_PLACE_HOST && about.host_pid != 0, "a device host: %s", about.choice);
    ok(about.backend == (caps.supported ? VYRE_BACKEND_CUDA : VYRE_BACKEND_CPU), "backend %u",
       about.backend);
    vyre_close(rt);
    rt = NULL;
    options.host = "/nowhere/vyre-host";
    refused(vyre_open(&rt, &options, &err), VYRE_E_NOT_FOUND, &err, "AUTO and a host that is not");
    ok(strstr(err.message, "/nowhere/vyre-host") != NULL, "%s | %s", err.message, err.fix);
}

/* What the headers say of a runtime whose device host is gone for good: every call that needs it
 * returns E_LOST, and what lies in this process can still be had. */
static void check_lost(vyre *rt, vyre_queue *queue, vyre_buffer *device, vyre_buffer *pinned)
{
    static unsigned char image[1 << 20];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_queue *opened = NULL;
    vyre_buffer *made = NULL;
    vyre_log_record record;
    vyre_error err;
    uint64_t cursor = 0, lost = 0;
    uint32_t word = 0;
    size_t count = 0;
    refused(vyre_queue_open(rt, NULL, &opened, &err), VYRE_E_LOST, &err, "a new queue");
    refused(vyre_queue_submit(queue, NULL, &err), VYRE_E_LOST, &err, "a submit");
    refused(vyre_cancel(queue, 0, &err), VYRE_E_LOST, &err, "a cancellation");
    refused(vyre_buffer_create(rt, 64, VYRE_DEVICE, &made, &err), VYRE_E_LOST, &err,
            "a new buffer");
    refused(vyre_buffer_create_with(rt, 64, &how, &made, &err), VYRE_E_LOST, &err,
            "one with options");
    refused(vyre_buffer_write(device, 0, &word, 4, &err), VYRE_E_LOST, &err, "a write");
    refused(vyre_buffer_read(device, 0, &word, 4, &err), VYRE_E_LOST, &err, "a read");
    refused(vyre_tenant_observables(rt, 0, 0, 1, &word, &err), VYRE_E_LOST, &err,
            "observable words");
    refused(vyre_tenant_log(rt, 0, &cursor, &record, 1, &count, &lost, &err), VYRE_E_LOST, &err,
            "a debug log");
    refused(vyre_image_control(rt, 0, image, sizeof image, NULL, &err), VYRE_E_LOST, &err,
            "an image of control");
    refused(vyre_image_ring(rt, 0, image, sizeof image, NULL, &err), VYRE_E_LOST, &err,
            "an image of the ring");
    refused(vyre_image_debug_log(rt, 0, image, sizeof image, NULL, &err), VYRE_E_LOST, &err,
            "an image of the debug log");
    works(vyre_buffer_write(pinned, 0, &word, 4, &err), &err, "a write to a PINNED buffer works");
    works(vyre_buffer_read(pinned, 0, &word, 4, &err), &err, "a read from it too");
}

static void without_host(void)
{
    vyre_options options = host_options(NULL);
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_buffer *device = NULL, *pinned = NULL;
    vyre_error err;
    const char *before = getenv("VYRE_HOST");
    char *kept = before ? strdup(before) : NULL;
    vyre *rt = open_with(&options);
    must(vyre_buffer_create(rt, 64, VYRE_DEVICE, &device, &err), &err);
    must(vyre_buffer_create(rt, 64, VYRE_PINNED, &pinned, &err), &err);
    /* No other can be started. Who restarts it has the lock after this describe, and so sees the
     * variable as it is now. */
    setenv("VYRE_HOST", "/nowhere/vyre-host", 1);
    must(vyre_describe(rt, &about, &err), &err);
    kill((pid_t)about.host_pid, SIGKILL);
    while (!about.stopped) {
        breathe();
        must(vyre_describe(rt, &about, &err), &err);
    }
    vyre_queue *queue = vyre_queue_default(rt);
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    check_lost(rt, queue, device, pinned);
    vyre_close(rt);
    if (kept)
        setenv("VYRE_HOST", kept, 1);
    else
        unsetenv("VYRE_HOST");
    free(kept);
}

static void arguments(void)
{
    vyre_device devices[2] = {VYRE_DEVICE_INIT, VYRE_DEVICE_INIT};
    size_t count = 99;
    vyre_error err;
    refused(vyre_devices(NULL, 1, &count, &err), VYRE_E_NULL, &err, "no devices");
    refused(vyre_devices(devices, 2, NULL, &err), VYRE_E_NULL, &err, "no count");
    devices[1].size = 4;
    refused(vyre_devices(devices, 2, &count, &err), VYRE_E_SIZE, &err, "a size");
    is_u64(count, 99, "count is as before");
}

static uint32_t nothing_run(vyre_call *call)
{
    (void)call;
    return 0;
}

/* Operations of each kind where they cannot be. */
static void operations(void)
{
    vyre_options options = host_options(NULL);
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_error err;
    vyre *rt = open_with(&options);
    how.opcode = 40;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_NULL, &err, "neither");
    how.run = nothing_run;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_UNSUPPORTED, &err,
            "a C function in a device host");
    how.image = "x";
    how.image_bytes = 1;
    how.function = "f";
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_CONFLICT, &err, "both");
    how.run = NULL;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_UNSUPPORTED, &err,
            "an image on the CPU");
    how.function = NULL;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_CONFLICT, &err,
            "an image without a function");
    vyre_close(rt);
}

static void *plain_map(void *ctx, size_t size, int *fd)
{
    (void)ctx;
    *fd = -1;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void plain_unmap(void *ctx, void *memory, size_t size, int fd)
{
    (void)ctx;
    (void)fd;
    munmap(memory, size);
}

static void allocators(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = host_options(NULL);
    vyre *rt = NULL;
    vyre_error err;
    hooks.map = plain_map;
    hooks.unmap = plain_unmap;
    options.allocator = &hooks;
    refused(vyre_open(&rt, &options, &err), VYRE_E_UNSUPPORTED, &err,
            "memory without a descriptor cannot be shared");
    is_u64(atomic_load(&meter.live_blocks), 0, "and nothing is left of the try");

    /* Each allocation fails once: an error, no crash, nothing left. */
    hooks = meter_allocator(&meter);
    hooks.map = NULL; /* the meter's has no descriptors */
    hooks.unmap = NULL;
    uint32_t descriptors = count_descriptors(), worked = 0, n = 0;
    while (!worked && ++n < 200) {
        memset(&meter, 0, sizeof meter);
        atomic_store(&meter.fail_at, n);
        worked = vyre_open(&rt, &options, &err) == VYRE_OK;
        if (worked) vyre_close(rt);
        if (atomic_load(&meter.live_blocks) != 0 || atomic_load(&meter.wrong) != 0)
            ok(0, "allocation %u leaves something", n);
    }
    ok(worked && n > 5, "%u allocations can fail", n - 1);
    is_u64(count_descriptors(), descriptors, "no descriptor is left");
    ok(waitpid(-1, NULL, WNOHANG) == -1, "nor a child");
}

static void life(void)
{
    uint32_t descriptors = count_descriptors(), threads = count_threads();
    vyre_options options = host_options(NULL);
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    vyre *rt = open_with(&options);
    must(vyre_describe(rt, &about, &err), &err);
    ok(about.place == VYRE_PLACE_HOST && about.host_pid != 0 && about.restarts == 0,
       "process %u is the device host", about.host_pid);
    ok(about.host_pid != (uint32_t)getpid(), "not this one");
    uint32_t pid = about.host_pid;
    for (int i = 0; i < 3; i++)
        works(vyre_stop(rt, &err), &err, "stop, and stop again");
    vyre_queue *queue = vyre_queue_default(rt);
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    refused(vyre_queue_submit(queue, NULL, &err), VYRE_E_STOPPED, &err, "nothing is taken");
    vyre_close(rt);
    ok(kill((pid_t)pid, 0) == -1, "the host is gone");
    is_u64(count_descriptors(), descriptors, "no descriptor is left");
    is_u64(settle_threads(threads), threads, "nor a thread");
}

int main(void)
{
    const char *kind = getenv("VYRE_TEST_FAKE");
    if (kind) be_fake(kind);
    not_found();
    named_host();
    without_host();
    fakes();
    said_of_devices();
    arguments();
    operations();
    allocators();
    life();
    return done();
}
