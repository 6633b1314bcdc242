/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The GPU part of `vyre info`: each GPU that the driver lists, with what it can do, or why there is
 * none. The library asks through a device host, so this process never opens the driver. Called by
 * info.c.
 */
#include "info.h"

enum { MOST_DEVICES = 16 };

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

void info_devices(void)
{
    struct info_fact none = {.type = "device", .name = "GPUs", .state = INFO_NO};
    vyre_device devices[MOST_DEVICES];
    vyre_error err;
    size_t count = 0;

    for (size_t i = 0; i < MOST_DEVICES; i++)
        devices[i] = (vyre_device)VYRE_DEVICE_INIT;
    vyre_status status = vyre_devices(devices, MOST_DEVICES, &count, &err);
    for (size_t i = 0; status == VYRE_OK && i < count && i < MOST_DEVICES; i++)
        emit_device(&devices[i]);
    if (status == VYRE_OK && count != 0) return;
    if (status == VYRE_OK) {
        snprintf(none.reason, sizeof none.reason, "the driver lists no GPU");
        snprintf(none.fix, sizeof none.fix, "see what `nvidia-smi` says");
    } else {
        snprintf(none.reason, sizeof none.reason, "%.190s", err.message);
        snprintf(none.fix, sizeof none.fix, "%s", err.fix);
    }
    info_emit(&none);
}
