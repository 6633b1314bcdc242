/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Opening: every option that must be refused is, with its own status and nothing changed, and every
 * edge that must be accepted is; what a runtime says about itself is true.
 */
#include "meter.h"

#include <stddef.h>

/* Field by field: what is refused, and what is the least and the greatest that is not. */
struct range {
    const char *name;
    size_t offset;
    uint32_t least, greatest;
};

#define FIELD(name, least, greatest)                                                               \
    {                                                                                              \
#        name, offsetof(vyre_options, name), least, greatest                                       \
    }

static const struct range ranges[] = {
    FIELD(max_queues, 1, 1024),          FIELD(max_tenants, 1, 1024),
    FIELD(max_handles, 1, 65535),        FIELD(inflight_slots, 16, 65536),
    FIELD(observable_words, 1, 1048576), FIELD(run_slots, 1, 65536),
    FIELD(step_budget, 1, 0x7FFFFFFF),
};

static vyre *const untouched = (vyre *)(uintptr_t)0x5A5A;

/* One refusal: the status, and the out-parameter as it was. */
static void check_refused(const vyre_options *options, vyre_status status, const char *name)
{
    vyre *rt = untouched;
    vyre_error err;
    refused(vyre_open(&rt, options, &err), status, &err, "%s", name);
    ok(rt == untouched, "%s: no runtime was stored", name);
    if (rt != untouched) vyre_close(rt);
    is_u64(vyre_open(&rt, options, NULL), (uint64_t)status, "%s: err may be NULL", name);
}

static void check_opens(const vyre_options *options, const char *name)
{
    vyre *rt = NULL;
    vyre_error err;
    works(vyre_open(&rt, options, &err), &err, "%s", name);
    vyre_close(rt);
}

static void set_field(vyre_options *options, const struct range *range, uint32_t value)
{
    memcpy((char *)options + range->offset, &value, sizeof value);
}

static void bad_ranges(void)
{
    char name[64];
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        vyre_options options = cpu_options(1);
        options.max_tenants = 2;
        for (int side = 0; side < 2; side++) {
            uint32_t value = side ? ranges[i].greatest + 1 : ranges[i].least - 1;
            set_field(&options, &ranges[i], value);
            snprintf(name, sizeof name, "%s %u", ranges[i].name, value);
            check_refused(&options, VYRE_E_RANGE, name);
            value = side ? ranges[i].greatest : ranges[i].least;
            set_field(&options, &ranges[i], value);
            snprintf(name, sizeof name, "%s %u", ranges[i].name, value);
            check_opens(&options, name);
        }
    }
}

static void bad_values(void)
{
    vyre_caps caps = {.size = sizeof caps};
    vyre_error err;
    must(vyre_backend_caps(VYRE_BACKEND_CPU, &caps, &err), &err);

    vyre_options options = cpu_options(0);
    check_refused(&options, VYRE_E_RANGE, "no workers");
    options = cpu_options(caps.max_workers + 1);
    check_refused(&options, VYRE_E_RANGE, "one worker too many");
    options = cpu_options(1);
    options.backend = 3;
    check_refused(&options, VYRE_E_RANGE, "no such backend");
    static const uint32_t bad_slots[] = {3, 100, 65535, 65537, 131072, 0x80000000u};
    for (size_t i = 0; i < sizeof bad_slots / sizeof bad_slots[0]; i++) {
        options = cpu_options(1);
        options.default_queue_slots = bad_slots[i];
        check_refused(&options, VYRE_E_RANGE, "a default queue of an impossible size");
    }
    options = cpu_options(1);
    options.ageing_ns = 0;
    check_refused(&options, VYRE_E_RANGE, "no ageing");

    options = cpu_options(1);
    options.continuations = 4097;
    check_refused(&options, VYRE_E_RANGE, "too many continuations");
    options.continuations = 0;
    check_opens(&options, "no continuations");
    options.continuations = 4096;
    options.frame_bytes = 64 << 20;
    check_opens(&options, "the most and largest frames");
    options.frame_bytes = (64 << 20) + 1;
    check_refused(&options, VYRE_E_RANGE, "frames too large");
    options.frame_bytes = 65535;
    check_refused(&options, VYRE_E_RANGE, "frames too small");
    options.frame_bytes = 65536;
    check_opens(&options, "the smallest frames");
    options.reserved = 1;
    check_refused(&options, VYRE_E_RESERVED, "the reserved word");

    options = cpu_options(1);
    options.default_queue_slots = 65536;
    check_opens(&options, "the largest default queue");
    options = cpu_options(1);
    options.seal_polls = 1;
    options.idle_spin_ns = 0;
    options.ageing_ns = 1;
    check_opens(&options, "least times and polls");
    options.idle_spin_ns = VYRE_DEFAULT64 - 1;
    options.ageing_ns = VYRE_DEFAULT64 - 1;
    options.seal_polls = VYRE_DEFAULT - 1;
    check_opens(&options, "greatest times and polls");
}

static void bad_sizes(void)
{
    struct {
        vyre_options options;
        unsigned char tail[64];
    } longer;
    vyre_error err;

    refused(vyre_open(NULL, NULL, &err), VYRE_E_NULL, &err, "no place for the runtime");
    is_u64(vyre_open(NULL, NULL, NULL), (uint64_t)VYRE_E_NULL, "no place for the error either");

    vyre_options options = cpu_options(1);
    static const uint32_t sizes[] = {0, 1, 4, sizeof options - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        options.size = sizes[i];
        check_refused(&options, VYRE_E_SIZE, "options too short");
    }

    memset(&longer, 0, sizeof longer);
    longer.options = cpu_options(1);
    longer.options.size = sizeof longer;
    check_opens(&longer.options, "longer options with an empty tail");
    for (size_t i = 0; i < sizeof longer.tail; i += sizeof longer.tail - 1) {
        memset(longer.tail, 0, sizeof longer.tail);
        longer.tail[i] = 1;
        check_refused(&longer.options, VYRE_E_RESERVED, "longer options that ask for something");
    }
}

static void bad_allocators(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(1);
    options.allocator = &hooks;
    hooks.alloc = NULL;
    check_refused(&options, VYRE_E_NULL, "an allocator without alloc");
    hooks = meter_allocator(&meter);
    hooks.free = NULL;
    check_refused(&options, VYRE_E_NULL, "an allocator without free");
    hooks = meter_allocator(&meter);
    hooks.map = NULL;
    check_refused(&options, VYRE_E_CONFLICT, "an allocator without map");
    hooks = meter_allocator(&meter);
    hooks.unmap = NULL;
    check_refused(&options, VYRE_E_CONFLICT, "an allocator without unmap");
    is_u64(meter.calls, 0, "none of them was called");
}

static void capabilities(void)
{
    vyre_caps caps = {.size = sizeof caps};
    vyre_error err;
    works(vyre_backend_caps(VYRE_BACKEND_CPU, &caps, &err), &err, "what the CPU can do");
    ok(caps.supported == 1 && caps.reason[0] == '\0' && caps.fix[0] == '\0', "it is supported");
    ok(caps.default_workers >= 1 && caps.default_workers <= caps.max_workers,
       "%u workers by default, %u at most", caps.default_workers, caps.max_workers);
    is_str(caps.name, "cpu", "its name");
    ok(caps.device[0] != '\0', "it runs on \"%s\"", caps.device);

    vyre_caps before = caps;
    refused(vyre_backend_caps(VYRE_BACKEND_CPU, NULL, &err), VYRE_E_NULL, &err,
            "nowhere to put it");
    refused(vyre_backend_caps(VYRE_BACKEND_AUTO, &caps, &err), VYRE_E_RANGE, &err, "AUTO is none");
    refused(vyre_backend_caps((enum vyre_backend)9, &caps, &err), VYRE_E_RANGE, &err, "nor is 9");
    caps.size = before.size = 8;
    refused(vyre_backend_caps(VYRE_BACKEND_CPU, &caps, &err), VYRE_E_SIZE, &err, "too short");
    ok(memcmp(&caps, &before, sizeof caps) == 0, "a refusal changes nothing");
}

/* Each call on a backend that is not there gives the same reason and the same fix. */
static void unsupported(void)
{
    vyre_caps caps = {.size = sizeof caps};
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre *rt = untouched;
    vyre_error first, second;
    must(vyre_backend_caps(VYRE_BACKEND_CUDA, &caps, &first), &first);
    is_str(caps.name, "cuda", "the other backend's name");
    if (caps.supported) {
        skip("this machine has the CUDA backend");
        return;
    }
    ok(caps.reason[0] && caps.fix[0], "reason: %s; fix: %s", caps.reason, caps.fix);
    options.backend = VYRE_BACKEND_CUDA;
    refused(vyre_open(&rt, &options, &first), VYRE_E_UNSUPPORTED, &first, "it is refused");
    refused(vyre_open(&rt, &options, &second), VYRE_E_UNSUPPORTED, &second, "and again");
    ok(memcmp(&first, &second, sizeof first) == 0, "with the same error");
    ok(strstr(first.message, caps.reason) != NULL, "which gives the reason: %s", first.message);
    is_str(first.fix, caps.fix, "and the fix");
    ok(rt == untouched, "no runtime was stored");
}

/* Options that would have no effect, or cannot have one together, are refused before any machine is
 * looked at: the message names both. */
static void conflicts(void)
{
    static const struct {
        uint32_t backend, place;
        const char *device, *host, *says, *also, *fix;
    } cases[] = {
        {VYRE_BACKEND_CUDA, VYRE_PLACE_PROCESS, NULL, NULL, "place", "cuda", "place"},
        {VYRE_BACKEND_CUDA, VYRE_PLACE_PROCESS, "0", "/x", "place", "cuda", "place"},
        {VYRE_BACKEND_CPU, VYRE_PLACE_AUTO, "7", NULL, "\"7\"", "cpu", "device"},
        {VYRE_BACKEND_CPU, VYRE_PLACE_PROCESS, "7", NULL, "\"7\"", "cpu", "device"},
        {VYRE_BACKEND_CPU, VYRE_PLACE_HOST, "7", NULL, "\"7\"", "cpu", "device"},
        {VYRE_BACKEND_AUTO, VYRE_PLACE_PROCESS, "7", NULL, "\"7\"", "process", "device"},
        {VYRE_BACKEND_CPU, VYRE_PLACE_AUTO, NULL, "/x/y", "/x/y", "cpu", "place"},
        {VYRE_BACKEND_CPU, VYRE_PLACE_PROCESS, NULL, "/x/y", "/x/y", "process", "place"},
        {VYRE_BACKEND_AUTO, VYRE_PLACE_PROCESS, NULL, "/x/y", "/x/y", "process", "place"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vyre_options options = VYRE_OPTIONS_INIT;
        vyre *rt = untouched;
        vyre_error err;
        options.backend = cases[i].backend;
        options.place = cases[i].place;
        options.device = cases[i].device;
        options.host = cases[i].host;
        if (refused(vyre_open(&rt, &options, &err), VYRE_E_CONFLICT, &err, "conflict %zu", i))
            ok(strstr(err.message, cases[i].says) && strstr(err.message, cases[i].also) &&
                   strstr(err.fix, cases[i].fix),
               "%s | %s", err.message, err.fix);
        ok(rt == untouched, "no runtime was stored");
        if (rt != untouched) vyre_close(rt);
    }
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre *rt = untouched;
    vyre_error err;
    options.device = "GPU-ffffffff-none";
    refused(vyre_open(&rt, &options, &err), VYRE_E_UNSUPPORTED, &err,
            "AUTO takes nothing in place of a GPU that was named");
    ok(strstr(err.message, "GPU-ffffffff-none") != NULL, "%s | %s", err.message, err.fix);
}

/* VYRE_HOST is no wish of the caller: it conflicts with nothing, and moves nothing. */
static void variable(void)
{
    static const uint32_t backends[] = {VYRE_BACKEND_AUTO, VYRE_BACKEND_CPU};
    const char *before = getenv("VYRE_HOST");
    char *kept = before ? strdup(before) : NULL;
    setenv("VYRE_HOST", "/nowhere/vyre-host", 1);
    for (size_t i = 0; i < 4; i++) {
        vyre_options options = VYRE_OPTIONS_INIT;
        vyre_description about = VYRE_DESCRIPTION_INIT;
        vyre *rt = NULL;
        vyre_error err;
        options.backend = backends[i % 2];
        options.place = i < 2 ? VYRE_PLACE_AUTO : VYRE_PLACE_PROCESS;
        if (!works(vyre_open(&rt, &options, &err), &err, "VYRE_HOST beside backend %u, place %u",
                   options.backend, options.place))
            continue;
        must(vyre_describe(rt, &about, &err), &err);
        ok(about.backend == VYRE_BACKEND_CPU && about.place == VYRE_PLACE_PROCESS, "%s",
           about.choice);
        vyre_close(rt);
    }
    if (kept)
        setenv("VYRE_HOST", kept, 1);
    else
        unsetenv("VYRE_HOST");
    free(kept);
}

static void automatic(void)
{
    vyre *rt = open_with(NULL);
    vyre_description description = {.size = sizeof description};
    vyre_caps caps = {.size = sizeof caps};
    vyre_error err;
    works(vyre_describe(rt, &description, &err), &err, "what AUTO opened");
    ok(description.backend == VYRE_BACKEND_CPU || description.backend == VYRE_BACKEND_CUDA,
       "it chose one: %s", description.choice);
    must(vyre_backend_caps((enum vyre_backend)description.backend, &caps, &err), &err);
    is_u64(description.workers, caps.default_workers, "with its default number of workers");
    ok(strstr(description.choice, caps.name) != NULL && strlen(description.choice) > 10,
       "it says which and why");
    ok(vyre_queue_default(rt) && vyre_queue_capacity(vyre_queue_default(rt)) == 256,
       "the default queue has 256 slots");
    vyre_close(rt);
}

struct listener {
    uint32_t lines, broken;
};

static void listen(void *ctx, enum vyre_log_level level, const char *line)
{
    struct listener *listener = ctx;
    listener->lines++;
    listener->broken += level > VYRE_LOG_INFO || line[0] == '\0' || strchr(line, '\n') != NULL;
}

static void log_hook(void)
{
    struct listener listener = {0};
    vyre_options options = cpu_options(1);
    options.log = listen;
    options.log_ctx = &listener;
    vyre_close(open_with(&options));
    ok(listener.lines > 0 && listener.broken == 0, "the log hook hears %u lines", listener.lines);
}

/* The promise: a 4,096-slot queue and two workers in less than 2 MiB. */
static void memory_budget(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(2);
    options.allocator = &hooks;
    options.default_queue_slots = 4096;
    vyre *rt = open_with(&options);
    ok(meter.live_bytes < 2 * 1024 * 1024, "4096 slots and two workers take %lld bytes",
       (long long)meter.live_bytes);
    vyre_close(rt);
}

static void version(void)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", VYRE_VERSION_MAJOR, VYRE_VERSION_MINOR,
             VYRE_VERSION_PATCH);
    is_str(vyre_version(), text, "the version's numbers");
    is_str(vyre_version(), VYRE_VERSION, "the version's text");
}

int main(void)
{
    bad_sizes();
    bad_values();
    bad_ranges();
    bad_allocators();
    capabilities();
    unsupported();
    conflicts();
    variable();
    automatic();
    log_hook();
    memory_budget();
    version();
    return done();
}
