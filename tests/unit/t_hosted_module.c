/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the application's side keeps of native operations for a GPU. No GPU is needed: the device
 * host is stopped, and its answers are made here.
 */
#include "meter.h"

#include "device/system.h"
#include "restart_load.h"
#include "runtime/hosted.h"

#define IMAGE_BYTES 100000u

struct linking {
    vyre *rt;
    const unsigned char *bytes;
    pthread_t thread;
    uint64_t number;
    vyre_status status;
};

static void *link_image(void *argument)
{
    struct linking *linking = argument;
    struct vyre_native_image image = {linking->bytes, IMAGE_BYTES, "f"};
    linking->status = vyre_hosted_link(linking->rt, &image, &linking->number, NULL);
    return NULL;
}

/* The serial of the MODULE that has been sent. */
static uint32_t await_module(struct vyre_hosted *hosted)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        pthread_mutex_lock(&hosted->lock);
        uint32_t serial = hosted->calls && hosted->calls->sent ? hosted->calls->sending.serial : 0;
        pthread_mutex_unlock(&hosted->lock);
        if (serial != 0) return serial;
        breathe();
    }
    bail("no MODULE was sent");
}

/* Links, with the answer of a host that calls it 40. */
static uint64_t link_one(vyre *rt, const unsigned char *bytes)
{
    struct linking linking = {.rt = rt, .bytes = bytes};
    static struct host_message message;
    struct {
        struct host_reply reply;
        struct host_number number;
    } answer = {{VYRE_OK, sizeof answer.number}, {40}};
    vyre_error err;
    if (pthread_create(&linking.thread, NULL, link_image, &linking)) bail("no thread");
    message.header = (struct host_header){HOST_MAGIC, HOST_PROTOCOL, HOST_REPLY,
                                          await_module(rt->hosted), sizeof answer};
    message.payload = &answer;
    must(vyre_hosted_handle(rt->hosted, &message, &err), &err);
    pthread_join(linking.thread, NULL);
    must(linking.status, &err);
    return linking.number;
}

/* A request to queue 0, and its answer. */
static void tell(vyre *rt, uint32_t opcode, const uint32_t args[VYRE_SLOT_ARGS], uint32_t result)
{
    struct host_answer answer = {.completion = {.outcome = VYRE_DONE, .result = {result}}};
    uint32_t word[VYRE_SLOT_WORDS];
    uint64_t ticket;
    vyre_completion end;
    vyre_error err;
    vyre_system_slot(word, opcode, args);
    answer.ticket = rt->hosted->wire;
    if (!vyre_hosted_post(rt, word, &ticket)) bail("it was not sent");
    must(vyre_hosted_answer(rt->hosted, &answer, &err), &err);
    if (vyre_hosted_reap(rt, &end, 1) != 1) bail("it was not answered");
}

static void install(vyre *rt, uint32_t handle, uint64_t number, uint32_t result)
{
    uint32_t args[VYRE_SLOT_ARGS] = {handle, DEV_OPERATION, 0, 0, (uint32_t)number};
    tell(rt, DEV_SYS_INSTALL, args, result);
}

static void drop(vyre *rt, uint32_t handle)
{
    uint32_t args[VYRE_SLOT_ARGS] = {handle};
    tell(rt, DEV_SYS_DROP, args, 0);
}

static uint32_t count_images(const vyre *rt)
{
    uint32_t count = 0;
    for (const struct hosted_image *image = rt->hosted->images; image; image = image->next)
        count++;
    return count;
}

int main(void)
{
    static unsigned char first[IMAGE_BYTES], second[IMAGE_BYTES];
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    hooks.map = NULL;
    hooks.unmap = NULL;
    vyre_options options = cpu_options(1);
    options.place = VYRE_PLACE_HOST;
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    pid_t pid = (pid_t)host_pid(rt);
    memset(first, 1, sizeof first);
    memset(second, 2, sizeof second);
    freeze(pid);
    uint64_t blocks = atomic_load(&meter.live_blocks);
    uint64_t one = link_one(rt, first), two = link_one(rt, first), other = link_one(rt, second);
    ok(one != two && two != other && one != other, "each operation has its number");
    is_u64(count_images(rt), 2, "equal images are kept once");
    install(rt, 1u << 16 | 1, one, 0);
    install(rt, 1u << 16 | 2, two, 0);
    drop(rt, 1u << 16 | 1);
    is_u64(count_images(rt), 2, "as long as one of them is used");
    drop(rt, 1u << 16 | 2);
    is_u64(count_images(rt), 1, "an operation that is dropped is forgotten");
    install(rt, 1u << 16 | 3, other, VYRE_FAULT_UNKNOWN_OPCODE);
    is_u64(count_images(rt), 0, "so is one whose opcode is taken");
    ok(rt->hosted->modules == NULL, "no restart links any of them");
    is_u64(atomic_load(&meter.live_blocks), blocks, "and no memory stays");
    link_one(rt, second);
    kill(pid, SIGCONT);
    kill(pid, SIGKILL);
    vyre_close(rt);
    is_u64(atomic_load(&meter.live_blocks), 0, "nor after close");
    return done();
}
