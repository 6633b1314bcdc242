/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Messages over a socket: what is sent arrives as it was, with its descriptors and its sender;
 * every packet of another form is refused with a reason, and no descriptor of it stays open.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "runtime/protocol.h"

static int ours, theirs;
static struct host_message message;

struct row {
    const char *name;
    uint32_t type, bytes, fds;
};

static const struct row rows[] = {
#define ROW(name, number, type, fds, text) {#name, number, sizeof(type), fds},
    HOST_TYPES(ROW)
#undef ROW
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* Sends any bytes with any number of descriptors. */
static void send_raw(const void *bytes, size_t length, uint32_t fd_count)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(64 * sizeof(int))];
    } control;
    int fds[64];
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    for (uint32_t i = 0; i < fd_count; i++)
        fds[i] = ours;
    if (fd_count != 0) {
        packet.msg_control = control.room;
        packet.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, fd_count * sizeof(int));
    }
    if (sendmsg(ours, &packet, 0) != (ssize_t)length) bail("cannot send: %s", strerror(errno));
}

/* A message as it should be, of zeroes. */
static size_t build(unsigned char *packet, const struct row *row)
{
    struct host_header header = {HOST_MAGIC, HOST_PROTOCOL, (uint16_t)row->type, 7, row->bytes};
    memset(packet, 0, HOST_PACKET_BYTES + 64);
    memcpy(packet, &header, sizeof header);
    return sizeof header + row->bytes;
}

static void expect_refusal(vyre_status expected, const char *what, const char *name)
{
    vyre_error err;
    uint32_t before = count_descriptors();
    int got = host_receive(theirs, &message, 1, &err);
    refused(got, expected, &err, "%s: %s is refused", name, what);
    if (got == 0) host_message_close(&message);
    ok(count_descriptors() == before && message.fd_count == 0, "%s: %s leaves no descriptor", name,
       what);
}

static void try_forms(const struct row *row)
{
    static unsigned char packet[HOST_PACKET_BYTES + 64];
    struct host_header *header = (void *)packet;
    vyre_error err;
    size_t length = build(packet, row);
    uint32_t before = count_descriptors();
    send_raw(packet, length, row->fds);
    int got = host_receive(theirs, &message, 1, &err);
    works(got, &err, "%s: a message of the right form is received", row->name);
    ok(message.header.serial == 7 && message.fd_count == row->fds &&
           message.sender_pid == (uint32_t)getpid() && message.sender_uid == (uint32_t)geteuid(),
       "%s: with serial, descriptors and sender", row->name);
    uint32_t closed_on_exec = 0;
    for (uint32_t i = 0; i < message.fd_count; i++)
        closed_on_exec += (fcntl(message.fd[i], F_GETFD) & FD_CLOEXEC) != 0;
    is_u64(closed_on_exec, row->fds, "%s: descriptors are closed on exec", row->name);
    host_message_close(&message);
    is_u64(count_descriptors(), before, "%s: and closed", row->name);

    build(packet, row);
    send_raw(packet, length - 1, row->fds);
    expect_refusal(VYRE_E_SIZE, "one byte too few", row->name);
    send_raw(packet, length + 1, row->fds);
    expect_refusal(VYRE_E_SIZE, "one byte too many", row->name);
    header->bytes--;
    send_raw(packet, length - 1, row->fds);
    expect_refusal(VYRE_E_SIZE, "a structure too short", row->name);
    header->bytes += 2;
    send_raw(packet, length + 1, row->fds);
    expect_refusal(VYRE_E_SIZE, "a structure too long", row->name);
    build(packet, row);
    send_raw(packet, length, row->fds + 1);
    expect_refusal(VYRE_E_SIZE, "a descriptor too many", row->name);
    send_raw(packet, length, 64);
    expect_refusal(VYRE_E_SIZE, "64 descriptors", row->name);
    if (row->fds > 1) {
        send_raw(packet, length, row->fds - 1);
        expect_refusal(VYRE_E_SIZE, "a descriptor too few", row->name);
    }
    header->magic ^= 1;
    send_raw(packet, length, row->fds);
    expect_refusal(VYRE_E_RANGE, "another magic", row->name);
    build(packet, row);
    header->version++;
    send_raw(packet, length, row->fds);
    expect_refusal(VYRE_E_CONFLICT, "another version", row->name);
}

static void try_types(void)
{
    static unsigned char packet[HOST_PACKET_BYTES + 64];
    struct host_header *header = (void *)packet;
    uint32_t unknown = 0;
    vyre_error err;
    for (uint32_t type = 0; type < 65536; type += type < 64 ? 1 : 977) {
        int known = 0;
        for (uint32_t i = 0; i < ROWS; i++)
            known |= rows[i].type == type;
        if (known) continue;
        size_t length = build(packet, &rows[0]);
        header->type = (uint16_t)type;
        send_raw(packet, length, 1);
        unknown += host_receive(theirs, &message, 1, &err) != VYRE_E_RANGE;
    }
    is_u64(unknown, 0, "types that no row has are refused");
    for (size_t length = 1; length < sizeof *header; length += 5) {
        build(packet, &rows[0]);
        send_raw(packet, length, 2);
        expect_refusal(VYRE_E_SIZE, "less than a header", "any");
    }
    send_raw(packet, HOST_PACKET_BYTES + 1, 4);
    expect_refusal(VYRE_E_SIZE, "a packet longer than any", "any");
    send_raw("", 0, 1);
    expect_refusal(VYRE_E_SIZE, "an empty packet with a descriptor", "any");
}

/* BLOCK has one or none; a REPLY is as long as it says. */
static void try_exceptions(void)
{
    static unsigned char packet[HOST_PACKET_BYTES + 64];
    struct host_header *header = (void *)packet;
    vyre_error err;
    for (uint32_t i = 0; i < ROWS; i++) {
        size_t length = build(packet, &rows[i]);
        if (rows[i].type == HOST_BLOCK) {
            send_raw(packet, length, 0);
            works(host_receive(theirs, &message, 1, &err), &err, "a BLOCK without a descriptor");
        }
        if (rows[i].type != HOST_REPLY) continue;
        struct host_reply *reply = (void *)(packet + sizeof *header);
        reply->bytes = 16;
        header->bytes += 16;
        send_raw(packet, length + 16, 0);
        works(host_receive(theirs, &message, 1, &err), &err, "a REPLY with 16 bytes more");
        reply->bytes = 15;
        send_raw(packet, length + 16, 0);
        expect_refusal(VYRE_E_SIZE, "a REPLY with another number of bytes", "REPLY");
        reply->bytes = 0xFFFFFFF8u;
        send_raw(packet, length + 16, 0);
        expect_refusal(VYRE_E_SIZE, "a REPLY with a number that overflows", "REPLY");
    }
}

static void try_sending(void)
{
    struct host_number number = {42};
    int fd = ours;
    vyre_error err;
    struct host_sending sending = {
        .type = HOST_FORGET, .serial = 9, .payload = &number, .payload_bytes = sizeof number};
    works(host_send(ours, &sending, &err), &err, "a message is sent");
    works(host_receive(theirs, &message, 0, &err), &err, "and received");
    const struct host_number *got = message.payload;
    ok(message.header.type == HOST_FORGET && message.header.serial == 9 && got->number == 42,
       "as it was");
    is_u64(host_receive(theirs, &message, 0, &err), 1, "nothing more is there");
    struct host_reply reply = {0, sizeof number};
    struct host_sending answer = {.type = HOST_REPLY,
                                  .payload = &reply,
                                  .payload_bytes = sizeof reply,
                                  .extra = &number,
                                  .extra_bytes = sizeof number};
    must(host_send(ours, &answer, &err), &err);
    must(host_receive(theirs, &message, 1, &err), &err);
    ok(message.header.bytes == sizeof reply + sizeof number &&
           memcmp((const char *)message.payload + sizeof reply, &number, sizeof number) == 0,
       "extra bytes follow the structure");
    struct host_block block = {0};
    struct host_sending given = {.type = HOST_BLOCK,
                                 .payload = &block,
                                 .payload_bytes = sizeof block,
                                 .fds = &fd,
                                 .fd_count = 1};
    must(host_send(ours, &given, &err), &err);
    must(host_receive(theirs, &message, 1, &err), &err);
    ok(message.fd_count == 1 && message.fd[0] != ours, "a descriptor travels");
    host_message_close(&message);
    static char large[HOST_PACKET_BYTES];
    sending.extra = large;
    sending.extra_bytes = sizeof large;
    refused(host_send(ours, &sending, &err), VYRE_E_INTERNAL, &err, "too long a message");
    given.fd_count = HOST_MAX_FDS + 1;
    refused(host_send(ours, &given, &err), VYRE_E_INTERNAL, &err, "too many descriptors");
}

static void try_end(void)
{
    struct host_number number = {1};
    struct host_sending sending = {
        .type = HOST_FORGET, .payload = &number, .payload_bytes = sizeof number};
    vyre_error err;
    close(ours);
    refused(host_receive(theirs, &message, 1, &err), VYRE_E_SYSTEM, &err, "the end is seen");
    is_u64(err.code, EPIPE, "as EPIPE");
    refused(host_send(theirs, &sending, &err), VYRE_E_SYSTEM, &err, "nobody is there to send to");
    is_u64(err.code, EPIPE, "as EPIPE, without a signal");
    close(theirs);
}

/* Descriptors run out: an error, and nothing is left open. */
static void try_no_descriptors(void)
{
    int pair[2], used[4096], count = 0;
    vyre_error err;
    while (count < 4096 && (used[count] = dup(0)) >= 0)
        count++;
    if (count < 4096) {
        refused(host_socket_pair(pair, &err), VYRE_E_SYSTEM, &err, "no descriptors are left");
    } else {
        skip("more than 4096 descriptors can be open");
    }
    while (count > 0)
        close(used[--count]);
}

int main(void)
{
    int pair[2];
    vyre_error err;
    uint32_t before = count_descriptors();
    must(host_socket_pair(pair, &err), &err);
    ours = pair[0];
    theirs = pair[1];
    is_u64(count_descriptors(), before + 2, "a pair of sockets");
    ok((fcntl(ours, F_GETFD) & FD_CLOEXEC) && (fcntl(theirs, F_GETFD) & FD_CLOEXEC),
       "closed on exec");
    for (uint32_t i = 0; i < ROWS; i++)
        try_forms(&rows[i]);
    try_types();
    try_exceptions();
    try_sending();
    try_no_descriptors();
    try_end();
    is_u64(count_descriptors(), before, "nothing is left open");
    return done();
}
