/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A C function of the embedding program as an operation: it counts the primes in a range of
 * numbers and marks them in a buffer. Sixteen slots share the work; every worker takes part.
 */
#include <stdio.h>
#include <vyre/vyre.h>

enum { COUNT_PRIMES = 100, RANGES = 16, NUMBERS = 100000 };

/* Arguments: the buffer of marks, the first number, and the number after the last. */
static uint32_t count_primes(vyre_call *call)
{
    void *memory;
    size_t bytes;
    if (vyre_call_buffer(call, 0, &memory, &bytes, NULL) != VYRE_OK) return 1;
    uint8_t *marks = memory;
    if (call->args[2] > bytes) return 2;
    for (uint32_t n = call->args[1]; n < call->args[2]; n++) {
        uint32_t divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0)
            divisor++;
        marks[n] = n >= 2 && divisor * divisor > n;
        call->result[0] += marks[n];
        if (vyre_call_cancelled(call)) return 3;
    }
    return 0;
}

static vyre_status submit_ranges(vyre_queue *queue, uint32_t marks, vyre_error *err)
{
    for (uint32_t i = 0; i < RANGES; i++) {
        uint32_t args[3] = {marks, i * (NUMBERS / RANGES), (i + 1) * (NUMBERS / RANGES)};
        vyre_status status = vyre_prep_op(vyre_queue_slot(queue), COUNT_PRIMES, args, 3, err);
        if (status != VYRE_OK) return status;
    }
    return vyre_queue_submit(queue, NULL, err);
}

int main(void)
{
    vyre *rt = NULL;
    vyre_buffer *marks;
    vyre_operation *operation;
    vyre_error err;
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = VYRE_BACKEND_CPU;
    if (vyre_open(&rt, &options, &err) != VYRE_OK) goto fail;
    if (vyre_buffer_create(rt, NUMBERS, VYRE_DEVICE, &marks, &err) != VYRE_OK) goto fail;

    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    how.opcode = COUNT_PRIMES;
    how.write_handles = 1u << 0;
    how.run = count_primes;
    if (vyre_operation_register(rt, &how, &operation, &err) != VYRE_OK) goto fail;

    vyre_queue *queue = vyre_queue_default(rt);
    vyre_completion ends[RANGES];
    size_t count;
    uint32_t primes = 0;
    if (submit_ranges(queue, vyre_buffer_handle(marks), &err) != VYRE_OK) goto fail;
    if (vyre_queue_reap_wait(queue, ends, RANGES, RANGES, VYRE_FOREVER, &count, &err)) goto fail;
    for (size_t i = 0; i < count; i++) {
        if (ends[i].outcome != VYRE_DONE)
            printf("slot %llu: %s\n", (unsigned long long)ends[i].ticket,
                   vyre_fault_text(ends[i].fault));
        primes += ends[i].result[0];
    }

    uint8_t mark;
    if (vyre_buffer_read(marks, 99991, &mark, 1, &err) != VYRE_OK) goto fail;
    printf("%u primes below %d; 99991 is %s\n", primes, NUMBERS, mark ? "one" : "none");
    vyre_close(rt);
    return primes == 9592 && mark ? 0 : 1;

fail:
    fprintf(stderr, "error: %s\n  fix: %s\n", err.message, err.fix);
    vyre_close(rt);
    return 1;
}
