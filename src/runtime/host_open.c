/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a device host can say before it has a device, and opening the device: the application's
 * options are checked a second time here, and its memory for page, vitals, bells and staging is
 * mapped.
 */
#include <stdio.h>
#include <string.h>

#include "backend/cuda/devices.h"
#include "device/system.h"
#include "runtime/host_server.h"

/* A name of a device as it came: it must end. */
static vyre_status check_text(const char *text, size_t room, vyre_error *err)
{
    if (memchr(text, '\0', room)) return VYRE_OK;
    return vyre_fail(err, VYRE_E_RANGE, "a name of %zu bytes without an end", room);
}

static vyre_status find_caps(uint32_t backend, const char *device, vyre_caps *caps, vyre_error *err)
{
    const struct vyre_backend_table *table = vyre_backend_find(backend);
    if (!table)
        return vyre_fail(err, VYRE_E_RANGE, "%u is not a backend; 1 is cpu, 2 is cuda", backend);
    *caps = (vyre_caps)VYRE_CAPS_INIT;
    table->caps(caps, device[0] != '\0' ? device : NULL);
    return VYRE_OK;
}

vyre_status host_do_caps(struct host_server *server, int *replied, vyre_error *err)
{
    const struct host_caps_ask *ask = server->message.payload;
    vyre_caps caps;
    vyre_status status = check_text(ask->device, sizeof ask->device, err);
    if (!status) status = find_caps(ask->backend, ask->device, &caps, err);
    if (status) return status;
    *replied = 1;
    return host_reply_with(server, server->message.header.serial, &caps, (uint32_t)sizeof caps);
}

vyre_status host_do_devices(struct host_server *server, int *replied, vyre_error *err)
{
    struct vyre_cuda_device found[HOST_MAX_DEVICES];
    struct host_devices devices = {0};
    uint32_t count = 0;
    vyre_status status = vyre_cuda_devices(found, HOST_MAX_DEVICES, &count, err);
    if (status) return status;
    devices.count = count < HOST_MAX_DEVICES ? count : HOST_MAX_DEVICES;
    for (uint32_t i = 0; i < devices.count; i++) {
        struct host_device *device = &devices.device[i];
        device->index = found[i].index;
        device->supported = found[i].supported;
        snprintf(device->name, sizeof device->name, "%s", found[i].name);
        snprintf(device->uuid, sizeof device->uuid, "%s", found[i].uuid);
        device->memory_bytes = found[i].memory_bytes;
        device->compute_major = found[i].compute_major;
        device->compute_minor = found[i].compute_minor;
        device->multiprocessors = found[i].multiprocessors;
        device->watchdog = found[i].watchdog;
        device->compute_mode = found[i].compute_mode;
        device->driver = found[i].driver;
        snprintf(device->reason, sizeof device->reason, "%s", found[i].reason);
        snprintf(device->fix, sizeof device->fix, "%s", found[i].fix);
    }
    *replied = 1;
    return host_reply_with(server, server->message.header.serial, &devices,
                           (uint32_t)sizeof devices);
}

/* The options of the core, from the message. The application has put in every default: one that it
 * left would be another one here than there. */
static vyre_status read_options(struct host_server *server, vyre_options *options, vyre_error *err)
{
    const struct host_open *open = server->message.payload;
    vyre_options asked = VYRE_OPTIONS_INIT;
    vyre_caps caps;
    vyre_status status = check_text(open->device, sizeof open->device, err);
    if (!status) status = find_caps(open->backend, open->device, &caps, err);
    if (status) return status;
    if (!caps.supported) return vyre_backend_refuse(&caps, err);
    memcpy(server->device, open->device, sizeof server->device);
    asked.backend = open->backend;
    asked.workers = open->workers;
    asked.default_queue_slots = 0;
    asked.max_queues = open->max_queues;
    asked.max_tenants = open->max_tenants;
    asked.max_handles = open->max_handles;
    asked.inflight_slots = open->inflight_slots;
    asked.observable_words = open->observable_words;
    asked.seal_polls = open->seal_polls;
    asked.idle_spin_ns = open->idle_spin_ns;
    asked.ageing_ns = open->ageing_ns;
    asked.run_slots = open->run_slots;
    asked.continuations = open->continuations;
    asked.step_budget = open->step_budget;
    asked.io_entries = open->io_entries;
    asked.frame_bytes = open->frame_bytes;
    asked.park_ns = open->park_ns;
    asked.place = VYRE_PLACE_HOST;
    asked.stall_ns = asked.sleep_ns = 1000000;
    asked.device = server->device[0] != '\0' ? server->device : NULL;
    memcpy(options, &asked, sizeof asked);
    status = vyre_options_check(options, &caps, err);
    if (status) return status;
    if (memcmp(options, &asked, sizeof asked) != 0)
        return vyre_fail(err, VYRE_E_RANGE, "the options of an OPEN have defaults left");
    return VYRE_OK;
}

static vyre_status make_tables(struct host_server *server, vyre_error *err)
{
    const vyre_options *options = &server->core->options;
    void *handles, *queues, *functions;
    vyre_status status = vyre_memory_alloc(&server->memory, options->max_handles,
                                           sizeof *server->handles, "handles", &handles, err);
    if (status) return status;
    server->handles = handles;
    status = vyre_memory_alloc(&server->memory, options->max_queues + 1, sizeof *server->queues,
                               "queues", &queues, err);
    if (status) return status;
    server->queues = queues;
    status = vyre_memory_alloc(&server->memory, options->max_handles, sizeof *server->functions,
                               "native operations", &functions, err);
    if (status) return status;
    server->functions = functions;
    server->block_limit = 4 * options->max_handles + 4 * options->max_queues + 16;
    return VYRE_OK;
}

/* Takes a descriptor out of the message and makes a SHARED block of it. */
static vyre_status share(struct host_server *server, uint32_t place, struct vyre_block *block,
                         vyre_error *err)
{
    int *fd = &server->message.fd[place];
    block->kind = VYRE_BLOCK_SHARED;
    block->memory = &server->core->memory;
    vyre_status status =
        vyre_memory_adopt(block->memory, *fd, block->bytes, block->what, &block->mapping, err);
    if (status) return status;
    *fd = -1;
    status = server->core->port->block_make(server->core, block, NULL, err);
    if (status) vyre_memory_unmap(block->memory, &block->mapping);
    return status;
}

static vyre_status share_bells(struct host_server *server, vyre_error *err)
{
    struct host_held *held;
    vyre_status status = host_block_enter(server, HOST_BELLS, &held, err);
    if (status) return status;
    held->block.bytes = (server->core->options.max_queues + 1) * sizeof(struct dev_bell);
    held->block.what = "bells";
    status = share(server, 1, &held->block, err);
    held->uses = 1; /* it goes with the device */
    return status;
}

/* Opens the device over the application's page, and everything beside it. */
static vyre_status open_device(struct host_server *server, vyre_error *err)
{
    vyre *core = server->core;
    const vyre_options *options = &core->options;
    struct vyre_mapping page = {NULL, 0, -1};
    core->port = &vyre_port_local;
    vyre_status status = make_tables(server, err);
    if (status) return status;
    status = vyre_memory_adopt(&core->memory, server->message.fd[0],
                               dev_shared_bytes(options->workers, options->max_queues + 1),
                               "page and vitals", &page, err);
    if (status) return status;
    server->message.fd[0] = -1;
    status = vyre_local_open(core, &page, err);
    if (core->shared.address == 0) vyre_memory_unmap(&core->memory, &page);
    if (!status) status = share_bells(server, err);
    server->staging.bytes = HOST_STAGING_BYTES;
    server->staging.what = "staging";
    if (!status) status = share(server, 2, &server->staging, err);
    if (!status) status = host_wake_start(server, server->message.fd[3], err);
    if (!status) server->message.fd[3] = -1;
    return status;
}

vyre_status host_do_open(struct host_server *server, vyre_error *err)
{
    vyre_options options;
    if (server->core) return vyre_fail(err, VYRE_E_STATE, "the device is open already");
    vyre_status status = read_options(server, &options, err);
    if (status) return status;
    status = vyre_runtime_make(&server->memory, &options, &server->core, err);
    if (status) return status;
    status = open_device(server, err);
    if (status) host_server_destroy(server);
    return status;
}
