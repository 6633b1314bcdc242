/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as the continuation task: codec, counting an array, and walks
 * through transitions that the input's bytes choose. See wire_checks.h.
 */
#ifndef VYRE_FUZZ_WIRE_CHECK_TASK_H
#define VYRE_FUZZ_WIRE_CHECK_TASK_H

#include "wire_checks.h"

/* Walks through transitions that the bytes choose. */
static inline void check_task_walk(vyre_wire_task task, const uint8_t *steps, size_t count,
                                   vyre_error *err)
{
    for (size_t i = 0; i < count; i++) {
        vyre_wire_task before = task;
        uint32_t value = steps[i];
        vyre_status status = VYRE_OK;
        switch (value % 6) {
        case 0:
            status = vyre_wire_task_pause(&task, value, value, value, err);
            break;
        case 1:
            status = vyre_wire_task_resume(&task, err);
            break;
        case 2:
            status = vyre_wire_task_yield(&task, value, value, err);
            break;
        case 3:
            status = vyre_wire_task_requeue(&task, value, value, value / 6 % 6, err);
            break;
        case 4:
            status = vyre_wire_task_complete(&task, err);
            break;
        default:
            status = vyre_wire_task_fault(&task, value, err);
        }
        if (status) REQUIRE(memcmp(&task, &before, sizeof task) == 0);
        if (!status) {
            REQUIRE(before.state != 0 && before.state != 3 && before.state < 7);
            REQUIRE(task.state > 0 && task.state < 8 && task.id == before.id);
            REQUIRE(task.yield_count >= before.yield_count &&
                    task.requeue_count >= before.requeue_count &&
                    task.age_ticks >= before.age_ticks);
        }
    }
}

static inline void check_task(const uint8_t *data, size_t size)
{
    if (size > CHECK_BYTES_MAX) size = CHECK_BYTES_MAX;
    vyre_error *err = check_err(data, size);
    vyre_wire_task task, again;
    vyre_wire_tasks tasks;
    CHECK_MARK(task);
    CHECK_MARK(tasks);
    vyre_status status = vyre_wire_task_decode(data, size, &task, err);
    REQUIRE(status == (size < 64                  ? VYRE_E_TOO_SMALL
                       : size > 64                ? VYRE_E_WIRE_LENGTH
                       : check_word(data, 0) >= 8 ? VYRE_E_WIRE_TASK_UNKNOWN
                                                  : VYRE_OK));
    REQUIRE(!status || CHECK_UNTOUCHED(task));
    if (size >= 64 && vyre_wire_task_decode(data, 64, &task, err) == VYRE_OK) {
        REQUIRE(vyre_wire_task_encode(check_copy, 64, &task, err) == VYRE_OK);
        REQUIRE(memcmp(check_copy, data, 64) == 0);
        REQUIRE(vyre_wire_task_decode(check_copy, 64, &again, err) == VYRE_OK);
        REQUIRE(memcmp(&task, &again, sizeof task) == 0);
        check_task_walk(task, data + 64, size - 64 < 64 ? size - 64 : 64, err);
    }
    status = vyre_wire_tasks_count(data, size, &tasks, err);
    if (status) {
        REQUIRE(CHECK_UNTOUCHED(tasks));
        return;
    }
    size_t sum = 0;
    for (int i = 0; i < 8; i++)
        sum += tasks.by_state[i];
    REQUIRE(size % 64 == 0 && sum == size / 64 && tasks.tasks == sum);
    REQUIRE(tasks.schedulable <= sum && tasks.pressure >= tasks.requeue_count);
}

#endif
