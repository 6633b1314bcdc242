/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a packet between an application and its device host. The first byte is
 * the number of descriptors. What is accepted has the form that the table says, judged here a
 * second time; what is refused has a reason.
 */
#include "host_rows.h"
#include "wire_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the packet is one that may be accepted. */
static int right(const struct host_message *message, size_t size)
{
    struct host_header header;
    if (size < sizeof header) return 0;
    memcpy(&header, message->packet, sizeof header);
    if (header.magic != HOST_MAGIC || header.version != HOST_PROTOCOL) return 0;
    if (header.bytes != size - sizeof header) return 0;
    for (size_t i = 0; i < HOST_ROWS; i++) {
        if (host_rows[i].type != header.type) continue;
        uint32_t extra = 0;
        if (header.bytes < host_rows[i].bytes) return 0;
        if (header.type == HOST_REPLY)
            memcpy(&extra, (const char *)message->packet + sizeof header + 4, sizeof extra);
        if (header.bytes - host_rows[i].bytes != extra) return 0;
        if (header.type == HOST_BLOCK || header.type == HOST_REPLY)
            return message->fd_count <= host_rows[i].fds;
        return message->fd_count == host_rows[i].fds;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct host_message message;
    vyre_error *err = check_err(data, size);
    if (size == 0) return 0;
    size--;
    if (size > sizeof message.packet) size = sizeof message.packet;
    message.fd_count = data[0] % (HOST_MAX_FDS + 1);
    for (uint32_t i = 0; i < message.fd_count; i++)
        message.fd[i] = -1;
    if (size) memcpy(message.packet, data + 1, size);
    vyre_status status = host_message_check(&message, size, err);
    REQUIRE((status == VYRE_OK) == right(&message, size));
    if (status && err) REQUIRE(err->status == status && err->message[0] && err->fix[0]);
    if (!status) REQUIRE((const char *)message.payload == (const char *)message.packet + 16);
    host_message_close(&message);
    REQUIRE(message.fd_count == 0);
    return 0;
}
