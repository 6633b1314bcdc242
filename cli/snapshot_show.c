/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A snapshot for people: a picture of the ring, a character a slot or a few slots; how many slots
 * are in which state; windows as a table; what the control buffer counts. Fits 80 columns unless
 * the numbers themselves do not.
 */
#include "snapshot.h"

#include <string.h>

#define CELLS_A_ROW  64u
#define MOST_CELLS   1024u
#define BAR_WIDTH    32u
#define MOST_WINDOWS 48u

/* How each state is drawn; a cell of mixed states has the small letter of the most frequent one. */
static const struct {
    char letter, mixed;
    enum cli_tone tone;
} looks[SNAPSHOT_STATES] = {
    {'.', ':', CLI_TONE_QUIET}, {'P', 'p', CLI_TONE_OFF},  {'C', 'c', CLI_TONE_GOOD},
    {'D', 'd', CLI_TONE_QUIET}, {'W', 'w', CLI_TONE_WARN}, {'Y', 'y', CLI_TONE_WARN},
    {'Q', 'q', CLI_TONE_WARN},  {'F', 'F', CLI_TONE_BAD},  {'?', '?', CLI_TONE_BAD},
};

uint32_t snapshot_state_count(const vyre_occupancy *occupancy, uint32_t state)
{
    const uint32_t counts[SNAPSHOT_STATES] = {
        occupancy->empty,   occupancy->published, occupancy->claimed,
        occupancy->done,    occupancy->wait_io,   occupancy->yield,
        occupancy->requeue, occupancy->fault,     occupancy->unknown,
    };

    return counts[state];
}

static void title(const char *text)
{
    printf("\n%s%s%s\n", cli_tone(stdout, CLI_TONE_TITLE), text, cli_tone(stdout, CLI_TONE_OFF));
}

/* The picture.
 * ------------------------------------------------------------------------------------------- */

/* The state that a cell shows: what is wrong before all, else the most frequent. */
static uint32_t cell_state(const vyre_snapshot_slot *slots, uint32_t count, int *mixed)
{
    uint32_t counts[SNAPSHOT_STATES] = {0}, state = 0;

    for (uint32_t i = 0; i < count; i++)
        counts[slots[i].status < SNAPSHOT_STATES ? slots[i].status : SNAPSHOT_STATES - 1]++;
    for (uint32_t i = 1; i < SNAPSHOT_STATES; i++)
        if (counts[i] > counts[state]) state = i;
    if (counts[VYRE_SLOT_FAULT] > 0) state = VYRE_SLOT_FAULT;
    if (counts[SNAPSHOT_STATES - 1] > 0) state = SNAPSHOT_STATES - 1;
    *mixed = counts[state] < count;
    return state;
}

static void show_row(const vyre_snapshot *snapshot, uint32_t first, uint32_t slots_a_cell)
{
    enum cli_tone tone = CLI_TONE_OFF;

    printf("%9u  ", first);
    for (uint32_t cell = 0; cell < CELLS_A_ROW && first < snapshot->slot_count; cell++) {
        uint32_t left = snapshot->slot_count - first;
        int mixed;
        uint32_t state =
            cell_state(snapshot->slots + first, left < slots_a_cell ? left : slots_a_cell, &mixed);
        if (looks[state].tone != tone) {
            if (tone != CLI_TONE_OFF) fputs(cli_tone(stdout, CLI_TONE_OFF), stdout);
            tone = looks[state].tone;
            if (tone != CLI_TONE_OFF) fputs(cli_tone(stdout, tone), stdout);
        }
        putchar(mixed ? looks[state].mixed : looks[state].letter);
        first += left < slots_a_cell ? left : slots_a_cell;
    }
    printf("%s\n", tone == CLI_TONE_OFF ? "" : cli_tone(stdout, CLI_TONE_OFF));
}

static void show_picture(const vyre_snapshot *snapshot)
{
    uint32_t slots_a_cell = 1;

    if (snapshot->slot_count == 0) return;
    while (snapshot->slot_count / slots_a_cell > MOST_CELLS)
        slots_a_cell *= 2;
    if (slots_a_cell == 1) {
        title("ring, a character a slot");
    } else {
        char text[64];
        snprintf(text, sizeof text, "ring, %u slots a character", slots_a_cell);
        title(text);
    }
    for (uint32_t first = 0; first < snapshot->slot_count; first += CELLS_A_ROW * slots_a_cell)
        show_row(snapshot, first, slots_a_cell);
    if (slots_a_cell > 1)
        printf("           %ssmall letters and `:` most of these slots, F and ? any of them%s\n",
               cli_tone(stdout, CLI_TONE_QUIET), cli_tone(stdout, CLI_TONE_OFF));
}

static void show_states(const vyre_snapshot *snapshot)
{
    uint32_t total = vyre_occupancy_total(&snapshot->occupancy);

    title("states");
    for (uint32_t state = 0; state < SNAPSHOT_STATES; state++) {
        uint32_t count = snapshot_state_count(&snapshot->occupancy, state);
        if (count == 0) continue;
        /* What is there is seen, however little. */
        uint32_t width = (uint32_t)(((uint64_t)count * BAR_WIDTH + total - 1) / total);
        double share = 100.0 * count / total;
        printf("  %s%c%s  %-9s %10u  %s%.1f %%  %s", cli_tone(stdout, looks[state].tone),
               looks[state].letter, cli_tone(stdout, CLI_TONE_OFF), vyre_slot_status_name(state),
               count,
               share < 0.1     ? " <"
               : share < 9.95  ? "  "
               : share < 99.95 ? " "
                               : "",
               share < 0.1 ? 0.1 : share, cli_tone(stdout, looks[state].tone));
        for (uint32_t i = 0; i < width; i++)
            putchar('#');
        printf("%s\n", cli_tone(stdout, CLI_TONE_OFF));
    }
    if (total == 0) puts("  no slots");
}

/* Windows.
 * ------------------------------------------------------------------------------------------- */

#define COLUMNS 12u

static const char *const heads[COLUMNS] = {"ticket", "opcode", "tenant", "req",   "look", "pub",
                                           "claim",  "done",   "io",     "yield", "requ", "fault"};

static void window_values(const vyre_snapshot_window *window, uint32_t values[COLUMNS])
{
    const uint32_t in_order[COLUMNS] = {window->ticket,   window->opcode,    window->tenant,
                                        window->required, window->lookahead, window->published,
                                        window->claimed,  window->done,      window->wait_io,
                                        window->yield,    window->requeue,   window->fault};

    memcpy(values, in_order, sizeof in_order);
}

/* A count of 0 is a dash; the first three are names, not counts. */
static const char *value_text(uint32_t column, uint32_t value, char text[16])
{
    snprintf(text, 16, column >= 3 && value == 0 ? "-" : "%u", value);
    return text;
}

static void show_windows(const vyre_snapshot *snapshot)
{
    uint32_t rows = snapshot->window_count < MOST_WINDOWS ? snapshot->window_count : MOST_WINDOWS;
    uint32_t values[COLUMNS], active = 0;
    int widths[COLUMNS];
    char text[16];

    title("windows");
    if (rows == 0) {
        puts("  none: no slot has one of these opcodes");
        return;
    }
    for (uint32_t column = 0; column < COLUMNS; column++)
        widths[column] = (int)strlen(heads[column]);
    for (uint32_t row = 0; row < rows; row++) {
        window_values(&snapshot->windows[row], values);
        for (uint32_t column = 0; column < COLUMNS; column++) {
            int width = (int)strlen(value_text(column, values[column], text));
            if (width > widths[column]) widths[column] = width;
        }
    }
    putchar(' ');
    for (uint32_t column = 0; column < COLUMNS; column++)
        printf(" %s%*s%s", cli_tone(stdout, CLI_TONE_QUIET), widths[column], heads[column],
               cli_tone(stdout, CLI_TONE_OFF));
    putchar('\n');
    for (uint32_t row = 0; row < rows; row++) {
        window_values(&snapshot->windows[row], values);
        putchar(' ');
        for (uint32_t column = 0; column < COLUMNS; column++)
            printf(" %*s", widths[column], value_text(column, values[column], text));
        printf("%s\n", snapshot->windows[row].active ? "  active" : "");
    }
    for (uint32_t row = rows; row < snapshot->window_count; row++)
        active += snapshot->windows[row].active;
    if (rows < snapshot->window_count)
        printf("  and %u more, %u of them active; --json lists all\n",
               snapshot->window_count - rows, active);
}

/* Numbers.
 * ------------------------------------------------------------------------------------------- */

static void label(const char *name)
{
    printf("  %s%-12s%s", cli_tone(stdout, CLI_TONE_QUIET), name, cli_tone(stdout, CLI_TONE_OFF));
}

static const char *slots_text(uint32_t count, char text[32])
{
    snprintf(text, 32, "%u slot%s", count, count == 1 ? "" : "s");
    return text;
}

static void show_claims(const vyre_snapshot_control *control, const vyre_counters *counters)
{
    label("tenants");
    if (counters->tenant_fairness_total == 0)
        puts("no claims counted");
    else
        printf("%llu claims; %u between the most and the least of a tenant\n",
               (unsigned long long)counters->tenant_fairness_total, counters->tenant_fairness_skew);
    label("priorities");
    if (counters->priority_fairness_total == 0) {
        puts("no claims counted");
        return;
    }
    for (uint32_t i = 0; i < VYRE_PRIORITIES; i++)
        printf("%s%u", i > 0 ? ", " : "", control->priority_fairness[i]);
    puts(" claims, from critical to idle");
}

static void show_control(const vyre_snapshot_control *control, const vyre_counters *counters)
{
    char text[32];

    title("control");
    label("executed");
    printf("%s", slots_text(control->done_count, text));
    printf("; %s done and not used again\n", slots_text(counters->unreclaimed_done_slots, text));
    label("epoch");
    printf("%u%s\n", control->epoch, control->shutdown ? "; shutdown is asked for" : "");
    label("queue");
    printf("%s of %u neither empty nor done (%.1f %%)\n", slots_text(counters->queue_depth, text),
           counters->total_slots, counters->frontier_density_bps / 100.0);
    show_claims(control, counters);
    if (control->metric_count == 0) return;
    label("opcodes");
    for (uint32_t i = 0; i < control->metric_count; i++)
        printf("%s%u: %u",
               i == 0       ? ""
               : i % 5 == 0 ? ",\n              "
                            : ", ",
               control->metrics[i].opcode, control->metrics[i].count);
    puts(" runs");
}

static void show_health(const vyre_health *health)
{
    char text[32];

    title("since the previous moment");
    label("executed");
    printf("%s%s\n", slots_text(health->done_delta, text),
           health->suspected_stall ? ", though some wait: a stall is suspected" : "");
}

void snapshot_show(const struct snapshot_job *job)
{
    const vyre_snapshot *snapshot = &job->now.snapshot;
    char text[32];

    printf("%s, %u of them active\n", slots_text(snapshot->slot_count, text),
           snapshot->occupancy.published + snapshot->occupancy.claimed +
               snapshot->occupancy.wait_io + snapshot->occupancy.yield +
               snapshot->occupancy.requeue);
    show_picture(snapshot);
    show_states(snapshot);
    if (job->opcode_count > 0) show_windows(snapshot);
    show_control(&snapshot->control, &job->counters);
    if (job->has_health) show_health(&job->health);
    snapshot_show_wrong(job);
}
