/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The continuation task: work that can stop and go on later, in the 64 bytes of a slot. Encode and
 * decode, counting an array of tasks, and the transitions between states.
 *
 * The invariant: a transition that is refused leaves the task as it was, and no transition leads
 * out of EMPTY, DONE or FAULTED. Public; no thread but the caller's touches the task.
 */
#include <string.h>

#include "base/checked.h"
#include "wire/bytes.h"

#define WORDS  16u
#define STATES 8u

static vyre_status check_known(uint32_t state, size_t place, vyre_error *err)
{
    if (state < STATES) return VYRE_OK;
    return vyre_fail_at(err, VYRE_E_WIRE_TASK_UNKNOWN, VYRE_PLACE_SLOT, place,
                        "task %zu has the state %u, at most 7", place, state);
}

vyre_status vyre_wire_task_encode(void *bytes, size_t length, const vyre_wire_task *task,
                                  vyre_error *err)
{
    uint32_t words[WORDS];
    vyre_status status = vyre_bytes_check_pointer(task, "task", err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, VYRE_TASK_BYTES, "a task", err);
    if (status) return status;
    status = check_known(task->state, 0, err);
    if (status) return status;
    memcpy(words, task, sizeof words); /* the fields are the words in order: layout.h */
    for (size_t word = WORDS; word-- > 0;)
        vyre_bytes_set_word(bytes, word, words[word]);
    return VYRE_OK;
}

vyre_status vyre_wire_task_decode(const void *bytes, size_t length, vyre_wire_task *task,
                                  vyre_error *err)
{
    uint32_t words[WORDS];
    vyre_status status = vyre_bytes_check_pointer(task, "task", err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, VYRE_TASK_BYTES, "a task", err);
    if (status) return status;
    for (size_t word = 0; word < WORDS; word++)
        words[word] = vyre_bytes_word(bytes, word);
    status = check_known(words[0], 0, err);
    if (status) return status;
    memcpy(task, words, sizeof words);
    return VYRE_OK;
}

vyre_status vyre_wire_tasks_count(const void *bytes, size_t length, vyre_wire_tasks *tasks,
                                  vyre_error *err)
{
    vyre_wire_tasks sum;
    vyre_status status = vyre_bytes_check_pointer(tasks, "tasks", err);
    if (status) return status;
    status = vyre_bytes_check_words(bytes, length, err);
    if (status) return status;
    if (length % VYRE_TASK_BYTES != 0)
        return vyre_fail_at(err, VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE,
                            length - length % VYRE_TASK_BYTES,
                            "%zu bytes: %zu tasks and %zu bytes over", length,
                            length / VYRE_TASK_BYTES, length % VYRE_TASK_BYTES);

    memset(&sum, 0, sizeof sum);
    sum.tasks = length / VYRE_TASK_BYTES;
    for (size_t i = 0; i < sum.tasks; i++) {
        const unsigned char *task = (const unsigned char *)bytes + i * VYRE_TASK_BYTES;
        uint32_t state = vyre_bytes_get32(task, offsetof(vyre_wire_task, state));
        uint32_t age = vyre_bytes_get32(task, offsetof(vyre_wire_task, age_ticks));
        status = check_known(state, i, err);
        if (status) return status;
        sum.by_state[state]++;
        sum.requeue_count += vyre_bytes_get32(task, offsetof(vyre_wire_task, requeue_count));
        if (age > sum.max_age_ticks) sum.max_age_ticks = age;
    }
    size_t waiting = sum.by_state[VYRE_TASK_YIELDED] + sum.by_state[VYRE_TASK_REQUEUED];
    sum.schedulable = sum.by_state[VYRE_TASK_READY] + waiting;
    sum.pressure = sum.requeue_count + waiting;
    *tasks = sum;
    return VYRE_OK;
}

static vyre_status check_priority(uint32_t priority, vyre_error *err)
{
    if (priority < VYRE_PRIORITIES) return VYRE_OK;
    return vyre_fail(err, VYRE_E_RANGE, "priority %u, at most %u", priority, VYRE_PRIORITIES - 1);
}

vyre_status vyre_wire_task_start(vyre_wire_task *task, const vyre_wire_item *item, uint32_t tenant,
                                 uint32_t priority, uint32_t id, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(task, "task", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(item, "item", err);
    if (status) return status;
    status = check_priority(priority, err);
    if (status) return status;
    memset(task, 0, sizeof *task);
    task->state = VYRE_TASK_READY;
    task->opcode = item->opcode;
    task->tenant = tenant;
    task->priority = priority;
    task->input = item->input;
    task->output = item->output;
    task->param = item->param;
    task->id = id;
    return VYRE_OK;
}

/* What every transition asks first. */
static vyre_status check_alive(const vyre_wire_task *task, const char *verb, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(task, "task", err);
    if (status) return status;
    status = check_known(task->state, 0, err);
    if (status) return status;
    if (task->state == VYRE_TASK_EMPTY || task->state == VYRE_TASK_DONE ||
        task->state == VYRE_TASK_FAULTED)
        return vyre_fail_at(err, VYRE_E_WIRE_TASK_STATE, VYRE_PLACE_WORD, 0,
                            "task %u has the state %u and cannot %s", task->id, task->state, verb);
    return VYRE_OK;
}

static vyre_status count_up(uint32_t value, uint32_t *next, size_t offset, vyre_error *err)
{
    if (vyre_add_u32(value, 1, next)) return VYRE_OK;
    return vyre_fail_at(err, VYRE_E_WIRE_TASK_COUNTER, VYRE_PLACE_WORD, offset / 4,
                        "the counter in word %zu of the task is %u", offset / 4, value);
}

vyre_status vyre_wire_task_pause(vyre_wire_task *task, uint32_t pc, uint32_t data,
                                 uint32_t resume_epoch, vyre_error *err)
{
    vyre_status status = check_alive(task, "pause", err);
    if (status) return status;
    task->state = VYRE_TASK_PAUSED;
    task->pc = pc;
    task->data = data;
    task->resume_epoch = resume_epoch;
    task->flags = (task->flags | VYRE_TASK_FLAG_PAUSED) & ~(uint32_t)VYRE_TASK_FLAG_RESUME;
    return VYRE_OK;
}

vyre_status vyre_wire_task_resume(vyre_wire_task *task, vyre_error *err)
{
    vyre_status status = check_alive(task, "resume", err);
    if (status) return status;
    if (task->state != VYRE_TASK_PAUSED)
        return vyre_fail_at(err, VYRE_E_WIRE_TASK_STATE, VYRE_PLACE_WORD, 0,
                            "task %u has the state %u, only a paused one resumes", task->id,
                            task->state);
    task->state = VYRE_TASK_READY;
    task->flags = (task->flags | VYRE_TASK_FLAG_RESUME) &
                  ~(uint32_t)(VYRE_TASK_FLAG_PAUSED | VYRE_TASK_FLAG_YIELDED);
    return VYRE_OK;
}

vyre_status vyre_wire_task_yield(vyre_wire_task *task, uint32_t pc, uint32_t data, vyre_error *err)
{
    uint32_t yields = 0;
    vyre_status status = check_alive(task, "yield", err);
    if (status) return status;
    status = count_up(task->yield_count, &yields, offsetof(vyre_wire_task, yield_count), err);
    if (status) return status;
    task->state = VYRE_TASK_YIELDED;
    task->pc = pc;
    task->data = data;
    task->yield_count = yields;
    task->flags |= VYRE_TASK_FLAG_YIELDED;
    return VYRE_OK;
}

vyre_status vyre_wire_task_requeue(vyre_wire_task *task, uint32_t pc, uint32_t data,
                                   uint32_t priority, vyre_error *err)
{
    uint32_t requeues = 0, age = 0;
    vyre_status status = check_alive(task, "requeue", err);
    if (status) return status;
    status = check_priority(priority, err);
    if (status) return status;
    status = count_up(task->requeue_count, &requeues, offsetof(vyre_wire_task, requeue_count), err);
    if (status) return status;
    status = count_up(task->age_ticks, &age, offsetof(vyre_wire_task, age_ticks), err);
    if (status) return status;
    task->state = VYRE_TASK_REQUEUED;
    task->priority = priority;
    task->pc = pc;
    task->data = data;
    task->requeue_count = requeues;
    task->age_ticks = age;
    task->flags |= VYRE_TASK_FLAG_REQUEUE;
    return VYRE_OK;
}

vyre_status vyre_wire_task_complete(vyre_wire_task *task, vyre_error *err)
{
    vyre_status status = check_alive(task, "complete", err);
    if (status) return status;
    task->state = VYRE_TASK_DONE;
    task->flags = 0;
    return VYRE_OK;
}

vyre_status vyre_wire_task_fault(vyre_wire_task *task, uint32_t code, vyre_error *err)
{
    vyre_status status = check_alive(task, "fault", err);
    if (status) return status;
    task->state = VYRE_TASK_FAULTED;
    task->data = code;
    return VYRE_OK;
}
