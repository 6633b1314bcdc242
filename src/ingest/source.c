/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sources: what their options may say, their place in the pump's table, and preparing slots that
 * name them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/pump.h"
#include "runtime/options.h"

static vyre_status check(const vyre *runtime, const vyre_source_options *options, vyre_error *err)
{
    uint32_t both = VYRE_RIGHT_READ | VYRE_RIGHT_WRITE;
    if (options->rights == 0 || options->rights & ~both)
        return vyre_fail(err, VYRE_E_RANGE, "rights is 0x%x; 1 is read, 2 is write, 3 is both",
                         options->rights);
    if (options->flags & ~(uint32_t)VYRE_SOURCE_PARTIAL)
        return vyre_fail(err, VYRE_E_RESERVED,
                         "flags 0x%x has bits that this version does not know", options->flags);
    if (options->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", options->reserved);
    if (options->offset > INT64_MAX || options->length > INT64_MAX - options->offset)
        return vyre_fail(err, VYRE_E_RANGE, "offset and length reach past what a file can have");
    return options->tenant == VYRE_TENANT_ANY ? VYRE_OK
                                              : vyre_tenant_check(runtime, options->tenant, err);
}

/* What the descriptor is, and whether the rights are its own. */
static vyre_status examine(const vyre_source_options *options, vyre_source *source, vyre_error *err)
{
    struct stat about;
    int mode = fcntl(options->fd, F_GETFL);
    if (mode < 0 || fstat(options->fd, &about) != 0)
        return vyre_fail_with(err, VYRE_E_RANGE, "pass an open descriptor", "fd is %d: %s",
                              options->fd, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return vyre_fail_with(err, VYRE_E_RANGE, "open the files of the directory",
                              "descriptor %d is a directory", options->fd);
    int access = mode & O_ACCMODE;
    if (mode & O_PATH || (options->rights & VYRE_RIGHT_READ && access == O_WRONLY) ||
        (options->rights & VYRE_RIGHT_WRITE && access == O_RDONLY))
        return vyre_fail_with(
            err, VYRE_E_CONFLICT, "open the descriptor for what the rights say, or ask for less",
            "rights is %u, and descriptor %d is open for %s only", options->rights, options->fd,
            mode & O_PATH        ? "naming"
            : access == O_WRONLY ? "writing"
                                 : "reading");
    source->stream = lseek(options->fd, 0, SEEK_CUR) < 0 && errno == ESPIPE;
    if (mode & O_APPEND && !source->stream && options->rights & VYRE_RIGHT_WRITE &&
        (options->offset != 0 || options->length != 0))
        return vyre_fail_with(err, VYRE_E_CONFLICT, "open the file without O_APPEND",
                              "descriptor %d appends what is written, wherever the window ends",
                              options->fd);
    source->direct = (mode & O_DIRECT) != 0 && !source->stream; /* of a pipe it means packets */
    if (source->stream && (options->offset != 0 || options->length != 0))
        return vyre_fail_with(err, VYRE_E_RANGE, "leave offset and length 0",
                              "descriptor %d is a stream, which has no part from %llu on",
                              options->fd, (unsigned long long)options->offset);
    return VYRE_OK;
}

/* A place in the pump's table; from then on slots find it. */
static vyre_status enter(struct vyre_pump *pump, vyre_source *source, vyre_error *err)
{
    uint32_t index = 0;
    pthread_mutex_lock(&pump->lock);
    while (index < PUMP_SOURCES && pump->sources[index])
        index++;
    if (index < PUMP_SOURCES) {
        source->index = index;
        source->generation = pump->generation[index] % 0xFFFFu + 1; /* never 0 */
        pump->generation[index] = source->generation;
        pump->sources[index] = source;
        pump->source_count++;
    }
    pthread_mutex_unlock(&pump->lock);
    if (index < PUMP_SOURCES) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_LIMIT, "close some", "all %u sources are open", PUMP_SOURCES);
}

static vyre_status make(struct vyre_pump *pump, const vyre_source_options *options,
                        vyre_source **out, vyre_error *err)
{
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&pump->runtime->memory, 1, sizeof(vyre_source), "source", &memory, err);
    if (status) return status;
    vyre_source *source = memory;
    source->pump = pump;
    source->tenant = options->tenant;
    source->rights = options->rights;
    source->flags = options->flags;
    source->offset = options->offset;
    source->length = options->length;
    status = examine(options, source, err);
    source->fd = status ? -1 : fcntl(options->fd, F_DUPFD_CLOEXEC, 0);
    if (!status && source->fd < 0)
        status = vyre_fail_errno(err, errno, "duplicating descriptor %d", options->fd);
    if (!status) status = enter(pump, source, err);
    if (!status) {
        *out = source;
        return VYRE_OK;
    }
    if (source->fd >= 0) close(source->fd);
    vyre_memory_free(&pump->runtime->memory, source, sizeof *source);
    return status;
}

vyre_status vyre_source_open(vyre *runtime, const vyre_source_options *given, vyre_source **source,
                             vyre_error *err)
{
    vyre_source_options options;
    struct vyre_pump *pump = NULL;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!given) return vyre_fail(err, VYRE_E_NULL, "options is null");
    if (!source) return vyre_fail(err, VYRE_E_NULL, "source is null");
    vyre_status status =
        vyre_options_read(&options, given, sizeof options, "vyre_source_options", err);
    if (!status) status = check(runtime, &options, err);
    if (status) return status;
    if (vyre_runtime_stopped(runtime)) return vyre_runtime_refuse(runtime, err);
    pthread_mutex_lock(&runtime->io.lock);
    status = vyre_pump_need(runtime, &pump, err);
    if (!status) status = make(pump, &options, source, err);
    pthread_mutex_unlock(&runtime->io.lock);
    return status;
}

uint32_t vyre_source_handle(const vyre_source *source)
{
    return source ? source->generation << 16 | source->index : 0;
}

void vyre_source_close(vyre_source *source)
{
    if (!source) return;
    struct vyre_pump *pump = source->pump;
    pthread_mutex_lock(&pump->lock);
    source->closing = 1;
    pump->closings++;
    vyre_pump_order(pump);
    while (!source->gone)
        pthread_cond_wait(&pump->changed, &pump->lock);
    pthread_mutex_unlock(&pump->lock);
    vyre_memory_free(&pump->runtime->memory, source, sizeof *source);
}

vyre_status vyre_prep_load(vyre_slot *slot, const vyre_load *given, vyre_error *err)
{
    vyre_load load;
    if (!given) return vyre_fail(err, VYRE_E_NULL, "load is null");
    vyre_status status = vyre_options_read(&load, given, sizeof load, "vyre_load", err);
    if (status) return status;
    if (load.op < VYRE_IO_READ || load.op > VYRE_IO_FENCE)
        return vyre_fail(err, VYRE_E_RANGE, "op is %u; 1 is read, 2 is write, 3 is fence", load.op);
    if (load.prefetch > 1 || (load.prefetch == 1 && load.op != VYRE_IO_READ))
        return vyre_fail_with(err, VYRE_E_RANGE, "set prefetch to 1 for a READ, else to 0",
                              "prefetch is %u, op is %u", load.prefetch, load.op);
    const uint32_t args[] = {
        load.source, load.prefetch, (uint32_t)load.offset, (uint32_t)(load.offset >> 32),
        load.length, load.buffer,   (uint32_t)load.at,     (uint32_t)(load.at >> 32),
        load.op,
    };
    return vyre_prep_op(slot, VYRE_OP_LOAD_MISS, args, sizeof args / sizeof args[0], err);
}

/* What the pump's thread counts: from the first of the counts to the last. */
static void copy_counts(vyre_pump_report *out, const vyre_pump_report *from)
{
    size_t first = offsetof(vyre_pump_report, requests) / sizeof(uint64_t);
    size_t after = offsetof(vyre_pump_report, choice) / sizeof(uint64_t);
    for (size_t i = first; i < after; i++)
        ((uint64_t *)(void *)out)[i] =
            __atomic_load_n(&((const uint64_t *)(const void *)from)[i], __ATOMIC_RELAXED);
}

vyre_status vyre_pump_read(vyre *runtime, vyre_pump_report *out, vyre_error *err)
{
    vyre_pump_report filled;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "report is null");
    if (out->size < sizeof *out)
        return vyre_fail(err, VYRE_E_SIZE, "report.size is %u; this version has %zu bytes",
                         out->size, sizeof *out);
    memset(&filled, 0, sizeof filled);
    filled.size = out->size;
    filled.entries = runtime->options.io_entries;
    struct vyre_pump *pump = __atomic_load_n(&runtime->io.pump, __ATOMIC_ACQUIRE);
    if (pump) {
        copy_counts(&filled, &pump->report);
        pthread_mutex_lock(&pump->lock);
        filled.engine = pump->engine->id;
        filled.features = pump->features;
        filled.underway = pump->underway;
        filled.sources = pump->source_count;
        memcpy(filled.choice, pump->report.choice, sizeof filled.choice);
        pthread_mutex_unlock(&pump->lock);
    }
    *out = filled;
    return VYRE_OK;
}
