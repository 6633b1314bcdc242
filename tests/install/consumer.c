/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An embedding program that knows vyre only as it is installed: runs one slot and checks its
 * result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <vyre/vyre.h>

static int run(vyre *runtime, vyre_completion *end, vyre_error *err)
{
    vyre_queue *queue = vyre_queue_default(runtime);
    vyre_slot *slot = vyre_queue_slot(queue);
    uint64_t ticket;
    vyre_status status = vyre_prep_compare_swap(slot, VYRE_CONTROL_OBSERVABLE, 0, 42, err);
    if (!status) status = vyre_queue_submit(queue, &ticket, err);
    if (!status) status = vyre_wait(queue, ticket, VYRE_FOREVER, end, err);
    return status;
}

int main(void)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre *runtime;
    vyre_completion end;
    vyre_error err;
    uint32_t word = 0;

    if (strcmp(vyre_version(), VYRE_VERSION) != 0) {
        fprintf(stderr, "header %s, library %s\n", VYRE_VERSION, vyre_version());
        return 1;
    }
    options.backend = VYRE_BACKEND_CPU;
    vyre_status status = vyre_open(&runtime, &options, &err);
    if (!status) {
        status = run(runtime, &end, &err);
        if (!status) status = vyre_tenant_observables(runtime, 0, 0, 1, &word, &err);
        vyre_close(runtime);
    }
    if (status) {
        fprintf(stderr, "%s: %s\n", vyre_status_name(status), err.message);
        return 1;
    }
    printf("vyre %s: outcome %u, the word is %" PRIu32 "\n", vyre_version(), end.outcome, word);
    return end.outcome == VYRE_DONE && word == 42 ? 0 : 1;
}
