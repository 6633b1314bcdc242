/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Opening and closing a runtime: options, choice of the backend, start and end of the workers.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/system.h"
#include "runtime/internal.h"
#include "runtime/options.h"

const char *vyre_version(void)
{
    return VYRE_VERSION;
}

/* One 32-bit option: its default, and the range that it must lie in. */
struct range {
    const char *name;
    size_t offset;
    uint32_t standard, least, most;
};

static const struct range ranges[] = {
    {"workers", offsetof(vyre_options, workers), 0, 1, 0}, /* standard and most: the backend's */
    {"default_queue_slots", offsetof(vyre_options, default_queue_slots), 256, 0, 65536},
    {"max_queues", offsetof(vyre_options, max_queues), 64, 1, 1024},
    {"max_tenants", offsetof(vyre_options, max_tenants), 32, 1, 1024},
    {"max_handles", offsetof(vyre_options, max_handles), 1024, 1, 65535},
    {"inflight_slots", offsetof(vyre_options, inflight_slots), 4096, 16, 65536},
    {"observable_words", offsetof(vyre_options, observable_words), 256, 1, 1048576},
    {"seal_polls", offsetof(vyre_options, seal_polls), 1000, 1, 0xFFFFFFFEu},
    {"run_slots", offsetof(vyre_options, run_slots), 256, 1, 65536},
    {"continuations", offsetof(vyre_options, continuations), 64, 0, 4096},
    {"step_budget", offsetof(vyre_options, step_budget), 65536, 1, 0x7FFFFFFFu},
    {"place", offsetof(vyre_options, place), VYRE_PLACE_AUTO, 0, VYRE_PLACE_HOST},
    {"stall_policy", offsetof(vyre_options, stall_policy), VYRE_STALL_REPORT, 0,
     VYRE_STALL_RESTART},
    {"io_entries", offsetof(vyre_options, io_entries), 256, 0, DEV_IO_MOST},
    {"io_engine", offsetof(vyre_options, io_engine), VYRE_IO_ENGINE_AUTO, 0, VYRE_IO_ENGINE_PREAD},
};

#define STALL_STANDARD_NS 1000000000u
#define PARK_STANDARD_NS  200000000u
#define SLEEP_STANDARD_NS 50000u
#define SLEEP_LEAST_NS    1000u
#define SLEEP_MOST_NS     1000000000u

#define FRAME_UNIT     4096u /* a frame begins at a page */
#define FRAME_STANDARD (1u << 20)
#define FRAME_LEAST    (64u << 10)
#define FRAME_MOST     (64u << 20)

static vyre_status check_range(vyre_options *options, const struct range *range,
                               const vyre_caps *caps, vyre_error *err)
{
    uint32_t *value = (uint32_t *)(void *)((char *)options + range->offset);
    int workers = range->most == 0;
    uint32_t most = workers ? caps->max_workers : range->most;
    if (*value == VYRE_DEFAULT) *value = workers ? caps->default_workers : range->standard;
    if (*value >= range->least && *value <= most) return VYRE_OK;
    vyre_fail(err, VYRE_E_RANGE, "%s is %u; the %s backend takes %u to %u", range->name, *value,
              caps->name, range->least, most);
    vyre_fail_fix(err, "set %s to VYRE_DEFAULT or to a value from %u to %u", range->name,
                  range->least, most);
    return VYRE_E_RANGE;
}

uint64_t vyre_frame_stride(const vyre *runtime)
{
    return (runtime->options.frame_bytes + FRAME_UNIT - 1) / FRAME_UNIT * FRAME_UNIT;
}

/* Where the device shall live, how it is watched, when it rests. */
static vyre_status check_place(vyre_options *options, vyre_error *err)
{
    int cpu = options->backend == VYRE_BACKEND_CPU;
    if (options->place == VYRE_PLACE_AUTO)
        options->place = cpu ? VYRE_PLACE_PROCESS : VYRE_PLACE_HOST;
    if (options->stall_policy == VYRE_STALL_RESTART && options->place != VYRE_PLACE_HOST)
        return vyre_fail_with(err, VYRE_E_CONFLICT, "set place to VYRE_PLACE_HOST",
                              "workers of this process cannot be ended and started again");
    if (options->stall_ns == VYRE_DEFAULT64)
        options->stall_ns = options->place == VYRE_PLACE_HOST ? STALL_STANDARD_NS : 0;
    if (options->park_ns == VYRE_DEFAULT64) options->park_ns = PARK_STANDARD_NS;
    if (options->sleep_ns == VYRE_DEFAULT64) options->sleep_ns = SLEEP_STANDARD_NS;
    if (options->sleep_ns < SLEEP_LEAST_NS || options->sleep_ns > SLEEP_MOST_NS)
        return vyre_fail(err, VYRE_E_RANGE, "sleep_ns is %llu; it can be %u to %u",
                         (unsigned long long)options->sleep_ns, SLEEP_LEAST_NS, SLEEP_MOST_NS);
    return VYRE_OK;
}

vyre_status vyre_options_check(vyre_options *options, const vyre_caps *caps, vyre_error *err)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        vyre_status status = check_range(options, &ranges[i], caps, err);
        if (status) return status;
    }
    if (options->idle_spin_ns == VYRE_DEFAULT64)
        options->idle_spin_ns = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 100000 : 0;
    if (options->ageing_ns == VYRE_DEFAULT64) options->ageing_ns = 1000000;
    if (options->ageing_ns == 0)
        return vyre_fail_with(err, VYRE_E_RANGE, "use 1 or more, or VYRE_DEFAULT64",
                              "ageing_ns is 0; waiting work would always pass urgent work");
    if (options->default_queue_slots & (options->default_queue_slots - 1))
        return vyre_fail_with(err, VYRE_E_RANGE, "use 0, or a power of two up to 65536",
                              "default_queue_slots is %u, not a power of two",
                              options->default_queue_slots);
    if (options->io_entries & (options->io_entries - 1))
        return vyre_fail_with(err, VYRE_E_RANGE, "use 0, or a power of two up to 4096",
                              "io_entries is %u, not a power of two", options->io_entries);
    if (options->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", options->reserved);
    if (options->frame_bytes == VYRE_DEFAULT64) options->frame_bytes = FRAME_STANDARD;
    if (options->frame_bytes < FRAME_LEAST || options->frame_bytes > FRAME_MOST)
        return vyre_fail_with(err, VYRE_E_RANGE, "use VYRE_DEFAULT64, or 64 KiB to 64 MiB",
                              "frame_bytes is %llu; it can be %u to %u",
                              (unsigned long long)options->frame_bytes, FRAME_LEAST, FRAME_MOST);
    return check_place(options, err);
}

/* What cannot go together on any machine; looked at before the machine is. What VYRE_HOST says is
 * no wish of this caller and conflicts with nothing. */
static vyre_status check_asked(const vyre_options *options, vyre_error *err)
{
    int here = options->place == VYRE_PLACE_PROCESS;
    int cpu = options->backend == VYRE_BACKEND_CPU;
    if (here && options->backend == VYRE_BACKEND_CUDA)
        return vyre_fail_with(err, VYRE_E_CONFLICT, "set place to auto or host",
                              "place is process and backend is cuda; a GPU's context lives in a "
                              "device host, never in this process");
    if (options->device && (cpu || here))
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              cpu ? "leave device out, or set backend to cuda"
                                  : "leave device out, or set place to auto",
                              "device is \"%.60s\", a GPU, and %s is for the CPU alone",
                              options->device, cpu ? "backend cpu" : "place process");
    if (options->host && (here || (cpu && options->place == VYRE_PLACE_AUTO)))
        return vyre_fail_with(err, VYRE_E_CONFLICT, "leave host out, or set place to host",
                              "host names %.100s, and %s has its workers in this process",
                              options->host, here ? "place process" : "backend cpu");
    return VYRE_OK;
}

/* AUTO without a usable GPU. Who names one wants no CPU in its place; who names a host gets one. */
static vyre_status fall_back(vyre *runtime, vyre_options *options, vyre_caps *caps, vyre_error *err)
{
    if (options->device) {
        vyre_fail(err, VYRE_E_UNSUPPORTED, "device is \"%.60s\", and no such GPU can be used: %s",
                  options->device, caps->reason);
        vyre_fail_fix(err, "%s", caps->fix);
        return VYRE_E_UNSUPPORTED;
    }
    if (options->host && options->place == VYRE_PLACE_AUTO) options->place = VYRE_PLACE_HOST;
    snprintf(runtime->choice, sizeof runtime->choice, "auto chose cpu%s: %.110s",
             options->place == VYRE_PLACE_HOST ? " in a device host" : "", caps->reason);
    options->backend = VYRE_BACKEND_CPU;
    *caps = (vyre_caps)VYRE_CAPS_INIT;
    return vyre_caps_find(VYRE_BACKEND_CPU, options, caps, err);
}

/* Finds the backend and says why it was chosen. */
static vyre_status choose(vyre *runtime, vyre_options *options, vyre_caps *caps, vyre_error *err)
{
    uint32_t asked = options->backend;
    if (asked > VYRE_BACKEND_CUDA)
        return vyre_fail(err, VYRE_E_RANGE, "backend is %u; 0 is auto, 1 is cpu, 2 is cuda", asked);
    if (asked == VYRE_BACKEND_AUTO)
        options->backend =
            options->place == VYRE_PLACE_PROCESS ? VYRE_BACKEND_CPU : VYRE_BACKEND_CUDA;
    *caps = (vyre_caps)VYRE_CAPS_INIT;
    vyre_status status = vyre_caps_find(options->backend, options, caps, err);
    if (status) return status;
    if (asked != VYRE_BACKEND_AUTO)
        snprintf(runtime->choice, sizeof runtime->choice, "%s, as asked for", caps->name);
    else if (options->backend == VYRE_BACKEND_CPU)
        snprintf(runtime->choice, sizeof runtime->choice,
                 "auto chose cpu: place process is for it alone");
    else if (caps->supported)
        snprintf(runtime->choice, sizeof runtime->choice, "auto chose cuda: %s", caps->device);
    else
        status = fall_back(runtime, options, caps, err);
    if (status) return status;
    return caps->supported ? VYRE_OK : vyre_backend_refuse(caps, err);
}

/* Everything that needs workers; undone by vyre_close. */
static vyre_status start(vyre *runtime, vyre_error *err)
{
    int hosted = runtime->options.place == VYRE_PLACE_HOST;
    runtime->port = hosted ? &vyre_port_hosted : &vyre_port_local;
    vyre_status status =
        hosted ? vyre_hosted_open(runtime, err) : vyre_local_open(runtime, NULL, err);
    if (status || runtime->options.default_queue_slots == 0) return status;
    vyre_queue_options queue_options = VYRE_QUEUE_OPTIONS_INIT;
    queue_options.slots = runtime->options.default_queue_slots;
    return vyre_queue_open(runtime, &queue_options, &runtime->default_queue, err);
}

/* The tables of this side. Undone by dismantle. */
static vyre_status lay_out(vyre *runtime, vyre_error *err)
{
    void *numbers;
    vyre_status status = vyre_handles_init(runtime, runtime->options.max_handles, err);
    if (status) return status;
    status = vyre_memory_alloc(&runtime->memory, runtime->options.max_queues + 1, sizeof(uint32_t),
                               "queue numbers", &numbers, err);
    if (status) return status;
    runtime->queue_numbers = numbers;
    runtime->queue_numbers[0] = 1;
    return VYRE_OK;
}

/* Frees what was made, as far as it came. No worker runs. */
static void dismantle(vyre *runtime)
{
    struct vyre_memory memory;
    vyre_io_destroy(runtime);
    if (runtime->port) {
        runtime->port->block_free(runtime, &runtime->frames);
        runtime->port->destroy(runtime);
    }
    if (runtime->queue_numbers)
        vyre_memory_free(&runtime->memory, runtime->queue_numbers,
                         (runtime->options.max_queues + 1) * sizeof(uint32_t));
    if (runtime->handles.free) vyre_handles_destroy(runtime);
    vyre_system_destroy(runtime);
    pthread_mutex_destroy(&runtime->frames_lock);
    pthread_mutex_destroy(&runtime->stop_lock);
    pthread_mutex_destroy(&runtime->pause_lock);
    memory = runtime->memory;
    vyre_memory_free(&memory, runtime, sizeof *runtime);
}

int vyre_port_direct(const vyre *runtime)
{
    return runtime->port == &vyre_port_local && runtime->backend->memory == NULL;
}

/* An empty runtime with checked options. */
vyre_status vyre_runtime_make(const struct vyre_memory *memory, const vyre_options *options,
                              vyre **out, vyre_error *err)
{
    struct vyre_memory counted = *memory;
    void *storage;
    vyre_status status = vyre_memory_alloc(&counted, 1, sizeof(vyre), "runtime", &storage, err);
    if (status) return status;
    vyre *runtime = storage;
    runtime->memory = counted;
    runtime->options = *options;
    runtime->backend = vyre_backend_find(options->backend);
    vyre_memory_init(&runtime->buffer_memory, options->allocator, NULL);
    runtime->log = (struct vyre_log){options->log, options->log_ctx};
    runtime->frames.mapping.fd = runtime->shared.mapping.fd = runtime->bells_block.mapping.fd = -1;
    pthread_mutex_init(&runtime->frames_lock, NULL);
    pthread_mutex_init(&runtime->stop_lock, NULL);
    pthread_mutex_init(&runtime->pause_lock, NULL);
    vyre_system_init(runtime);
    vyre_io_init(runtime);
    *out = runtime;
    return VYRE_OK;
}

vyre_status vyre_open(vyre **out, const vyre_options *given, vyre_error *err)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    struct vyre_memory memory;
    vyre_caps caps;
    vyre proto;
    vyre *runtime;
    if (!out) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    vyre_status status =
        given ? vyre_options_read(&options, given, sizeof options, "vyre_options", err) : VYRE_OK;
    if (!status) status = vyre_memory_init(&memory, options.allocator, err);
    if (!status) status = check_asked(&options, err);
    if (!status) status = choose(&proto, &options, &caps, err);
    if (!status) status = vyre_options_check(&options, &caps, err);
    if (!status) status = vyre_runtime_make(&memory, &options, &runtime, err);
    if (status) return status;
    memcpy(runtime->choice, proto.choice, sizeof runtime->choice);
    status = lay_out(runtime, err);
    if (!status) status = start(runtime, err);
    if (!status) status = vyre_watchdog_start(runtime, err);
    if (status) {
        vyre_close(runtime);
        return status;
    }
    vyre_log_line(&runtime->log, VYRE_LOG_INFO, "opened with %u workers: %s",
                  runtime->options.workers, runtime->choice);
    *out = runtime;
    return VYRE_OK;
}

/* Tells the device to stop and waits for the last worker. A second caller waits for the first. */
static void stop(vyre *runtime)
{
    pthread_mutex_lock(&runtime->stop_lock);
    if (runtime->started && !runtime->joined) {
        uint32_t args[VYRE_SLOT_ARGS] = {0};
        uint32_t result;
        vyre_pause_end(runtime);
        vyre_system_call(runtime, VYRE_OP_SHUTDOWN, args, &result, NULL);
        runtime->port->join(runtime);
        runtime->joined = 1;
    }
    pthread_mutex_unlock(&runtime->stop_lock);
}

void vyre_runtime_await_stop(vyre *runtime)
{
    stop(runtime);
}

vyre_status vyre_runtime_refuse_worker(vyre *runtime, const char *call, vyre_error *err)
{
    if (!runtime->port || !runtime->port->on_worker(runtime)) return VYRE_OK;
    vyre_fail(
        err, VYRE_E_STATE,
        "%s waits for slots to end and was called inside a native operation; nothing was done",
        call);
    vyre_fail_fix(err, "call %s from a thread of your own", call);
    vyre_log_line(&runtime->log, VYRE_LOG_ERROR,
                  "%s was called inside a native operation and did nothing", call);
    return VYRE_E_STATE;
}

vyre_status vyre_stop(vyre *runtime, vyre_error *err)
{
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    vyre_status status = vyre_runtime_refuse_worker(runtime, "vyre_stop", err);
    if (!status) stop(runtime);
    return status;
}

void vyre_close(vyre *runtime)
{
    if (!runtime) return;
    if (vyre_runtime_refuse_worker(runtime, "vyre_close", NULL)) return;
    stop(runtime);
    vyre_watchdog_stop(runtime);
    vyre_io_end(runtime);
    while (runtime->queues) {
        vyre_queue *queue = runtime->queues;
        runtime->queues = queue->next;
        vyre_queue_free(queue);
    }
    while (runtime->bindings)
        vyre_bindings_release(runtime->bindings);
    while (runtime->programs) {
        vyre_program *program = runtime->programs;
        runtime->programs = program->next;
        vyre_program_release(program);
    }
    while (runtime->buffers)
        vyre_buffer_release(runtime->buffers);
    while (runtime->operations) {
        vyre_operation *operation = runtime->operations;
        runtime->operations = operation->next;
        vyre_operation_release(operation);
    }
    dismantle(runtime);
}

/* Workgroups that found no frame; 0 where the device does not say. */
static uint32_t count_of(vyre *runtime)
{
    uint32_t room = 0;
    const void *words;
    if (runtime->port->view(runtime, VYRE_VIEW_COUNTS, 0, &room, &words, NULL)) return 0;
    return dev_load_relaxed(words);
}

vyre_status vyre_describe(vyre *runtime, vyre_description *out, vyre_error *err)
{
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "description is null");
    if (out->size < sizeof *out)
        return vyre_fail(err, VYRE_E_SIZE, "description.size is %u; this version has %zu bytes",
                         out->size, sizeof *out);
    vyre_description filled;
    vyre_system_collect(runtime);
    memset(&filled, 0, sizeof filled);
    filled.size = out->size;
    filled.backend = runtime->backend->id;
    filled.workers = runtime->options.workers;
    filled.stopped = (uint32_t)vyre_runtime_stopped(runtime);
    filled.paused = (uint32_t)vyre_runtime_paused(runtime);
    pthread_mutex_lock(&runtime->system.lock);
    filled.queues = runtime->queue_count;
    filled.handles = runtime->handles.size - runtime->handles.count;
    filled.programs = runtime->program_count;
    pthread_mutex_unlock(&runtime->system.lock);
    filled.frames_full = count_of(runtime);
    filled.place = runtime->options.place;
    filled.stalls = __atomic_load_n(&runtime->stalls, __ATOMIC_RELAXED);
    vyre_runtime_account(runtime, &filled);
    filled.memory_bytes = vyre_memory_live(&runtime->memory);
    filled.buffer_bytes = vyre_memory_live(&runtime->buffer_memory);
    memcpy(filled.choice, runtime->choice, sizeof filled.choice);
    *out = filled;
    return VYRE_OK;
}
