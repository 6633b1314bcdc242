/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The check of requests to queue 0 before the device sees them. The device believes what comes
 * through queue 0: so here every number must name something that is there, of the right kind and
 * large enough, and every address becomes the device's own.
 *
 * A shadow notes for each handle and queue what the device has been told. It is COMING from the
 * request on, so that requests which follow can build on it, and LIVE with the answer; only then
 * can it be taken away again.
 */
#include "device/system.h"
#include "runtime/host_server.h"

#define MAX_LOG2_SLOTS 16u

/* The block at an address of the protocol, of at least `bytes` bytes from there on, or NULL. */
static struct host_held *at_address(struct host_server *server, uint64_t address, uint64_t bytes)
{
    struct host_held *held = host_block_find(server, address >> 32);
    uint64_t offset = address & 0xFFFFFFFFu;
    if (!held || offset > held->block.bytes || bytes > held->block.bytes - offset) return NULL;
    return held;
}

/* A whole block of one kind that nothing uses yet, or NULL. */
static struct host_held *whole(struct host_server *server, uint64_t address, uint32_t kind,
                               uint64_t bytes)
{
    struct host_held *held = at_address(server, address, bytes);
    if (!held || (address & 0xFFFFFFFFu) != 0) return NULL;
    return held->block.kind == kind && held->uses == 0 ? held : NULL;
}

static void put_pair(uint32_t *low, uint64_t value)
{
    low[0] = (uint32_t)value;
    low[1] = (uint32_t)(value >> 32);
}

static void use(struct host_shadow *shadow, struct host_held *held)
{
    uint32_t place = 0;
    while (shadow->held[place])
        place++;
    shadow->held[place] = held;
    held->uses++;
}

void host_shadow_release(struct host_shadow *shadow)
{
    for (uint32_t i = 0; i < HOST_SHADOW_USES; i++)
        if (shadow->held[i]) shadow->held[i]->uses--;
    *shadow = (struct host_shadow){0};
}

static uint32_t check_queue_open(struct host_server *server, uint32_t *args,
                                 struct host_shadow **changed)
{
    const vyre_options *options = &server->core->options;
    uint32_t log2_slots = args[1] & 0xFFu, flags = args[1] >> 8 & 0xFFu, tenant = args[1] >> 16;
    if (args[0] == 0 || args[0] > options->max_queues) return VYRE_FAULT_BAD_HANDLE;
    struct host_shadow *shadow = &server->queues[args[0]];
    if (shadow->state != HOST_SHADOW_FREE || log2_slots > MAX_LOG2_SLOTS ||
        flags > (DEV_QUEUE_SEALED | DEV_QUEUE_CLASSIFIED | DEV_QUEUE_HELD) ||
        tenant >= options->max_tenants)
        return VYRE_FAULT_BAD_HANDLE;
    uint32_t slots = 1u << log2_slots;
    struct host_held *rings =
        whole(server, dev_pair(&args[2]), VYRE_BLOCK_SHARED, dev_queue_bytes(slots));
    uint64_t bell_at = dev_pair(&args[4]);
    struct host_held *bell = at_address(server, bell_at, sizeof(struct dev_bell));
    struct host_held *bits =
        whole(server, dev_pair(&args[6]), VYRE_BLOCK_DEVICE, (slots + 31) / 32 * sizeof(uint32_t));
    if (!rings || !bits || !bell || bell->block.kind != VYRE_BLOCK_SHARED ||
        bell_at % sizeof(struct dev_bell) != 0)
        return VYRE_FAULT_BAD_HANDLE;
    uint64_t bell_address = bell->block.address + (bell_at & 0xFFFFFFFFu);
    if (flags & DEV_QUEUE_HELD) {
        const unsigned char *host = bell->block.host;
        struct host_bell own = {bell_address, (const void *)(host + (bell_at & 0xFFFFFFFFu))};
        if (host_row_open(server, args, &own, &bell_address, NULL)) return VYRE_FAULT_BAD_HANDLE;
    }
    put_pair(&args[2], rings->block.address);
    put_pair(&args[4], bell_address);
    put_pair(&args[6], bits->block.address);
    use(shadow, rings);
    use(shadow, bits);
    use(shadow, bell);
    *changed = shadow;
    return 0;
}

static uint32_t check_frames(struct host_server *server, uint32_t *args,
                             struct host_shadow **changed)
{
    const vyre_options *options = &server->core->options;
    uint64_t count = (uint64_t)options->workers + options->continuations;
    struct host_held *held = whole(server, dev_pair(&args[0]), VYRE_BLOCK_FRAMES,
                                   count * vyre_frame_stride(server->core));
    if (!held || server->frames.state != HOST_SHADOW_FREE) return VYRE_FAULT_BAD_HANDLE;
    put_pair(&args[0], held->block.address);
    use(&server->frames, held);
    *changed = &server->frames;
    return 0;
}

static uint32_t check_io(struct host_server *server, uint32_t *args, struct host_shadow **changed)
{
    uint32_t entries = server->core->options.io_entries;
    if (entries == 0 || args[2] > DEV_IO_CHUNKS_MOST || server->io.state != HOST_SHADOW_FREE)
        return VYRE_FAULT_BAD_HANDLE;
    struct host_held *held =
        whole(server, dev_pair(&args[0]), VYRE_BLOCK_SHARED, dev_io_bytes(entries, args[2]));
    if (!held) return VYRE_FAULT_BAD_HANDLE;
    put_pair(&args[0], held->block.address);
    use(&server->io, held);
    *changed = &server->io;
    return 0;
}

static uint32_t check_install(struct host_server *server, uint32_t *args,
                              struct host_shadow **changed)
{
    uint32_t index = args[0] & 0xFFFFu;
    if (index >= server->core->options.max_handles) return VYRE_FAULT_BAD_HANDLE;
    struct host_shadow *shadow = &server->handles[index];
    if (shadow->state != HOST_SHADOW_FREE) return VYRE_FAULT_BAD_HANDLE;
    uint64_t address = dev_pair(&args[4]);
    struct host_held *held = NULL;
    if (args[1] != DEV_OPERATION) {
        held = at_address(server, address, 0);
        if (!held || (address & 0xFFFFFFFFu) != 0 || held->uses != 0) return VYRE_FAULT_BAD_HANDLE;
        use(shadow, held);
    }
    uint32_t fault = host_check_install(server, args, shadow);
    if (fault) {
        host_shadow_release(shadow);
        return fault;
    }
    if (held) put_pair(&args[4], held->block.address);
    shadow->kind = args[1];
    shadow->word = args[0];
    *changed = shadow;
    return 0;
}

/* DROP and QUEUE_CLOSE: of what is there, once. */
static uint32_t check_end(struct host_shadow *shadow, struct host_shadow **changed)
{
    if (shadow->state != HOST_SHADOW_LIVE) return VYRE_FAULT_BAD_HANDLE;
    *changed = shadow;
    return 0;
}

static uint32_t check_drop(struct host_server *server, const uint32_t *args,
                           struct host_shadow **changed)
{
    uint32_t index = args[0] & 0xFFFFu;
    if (index >= server->core->options.max_handles || server->handles[index].word != args[0])
        return VYRE_FAULT_BAD_HANDLE;
    return check_end(&server->handles[index], changed);
}

uint32_t host_check(struct host_server *server, uint32_t opcode, uint32_t *args,
                    struct host_shadow **shadow)
{
    uint32_t fault = 0, state = HOST_SHADOW_COMING;
    *shadow = NULL;
    switch (opcode) {
    case DEV_SYS_INSTALL:
        fault = check_install(server, args, shadow);
        break;
    case DEV_SYS_QUEUE_OPEN:
        fault = check_queue_open(server, args, shadow);
        break;
    case DEV_SYS_FRAMES:
        fault = check_frames(server, args, shadow);
        break;
    case DEV_SYS_IO:
        fault = check_io(server, args, shadow);
        break;
    case DEV_SYS_DROP:
        state = HOST_SHADOW_GOING;
        fault = check_drop(server, args, shadow);
        break;
    case DEV_SYS_QUEUE_CLOSE:
        state = HOST_SHADOW_GOING;
        if (args[0] == 0 || args[0] > server->core->options.max_queues)
            return VYRE_FAULT_BAD_HANDLE;
        fault = check_end(&server->queues[args[0]], shadow);
        break;
    case DEV_SYS_CANCEL:
        args[3] = 0; /* what the device finds, and nothing else */
        break;
    default: /* SHUTDOWN */
        break;
    }
    if (*shadow) (*shadow)->state = state;
    return fault;
}
