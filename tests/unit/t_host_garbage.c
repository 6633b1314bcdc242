/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A real vyre-host under messages that mean harm: random bytes, structures of random words, right
 * requests with some words changed, descriptors of anything. To each the host answers or ends the
 * connection; it is never silent, and its exit status shows that it never crashed. Arguments: the
 * path of vyre-host, and a seed.
 */
#include "support.h"

#include <sys/socket.h>

#include "host_test.h"

enum { ROUNDS = 100, MESSAGES = 200 };

static uint64_t state;

struct row {
    uint32_t type, bytes, fds;
};

static const struct row rows[] = {
#define ROW(name, number, type, fds, text) {number, sizeof(type), fds},
    HOST_TYPES(ROW)
#undef ROW
};

/* A word that is nearly right, more often than not. */
static uint32_t any_word(void)
{
    static const uint32_t likely[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      5,
                                      8,
                                      16,
                                      64,
                                      HOST_BELLS,
                                      100,
                                      200,
                                      0x10001,
                                      0x10002,
                                      0xFFFFFFFF,
                                      VYRE_SLOT_PUBLISHED,
                                      DEV_SYS_INSTALL,
                                      DEV_SYS_DROP,
                                      DEV_SYS_CANCEL,
                                      DEV_SYS_QUEUE_OPEN,
                                      DEV_SYS_QUEUE_CLOSE,
                                      DEV_SYS_FRAMES,
                                      DEV_SYS_IO,
                                      4096,
                                      262144};
    if (random_below(&state, 8) == 0) return (uint32_t)random_next(&state);
    return likely[random_below(&state, sizeof likely / sizeof likely[0])];
}

static int any_descriptor(void)
{
    static unsigned char bytes[8192];
    int fd;
    for (size_t i = 0; i < sizeof bytes / 4; i++)
        ((uint32_t *)(void *)bytes)[i] = any_word();
    switch (random_below(&state, 5)) {
    case 0:
        fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
        break;
    case 1:
        fd = eventfd(0, EFD_CLOEXEC);
        break;
    case 2:
        fd = memfd_create("test", MFD_CLOEXEC);
        break;
    default:
        fd = memory_of(bytes, sizeof bytes);
        break;
    }
    if (fd < 0) bail("cannot make a descriptor: %s", strerror(errno));
    return fd;
}

/* Makes a request of a type: words at random, a ticket that is right mostly, sizes that do not take
 * all memory of the machine. */
static void fill(struct peer *peer, const struct row *row, uint32_t *word)
{
    for (uint32_t i = 0; i < row->bytes / 4; i++)
        word[i] = any_word();
    if (row->type == HOST_SLOT) {
        struct host_slot *slot = (void *)word;
        slot->ticket = peer->ticket;
        if (random_below(&state, 2000) == 0) slot->ticket += any_word();
        peer->ticket = slot->ticket + 1;
        if (random_below(&state, 1000) != 0)
            slot->word[VYRE_SLOT_OPCODE] = DEV_SYS_INSTALL + random_below(&state, 6);
    }
    if (row->type == HOST_BLOCK) {
        struct host_block *block = (void *)word;
        block->number &= 0xFF;
        block->bytes &= 0xFFFFF;
        block->kind %= 6;
        block->contents %= 2;
    }
    if (row->type == HOST_INJECT) ((struct host_number *)(void *)word)->number = 99;
    if (row->type == HOST_OPEN && random_below(&state, 2)) memcpy(word, &peer->open, row->bytes);
}

/* One message of any kind; 1: with a form that ends the connection. */
static int say(struct peer *peer)
{
    uint64_t room[HOST_PACKET_BYTES / 8];
    uint32_t *word = (void *)room;
    const struct row *row = &rows[random_below(&state, sizeof rows / sizeof rows[0])];
    int fds[4], broken = random_below(&state, 1000) == 0;
    if (broken) { /* bytes of nothing */
        for (uint32_t i = 0; i < 64; i++)
            word[i] = any_word();
        send(peer->socket, room, random_below(&state, 256), MSG_NOSIGNAL);
        return 1;
    }
    uint32_t count = row->type == HOST_BLOCK ? random_below(&state, 2) : row->fds;
    if (row->type >= HOST_REPLY || row->type == HOST_HELLO) {
        if (random_below(&state, 1000) != 0) row = &rows[9]; /* these end it too */
        count = row->fds;
    }
    fill(peer, row, word);
    for (uint32_t i = 0; i < count; i++)
        fds[i] = any_descriptor();
    peer_say(peer, row->type, room, row->bytes, fds, count);
    for (uint32_t i = 0; i < count; i++)
        close(fds[i]);
    return 0;
}

/* Reads until the REPLY to a question that is always answered; 0: the connection has ended, -1:
 * silence. */
static int answers(struct peer *peer)
{
    struct host_caps_ask ask = {VYRE_BACKEND_CPU, ""};
    peer_say(peer, HOST_CAPS, &ask, sizeof ask, NULL, 0);
    for (;;) {
        int type = peer_hear(peer);
        if (type <= 0) return type;
        if (type == HOST_REPLY && peer->message.header.serial == peer->serial) return 1;
    }
}

/* Queues and buffers that requests can hit. */
static void furnish(struct peer *peer, struct peer_queue *queue)
{
    vyre_error err;
    peer_queue_open(peer, queue, 1, 0);
    for (uint32_t i = 2; i < 6; i++) {
        peer_block(peer, i, VYRE_BLOCK_DEVICE, 4096, -1, &err);
        const uint32_t args[8] = {0x10000 + i, DEV_BUFFER, 0, 3, 0, i, 4096, 0};
        peer_call(peer, DEV_SYS_INSTALL, args, 8);
    }
}

static void round_of(const char *path, uint32_t *alive, uint32_t *silent, uint32_t *crashed)
{
    struct peer peer = peer_start(path);
    struct peer_queue queue = {.rings.fd = -1};
    vyre_error err;
    peer_hello(&peer);
    peer_prepare(&peer);
    if (random_below(&state, 8) != 0) must(peer_open(&peer, &err), &err);
    if (peer.serial > 1) furnish(&peer, &queue);
    int heard = 1;
    for (uint32_t i = 0; i < MESSAGES && heard == 1; i++) {
        say(&peer);
        if (i % 8 == 7) heard = answers(&peer);
    }
    if (heard == 1) heard = answers(&peer);
    *alive += heard == 1;
    *silent += heard < 0;
    vyre_memory_unmap(&peer.memory, &queue.rings);
    int status = peer_end(&peer);
    bool orderly = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) <= 1;
    if (!orderly) note("wait status 0x%x", (unsigned)status);
    *crashed += !orderly;
}

int main(int argc, char **argv)
{
    uint32_t alive = 0, silent = 0, crashed = 0;
    if (argc < 2) bail("usage: t_host_garbage <path of vyre-host> [<seed>]");
    unsetenv("VYRE_HOST_TEST");
    state = tap_seed(argc - 1, argv + 1);
    note("the path of vyre-host goes before the seed");
    uint32_t before = count_descriptors();
    for (uint32_t i = 0; i < ROUNDS; i++)
        round_of(argv[1], &alive, &silent, &crashed);
    note("%u of %u hosts lived through it", alive, (unsigned)ROUNDS);
    is_u64(silent, 0, "no host is silent for longer than %d ms", ANSWER_MS);
    is_u64(crashed, 0, "no host crashes or has to be killed");
    ok(alive > 0 && alive < ROUNDS, "some end the connection, some do not");
    is_u64(count_descriptors(), before, "nothing is left open here");
    return done();
}
