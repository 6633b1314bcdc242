/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The GPU part of `vyre info`: each GPU that the driver lists, with what it can do, or why there is
 * none. The library asks through a device host, so this process never opens the driver. Called by
 * info.c.
 */
#include "info.h"

enum { MOST_DEVICES = 16 };

/* What a device host said. */
static struct {
    vyre_device device[MOST_DEVICES];
    size_t count;
    vyre_status status;
    vyre_error err;
} found;

static const char *mode_text(uint32_t mode)
{
    return mode == 3 ? "; exclusive to one process" : mode == 2 ? "; closed to all processes" : "";
}

static void emit_device(const vyre_device *device)
{
    struct info_fact fact = {.type = "device"};
    char name[32], memory[32];

    snprintf(name, sizeof name, "GPU %u", device->index);
    cli_format_bytes((double)device->memory_bytes, memory, sizeof memory);
    fact.name = name;
    fact.state = device->supported ? INFO_YES : INFO_NO;
    snprintf(fact.value, sizeof fact.value,
             "%.40s, %s, compute %u.%u, %u multiprocessors, CUDA %u.%u%s%s", device->name, memory,
             device->compute_major, device->compute_minor, device->multiprocessors,
             device->driver / 1000, device->driver % 1000 / 10, mode_text(device->compute_mode),
             device->watchdog ? "; kernels are ended after seconds" : "");
    if (!device->supported) {
        snprintf(fact.reason, sizeof fact.reason, "%s", device->reason);
        snprintf(fact.fix, sizeof fact.fix, "%s", device->fix);
    }
    fact.text[0].key = "model";
    fact.text[0].text = device->name;
    fact.text[1].key = "uuid";
    fact.text[1].text = device->uuid;
    const uint64_t counts[] = {
        device->index,           device->memory_bytes, device->compute_major, device->compute_minor,
        device->multiprocessors, device->driver,       device->watchdog,      device->compute_mode};
    static const char *const keys[] = {"index",         "memory_bytes",    "compute_major",
                                       "compute_minor", "multiprocessors", "cuda_version",
                                       "watchdog",      "compute_mode"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        fact.number[i].key = keys[i];
        fact.number[i].count = counts[i];
    }
    info_emit(&fact);
}

vyre_status info_devices_ask(vyre_error *err)
{
    for (size_t i = 0; i < MOST_DEVICES; i++)
        found.device[i] = (vyre_device)VYRE_DEVICE_INIT;
    found.status = vyre_devices(found.device, MOST_DEVICES, &found.count, &found.err);
    if (found.status != VYRE_OK) *err = found.err;
    return found.status;
}

void info_devices(void)
{
    struct info_fact none = {.type = "device", .name = "GPUs"};

    if (found.status != VYRE_OK) {
        info_missing(&none, found.err.message, found.err.fix);
        info_emit(&none);
    } else if (found.count == 0) {
        info_missing(&none, "the driver lists no GPU", "see what `nvidia-smi` says");
        info_emit(&none);
    } else {
        for (size_t i = 0; i < found.count && i < MOST_DEVICES; i++)
            emit_device(&found.device[i]);
    }
}
