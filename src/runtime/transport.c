/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Messages between an application and its device host as packets of a socket; both sides send and
 * receive through these functions. A packet that comes in is checked here for its form, by the one
 * table of protocol.h; what it asks for is checked where it is done.
 *
 * Descriptors of a packet belong to the message from the moment that it is received: whoever keeps
 * one sets its place to -1, host_message_close closes the others. None is ever left over, whatever
 * a packet holds.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/protocol.h"

struct type_row {
    uint32_t number;
    uint32_t bytes;
    uint32_t fds;
    const char *name;
};

static const struct type_row type_rows[] = {
#define HOST_ROW(name, number, type, fds, text) {number, sizeof(type), fds, #name},
    HOST_TYPES(HOST_ROW)
#undef HOST_ROW
};

/* Room for what a packet can have with it: who sent it, and descriptors. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(HOST_MAX_FDS * sizeof(int))];
};

vyre_status host_socket_pair(int fds[2], vyre_error *err)
{
    int pair[2], one = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        int cause = errno;
        vyre_fail_errno(err, cause, "making a pair of sockets for a device host");
        if (cause == EMFILE || cause == ENFILE)
            vyre_fail_fix(err, "raise the limit on open files (ulimit -n)");
        return VYRE_E_SYSTEM;
    }
    for (int i = 0; i < 2; i++) {
        if (setsockopt(pair[i], SOL_SOCKET, SO_PASSCRED, &one, sizeof one) == 0) continue;
        vyre_fail_errno(err, errno, "asking a socket to say who sends");
        close(pair[0]);
        close(pair[1]);
        return VYRE_E_SYSTEM;
    }
    fds[0] = pair[0];
    fds[1] = pair[1];
    return VYRE_OK;
}

static void attach(struct msghdr *packet, union control *control, const int *fds, uint32_t count)
{
    size_t bytes = count * sizeof(int);
    memset(control, 0, sizeof *control);
    packet->msg_control = control->bytes;
    packet->msg_controllen = CMSG_SPACE(bytes);
    struct cmsghdr *part = CMSG_FIRSTHDR(packet);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(part), fds, bytes);
}

vyre_status host_send(int socket, const struct host_sending *sending, vyre_error *err)
{
    struct host_header header = {.magic = HOST_MAGIC, .version = HOST_PROTOCOL};
    uint64_t total = (uint64_t)sending->payload_bytes + sending->extra_bytes;
    if (total > HOST_PACKET_BYTES - sizeof header || sending->fd_count > HOST_MAX_FDS)
        return vyre_fail(err, VYRE_E_INTERNAL, "a message of %llu bytes and %u descriptors",
                         (unsigned long long)total, sending->fd_count);
    header.type = (uint16_t)sending->type;
    header.serial = sending->serial;
    header.bytes = (uint32_t)total;
    struct iovec parts[3] = {{&header, sizeof header},
                             {(void *)(uintptr_t)sending->payload, sending->payload_bytes},
                             {(void *)(uintptr_t)sending->extra, sending->extra_bytes}};
    struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 3};
    union control control;
    if (sending->fd_count != 0) attach(&packet, &control, sending->fds, sending->fd_count);
    ssize_t sent;
    do {
        sent = sendmsg(socket, &packet, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) return VYRE_OK;
    int cause = errno;
    vyre_fail_errno(err, cause, "sending to the other side of a device host's socket");
    if (cause == EPIPE || cause == ECONNRESET)
        vyre_fail_fix(err, "the other process has ended; look at its messages for the reason");
    return VYRE_E_SYSTEM;
}

/* Takes descriptors and the sender out of what came with a packet; how many descriptors there were.
 */
static uint32_t detach(struct msghdr *packet, struct host_message *message)
{
    uint32_t count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(packet); part; part = CMSG_NXTHDR(packet, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(part), sizeof sender);
            message->sender_pid = (uint32_t)sender.pid;
            message->sender_uid = sender.uid;
        }
        if (part->cmsg_type != SCM_RIGHTS) continue;
        size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (count < HOST_MAX_FDS)
                message->fd[count] = fd;
            else
                close(fd);
            count++;
        }
    }
    message->fd_count = count < HOST_MAX_FDS ? count : HOST_MAX_FDS;
    return count;
}

static const struct type_row *find_row(uint32_t type)
{
    for (size_t i = 0; i < sizeof type_rows / sizeof type_rows[0]; i++)
        if (type_rows[i].number == type) return &type_rows[i];
    return NULL;
}

/* Size and number of descriptors, as the table has them. */
static vyre_status check_row(const struct host_message *message, const struct type_row *row,
                             vyre_error *err)
{
    uint32_t bytes = row->bytes;
    if (message->header.bytes < bytes ||
        (row->number != HOST_REPLY && message->header.bytes > bytes))
        return vyre_fail(err, VYRE_E_SIZE, "a %s message with %u bytes, not %u", row->name,
                         message->header.bytes, bytes);
    if (row->number == HOST_REPLY) {
        const struct host_reply *reply = message->payload;
        if (reply->bytes != message->header.bytes - bytes)
            return vyre_fail(err, VYRE_E_SIZE, "a REPLY with %u bytes says that it has %u",
                             message->header.bytes - bytes, reply->bytes);
    }
    if (message->fd_count > row->fds ||
        (row->number != HOST_BLOCK && row->number != HOST_REPLY && message->fd_count != row->fds))
        return vyre_fail(err, VYRE_E_SIZE, "a %s message with %u descriptors, not %u", row->name,
                         message->fd_count, row->fds);
    return VYRE_OK;
}

vyre_status host_message_check(struct host_message *message, size_t bytes, vyre_error *err)
{
    struct host_header *header = &message->header;
    message->payload = (const unsigned char *)message->packet + sizeof *header;
    if (bytes < sizeof *header || bytes > sizeof message->packet)
        return vyre_fail(err, VYRE_E_SIZE, "a message of %zu bytes, where %zu to %zu can be", bytes,
                         sizeof *header, sizeof message->packet);
    memcpy(header, message->packet, sizeof *header);
    if (header->magic != HOST_MAGIC)
        return vyre_fail(err, VYRE_E_RANGE, "a message that begins with 0x%08x, not 0x%08x",
                         header->magic, HOST_MAGIC);
    if (header->version != HOST_PROTOCOL)
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              "install libvyre and vyre-host from one version of vyre",
                              "the other side speaks version %u of the protocol of device hosts, "
                              "this one (vyre " VYRE_VERSION ") version %u",
                              header->version, HOST_PROTOCOL);
    const struct type_row *row = find_row(header->type);
    if (!row) return vyre_fail(err, VYRE_E_RANGE, "a message of unknown type %u", header->type);
    if (header->bytes != bytes - sizeof *header)
        return vyre_fail(err, VYRE_E_SIZE, "a %s message of %zu bytes says that it has %u",
                         row->name, bytes - sizeof *header, header->bytes);
    return check_row(message, row, err);
}

static vyre_status check_packet(const struct msghdr *packet, struct host_message *message,
                                size_t bytes, vyre_error *err)
{
    uint32_t fds = detach((struct msghdr *)(uintptr_t)packet, message);
    if (packet->msg_flags & MSG_TRUNC)
        return vyre_fail(err, VYRE_E_SIZE, "a message of more than %u bytes", HOST_PACKET_BYTES);
    if (packet->msg_flags & MSG_CTRUNC || fds > HOST_MAX_FDS)
        return vyre_fail(err, VYRE_E_SIZE, "a message with more than %u descriptors", HOST_MAX_FDS);
    return host_message_check(message, bytes, err);
}

int host_receive(int socket, struct host_message *message, int wait, vyre_error *err)
{
    union control control;
    struct iovec part = {message->packet, sizeof message->packet};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    packet.msg_control = control.bytes;
    packet.msg_controllen = sizeof control.bytes;
    message->fd_count = message->sender_pid = message->sender_uid = 0;
    ssize_t got;
    do {
        got = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 1;
    if (got < 0) return vyre_fail_errno(err, errno, "receiving from a device host's socket");
    vyre_status status;
    if (got == 0 && packet.msg_controllen == 0)
        status = vyre_fail_errno(err, EPIPE, "the other side of a device host's socket is gone");
    else
        status = check_packet(&packet, message, (size_t)got, err);
    if (status) host_message_close(message);
    return status;
}

void host_message_close(struct host_message *message)
{
    for (uint32_t i = 0; i < message->fd_count; i++)
        if (message->fd[i] >= 0) close(message->fd[i]);
    message->fd_count = 0;
}
