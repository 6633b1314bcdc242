/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Blocks of memory of a device in a device host. A block has a number that is never used again, so
 * a restart makes every block anew under the number by which requests know it. What the device must
 * find in a block is kept here: the mapping of a SHARED one, the contents of programs and binding
 * sets, a copy of a DEVICE block that shall be restored, the descriptor of a LENT or BORROWED one.
 * A LENT block outlives its host by that descriptor: the next host borrows it.
 *
 * Bytes of DEVICE blocks travel through staging, a mapping that both sides see, one caller at a
 * time.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/hosted.h"

#define COUNTS_NS                                                                                  \
    100000000u /* whoever asks for numbers alone does not wait for a host that hangs */

static uint64_t number_of(const struct vyre_block *block)
{
    return block->address >> 32;
}

/* Programs and binding sets are kept in plain memory: a descriptor each would be too many. */
static int keeps_contents(const struct vyre_block *block)
{
    return block->kind == VYRE_BLOCK_PROGRAM || block->kind == VYRE_BLOCK_BINDINGS;
}

/* Blocks that are known by a descriptor of GPU memory. */
static int is_lent(const struct vyre_block *block)
{
    return block->kind == VYRE_BLOCK_LENT || block->kind == VYRE_BLOCK_BORROWED;
}

vyre_status vyre_hosted_map(struct vyre_memory *memory, size_t bytes, const char *what,
                            struct vyre_mapping *mapping, vyre_error *err)
{
    vyre_status status = vyre_memory_map(memory, bytes, what, mapping, err);
    if (status || mapping->fd >= 0) return status;
    vyre_memory_unmap(memory, mapping);
    return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                          "let the allocator's map give a memfd sealed against shrinking, or give "
                          "no map and unmap",
                          "%s: memory without a descriptor cannot be shared with a device host",
                          what);
}

vyre_status vyre_hosted_file(const void *bytes, size_t length, int *out, vyre_error *err)
{
    int fd = memfd_create("vyre", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return vyre_fail_errno(err, errno, "making a memfd");
    size_t done = 0;
    while (done < length) {
        ssize_t n = write(fd, (const unsigned char *)bytes + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    if (done == length && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
        *out = fd;
        return VYRE_OK;
    }
    vyre_fail_errno(err, errno, "filling a memfd of %zu bytes", length);
    close(fd);
    return VYRE_E_SYSTEM;
}

/* Making and freeing.
 * ------------------------------------------------------------------------------------------- */

/* What this side keeps of the block. */
static vyre_status keep(struct vyre_block *block, const void *contents, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    void *copy;
    if (block->kind == VYRE_BLOCK_SHARED && block->mapping.base) return VYRE_OK;
    if (block->kind == VYRE_BLOCK_BORROWED) return VYRE_OK;
    block->mapping = (struct vyre_mapping){NULL, 0, -1};
    if (block->kind == VYRE_BLOCK_SHARED || (block->kind == VYRE_BLOCK_DEVICE && block->restored))
        return vyre_hosted_map(block->memory, block->bytes, block->what, &block->mapping, err);
    if (keeps_contents(block)) {
        status = vyre_memory_alloc(block->memory, 1, block->bytes, block->what, &copy, err);
        if (status) return status;
        memcpy(copy, contents, block->bytes);
        block->mapping = (struct vyre_mapping){copy, block->bytes, -1};
    }
    return status;
}

static void let_go(struct vyre_block *block)
{
    if (keeps_contents(block))
        vyre_memory_free(block->memory, block->mapping.base, block->bytes);
    else if (is_lent(block) && block->mapping.fd >= 0)
        close(block->mapping.fd);
    else
        vyre_memory_unmap(block->memory, &block->mapping);
    block->mapping = (struct vyre_mapping){NULL, 0, -1};
    block->host = NULL;
    block->address = 0;
}

/* The descriptor that goes with the block's message; the caller closes it. -1: none. A block that
 * is new is zero, so its copy need not travel. */
static vyre_status descriptor(const struct vyre_block *block, int again, int *fd, vyre_error *err)
{
    *fd = -1;
    if (keeps_contents(block)) return vyre_hosted_file(block->mapping.base, block->bytes, fd, err);
    int given = block->kind == VYRE_BLOCK_SHARED || block->kind == VYRE_BLOCK_BORROWED;
    if (!given && !(again && (block->mapping.base || is_lent(block)))) return VYRE_OK;
    *fd = fcntl(block->mapping.fd, F_DUPFD_CLOEXEC, 0);
    if (*fd >= 0) return VYRE_OK;
    return vyre_fail_errno(err, errno, "%s: duplicating a descriptor", block->what);
}

static void fill(struct hosted_call *call, struct host_block *out, const struct vyre_block *block,
                 const int *fd)
{
    int borrowed = is_lent(block) && *fd >= 0;
    *out =
        (struct host_block){.number = number_of(block),
                            .bytes = block->bytes,
                            .kind = borrowed ? VYRE_BLOCK_BORROWED : block->kind,
                            .contents = *fd >= 0 && block->kind != VYRE_BLOCK_SHARED && !borrowed};
    if (borrowed) {
        out->extent = block->mapping.bytes;
        memcpy(out->device, block->device, sizeof out->device);
    }
    call->sending = (struct host_sending){.type = HOST_BLOCK,
                                          .payload = out,
                                          .payload_bytes = sizeof *out,
                                          .fds = fd,
                                          .fd_count = *fd >= 0};
}

void vyre_hosted_block_join(struct vyre_hosted *hosted, struct vyre_block *block)
{
    block->next = NULL;
    block->previous = hosted->last;
    if (hosted->last)
        hosted->last->next = block;
    else
        hosted->first = block;
    hosted->last = block;
}

vyre_status vyre_hosted_block_make(vyre *runtime, struct vyre_block *block, const void *contents,
                                   vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    struct host_lent lent = {0};
    struct hosted_call call = {.block = block};
    struct host_block out;
    int fd = -1;
    vyre_status status = keep(block, contents, err);
    if (status) return status;
    pthread_mutex_lock(&hosted->lock);
    uint64_t number = hosted->next_number;
    if (number != UINT32_MAX) hosted->next_number++;
    pthread_mutex_unlock(&hosted->lock);
    if (number == UINT32_MAX)
        status = vyre_fail(err, VYRE_E_LIMIT, "all numbers of blocks have been used");
    block->address = host_address(number);
    if (block->kind == VYRE_BLOCK_SHARED) block->host = block->mapping.base;
    if (!status) status = descriptor(block, 0, &fd, err);
    if (!status) {
        fill(&call, &out, block, &fd);
        if (is_lent(block)) {
            call.answer = &lent;
            call.room = sizeof lent;
        }
        status = vyre_hosted_call(hosted, &call, 0, err);
    }
    if (fd >= 0) close(fd);
    if (status) let_go(block);
    return status;
}

void vyre_hosted_block_free(vyre *runtime, struct vyre_block *block)
{
    struct vyre_hosted *hosted = runtime->hosted;
    if (block->address == 0) return;
    struct host_number number = {number_of(block)};
    struct host_sending sending = {
        .type = HOST_FORGET, .payload = &number, .payload_bytes = sizeof number};
    pthread_mutex_lock(&hosted->lock);
    int made = !hosted->walk || number.number < number_of(hosted->walk);
    if (hosted->walk == block) hosted->walk = block->next;
    if (block->previous)
        block->previous->next = block->next;
    else
        hosted->first = block->next;
    if (block->next)
        block->next->previous = block->previous;
    else
        hosted->last = block->previous;
    /* A host that is being set up may have it already. One that hangs or dies loses no more by not
     * hearing of it. */
    sending.serial = vyre_hosted_serial(hosted);
    if (made && hosted->state != HOSTED_GONE && hosted->process.socket >= 0)
        vyre_hosted_send(hosted, &sending);
    pthread_mutex_unlock(&hosted->lock);
    let_go(block);
}

/* Bytes.
 * ------------------------------------------------------------------------------------------- */

/* Takes staging for one caller; a call that was given up may still be using it. */
static void take_staging(struct vyre_hosted *hosted)
{
    pthread_mutex_lock(&hosted->staging_lock);
    pthread_mutex_lock(&hosted->lock);
    while (hosted->late_serial != 0)
        pthread_cond_wait(&hosted->news, &hosted->lock);
    pthread_mutex_unlock(&hosted->lock);
}

/* The same if nobody has it. */
static int try_staging(struct vyre_hosted *hosted)
{
    if (pthread_mutex_trylock(&hosted->staging_lock)) return 0;
    pthread_mutex_lock(&hosted->lock);
    int late = hosted->late_serial != 0;
    pthread_mutex_unlock(&hosted->lock);
    if (late) pthread_mutex_unlock(&hosted->staging_lock);
    return !late;
}

static void give_staging(struct vyre_hosted *hosted)
{
    pthread_mutex_unlock(&hosted->staging_lock);
}

static vyre_status copy_call(struct vyre_hosted *hosted, uint32_t type,
                             const struct host_copy *copy, vyre_error *err)
{
    struct hosted_call call = {
        .sending = {.type = type, .payload = copy, .payload_bytes = sizeof *copy}};
    return vyre_hosted_call(hosted, &call, 0, err);
}

vyre_status vyre_hosted_block_write(vyre *runtime, struct vyre_block *block, size_t at,
                                    const void *bytes, size_t length, vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    vyre_status status = VYRE_OK;
    const unsigned char *from = bytes;
    if (block->mapping.base) memcpy((unsigned char *)block->mapping.base + at, bytes, length);
    if (block->host) return VYRE_OK;
    while (!status && length != 0) {
        size_t n = length < HOST_STAGING_BYTES ? length : HOST_STAGING_BYTES;
        struct host_copy copy = {number_of(block), at, n};
        take_staging(hosted);
        memcpy(hosted->staging.base, from, n);
        status = copy_call(hosted, HOST_WRITE, &copy, err);
        give_staging(hosted);
        from += n;
        at += n;
        length -= n;
    }
    return status;
}

vyre_status vyre_hosted_block_read(vyre *runtime, struct vyre_block *block, size_t at, void *bytes,
                                   size_t length, vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    vyre_status status = VYRE_OK;
    unsigned char *into = bytes;
    if (block->host) {
        memcpy(bytes, (const unsigned char *)block->host + at, length);
        return VYRE_OK;
    }
    while (!status && length != 0) {
        size_t n = length < HOST_STAGING_BYTES ? length : HOST_STAGING_BYTES;
        struct host_copy copy = {number_of(block), at, n};
        take_staging(hosted);
        status = copy_call(hosted, HOST_READ, &copy, err);
        if (!status) memcpy(into, hosted->staging.base, n);
        give_staging(hosted);
        into += n;
        at += n;
        length -= n;
    }
    return status;
}

vyre_status vyre_hosted_view(vyre *runtime, uint32_t view, uint32_t tenant, void *room,
                             const void **words, vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    size_t at = 0, total = vyre_view_bytes(runtime, view);
    vyre_status status = VYRE_OK;
    while (!status && at < total) {
        size_t n = total - at < HOST_STAGING_BYTES ? total - at : HOST_STAGING_BYTES;
        struct host_view ask = {view, tenant, at, n};
        struct hosted_call call = {
            .sending = {.type = HOST_VIEW, .payload = &ask, .payload_bytes = sizeof ask}};
        if (view != VYRE_VIEW_COUNTS)
            take_staging(hosted);
        else if (!try_staging(hosted))
            return vyre_fail(err, VYRE_E_TIMEOUT, "the device host is busy with other requests");
        status = vyre_hosted_call(hosted, &call, view == VYRE_VIEW_COUNTS ? COUNTS_NS : 0, err);
        if (!status) memcpy((unsigned char *)room + at, hosted->staging.base, n);
        give_staging(hosted);
        at += n;
    }
    if (!status) *words = room;
    return status;
}

/* Restarts.
 * ------------------------------------------------------------------------------------------- */

/* The message of the next block to make, or 0. Its descriptor is our own: the block may be freed
 * while it is under way. */
static int next_block(struct vyre_hosted *hosted, struct hosted_call *call, struct host_block *out,
                      int *fd, vyre_status *status, vyre_error *err)
{
    pthread_mutex_lock(&hosted->lock);
    struct vyre_block *block = hosted->walk;
    if (block) {
        *status = descriptor(block, 1, fd, err);
        if (!*status) fill(call, out, block, fd);
        hosted->walk = block->next;
    }
    pthread_mutex_unlock(&hosted->lock);
    return block != NULL && *status == VYRE_OK;
}

vyre_status vyre_hosted_blocks_again(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    struct host_block out;
    struct host_lent lent;
    int fd = -1;
    pthread_mutex_lock(&hosted->lock);
    hosted->walk = hosted->first;
    pthread_mutex_unlock(&hosted->lock);
    for (;;) {
        struct hosted_call call = {0};
        if (!next_block(hosted, &call, &out, &fd, &status, err)) break;
        if (out.kind == VYRE_BLOCK_BORROWED) {
            call.answer = &lent;
            call.room = sizeof lent;
        }
        status = vyre_hosted_ask(hosted, &call, err);
        if (fd >= 0) close(fd);
        if (status) break;
    }
    pthread_mutex_lock(&hosted->lock);
    hosted->walk = NULL;
    pthread_mutex_unlock(&hosted->lock);
    return status;
}
