/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The example of the README: three slots in one submit. The fence makes the load wait for the
 * store.
 */
#include <stdio.h>
#include <vyre/vyre.h>

int main(void)
{
    vyre *rt = NULL;
    vyre_error err;
    vyre_completion end;
    uint64_t first;

    if (vyre_open(&rt, NULL, &err) != VYRE_OK) goto fail;
    vyre_queue *q = vyre_queue_default(rt);
    if (vyre_prep_store_u32(vyre_queue_slot(q), VYRE_CONTROL_OBSERVABLE + 7, 42, &err)) goto fail;
    if (vyre_prep_fence(vyre_queue_slot(q), 1, 0, &err)) goto fail;
    if (vyre_prep_load_u32(vyre_queue_slot(q), VYRE_CONTROL_OBSERVABLE + 7, 8, &err)) goto fail;
    if (vyre_queue_submit(q, &first, &err)) goto fail;
    if (vyre_wait(q, first + 2, VYRE_FOREVER, &end, &err)) goto fail;
    if (end.outcome == VYRE_DONE) printf("word 7 holds %u\n", end.result[0]);
    vyre_close(rt);
    return 0;

fail:
    fprintf(stderr, "error: %s\n  fix: %s\n", err.message, err.fix);
    vyre_close(rt);
    return 1;
}
