/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Requests to queue 0 of a device in a device host: they travel as messages, and what they have
 * changed on the device is noted here, so that a restart can do it again. The journal follows the
 * answers, in the keeper's thread alone: what was answered is in force, what was not is sent again.
 */
#include <string.h>

#include "base/clock.h"
#include "device/system.h"
#include "runtime/hosted.h"

#define OWN_WINDOW                                                                                 \
    64u /* requests of a restart under way at once: neither side's socket fills up                 \
         */

/* The journal.
 * ------------------------------------------------------------------------------------------- */

static void enter_install(struct vyre_hosted *hosted, const uint32_t *args)
{
    uint32_t index = args[0] & 0xFFFFu;
    if (index >= hosted->runtime->options.max_handles || hosted->installs[index].live) return;
    struct hosted_install *install = &hosted->installs[index];
    memcpy(install->args, args, sizeof install->args);
    install->live = 1;
    install->next = DEV_NONE;
    install->previous = hosted->install_last;
    if (hosted->install_last == DEV_NONE)
        hosted->install_first = index;
    else
        hosted->installs[hosted->install_last].next = index;
    hosted->install_last = index;
    if (args[1] == DEV_OPERATION) vyre_hosted_module_use(hosted, dev_pair(&args[4]), 1);
}

static void strike_install(struct vyre_hosted *hosted, uint32_t handle)
{
    uint32_t index = handle & 0xFFFFu;
    if (index >= hosted->runtime->options.max_handles || !hosted->installs[index].live) return;
    struct hosted_install *install = &hosted->installs[index];
    install->live = 0;
    if (install->previous == DEV_NONE)
        hosted->install_first = install->next;
    else
        hosted->installs[install->previous].next = install->next;
    if (install->next == DEV_NONE)
        hosted->install_last = install->previous;
    else
        hosted->installs[install->next].previous = install->previous;
    if (install->args[1] == DEV_OPERATION)
        vyre_hosted_module_use(hosted, dev_pair(&install->args[4]), 0);
}

static void note(struct vyre_hosted *hosted, const uint32_t *word,
                 const vyre_completion *completion)
{
    const uint32_t *args = word + VYRE_SLOT_ARG0;
    if (completion->outcome != VYRE_DONE) return;
    if (completion->result[0] != 0) {
        if (word[VYRE_SLOT_OPCODE] == DEV_SYS_INSTALL && args[1] == DEV_OPERATION)
            vyre_hosted_module_use(hosted, dev_pair(&args[4]), 0);
        return;
    }
    struct hosted_queue *queue =
        &hosted->queues[args[0] <= hosted->runtime->options.max_queues ? args[0] : 0];
    switch (word[VYRE_SLOT_OPCODE]) {
    case DEV_SYS_INSTALL:
        enter_install(hosted, args);
        break;
    case DEV_SYS_DROP:
        strike_install(hosted, args[0]);
        break;
    case DEV_SYS_FRAMES:
        memcpy(hosted->frames_args, args, sizeof hosted->frames_args);
        hosted->frames_live = 1;
        break;
    case DEV_SYS_IO:
        memcpy(hosted->io_args, args, sizeof hosted->io_args);
        hosted->io_live = 1;
        break;
    case DEV_SYS_QUEUE_OPEN:
        memcpy(queue->args, args, sizeof queue->args);
        queue->open = queue->reached = 1;
        break;
    case DEV_SYS_QUEUE_CLOSE:
        queue->open = 0;
        break;
    default:
        break;
    }
}

/* Sending.
 * ------------------------------------------------------------------------------------------- */

/* A native operation goes by the number that the present host has for it. (lock) */
static void translate(const struct vyre_hosted *hosted, uint32_t *word)
{
    uint32_t *args = word + VYRE_SLOT_ARG0;
    if (word[VYRE_SLOT_OPCODE] != DEV_SYS_INSTALL || args[1] != DEV_OPERATION) return;
    for (const struct hosted_module *module = hosted->modules; module; module = module->next) {
        if (module->number != dev_pair(&args[4])) continue;
        args[4] = (uint32_t)module->linked;
        args[5] = (uint32_t)(module->linked >> 32);
        return;
    }
}

/* (lock) */
static int send_slot(struct vyre_hosted *hosted, const uint32_t *word)
{
    struct host_slot slot = {.ticket = hosted->wire};
    struct host_sending sending = {
        .type = HOST_SLOT, .payload = &slot, .payload_bytes = sizeof slot};
    memcpy(slot.word, word, sizeof slot.word);
    translate(hosted, slot.word);
    if (!vyre_hosted_send(hosted, &sending)) return 0;
    hosted->wire++;
    return 1;
}

/* (lock) One that has no use; the last is for the end of all. */
static struct hosted_slot *free_slot(struct vyre_hosted *hosted, int last)
{
    struct hosted_slot *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < HOSTED_SLOTS; i++) {
        if (hosted->slots[i].state != HOSTED_SLOT_FREE) continue;
        found = &hosted->slots[i];
        count++;
    }
    return count > 1 || last ? found : NULL;
}

static void begin_stop(struct vyre_hosted *hosted)
{
    if (hosted->stop_until == 0)
        hosted->stop_until = vyre_clock_after(vyre_clock_ns(), HOSTED_STOP_NS);
    __atomic_store_n(&hosted->stopping, 1, __ATOMIC_RELEASE);
}

int vyre_hosted_post(vyre *runtime, const uint32_t *word, uint64_t *ticket)
{
    struct vyre_hosted *hosted = runtime->hosted;
    int last = word[VYRE_SLOT_OPCODE] == VYRE_OP_SHUTDOWN;
    int posted = 0;
    pthread_mutex_lock(&hosted->lock);
    if (last) begin_stop(hosted);
    struct hosted_slot *slot = free_slot(hosted, last);
    if (slot && hosted->state != HOSTED_GONE) {
        int sent = 0;
        slot->wire = hosted->wire;
        if (hosted->state == HOSTED_CONNECTED) sent = send_slot(hosted, word);
        /* With a host that does not read, it waits for room; without one, for the next. */
        posted = sent || hosted->state == HOSTED_RESTARTING;
        if (posted) {
            slot->state = sent ? HOSTED_SLOT_SENT : HOSTED_SLOT_WAITING;
            slot->ticket = hosted->next_ticket++;
            memcpy(slot->word, word, sizeof slot->word);
            *ticket = slot->ticket;
        }
    }
    pthread_mutex_unlock(&hosted->lock);
    return posted;
}

vyre_status vyre_hosted_own_slot(struct vyre_hosted *hosted, uint32_t opcode,
                                 const uint32_t args[VYRE_SLOT_ARGS], vyre_error *err)
{
    vyre_status status = VYRE_OK;
    struct host_slot slot;
    struct host_sending sending = {
        .type = HOST_SLOT, .payload = &slot, .payload_bytes = sizeof slot};
    while (!status && hosted->own_left >= OWN_WINDOW)
        status = vyre_hosted_pump(hosted, err);
    if (status) return status;
    vyre_system_slot(slot.word, opcode, args);
    pthread_mutex_lock(&hosted->lock);
    slot.ticket = hosted->wire++;
    translate(hosted, slot.word);
    pthread_mutex_unlock(&hosted->lock);
    hosted->own_left++;
    return host_send(hosted->process.socket, &sending, err);
}

vyre_status vyre_hosted_settle(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    while (!status && hosted->own_left != 0)
        status = vyre_hosted_pump(hosted, err);
    if (!status && hosted->own_failed)
        status = vyre_fail(err, VYRE_E_INTERNAL, "the new device refused what the old one had: %s",
                           vyre_fault_text((enum vyre_fault)hosted->own_failed));
    return status;
}

/* Answers.
 * ------------------------------------------------------------------------------------------- */

static struct hosted_slot *find_slot(struct vyre_hosted *hosted, uint64_t wire)
{
    for (uint32_t i = 0; i < HOSTED_SLOTS; i++) {
        struct hosted_slot *slot = &hosted->slots[i];
        if ((slot->state == HOSTED_SLOT_SENT || slot->state == HOSTED_SLOT_TAKEN) &&
            slot->wire == wire)
            return slot;
    }
    return NULL;
}

void vyre_hosted_note_taken(struct vyre_hosted *hosted, uint64_t wire)
{
    pthread_mutex_lock(&hosted->lock);
    struct hosted_slot *slot = find_slot(hosted, wire);
    if (slot) slot->state = HOSTED_SLOT_TAKEN;
    pthread_mutex_unlock(&hosted->lock);
}

vyre_status vyre_hosted_answer(struct vyre_hosted *hosted, const struct host_answer *answer,
                               vyre_error *err)
{
    pthread_mutex_lock(&hosted->lock);
    struct hosted_slot *slot = find_slot(hosted, answer->ticket);
    if (slot) {
        slot->completion = answer->completion;
        slot->completion.ticket = slot->ticket;
        note(hosted, slot->word, &slot->completion);
        slot->state = HOSTED_SLOT_ANSWERED;
        pthread_cond_broadcast(&hosted->news);
    }
    int restarting = hosted->state == HOSTED_RESTARTING;
    pthread_mutex_unlock(&hosted->lock);
    if (slot) return VYRE_OK;
    if (!restarting || hosted->own_left == 0)
        return vyre_fail(err, VYRE_E_INTERNAL, "a device host answered what it was not asked");
    hosted->own_left--;
    if (answer->completion.outcome != VYRE_DONE)
        hosted->own_failed =
            answer->completion.fault ? answer->completion.fault : (uint32_t)VYRE_FAULT_STOPPED;
    else if (answer->completion.result[0] != 0)
        hosted->own_failed = answer->completion.result[0];
    return VYRE_OK;
}

size_t vyre_hosted_reap(vyre *runtime, vyre_completion *completions, size_t max)
{
    struct vyre_hosted *hosted = runtime->hosted;
    size_t count = 0;
    pthread_mutex_lock(&hosted->lock);
    for (uint32_t i = 0; i < HOSTED_SLOTS && count < max; i++) {
        if (hosted->slots[i].state != HOSTED_SLOT_ANSWERED) continue;
        completions[count++] = hosted->slots[i].completion;
        hosted->slots[i].state = HOSTED_SLOT_FREE;
    }
    pthread_mutex_unlock(&hosted->lock);
    return count;
}

int vyre_hosted_taken(vyre *runtime, uint64_t ticket)
{
    struct vyre_hosted *hosted = runtime->hosted;
    int taken = 1; /* one that is not there any more has been answered */
    pthread_mutex_lock(&hosted->lock);
    for (uint32_t i = 0; i < HOSTED_SLOTS; i++) {
        const struct hosted_slot *slot = &hosted->slots[i];
        if (slot->state == HOSTED_SLOT_FREE || slot->ticket != ticket) continue;
        taken = slot->state >= HOSTED_SLOT_TAKEN;
    }
    pthread_mutex_unlock(&hosted->lock);
    return taken;
}

void vyre_hosted_enforce_stop(struct vyre_hosted *hosted)
{
    if (hosted->stop_until == 0 || vyre_clock_ns() < hosted->stop_until) return;
    if (dev_load_acquire(&hosted->runtime->page->state, DEV_SYSTEM) == DEV_GONE) return;
    vyre_host_kill(&hosted->process);
}

static int answers_there(const struct vyre_hosted *hosted)
{
    for (uint32_t i = 0; i < HOSTED_SLOTS; i++)
        if (hosted->slots[i].state == HOSTED_SLOT_ANSWERED) return 1;
    return 0;
}

void vyre_hosted_wait(vyre *runtime, uint64_t until_ns)
{
    struct vyre_hosted *hosted = runtime->hosted;
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_mutex_lock(&hosted->lock);
    while (!answers_there(hosted) && hosted->state != HOSTED_GONE)
        if (pthread_cond_timedwait(&hosted->news, &hosted->lock, &until)) break;
    vyre_hosted_enforce_stop(hosted);
    pthread_mutex_unlock(&hosted->lock);
}

/* Restarts.
 * ------------------------------------------------------------------------------------------- */

void vyre_hosted_slots_recall(struct vyre_hosted *hosted)
{
    for (uint32_t i = 0; i < HOSTED_SLOTS; i++) {
        struct hosted_slot *slot = &hosted->slots[i];
        if (slot->state == HOSTED_SLOT_SENT || slot->state == HOSTED_SLOT_TAKEN)
            slot->state = HOSTED_SLOT_WAITING;
    }
}

/* The oldest that waits for a host. */
static struct hosted_slot *next_waiting(struct vyre_hosted *hosted)
{
    struct hosted_slot *next = NULL;
    for (uint32_t i = 0; i < HOSTED_SLOTS; i++) {
        struct hosted_slot *slot = &hosted->slots[i];
        if (slot->state == HOSTED_SLOT_WAITING && (!next || slot->ticket < next->ticket))
            next = slot;
    }
    return next;
}

void vyre_hosted_slots_send(struct vyre_hosted *hosted)
{
    struct hosted_slot *slot;
    while ((slot = next_waiting(hosted)) != NULL) {
        struct host_slot out = {.ticket = hosted->wire};
        struct host_sending sending = {
            .type = HOST_SLOT, .payload = &out, .payload_bytes = sizeof out};
        memcpy(out.word, slot->word, sizeof out.word);
        translate(hosted, out.word);
        slot->wire = hosted->wire++;
        slot->state = HOSTED_SLOT_SENT;
        /* Where it fails the host is gone again, and so is this. */
        host_send(hosted->process.socket, &sending, NULL);
    }
}

void vyre_hosted_slots_lose(struct vyre_hosted *hosted)
{
    for (uint32_t i = 0; i < HOSTED_SLOTS; i++) {
        struct hosted_slot *slot = &hosted->slots[i];
        if (slot->state == HOSTED_SLOT_FREE || slot->state == HOSTED_SLOT_ANSWERED) continue;
        slot->completion = (vyre_completion){.ticket = slot->ticket, .outcome = VYRE_LOST};
        slot->state = HOSTED_SLOT_ANSWERED;
    }
}
