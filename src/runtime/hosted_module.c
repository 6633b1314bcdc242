/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations for a GPU in a device host. Those that the device has handles for are kept with
 * their images, in the order in which they were linked, so that a restart can link them again; the
 * runtime knows them by numbers of its own, whatever the present host calls them. The present host
 * keeps what it has linked.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/hosted.h"

static void fill_module(struct hosted_call *call, struct host_module *out,
                        const struct hosted_module *module, const int *fd)
{
    memset(out, 0, sizeof *out);
    out->bytes = module->image->bytes;
    memcpy(out->function, module->function, sizeof out->function);
    call->sending = (struct host_sending){.type = HOST_MODULE,
                                          .payload = out,
                                          .payload_bytes = sizeof *out,
                                          .fds = fd,
                                          .fd_count = 1};
    call->room = sizeof(struct host_number);
}

/* Images.
 * ------------------------------------------------------------------------------------------- */

/* (lock) The user of an image needs it no longer. */
static void drop_image(struct vyre_hosted *hosted, struct hosted_image *image)
{
    if (--image->users > 0) return;
    struct hosted_image **link = &hosted->images;
    while (*link != image)
        link = &(*link)->next;
    *link = image->next;
    vyre_memory_free(&hosted->runtime->memory, image, sizeof *image + image->bytes);
}

/* The image, new or known. */
static vyre_status keep_image(struct vyre_hosted *hosted, const struct vyre_native_image *given,
                              struct hosted_image **out, vyre_error *err)
{
    struct vyre_memory *memory = &hosted->runtime->memory;
    size_t bytes = sizeof(struct hosted_image) + given->length;
    void *room;
    vyre_status status = vyre_memory_alloc(memory, 1, bytes, "native operation", &room, err);
    if (status) return status;
    struct hosted_image *image = room;
    image->bytes = given->length;
    memcpy(image->contents, given->bytes, given->length);
    pthread_mutex_lock(&hosted->lock);
    struct hosted_image *known = hosted->images;
    while (known && (known->bytes != image->bytes ||
                     memcmp(known->contents, image->contents, image->bytes) != 0))
        known = known->next;
    if (!known) {
        image->next = hosted->images;
        hosted->images = known = image;
    }
    known->users++;
    pthread_mutex_unlock(&hosted->lock);
    if (known != image) vyre_memory_free(memory, image, bytes);
    *out = known;
    return VYRE_OK;
}

/* Modules.
 * ------------------------------------------------------------------------------------------- */

static vyre_status make_module(vyre *runtime, const struct vyre_native_image *image,
                               struct hosted_module **out, vyre_error *err)
{
    void *memory;
    vyre_status status = vyre_memory_alloc(&runtime->memory, 1, sizeof(struct hosted_module),
                                           "native operation", &memory, err);
    if (status) return status;
    struct hosted_module *module = memory;
    status = keep_image(runtime->hosted, image, &module->image, err);
    if (status) {
        vyre_memory_free(&runtime->memory, module, sizeof *module);
        return status;
    }
    strncpy(module->function, image->function, sizeof module->function - 1);
    *out = module;
    return VYRE_OK;
}

/* (lock) One that is in no list. */
static void free_module(struct vyre_hosted *hosted, struct hosted_module *module)
{
    drop_image(hosted, module->image);
    vyre_memory_free(&hosted->runtime->memory, module, sizeof *module);
}

vyre_status vyre_hosted_link(vyre *runtime, const struct vyre_native_image *image, uint64_t *number,
                             vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    struct hosted_module *module;
    struct host_module out;
    int fd = -1;
    if (strlen(image->function) >= sizeof module->function || image->length > HOST_MODULE_BYTES)
        return vyre_fail(err, VYRE_E_RANGE,
                         "a function's name has at most %zu bytes, and an image %u",
                         sizeof module->function - 1, HOST_MODULE_BYTES);
    vyre_status status = make_module(runtime, image, &module, err);
    if (status) return status;
    struct hosted_call call = {.answer = &module->linked, .module = module};
    status = vyre_hosted_file(module->image->contents, module->image->bytes, &fd, err);
    if (!status) {
        fill_module(&call, &out, module, &fd);
        status = vyre_hosted_call(hosted, &call, 0, err);
        close(fd);
    }
    if (!status) {
        *number = module->number;
        return VYRE_OK;
    }
    pthread_mutex_lock(&hosted->lock);
    free_module(hosted, module);
    pthread_mutex_unlock(&hosted->lock);
    return status;
}

vyre_status vyre_hosted_modules_again(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    for (struct hosted_module *m = hosted->modules; m && !status; m = m->next) {
        int fd;
        status = vyre_hosted_file(m->image->contents, m->image->bytes, &fd, err);
        if (status) break;
        hosted->until_ns = vyre_clock_after(vyre_clock_ns(), HOSTED_LINK_NS);
        /* It has no slots yet: a host whose kernel does not park in time is only slow. */
        do {
            struct hosted_call call = {.answer = &m->linked};
            struct host_module out;
            fill_module(&call, &out, m, &fd);
            status = vyre_hosted_ask(hosted, &call, err);
        } while (status == VYRE_E_BUSY && vyre_clock_ns() < hosted->until_ns);
        close(fd);
    }
    hosted->until_ns = vyre_clock_after(vyre_clock_ns(), HOSTED_ATTEMPT_NS);
    return status;
}

void vyre_hosted_module_use(struct vyre_hosted *hosted, uint64_t number, int installed)
{
    struct hosted_module **link = &hosted->modules;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    struct hosted_module *module = *link;
    if (!module) return;
    if (installed) {
        module->installs++;
        return;
    }
    if (module->installs > 0) module->installs--;
    if (module->installs > 0) return;
    *link = module->next;
    free_module(hosted, module);
}

void vyre_hosted_modules_free(struct vyre_hosted *hosted)
{
    while (hosted->modules) {
        struct hosted_module *module = hosted->modules;
        hosted->modules = module->next;
        free_module(hosted, module);
    }
}
