/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An application's side of a device host's connection, message by message, for tests that say what
 * libvyre never would. Include it after support.h.
 */
#ifndef VYRE_TESTS_UNIT_HOST_TEST_H
#define VYRE_TESTS_UNIT_HOST_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "device/complete.h"
#include "device/system.h"
#include "device/vitals.h"
#include "runtime/layout_number.h"
#include "runtime/port.h"
#include "runtime/protocol.h"

#define ANSWER_MS 20000 /* no host is silent for longer, however busy the machine is */

extern char **environ;

struct peer {
    const char *path;
    int socket;
    pid_t pid;
    uint32_t serial;
    uint64_t ticket;
    struct host_open open;
    struct vyre_memory memory;
    struct vyre_mapping page, bells, staging;
    int wake;
    struct host_message message; /* the last one */
};

TAP_UNUSED static struct peer peer_start(const char *path)
{
    struct peer peer = {.path = path, .wake = -1};
    char name[] = "vyre-host";
    char *const arguments[] = {name, NULL};
    posix_spawn_file_actions_t files;
    int pair[2];
    vyre_error err;
    must(host_socket_pair(pair, &err), &err);
    must(vyre_memory_init(&peer.memory, NULL, &err), &err);
    peer.page.fd = peer.bells.fd = peer.staging.fd = -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, pair[1], HOST_SOCKET);
    if (posix_spawn(&peer.pid, path, &files, NULL, arguments, environ) != 0)
        bail("cannot start %s", path);
    posix_spawn_file_actions_destroy(&files);
    close(pair[1]);
    peer.socket = pair[0];
    return peer;
}

/* Closes the connection and waits: the exit status as waitpid has it, or -1 where it would not end.
 */
TAP_UNUSED static int peer_end(struct peer *peer)
{
    int status = -1;
    if (peer->socket >= 0) close(peer->socket);
    peer->socket = -1;
    for (int i = 0; i < ANSWER_MS * 20; i++) {
        if (waitpid(peer->pid, &status, WNOHANG) == peer->pid) break;
        status = -1;
        breathe();
    }
    if (status == -1) {
        kill(peer->pid, SIGKILL);
        waitpid(peer->pid, NULL, 0);
    }
    vyre_memory_unmap(&peer->memory, &peer->page);
    vyre_memory_unmap(&peer->memory, &peer->bells);
    vyre_memory_unmap(&peer->memory, &peer->staging);
    if (peer->wake >= 0) close(peer->wake);
    peer->wake = -1;
    return status;
}

/* Ended by itself, with this code. */
TAP_UNUSED static bool ended_with(int status, int code)
{
    bool pass = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == code;
    if (!pass) printf("#   wait status 0x%x\n", (unsigned)status);
    return pass;
}

TAP_UNUSED static void peer_say(struct peer *peer, uint32_t type, const void *payload,
                                uint32_t bytes, const int *fds, uint32_t fd_count)
{
    struct host_sending sending = {.type = type,
                                   .serial = ++peer->serial,
                                   .payload = payload,
                                   .payload_bytes = bytes,
                                   .fds = fds,
                                   .fd_count = fd_count};
    host_send(peer->socket, &sending, NULL); /* one that is gone is seen when it should answer */
}

/* The next message: its type, 0 at the end of the connection, -1 where none comes. */
TAP_UNUSED static int peer_hear(struct peer *peer)
{
    struct pollfd one = {peer->socket, POLLIN, 0};
    if (poll(&one, 1, ANSWER_MS) != 1) return -1;
    if (host_receive(peer->socket, &peer->message, 0, NULL) != 0) return 0;
    return peer->message.header.type;
}

/* As peer_end, of a host that ends the connection itself: one that has lost it, and is slow to go,
 * has another exit code. */
TAP_UNUSED static int peer_left(struct peer *peer)
{
    while (peer_hear(peer) > 0) {}
    return peer_end(peer);
}

/* The REPLY to the last request: its status. */
TAP_UNUSED static vyre_status peer_reply(struct peer *peer, vyre_error *err)
{
    int type = peer_hear(peer);
    const struct host_reply *reply = peer->message.payload;
    memset(err, 0, sizeof *err);
    if (type != HOST_REPLY || peer->message.header.serial != peer->serial) {
        snprintf(err->message, sizeof err->message, "message type %d, serial %u, not a REPLY to %u",
                 type, type > 0 ? peer->message.header.serial : 0, peer->serial);
        return VYRE_E_INTERNAL;
    }
    if (reply->status && reply->bytes == sizeof *err) memcpy(err, reply + 1, sizeof *err);
    return reply->status;
}

TAP_UNUSED static vyre_status peer_ask_with(struct peer *peer, uint32_t type, const void *payload,
                                            uint32_t bytes, int fd, vyre_error *err)
{
    peer_say(peer, type, payload, bytes, &fd, fd >= 0);
    return peer_reply(peer, err);
}

TAP_UNUSED static vyre_status peer_ask(struct peer *peer, uint32_t type, const void *payload,
                                       uint32_t bytes, vyre_error *err)
{
    return peer_ask_with(peer, type, payload, bytes, -1, err);
}

TAP_UNUSED static void peer_hello(struct peer *peer)
{
    struct host_hello hello = {VYRE_VERSION, HOST_PROTOCOL, (uint32_t)getpid(), host_layout()};
    if (peer_hear(peer) != HOST_HELLO) bail("the host did not say hello");
    peer_say(peer, HOST_HELLO, &hello, sizeof hello, NULL, 0);
}

/* Options and memory of a small device on the CPU. */
TAP_UNUSED static void peer_prepare(struct peer *peer)
{
    vyre_error err;
    peer->open = (struct host_open){.backend = VYRE_BACKEND_CPU,
                                    .workers = 2,
                                    .max_queues = 4,
                                    .max_tenants = 4,
                                    .max_handles = 16,
                                    .inflight_slots = 64,
                                    .observable_words = 64,
                                    .seal_polls = 1000,
                                    .run_slots = 8,
                                    .continuations = 2,
                                    .step_budget = 65536,
                                    .io_entries = 16,
                                    .idle_spin_ns = 10000,
                                    .ageing_ns = 1000000,
                                    .frame_bytes = 65536,
                                    .park_ns = 200000000};
    must(vyre_memory_map(&peer->memory, dev_shared_bytes(2, 5), "page", &peer->page, &err), &err);
    must(vyre_memory_map(&peer->memory, 5 * sizeof(struct dev_bell), "bells", &peer->bells, &err),
         &err);
    must(vyre_memory_map(&peer->memory, HOST_STAGING_BYTES, "staging", &peer->staging, &err), &err);
    peer->wake = eventfd(0, EFD_CLOEXEC);
}

TAP_UNUSED static vyre_status peer_open(struct peer *peer, vyre_error *err)
{
    int fds[4] = {peer->page.fd, peer->bells.fd, peer->staging.fd, peer->wake};
    peer_say(peer, HOST_OPEN, &peer->open, sizeof peer->open, fds, 4);
    return peer_reply(peer, err);
}

/* A host with an open device. */
TAP_UNUSED static struct peer peer_ready(const char *path)
{
    struct peer peer = peer_start(path);
    vyre_error err;
    peer_hello(&peer);
    peer_prepare(&peer);
    must(peer_open(&peer, &err), &err);
    return peer;
}

TAP_UNUSED static vyre_status peer_block(struct peer *peer, uint64_t number, uint32_t kind,
                                         uint64_t bytes, int fd, vyre_error *err)
{
    struct host_block block = {.number = number,
                               .bytes = bytes,
                               .kind = kind,
                               .contents = fd >= 0 && kind != VYRE_BLOCK_SHARED};
    return peer_ask_with(peer, HOST_BLOCK, &block, sizeof block, fd, err);
}

TAP_UNUSED static vyre_status peer_forget(struct peer *peer, uint64_t number, vyre_error *err)
{
    struct host_number forget = {number};
    return peer_ask(peer, HOST_FORGET, &forget, sizeof forget, err);
}

/* Sends a request to queue 0. */
TAP_UNUSED static void peer_slot(struct peer *peer, uint32_t opcode, const uint32_t *args,
                                 uint32_t count)
{
    struct host_slot slot = {.ticket = peer->ticket++};
    slot.word[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    slot.word[VYRE_SLOT_OPCODE] = opcode;
    memcpy(&slot.word[VYRE_SLOT_ARG0], args, count * sizeof *args);
    peer_say(peer, HOST_SLOT, &slot, sizeof slot, NULL, 0);
}

/* The answer to the last request to queue 0: result 0, or DEV_NONE where there was none. *taken:
 * how often the device was said to have taken it. */
TAP_UNUSED static uint32_t peer_answer(struct peer *peer, uint32_t *taken)
{
    *taken = 0;
    for (;;) {
        int type = peer_hear(peer);
        const struct host_taken *seen = peer->message.payload;
        const struct host_answer *answer = peer->message.payload;
        if (type == HOST_TAKEN && seen->ticket == peer->ticket - 1) {
            ++*taken;
            continue;
        }
        if (type != HOST_ANSWER || answer->ticket != peer->ticket - 1) return DEV_NONE;
        if (answer->completion.outcome != VYRE_DONE) return DEV_NONE;
        return answer->completion.result[0];
    }
}

TAP_UNUSED static uint32_t peer_call(struct peer *peer, uint32_t opcode, const uint32_t *args,
                                     uint32_t count)
{
    uint32_t taken;
    peer_slot(peer, opcode, args, count);
    return peer_answer(peer, &taken);
}

/* A descriptor of memory with these bytes. */
TAP_UNUSED static int memory_of(const void *bytes, size_t length)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length) bail("cannot make a memfd");
    return fd;
}

/* A queue through shared memory.
 * ------------------------------------------------------------------------------------------- */

struct peer_queue {
    uint32_t number, log2_slots, next;
    struct vyre_mapping rings;
};

/* Opens queue `number` with 8 slots and these flags over blocks 100 + number and 200 + number. */
TAP_UNUSED static uint32_t peer_queue_open_with(struct peer *peer, struct peer_queue *queue,
                                                uint32_t number, uint32_t tenant, uint32_t flags)
{
    vyre_error err;
    uint32_t slots = 8;
    *queue = (struct peer_queue){.number = number, .log2_slots = 3};
    must(vyre_memory_map(&peer->memory, dev_queue_bytes(slots), "rings", &queue->rings, &err),
         &err);
    struct dev_params *params = (void *)((char *)queue->rings.base + DEV_QUEUE_PARAMS_AT);
    for (uint32_t i = 0; i < slots; i++)
        params[i].ticket = UINT64_MAX;
    must(peer_block(peer, 100 + number, VYRE_BLOCK_SHARED, dev_queue_bytes(slots), queue->rings.fd,
                    &err),
         &err);
    must(peer_block(peer, 200 + number, VYRE_BLOCK_DEVICE, 4, -1, &err), &err);
    uint32_t args[VYRE_SLOT_ARGS] = {number, dev_queue_shape(3, flags, tenant)};
    args[3] = 100 + number;
    args[4] = number * (uint32_t)sizeof(struct dev_bell);
    args[5] = HOST_BELLS;
    args[7] = 200 + number;
    return peer_call(peer, DEV_SYS_QUEUE_OPEN, args, VYRE_SLOT_ARGS);
}

TAP_UNUSED static uint32_t peer_queue_open(struct peer *peer, struct peer_queue *queue,
                                           uint32_t number, uint32_t tenant)
{
    return peer_queue_open_with(peer, queue, number, tenant, 0);
}

/* The completion entry with this index. */
TAP_UNUSED static const uint32_t *peer_entry(const struct peer_queue *queue, uint32_t index)
{
    uint32_t slots = 1u << queue->log2_slots;
    const char *base = queue->rings.base;
    return (const uint32_t *)(const void *)(base + dev_queue_completion_at(slots)) +
           (index & (slots - 1)) * VYRE_COMPLETION_WORDS;
}

/* Submits one slot. */
TAP_UNUSED static void peer_submit(struct peer *peer, struct peer_queue *queue, uint32_t opcode,
                                   const uint32_t *args, uint32_t count)
{
    char *base = queue->rings.base;
    uint32_t slots = 1u << queue->log2_slots, place = queue->next & (slots - 1);
    uint64_t one = 1;
    uint32_t *slot =
        (uint32_t *)(void *)(base + dev_queue_submission_at(slots)) + place * VYRE_SLOT_WORDS;
    memset(slot, 0, VYRE_SLOT_BYTES);
    slot[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    slot[VYRE_SLOT_OPCODE] = opcode;
    slot[VYRE_SLOT_PRIORITY] = VYRE_PRIORITY_NORMAL;
    for (uint32_t i = 0; i < count; i++)
        slot[VYRE_SLOT_ARG0 + i] = args[i];
    queue->next++;
    struct dev_bell *bell = (struct dev_bell *)peer->bells.base + queue->number;
    __atomic_store_n(&bell->special, queue->next, __ATOMIC_RELEASE);
    __atomic_store_n(&bell->tail, queue->next, __ATOMIC_SEQ_CST);
    if (write(peer->wake, &one, sizeof one) != sizeof one) bail("cannot wake the device");
}

/* Waits for the completion with this index; false: it never came. */
TAP_UNUSED static bool peer_await(const struct peer_queue *queue, uint32_t index)
{
    uint32_t lap = dev_completion_lap_of(index, queue->log2_slots);
    for (int i = 0; i < ANSWER_MS * 20; i++) {
        if (dev_completion_lap(peer_entry(queue, index)) == lap) return true;
        breathe();
    }
    return false;
}

/* Runs one slot and waits for its completion; false: it never came. */
TAP_UNUSED static bool peer_run(struct peer *peer, struct peer_queue *queue, uint32_t opcode,
                                const uint32_t *args, uint32_t count, const uint32_t **entry)
{
    uint32_t index = queue->next;
    *entry = peer_entry(queue, index);
    peer_submit(peer, queue, opcode, args, count);
    return peer_await(queue, index);
}

#endif
