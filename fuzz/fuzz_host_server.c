/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a row of requests to a device host with a device on the CPU, in this
 * process. A request: its type, flags, then as many bytes of its structure as there are; the rest
 * is zero. Bit 0 of the flags makes numbers small, so that requests meet what earlier ones made.
 * Nothing may crash, hang or leak, whatever they ask for; sanitizers look at the rest.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/system.h"
#include "device/vitals.h"
#include "host_rows.h"
#include "runtime/host_server.h"
#include "wire_checks.h"

#define PIECE_MOST  (1u << 20) /* no allocation is larger */
#define ROUNDS_MOST 64u        /* requests */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *get(void *ctx, size_t size, size_t align)
{
    void *pointer = NULL;
    (void)ctx;
    if (size > PIECE_MOST && size != HOST_STAGING_BYTES) return NULL;
    return posix_memalign(&pointer, align, size) == 0 ? pointer : NULL;
}

static void give(void *ctx, void *pointer, size_t size)
{
    (void)ctx;
    (void)size;
    free(pointer);
}

static int memory(size_t bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    return fd;
}

/* What the application would send first. */
static void open_device(struct host_server *server)
{
    struct host_message *message = &server->message;
    struct host_open open = {.backend = VYRE_BACKEND_CPU,
                             .workers = 1,
                             .max_queues = 2,
                             .max_tenants = 2,
                             .max_handles = 8,
                             .inflight_slots = 16,
                             .observable_words = 16,
                             .seal_polls = 10,
                             .run_slots = 2,
                             .continuations = 1,
                             .step_budget = 1000,
                             .idle_spin_ns = 0,
                             .ageing_ns = 1000000,
                             .frame_bytes = 65536,
                             .park_ns = 1000000};
    vyre_error err;
    memset(message, 0, sizeof *message);
    message->header = (struct host_header){HOST_MAGIC, HOST_PROTOCOL, HOST_OPEN, 1, sizeof open};
    message->payload = message->packet;
    memcpy(message->packet, &open, sizeof open);
    message->fd_count = 4;
    message->fd[0] = memory(dev_shared_bytes(1, 3));
    message->fd[1] = memory(3 * sizeof(struct dev_bell));
    message->fd[2] = memory(HOST_STAGING_BYTES);
    message->fd[3] = eventfd(0, EFD_CLOEXEC);
    server->greeted = 1;
    REQUIRE(host_dispatch(server, &err) == VYRE_OK && server->core);
}

/* Makes numbers hit something. */
static void tame(struct host_server *server, uint32_t type, uint32_t *word)
{
    if (type == HOST_SLOT) {
        struct host_slot *slot = (void *)word;
        slot->ticket = server->next_ticket;
        slot->word[VYRE_SLOT_OPCODE] = DEV_SYS_INSTALL + slot->word[VYRE_SLOT_OPCODE] % 6;
        for (uint32_t i = VYRE_SLOT_ARG0; i < VYRE_SLOT_WORDS; i++)
            slot->word[i] &= 0x1FFFF;
    }
    if (type == HOST_BLOCK) {
        struct host_block *block = (void *)word;
        block->number = 2 + block->number % 8;
        block->bytes = 1 + block->bytes % 300000;
        block->kind = 1 + block->kind % 7;
        block->extent = block->kind == VYRE_BLOCK_BORROWED ? block->bytes : 0;
        memset(block->device, 0, sizeof block->device);
        block->contents = block->kind == VYRE_BLOCK_PROGRAM || block->kind == VYRE_BLOCK_BINDINGS;
    }
    if (type == HOST_FORGET || type == HOST_WRITE || type == HOST_READ) word[0] = 2 + word[0] % 8;
}

/* Puts a request together from the input; 0: there is none left. */
static int next_message(struct host_server *server, const uint8_t **data, size_t *size)
{
    struct host_message *message = &server->message;
    if (*size < 3) return 0;
    const struct host_row *row = &host_rows[(*data)[0] % HOST_ROWS];
    uint32_t flags = (*data)[1];
    size_t bytes = (*data)[2];
    *data += 3;
    *size -= 3;
    if (bytes > *size) bytes = *size;
    const uint8_t *from = *data;
    *data += bytes;
    *size -= bytes;
    memset(message->packet, 0, sizeof message->packet);
    memcpy(message->packet, from, bytes < row->bytes ? bytes : row->bytes);
    message->payload = message->packet;
    message->header =
        (struct host_header){HOST_MAGIC, HOST_PROTOCOL, (uint16_t)row->type, 1, row->bytes};
    uint32_t *word = (uint32_t *)(void *)message->packet;
    if (flags & 1) tame(server, row->type, word);
    message->fd_count = row->fds;
    if (row->type == HOST_BLOCK) {
        const struct host_block *block = message->payload;
        uint32_t itself = block->kind == VYRE_BLOCK_SHARED || block->kind == VYRE_BLOCK_BORROWED;
        message->fd_count = flags & 1 ? block->contents || itself : flags >> 1 & 1;
    }
    for (uint32_t i = 0; i < message->fd_count; i++) {
        message->fd[i] = memory(flags & 4 ? 64 : 300000);
        /* The rest of the request is what the descriptor holds. */
        if (bytes > row->bytes)
            REQUIRE(pwrite(message->fd[i], from + row->bytes, bytes - row->bytes, 0) > 0);
    }
    return 1;
}

/* Reads what the host has said: well-formed, all of it. The CPU backend lends no memory. */
static void drain(int socket)
{
    static struct host_message said;
    while (host_receive(socket, &said, 0, NULL) == 0)
        REQUIRE(said.header.type >= HOST_REPLY && said.fd_count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct host_server server;
    const vyre_allocator hooks = {get, give, NULL, NULL, NULL};
    vyre_error err;
    int pair[2];
    REQUIRE(host_socket_pair(pair, &err) == VYRE_OK);
    REQUIRE(host_server_init(&server, pair[1], &hooks, &err) == VYRE_OK);
    open_device(&server);
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < ROUNDS_MOST && !status && next_message(&server, &data, &size); i++) {
        status = host_dispatch(&server, &err);
        if (!status) status = host_progress(&server, &err);
        if (status) REQUIRE(err.status == status && err.message[0]);
        drain(pair[0]);
    }
    host_server_destroy(&server);
    REQUIRE(vyre_memory_live(&server.memory) == 0);
    drain(pair[0]);
    close(pair[0]);
    close(pair[1]);
    return 0;
}
