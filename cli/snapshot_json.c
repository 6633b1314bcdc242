/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The records of `vyre snapshot --json`.
 */
#include "snapshot.h"

static void put_counts(const char *key, const uint32_t *values, uint32_t count)
{
    cli_json_open(key, '[');
    for (uint32_t i = 0; i < count; i++)
        cli_json_count(NULL, values[i]);
    cli_json_close('[');
}

static void put_control(const vyre_snapshot_control *control)
{
    cli_json_open("control", '{');
    cli_json_flag("shutdown", control->shutdown != 0);
    cli_json_count("done_count", control->done_count);
    cli_json_count("epoch", control->epoch);
    cli_json_open("metrics", '[');
    for (uint32_t i = 0; i < control->metric_count; i++) {
        const uint32_t pair[2] = {control->metrics[i].opcode, control->metrics[i].count};
        put_counts(NULL, pair, 2);
    }
    cli_json_close('[');
    put_counts("tenant_fairness", control->tenant_fairness, VYRE_SNAPSHOT_TENANTS);
    put_counts("priority_fairness", control->priority_fairness, VYRE_PRIORITIES);
    cli_json_close('{');
}

static void put_occupancy(const vyre_occupancy *occupancy)
{
    cli_json_open("occupancy", '{');
    for (uint32_t state = 0; state < SNAPSHOT_STATES; state++)
        cli_json_count(vyre_slot_status_name(state), snapshot_state_count(occupancy, state));
    cli_json_close('{');
}

static void put_slots(const vyre_snapshot *snapshot)
{
    cli_json_open("slots", '[');
    for (uint32_t i = 0; i < snapshot->slot_count; i++) {
        const vyre_snapshot_slot *slot = &snapshot->slots[i];
        cli_json_open(NULL, '{');
        cli_json_count("slot", slot->slot);
        cli_json_text("status", vyre_slot_status_name(slot->status));
        cli_json_count("status_raw", slot->status);
        cli_json_count("tenant", slot->tenant);
        cli_json_count("opcode", slot->opcode);
        put_counts("args", slot->args, 3);
        cli_json_close('{');
    }
    cli_json_close('[');
}

static void put_windows(const vyre_snapshot *snapshot)
{
    cli_json_open("windows", '[');
    for (uint32_t i = 0; i < snapshot->window_count; i++) {
        const vyre_snapshot_window *window = &snapshot->windows[i];
        cli_json_open(NULL, '{');
        cli_json_count("ticket", window->ticket);
        cli_json_count("tenant", window->tenant);
        cli_json_count("opcode", window->opcode);
        cli_json_count("required", window->required);
        cli_json_count("lookahead", window->lookahead);
        cli_json_count("published", window->published);
        cli_json_count("claimed", window->claimed);
        cli_json_count("done", window->done);
        cli_json_count("wait_io", window->wait_io);
        cli_json_count("yield", window->yield);
        cli_json_count("requeue", window->requeue);
        cli_json_count("fault", window->fault);
        cli_json_flag("active", window->active != 0);
        cli_json_close('{');
    }
    cli_json_close('[');
}

static void put_counters(const vyre_counters *counters)
{
    cli_json_open("counters", '{');
    cli_json_count("total_slots", counters->total_slots);
    cli_json_count("queue_depth", counters->queue_depth);
    cli_json_count("gpu_idle_slots", counters->gpu_idle_slots);
    cli_json_count("gpu_idle_ppm", counters->gpu_idle_ppm);
    cli_json_count("frontier_density_bps", counters->frontier_density_bps);
    cli_json_count("occupancy_proxy_bps", counters->occupancy_proxy_bps);
    cli_json_count("drained_slots", counters->drained_slots);
    cli_json_count("unreclaimed_done_slots", counters->unreclaimed_done_slots);
    cli_json_count("tenant_fairness_total", counters->tenant_fairness_total);
    cli_json_count("tenant_fairness_skew", counters->tenant_fairness_skew);
    cli_json_count("priority_fairness_total", counters->priority_fairness_total);
    cli_json_count("requeue_slots", counters->requeue_slots);
    cli_json_count("fault_slots", counters->fault_slots);
    cli_json_close('{');
}

static void put_health(const vyre_health *health)
{
    cli_json_open("health", '{');
    cli_json_count("done_delta", health->done_delta);
    cli_json_count("queue_depth", health->queue_depth);
    cli_json_count("fault_slots", health->fault_slots);
    cli_json_count("requeue_slots", health->requeue_slots);
    cli_json_count("gpu_idle_ppm", health->gpu_idle_ppm);
    cli_json_flag("suspected_stall", health->suspected_stall != 0);
    cli_json_close('{');
}

void snapshot_json(const struct snapshot_job *job)
{
    const vyre_snapshot *snapshot = &job->now.snapshot;

    cli_json_begin("snapshot");
    put_control(&snapshot->control);
    put_occupancy(&snapshot->occupancy);
    put_slots(snapshot);
    put_windows(snapshot);
    put_counters(&job->counters);
    if (job->has_health) put_health(&job->health);
    cli_json_end();
}

void snapshot_json_error(const char *path, const vyre_error *err)
{
    char at[48];

    cli_json_begin("error");
    cli_json_text("file", path);
    cli_json_text("status", vyre_status_name(err->status));
    cli_place_text(err, at);
    cli_json_text("at", at[0] != '\0' ? at : NULL);
    cli_json_text("message", err->message);
    cli_json_text("fix", err->fix);
    cli_json_end();
}
