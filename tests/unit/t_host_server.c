/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A real vyre-host, asked by hand: greeting, opening, blocks, queues whose slots really run; and
 * everything it must refuse, with a reason or the end of the connection, never by a crash.
 * Argument: the path of vyre-host.
 */
#include "support.h"

#include "host_test.h"

static const char *path;
static vyre_error err;

static void try_by_hand(void)
{
    char name[] = "vyre-host", what[] = "--nonsense";
    char *const plain[] = {name, NULL}, *const wrong[] = {name, what, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, HOST_SOCKET, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < 2; i++) {
        int status = 0;
        pid_t pid;
        if (posix_spawn(&pid, path, &files, NULL, i ? wrong : plain, environ) != 0)
            bail("cannot start %s", path);
        waitpid(pid, &status, 0);
        ok(ended_with(status, 2), "run by hand %s it says what it is for",
           i ? "with an argument" : "");
    }
    posix_spawn_file_actions_destroy(&files);
}

static void try_hello(void)
{
    struct peer peer = peer_start(path);
    struct host_hello hello = {VYRE_VERSION, HOST_PROTOCOL, 0, host_layout()};
    is_u64(peer_hear(&peer), HOST_HELLO, "the host speaks first");
    const struct host_hello *said = peer.message.payload;
    is_str(said->version, VYRE_VERSION, "and says its version");
    ok(said->protocol == HOST_PROTOCOL && said->layout == host_layout() &&
           said->pid == (uint32_t)peer.pid && peer.message.sender_pid == (uint32_t)peer.pid,
       "protocol and process");
    ok(ended_with(peer_end(&peer), 0), "it ends when the connection does");

    peer = peer_start(path);
    hello.layout++;
    peer_hear(&peer);
    refused(peer_ask(&peer, HOST_HELLO, &hello, sizeof hello, &err), VYRE_E_CONFLICT, &err,
            "another memory layout is refused");
    ok(strstr(err.message, "layout") != NULL, "%s", err.message);
    ok(ended_with(peer_left(&peer), 1), "and it ends");
    hello.layout--;

    peer = peer_start(path);
    snprintf(hello.version, sizeof hello.version, "9.9.9");
    peer_hear(&peer);
    refused(peer_ask(&peer, HOST_HELLO, &hello, sizeof hello, &err), VYRE_E_CONFLICT, &err,
            "another version is refused");
    is_u64(peer_hear(&peer), 0, "and the connection ends");
    ok(ended_with(peer_left(&peer), 1), "with exit code 1");

    peer = peer_start(path);
    memset(hello.version, 'x', sizeof hello.version);
    peer_hear(&peer);
    refused(peer_ask(&peer, HOST_HELLO, &hello, sizeof hello, &err), VYRE_E_CONFLICT, &err,
            "a version without an end");
    ok(ended_with(peer_left(&peer), 1), "ends it too");

    peer = peer_start(path);
    struct host_caps_ask ask = {VYRE_BACKEND_CPU, ""};
    peer_hear(&peer);
    refused(peer_ask(&peer, HOST_CAPS, &ask, sizeof ask, &err), VYRE_E_STATE, &err,
            "a request before HELLO");
    ok(ended_with(peer_left(&peer), 1), "ends it");
}

static void try_caps(void)
{
    struct peer peer = peer_start(path);
    struct host_caps_ask ask = {VYRE_BACKEND_CPU, ""};
    peer_hello(&peer);
    works(peer_ask(&peer, HOST_CAPS, &ask, sizeof ask, &err), &err, "caps of the CPU");
    const struct host_reply *reply = peer.message.payload;
    vyre_caps caps;
    is_u64(reply->bytes, sizeof caps, "are there");
    memcpy(&caps, reply + 1, sizeof caps);
    ok(caps.supported == 1 && strcmp(caps.name, "cpu") == 0 && caps.max_workers >= 1, "and right");
    ask.backend = 7;
    refused(peer_ask(&peer, HOST_CAPS, &ask, sizeof ask, &err), VYRE_E_RANGE, &err, "backend 7");
    memset(ask.device, 'x', sizeof ask.device);
    refused(peer_ask(&peer, HOST_CAPS, &ask, sizeof ask, &err), VYRE_E_RANGE, &err,
            "a device's name without an end");
    struct host_devices_ask devices = {0};
    vyre_status status = peer_ask(&peer, HOST_DEVICES, &devices, sizeof devices, &err);
    reply = peer.message.payload;
    ok(status ? err.fix[0] != '\0' : reply->bytes == sizeof(struct host_devices),
       "the list of GPUs, or why there is none");
    struct host_block block = {.number = 2, .bytes = 64, .kind = VYRE_BLOCK_DEVICE};
    refused(peer_ask(&peer, HOST_BLOCK, &block, sizeof block, &err), VYRE_E_STATE, &err,
            "a block before OPEN");
    ok(ended_with(peer_end(&peer), 0), "a host without a device ends");
}

/* OPEN with one descriptor exchanged. */
static vyre_status open_with_fd(struct peer *peer, uint32_t place, int fd)
{
    int fds[4] = {peer->page.fd, peer->bells.fd, peer->staging.fd, peer->wake};
    fds[place] = fd;
    peer_say(peer, HOST_OPEN, &peer->open, sizeof peer->open, fds, 4);
    close(fd);
    return peer_reply(peer, &err);
}

static void try_open(void)
{
    struct peer peer = peer_start(path);
    peer_hello(&peer);
    peer_prepare(&peer);
    struct host_open good = peer.open;
    for (uint32_t place = 0; place < 3; place++) {
        int unsealable = memfd_create("test", MFD_CLOEXEC);
        if (ftruncate(unsealable, HOST_STAGING_BYTES) != 0) bail("cannot make a memfd");
        refused(open_with_fd(&peer, place, unsealable), VYRE_E_NOT_PERMITTED, &err,
                "descriptor %u is of memory that may shrink", place);
        refused(open_with_fd(&peer, place, open("/dev/null", O_RDWR)), VYRE_E_NOT_PERMITTED, &err,
                "descriptor %u is of /dev/null", place);
        refused(open_with_fd(&peer, place, memory_of("x", 1)), VYRE_E_TOO_SMALL, &err,
                "descriptor %u is of a byte", place);
    }
    peer.open.workers = VYRE_DEFAULT;
    refused(peer_open(&peer, &err), VYRE_E_RANGE, &err, "a default that is left");
    peer.open = good;
    peer.open.max_handles = 70000;
    refused(peer_open(&peer, &err), VYRE_E_RANGE, &err, "too many handles");
    peer.open = good;
    peer.open.backend = 0;
    refused(peer_open(&peer, &err), VYRE_E_RANGE, &err, "no backend");
    peer.open = good;
    works(peer_open(&peer, &err), &err, "the device opens after all that");
    const struct dev_vitals *vitals = (void *)((char *)peer.page.base + DEV_VITALS_AT);
    ok(vitals->magic == DEV_VITALS_MAGIC && vitals->workers == 2, "and writes its vitals");
    refused(peer_open(&peer, &err), VYRE_E_STATE, &err, "a second OPEN");
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

static void try_blocks(void)
{
    struct peer peer = peer_ready(path);
    int byte = memory_of("abc", 3);
    static const struct {
        uint64_t number, bytes;
        uint32_t kind;
        vyre_status expected;
        const char *what;
    } wrong[] = {
        {0, 64, VYRE_BLOCK_DEVICE, VYRE_E_RANGE, "number 0"},
        {1ull << 32, 64, VYRE_BLOCK_DEVICE, VYRE_E_RANGE, "a number of 33 bits"},
        {HOST_BELLS, 64, VYRE_BLOCK_DEVICE, VYRE_E_EXISTS, "the bells' number"},
        {7, 0, VYRE_BLOCK_DEVICE, VYRE_E_OVERFLOW, "no bytes"},
        {7, UINT64_MAX, VYRE_BLOCK_DEVICE, VYRE_E_OVERFLOW, "all bytes"},
        {7, 1ull << 62, VYRE_BLOCK_DEVICE, VYRE_E_NO_MEMORY, "many bytes"},
        {7, 64, 0, VYRE_E_RANGE, "kind 0"},
        {7, 64, 8, VYRE_E_RANGE, "kind 8"},
        {7, 64, VYRE_BLOCK_LENT, VYRE_E_UNSUPPORTED, "GPU memory of threads"},
        {7, 64, VYRE_BLOCK_BORROWED, VYRE_E_CONFLICT, "borrowed without a descriptor"},
        {7, 64, VYRE_BLOCK_SHARED, VYRE_E_CONFLICT, "shared without a descriptor"},
        {7, 64, VYRE_BLOCK_PROGRAM, VYRE_E_CONFLICT, "a program without contents"},
        {7, 64, VYRE_BLOCK_BINDINGS, VYRE_E_CONFLICT, "a binding set without contents"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refused(peer_block(&peer, wrong[i].number, wrong[i].kind, wrong[i].bytes, -1, &err),
                wrong[i].expected, &err, "a block with %s", wrong[i].what);
    refused(peer_block(&peer, 7, VYRE_BLOCK_FRAMES, 3, byte, &err), VYRE_E_CONFLICT, &err,
            "frames with contents");
    refused(peer_block(&peer, 7, VYRE_BLOCK_SHARED, 4, byte, &err), VYRE_E_TOO_SMALL, &err,
            "shared memory that is too small");
    works(peer_block(&peer, 7, VYRE_BLOCK_DEVICE, 3, byte, &err), &err, "a block with contents");
    refused(peer_block(&peer, 7, VYRE_BLOCK_DEVICE, 3, -1, &err), VYRE_E_EXISTS, &err,
            "its number again");
    struct host_copy copy = {7, 1, 2};
    works(peer_ask(&peer, HOST_READ, &copy, sizeof copy, &err), &err, "is read");
    ok(memcmp(peer.staging.base, "bc", 2) == 0, "as it began");
    memcpy(peer.staging.base, "xy", 2);
    works(peer_ask(&peer, HOST_WRITE, &copy, sizeof copy, &err), &err, "is written");
    copy = (struct host_copy){7, 0, 3};
    works(peer_ask(&peer, HOST_READ, &copy, sizeof copy, &err), &err, "is read again");
    ok(memcmp(peer.staging.base, "axy", 3) == 0, "as it was written");
    copy.bytes = 4;
    refused(peer_ask(&peer, HOST_READ, &copy, sizeof copy, &err), VYRE_E_RANGE, &err, "past it");
    copy = (struct host_copy){7, UINT64_MAX, 2};
    refused(peer_ask(&peer, HOST_WRITE, &copy, sizeof copy, &err), VYRE_E_RANGE, &err, "far past");
    copy = (struct host_copy){HOST_BELLS, 0, 1};
    refused(peer_ask(&peer, HOST_WRITE, &copy, sizeof copy, &err), VYRE_E_NOT_PERMITTED, &err,
            "the bells cannot be written so");
    refused(peer_forget(&peer, HOST_BELLS, &err), VYRE_E_BUSY, &err, "nor forgotten");
    works(peer_forget(&peer, 7, &err), &err, "a block is forgotten");
    refused(peer_forget(&peer, 7, &err), VYRE_E_NOT_FOUND, &err, "once");
    vyre_status status = VYRE_OK;
    uint64_t made = 0;
    while (!status && made < 200)
        status = peer_block(&peer, 1000 + made++, VYRE_BLOCK_DEVICE, 1, -1, &err);
    refused(status, VYRE_E_LIMIT, &err, "not for ever more");
    is_u64(made, 4 * 16 + 4 * 4 + 16, "up to the limit, the bells counted");
    close(byte);
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

static uint64_t ticket_of(const uint32_t *entry)
{
    return (uint64_t)entry[VYRE_COMPLETION_TICKET_HIGH] << 32 | entry[VYRE_COMPLETION_TICKET_LOW];
}

static vyre_status replay(struct peer *peer, uint32_t number, uint64_t ticket, uint32_t opcode,
                          uint32_t last)
{
    struct host_replay again = {.queue = number, .ticket = ticket, .last = last};
    again.word[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    again.word[VYRE_SLOT_OPCODE] = opcode;
    again.word[VYRE_SLOT_ARG0] = 1;
    again.word[VYRE_SLOT_ARG0 + 1] = WORD(5);
    return peer_ask(peer, HOST_REPLAY, &again, sizeof again, &err);
}

/* Slots that run again under old tickets, here such as never were: all come before what is in the
 * ring, though that was submitted first. */
static void try_replay(void)
{
    static const uint32_t opcode[6] = {VYRE_OP_ATOMIC_ADD,  VYRE_OP_NOP, VYRE_OP_BATCH_FENCE,
                                       VYRE_OP_BATCH_FENCE, VYRE_OP_NOP, VYRE_OP_ATOMIC_ADD};
    struct peer peer = peer_ready(path);
    struct peer_queue queue, other;
    const uint32_t *entry, look[2] = {0, WORD(5)}, cancel[4] = {2, 104, 0, 1};
    is_u64(peer_queue_open_with(&peer, &queue, 2, 1, DEV_QUEUE_HELD), 0, "a queue opens held");
    is_u64(peer_queue_open(&peer, &other, 3, 1), 0, "another opens as ever");
    peer_submit(&peer, &queue, VYRE_OP_BATCH_FENCE, NULL, 0);
    peer_submit(&peer, &queue, VYRE_OP_ATOMIC_ADD, look, 2);
    ok(peer_run(&peer, &other, VYRE_OP_NOP, NULL, 0, &entry), "which works");
    is_u64(dev_completion_lap(peer_entry(&queue, 0)), 0, "the one that is held does not");
    refused(replay(&peer, 3, 7, VYRE_OP_NOP, 0), VYRE_E_NOT_FOUND, &err,
            "no slot runs again of a queue that is not held");
    refused(replay(&peer, 9, 7, VYRE_OP_NOP, 0), VYRE_E_NOT_FOUND, &err, "nor of none");
    uint64_t cancelled = 0;
    for (uint32_t i = 0; i < 6; i++) {
        if (i == 5) cancelled = peer_call(&peer, DEV_SYS_CANCEL, cancel, 4);
        must(replay(&peer, 2, 100 + i, opcode[i], i == 5), &err);
    }
    refused(replay(&peer, 2, 7, VYRE_OP_NOP, 0), VYRE_E_NOT_FOUND, &err, "none after the last");
    ok(peer_await(&queue, 7), "all end, and what was in the ring after them");
    uint64_t seen = 0;
    uint32_t fault = UINT32_MAX;
    for (uint32_t i = 0; i < 6; i++) {
        entry = peer_entry(&queue, i);
        seen |= 1u << (ticket_of(entry) - 100);
        if (ticket_of(entry) == 104) fault = entry[VYRE_COMPLETION_STATUS] >> 16;
    }
    is_u64(seen, 63, "each under its ticket");
    is_u64(fault, cancelled != 0 ? VYRE_FAULT_CANCELLED : VYRE_FAULT_NONE,
           "one is cancelled, or had ended before");
    is_u64(peer_entry(&queue, 7)[VYRE_COMPLETION_RESULT0], 2, "their effects are seen");
    ok(peer_run(&peer, &queue, VYRE_OP_NOP, NULL, 0, &entry), "the queue goes on");
    const uint32_t number[1] = {2};
    is_u64(peer_call(&peer, DEV_SYS_QUEUE_CLOSE, number, 1), 0, "and closes");
    vyre_memory_unmap(&peer.memory, &queue.rings);
    vyre_memory_unmap(&peer.memory, &other.rings);
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

/* Slots that run again while all workers sleep, or are about to: somebody must run them. */
static void try_replay_asleep(void)
{
    struct peer peer = peer_ready(path);
    const uint32_t number[1] = {2};
    uint32_t ran = 0;
    for (uint32_t i = 0; i < 300 && ran == i; i++) {
        struct peer_queue queue;
        if (peer_queue_open_with(&peer, &queue, 2, 1, DEV_QUEUE_HELD)) bail("no queue");
        must(replay(&peer, 2, 100, VYRE_OP_NOP, 1), &err);
        ran += peer_await(&queue, 0);
        if (ran == i) break;
        peer_call(&peer, DEV_SYS_QUEUE_CLOSE, number, 1);
        must(peer_forget(&peer, 102, &err), &err);
        must(peer_forget(&peer, 202, &err), &err);
        vyre_memory_unmap(&peer.memory, &queue.rings);
    }
    is_u64(ran, 300, "slots run again while workers sleep");
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

static void try_queue(void)
{
    struct peer peer = peer_ready(path);
    struct peer_queue queue;
    const uint32_t *entry;
    is_u64(peer_queue_open(&peer, &queue, 2, 1), 0, "a queue opens");
    const uint32_t add[2] = {3, WORD(5)};
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 40; i++) {
        if (!peer_run(&peer, &queue, VYRE_OP_ATOMIC_ADD, add, 2, &entry)) bail("slot %u hangs", i);
        wrong += entry[VYRE_COMPLETION_RESULT0] != 3 * i;
    }
    is_u64(wrong, 0, "40 slots run through shared memory, with a wake call each");
    struct host_view view = {VYRE_VIEW_OBSERVABLES, 1, 20, 4};
    works(peer_ask(&peer, HOST_VIEW, &view, sizeof view, &err), &err, "an observable word");
    is_u64(*(uint32_t *)peer.staging.base, 120, "has the sum");
    for (uint32_t kind = 0; kind <= VYRE_VIEW_COUNTS; kind++) {
        view = (struct host_view){kind, 1, 0, 4};
        works(peer_ask(&peer, HOST_VIEW, &view, sizeof view, &err), &err, "view %u", kind);
    }
    view.view = 5;
    refused(peer_ask(&peer, HOST_VIEW, &view, sizeof view, &err), VYRE_E_RANGE, &err, "view 5");
    view = (struct host_view){VYRE_VIEW_LOG, 4, 0, 4};
    refused(peer_ask(&peer, HOST_VIEW, &view, sizeof view, &err), VYRE_E_RANGE, &err, "tenant 4");
    view = (struct host_view){VYRE_VIEW_COUNTS, 0, 1, 4};
    refused(peer_ask(&peer, HOST_VIEW, &view, sizeof view, &err), VYRE_E_RANGE, &err,
            "past the end of a view");
    refused(peer_forget(&peer, 102, &err), VYRE_E_BUSY, &err, "its rings are in use");
    refused(peer_forget(&peer, 202, &err), VYRE_E_BUSY, &err, "and its cancel bits");
    const uint32_t cancel[3] = {2, 1000, 0};
    is_u64(peer_call(&peer, DEV_SYS_CANCEL, cancel, 3), 0, "nothing to cancel");
    const uint32_t number[1] = {2};
    is_u64(peer_call(&peer, DEV_SYS_QUEUE_CLOSE, number, 1), 0, "it closes");
    ok(peer_call(&peer, DEV_SYS_QUEUE_CLOSE, number, 1) != 0, "once");
    works(peer_forget(&peer, 102, &err), &err, "its rings are free");
    works(peer_forget(&peer, 202, &err), &err, "and its cancel bits");
    vyre_memory_unmap(&peer.memory, &queue.rings);
    is_u64(peer_queue_open(&peer, &queue, 2, 1), 0, "and opens again");
    is_u64(peer_call(&peer, VYRE_OP_SHUTDOWN, number, 0), 0, "the device stops");
    is_u64(peer_call(&peer, DEV_SYS_QUEUE_CLOSE, number, 1), DEV_NONE, "then nothing runs");
    works(peer_forget(&peer, 102, &err), &err, "and blocks can go");
    vyre_memory_unmap(&peer.memory, &queue.rings);
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

static void try_bad_queues(void)
{
    struct peer peer = peer_ready(path);
    struct vyre_mapping rings;
    must(vyre_memory_map(&peer.memory, dev_queue_bytes(8), "rings", &rings, &err), &err);
    must(peer_block(&peer, 5, VYRE_BLOCK_SHARED, dev_queue_bytes(8), rings.fd, &err), &err);
    must(peer_block(&peer, 6, VYRE_BLOCK_DEVICE, 4, -1, &err), &err);
    const uint32_t good[VYRE_SLOT_ARGS] = {1, 3, 0, 5, 8, HOST_BELLS, 0, 6};
    static const struct {
        uint32_t place, value;
        const char *what;
    } wrong[] = {
        {0, 0, "number 0"},
        {0, 5, "a number past the last"},
        {0, ~0u, "number -1"},
        {1, 17, "2^17 slots"},
        {1, 255, "2^255 slots"},
        {1, 0x10003, "a tenant, right in the wrong place"},
        {1, 0x40003, "tenant 4"},
        {1, 0x803, "an unknown flag"},
        {1, 4, "16 slots in the memory of 8"},
        {2, 8, "rings from byte 8 on"},
        {3, 6, "rings of device memory"},
        {3, 99, "no rings"},
        {4, 40, "a bell past the bells"},
        {4, 4, "half a bell"},
        {4, ~7u, "a bell far away"},
        {5, 6, "a bell of device memory"},
        {5, 0, "no bell"},
        {7, 5, "shared cancel bits"},
        {7, 0, "no cancel bits"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint32_t args[VYRE_SLOT_ARGS];
        memcpy(args, good, sizeof args);
        args[wrong[i].place] = wrong[i].value;
        uint32_t result = peer_call(&peer, DEV_SYS_QUEUE_OPEN, args, VYRE_SLOT_ARGS);
        int fine = wrong[i].value == 0x10003; /* tenant 1 is there: the one that is not wrong */
        ok(fine ? result == 0 : result == VYRE_FAULT_BAD_HANDLE, "a queue with %s", wrong[i].what);
        if (fine) is_u64(peer_call(&peer, DEV_SYS_QUEUE_CLOSE, args, 1), 0, "which is closed");
    }
    is_u64(peer_call(&peer, DEV_SYS_QUEUE_OPEN, good, VYRE_SLOT_ARGS), 0, "the right one opens");
    is_u64(peer_call(&peer, DEV_SYS_QUEUE_OPEN, good, VYRE_SLOT_ARGS), VYRE_FAULT_BAD_HANDLE,
           "not twice");
    vyre_memory_unmap(&peer.memory, &rings);
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

/* The rings of device and pump. */
static void try_io(void)
{
    struct peer peer = peer_ready(path);
    struct vyre_mapping rings;
    size_t bytes = dev_io_bytes(16, 2);
    must(vyre_memory_map(&peer.memory, bytes, "rings", &rings, &err), &err);
    must(peer_block(&peer, 5, VYRE_BLOCK_SHARED, bytes, rings.fd, &err), &err);
    must(peer_block(&peer, 6, VYRE_BLOCK_DEVICE, bytes, -1, &err), &err);
    static const uint32_t wrong[][3] = {{0, 5, 3}, {0, 5, 65}, {0, 5, ~0u}, {8, 5, 0},
                                        {0, 6, 2}, {0, 0, 0},  {0, 99, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        is_u64(peer_call(&peer, DEV_SYS_IO, wrong[i], 3), VYRE_FAULT_BAD_HANDLE,
               "rings at %u of block %u with %u chunks", wrong[i][0], wrong[i][1], wrong[i][2]);
    static const uint32_t good[] = {0, 5, 2};
    is_u64(peer_call(&peer, DEV_SYS_IO, good, 3), 0, "the right ones");
    is_u64(peer_call(&peer, DEV_SYS_IO, good, 3), VYRE_FAULT_BAD_HANDLE, "not twice");
    refused(peer_forget(&peer, 5, &err), VYRE_E_BUSY, &err, "their memory stays");
    vyre_memory_unmap(&peer.memory, &rings);
    ok(ended_with(peer_end(&peer), 0), "it ends");

    peer = peer_start(path);
    peer_hello(&peer);
    peer_prepare(&peer);
    peer.open.io_entries = 0;
    must(peer_open(&peer, &err), &err);
    must(vyre_memory_map(&peer.memory, bytes, "rings", &rings, &err), &err);
    must(peer_block(&peer, 5, VYRE_BLOCK_SHARED, bytes, rings.fd, &err), &err);
    is_u64(peer_call(&peer, DEV_SYS_IO, good, 3), VYRE_FAULT_BAD_HANDLE, "none without io_entries");
    vyre_memory_unmap(&peer.memory, &rings);
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

/* Ends of the connection.
 * ------------------------------------------------------------------------------------------- */

static void try_broken(void)
{
    static const uint32_t opcodes[] = {DEV_SYS_PARK, DEV_SYS_REPLAY, VYRE_OP_NOP, 0x1FF};
    const uint32_t none[1] = {0};
    for (uint32_t i = 0; i < 5; i++) {
        struct peer peer = peer_ready(path);
        if (i == 4) {
            peer_call(&peer, VYRE_OP_SHUTDOWN, none, 0);
            peer.ticket += 2;
        }
        peer_slot(&peer, i == 4 ? VYRE_OP_SHUTDOWN : opcodes[i], none, 0);
        is_u64(peer_hear(&peer), HOST_REPLY, "a slot that nobody may send: the host says why");
        is_u64(peer.message.header.serial, 0, "in a last word");
        is_u64(peer_hear(&peer), 0, "and goes");
        ok(ended_with(peer_left(&peer), 1), "with exit code 1");
    }
}

/* The page is the application's memory: what it writes there is its own harm. */
static void try_page(void)
{
    struct peer peer = peer_ready(path);
    struct dev_page *page = peer.page.base;
    const uint32_t cancel[3] = {2, 1000, 0};
    for (uint32_t i = 0; i < 600; i++)
        if (peer_call(&peer, DEV_SYS_CANCEL, cancel, 3) != 0) bail("no answer to a cancel");
    __atomic_store_n(&page->state, DEV_GONE, __ATOMIC_RELEASE);
    is_u64(peer_call(&peer, DEV_SYS_CANCEL, cancel, 3), DEV_NONE,
           "a device that is said to be gone does nothing");
    is_u64(peer_call(&peer, DEV_SYS_CANCEL, cancel, 3), DEV_NONE, "again and again");
    ok(ended_with(peer_end(&peer), 0), "and its host lives until the end");

    peer = peer_ready(path);
    page = peer.page.base;
    struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL); /* its workers sleep */
    __atomic_store_n(&page->poller, 1, __ATOMIC_RELEASE);
    peer_slot(&peer, DEV_SYS_CANCEL, cancel, 3);
    ok(ended_with(peer_end(&peer), 0),
       "a host whose device was made deaf ends with its connection");
}

static void try_inject(void)
{
    static const struct {
        uint64_t number;
        int hears; /* the next message's type; 0: the end */
    } ways[] = {{1, 0}, {2, HOST_REPLY}, {3, 0}, {4, 0}, {5, 0}, {99, HOST_REPLY}};
    struct host_number number;
    setenv("VYRE_HOST_TEST", "1", 1);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct peer peer = peer_ready(path);
        number.number = ways[i].number;
        peer_say(&peer, HOST_INJECT, &number, sizeof number, NULL, 0);
        is_u64(peer_hear(&peer), ways[i].hears, "failure %d is seen", (int)number.number);
        if (number.number == 2) {
            struct pollfd one = {peer.socket, POLLIN, 0};
            peer_say(&peer, HOST_FORGET, &number, sizeof number, NULL, 0);
            is_u64(poll(&one, 1, 200), 0, "a host that hangs says nothing");
        }
        int status = peer_end(&peer);
        bool crashed = status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
        if (number.number == 3 && (UNDER_ASAN || UNDER_TSAN)) crashed = status > 0;
        ok(number.number == 3 ? crashed : ended_with(status, number.number == 1 ? 9 : 0),
           "and the end of the host");
    }
    struct peer peer = peer_ready(path);
    number.number = 6;
    peer_say(&peer, HOST_INJECT, &number, sizeof number, NULL, 0);
    ok(ended_with(peer_end(&peer), 0), "one that is stuck in a call goes with its connection too");
    unsetenv("VYRE_HOST_TEST");
    peer = peer_ready(path);
    number.number = 1;
    refused(peer_ask(&peer, HOST_INJECT, &number, sizeof number, &err), VYRE_E_NOT_PERMITTED, &err,
            "no other host fails on demand");
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

int main(int argc, char **argv)
{
    if (argc < 2) bail("usage: t_host_server <path of vyre-host>");
    path = argv[1];
    unsetenv("VYRE_HOST_TEST");
    if (UNDER_ASAN) setenv("ASAN_OPTIONS", "allocator_may_return_null=1", 1); /* the host's */
    if (UNDER_TSAN) setenv("TSAN_OPTIONS", "allocator_may_return_null=1", 1);
    uint32_t before = count_descriptors();
    try_by_hand();
    try_hello();
    try_caps();
    try_open();
    try_blocks();
    try_queue();
    try_replay();
    try_replay_asleep();
    try_bad_queues();
    try_io();
    try_broken();
    try_page();
    try_inject();
    is_u64(count_descriptors(), before, "nothing is left open here");
    return done();
}
