/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What backends can do on this machine, and which GPUs it has. This process never opens a GPU's
 * driver: a device host is started, asked, and ended.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/internal.h"
#include "runtime/spawn.h"

/* Starts a host, asks it one thing, and ends it. */
static vyre_status ask(const char *path, const struct host_sending *sending, void *answer,
                       uint32_t room, vyre_error *err)
{
    struct vyre_host_process process;
    vyre_status status = vyre_host_start(path, &process, err);
    if (status) return status;
    status = vyre_host_ask(&process, sending, answer, room, err);
    vyre_host_end(&process, HOST_ENDING_NS, NULL, 0);
    return status;
}

static vyre_status ask_caps(uint32_t backend, const vyre_options *options, vyre_caps *caps,
                            vyre_error *err)
{
    struct host_caps_ask asked = {.backend = backend};
    struct host_sending sending = {
        .type = HOST_CAPS, .serial = 1, .payload = &asked, .payload_bytes = sizeof asked};
    vyre_caps found = VYRE_CAPS_INIT;
    if (options->device && strlen(options->device) >= sizeof asked.device)
        return vyre_fail_with(err, VYRE_E_RANGE, "give an index such as \"0\", or a UUID",
                              "the name of the device is too long for one");
    if (options->device) snprintf(asked.device, sizeof asked.device, "%s", options->device);
    vyre_status status = ask(options->host, &sending, &found, sizeof found, err);
    if (status) return status;
    found.size = caps->size;
    found.name[sizeof found.name - 1] = found.device[sizeof found.device - 1] = '\0';
    found.reason[sizeof found.reason - 1] = found.fix[sizeof found.fix - 1] = '\0';
    *caps = found;
    return VYRE_OK;
}

vyre_status vyre_caps_find(uint32_t backend, const vyre_options *options, vyre_caps *caps,
                           vyre_error *err)
{
    const struct vyre_backend_table *table = vyre_backend_find(backend);
    vyre_error why;
    (void)err;
    if (backend == VYRE_BACKEND_CPU) {
        table->caps(caps, options->device);
        return VYRE_OK;
    }
    if (ask_caps(backend, options, caps, &why) == VYRE_OK) return VYRE_OK;
    /* Without a host there is no such backend: that is an answer too. */
    uint32_t size = caps->size;
    *caps = (vyre_caps)VYRE_CAPS_INIT;
    caps->size = size;
    snprintf(caps->name, sizeof caps->name, "%s", table->name);
    snprintf(caps->reason, sizeof caps->reason, "%.159s", why.message);
    snprintf(caps->fix, sizeof caps->fix, "%.159s", why.fix);
    return VYRE_OK;
}

vyre_status vyre_backend_caps(enum vyre_backend backend, vyre_caps *caps, vyre_error *err)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre_caps filled = VYRE_CAPS_INIT;
    if (!caps) return vyre_fail(err, VYRE_E_NULL, "caps is null");
    if (caps->size < sizeof *caps)
        return vyre_fail(err, VYRE_E_SIZE, "caps.size is %u; this version has %zu bytes",
                         caps->size, sizeof *caps);
    if (!vyre_backend_find((uint32_t)backend))
        return vyre_fail(err, VYRE_E_RANGE, "%u is not a backend with caps; 1 is cpu, 2 is cuda",
                         (unsigned)backend);
    filled.size = caps->size;
    vyre_status status = vyre_caps_find((uint32_t)backend, &options, &filled, err);
    if (!status) *caps = filled;
    return status;
}

static void fill(vyre_device *out, const struct host_device *from)
{
    uint32_t size = out->size;
    *out = (vyre_device)VYRE_DEVICE_INIT;
    out->size = size;
    out->index = from->index;
    out->supported = from->supported;
    out->compute_major = from->compute_major;
    out->compute_minor = from->compute_minor;
    out->multiprocessors = from->multiprocessors;
    out->watchdog = from->watchdog;
    out->compute_mode = from->compute_mode;
    out->memory_bytes = from->memory_bytes;
    out->driver = from->driver;
    snprintf(out->name, sizeof out->name, "%.63s", from->name);
    snprintf(out->uuid, sizeof out->uuid, "%.47s", from->uuid);
    snprintf(out->reason, sizeof out->reason, "%.159s", from->reason);
    snprintf(out->fix, sizeof out->fix, "%.159s", from->fix);
}

/* Element i of an array whose elements have the size that the first one says. */
static vyre_device *element(vyre_device *devices, size_t i)
{
    return (vyre_device *)(void *)((unsigned char *)devices + i * devices->size);
}

vyre_status vyre_devices(vyre_device *devices, size_t room, size_t *count, vyre_error *err)
{
    struct host_devices_ask asked = {0};
    struct host_sending sending = {
        .type = HOST_DEVICES, .serial = 1, .payload = &asked, .payload_bytes = sizeof asked};
    struct host_devices found;
    if (!devices && room != 0) return vyre_fail(err, VYRE_E_NULL, "devices is null");
    if (!count) return vyre_fail(err, VYRE_E_NULL, "count is null");
    for (size_t i = 0; i < room; i++) {
        uint32_t size = element(devices, i)->size;
        if (size >= sizeof *devices && size == devices->size && size % 8 == 0) continue;
        return vyre_fail_at(err, VYRE_E_SIZE, VYRE_PLACE_ARGUMENT, i,
                            "devices[%zu].size is %u; this version has %zu bytes", i, size,
                            sizeof *devices);
    }
    vyre_status status = ask(NULL, &sending, &found, sizeof found, err);
    if (status) return status;
    if (found.count > HOST_MAX_DEVICES)
        return vyre_fail(err, VYRE_E_INTERNAL, "a device host counts %u devices", found.count);
    for (size_t i = 0; i < found.count && i < room; i++)
        fill(element(devices, i), &found.device[i]);
    *count = found.count;
    return VYRE_OK;
}
