/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A chapter of `vyre demo`: counting a pattern in a text by DFA_STEP slots, and again by a plain
 * loop.
 *
 * The automaton counts while it matches. It is the pattern's own automaton, COPIES times over; each
 * match leads from one copy into the next, so the copy in which a run ends is the number of its
 * matches. The last copy keeps what comes after: a run that ends there may have had more, and its
 * piece of the text is cut in two and sent again with the next wave. A piece is the positions at
 * which a match may begin; its slot also reads the bytes that a match at its last position needs.
 */
#include "demo.h"

#include <stdlib.h>
#include <string.h>

enum { META = 5, BYTES = 256, COPIES = 64, LONGEST = 64, PIECE = 16384 };

struct automaton {
    uint32_t length;  /* of the pattern; states of one copy are 0..length */
    uint32_t classes; /* class 0: bytes that are not in the pattern */
    uint32_t class_of[BYTES];
    uint32_t next[LONGEST + 1][LONGEST + 1]; /* [state][class] of one copy */
};

struct piece {
    uint64_t first, end;
};

struct search {
    struct automaton automaton;
    vyre_buffer *table;
    struct piece *pieces; /* still to be sent, last in first out */
    size_t waiting, room;
    struct piece *wave; /* sent together, in the order of their tickets */
    uint64_t slots, resent, matches;
    uint64_t first_match; /* where it ends; UINT64_MAX where there is none */
};

/* One copy. On a byte that does not go on, the automaton is where the longest proper beginning of
 * the pattern that ends here would be, `border`. */
static void automaton_make(struct automaton *automaton, const char *pattern)
{
    const unsigned char *bytes = (const unsigned char *)pattern;
    uint32_t border = 0;

    memset(automaton, 0, sizeof *automaton);
    automaton->length = (uint32_t)strlen(pattern);
    automaton->classes = 1;
    for (uint32_t i = 0; i < automaton->length; i++)
        if (automaton->class_of[bytes[i]] == 0)
            automaton->class_of[bytes[i]] = automaton->classes++;
    for (uint32_t state = 0; state <= automaton->length; state++) {
        for (uint32_t class_id = 0; class_id < automaton->classes; class_id++)
            automaton->next[state][class_id] = state == 0 ? 0 : automaton->next[border][class_id];
        if (state == automaton->length) break;
        uint32_t class_id = automaton->class_of[bytes[state]];
        uint32_t next_border = state == 0 ? 0 : automaton->next[border][class_id];
        automaton->next[state][class_id] = state + 1;
        border = next_border;
    }
}

/* Writes all copies in the layout of docs/builtins.md: five meta words, transitions, accept words,
 * class map. */
static int table_write(struct tour *tour, struct search *search)
{
    const struct automaton *automaton = &search->automaton;
    uint32_t per_copy = automaton->length + 1, states = per_copy * COPIES;
    uint32_t transitions = META, accept = transitions + states * automaton->classes;
    uint32_t class_map = accept + states, words = class_map + BYTES;
    uint32_t *table = calloc(words, sizeof *table);

    if (table == NULL) {
        cli_complain("no memory for the automaton", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    const uint32_t meta[META] = {transitions, accept, states, class_map, automaton->classes};
    memcpy(table, meta, sizeof meta);
    for (uint32_t state = 0; state < states; state++) {
        uint32_t copy = state / per_copy;
        for (uint32_t class_id = 0; class_id < automaton->classes; class_id++) {
            uint32_t next = automaton->next[state % per_copy][class_id];
            uint32_t to = next == automaton->length && copy + 1 < COPIES ? copy + 1 : copy;
            table[transitions + state * automaton->classes + class_id] = to * per_copy + next;
        }
        table[accept + state] = copy > 0;
    }
    memcpy(&table[class_map], automaton->class_of, sizeof automaton->class_of);
    size_t bytes = words * sizeof *table;
    vyre_status status =
        vyre_buffer_create(tour->runtime, bytes, VYRE_DEVICE, &search->table, &tour->err);
    if (status == VYRE_OK) status = vyre_buffer_write(search->table, 0, table, bytes, &tour->err);
    free(table);
    TOUR_TRY(tour, status, "cannot make the automaton's buffer");
    return CLI_EXIT_DONE;
}

static int prepare_piece(struct tour *tour, const struct search *search, const struct piece *piece)
{
    uint64_t last = piece->end + search->automaton.length - 1;
    vyre_dfa_step step = {
        .table = vyre_buffer_handle(search->table),
        .input = vyre_buffer_handle(tour->text_buffer),
        .offset = piece->first,
    };

    if (last > tour->text_bytes) last = tour->text_bytes;
    step.length = (uint32_t)(last - piece->first);
    TOUR_PREP(tour, tour->queue, vyre_prep_dfa_step, &step);
    return CLI_EXIT_DONE;
}

/* Sends as many pieces as the queue holds. *ticket is that of the first. */
static int send_wave(struct tour *tour, struct search *search, uint64_t *ticket, uint32_t *count)
{
    uint64_t next = 0;

    *count = 0;
    while (search->waiting > 0 && *count < TOUR_QUEUE_SLOTS) {
        search->wave[*count] = search->pieces[--search->waiting];
        TOUR_STEP(prepare_piece(tour, search, &search->wave[*count]));
        /* Workers begin while the rest is prepared. */
        if (*count % 32 == 0 || search->waiting == 0)
            TOUR_STEP(tour_submit(tour, tour->queue, &next));
        if (*count == 0) *ticket = next;
        ++*count;
    }
    search->slots += *count;
    return tour_submit(tour, tour->queue, NULL);
}

static int push_piece(struct search *search, uint64_t first, uint64_t end)
{
    if (search->waiting == search->room) {
        size_t room = search->room == 0 ? 1024 : 2 * search->room;
        struct piece *pieces = realloc(search->pieces, room * sizeof *pieces);
        if (pieces == NULL) {
            cli_complain("no memory for the list of pieces", NULL, NULL);
            return CLI_EXIT_ENVIRONMENT;
        }
        search->pieces = pieces;
        search->room = room;
    }
    search->pieces[search->waiting++] = (struct piece){first, end};
    return CLI_EXIT_DONE;
}

static int take_result(struct search *search, struct piece piece, const vyre_completion *end)
{
    uint32_t count = end->result[0] / (search->automaton.length + 1);
    uint64_t match = (uint64_t)end->result[3] << 32 | end->result[2];

    if (end->result[1] != 0 && match < search->first_match) search->first_match = match;
    if (count + 1 < COPIES || piece.end - piece.first < 2) {
        search->matches += count;
        return CLI_EXIT_DONE;
    }
    uint64_t middle = piece.first + (piece.end - piece.first) / 2;
    search->resent++;
    TOUR_STEP(push_piece(search, middle, piece.end));
    return push_piece(search, piece.first, middle);
}

static int search_run(struct tour *tour, struct search *search)
{
    while (search->waiting > 0) {
        uint64_t ticket = 0;
        uint32_t count = 0;
        TOUR_STEP(send_wave(tour, search, &ticket, &count));
        for (uint32_t i = 0; i < count; i++) {
            vyre_completion end;
            char text[48];
            TOUR_STEP(tour_wait(tour, tour->queue, ticket + i, &end));
            if (end.outcome == VYRE_DONE)
                TOUR_STEP(take_result(search, search->wave[i], &end));
            else
                tour_check(tour, "piece", 0, "ended as %s", tour_end_text(&end, text));
        }
    }
    return CLI_EXIT_DONE;
}

/* The same without vyre: overlapping matches, and where the first one ends. */
static uint64_t plain_search(const struct tour *tour, uint64_t *first_match)
{
    size_t len = strlen(tour->pattern);
    const char *at = tour->text, *end = tour->text + tour->text_bytes;
    uint64_t count = 0;

    *first_match = UINT64_MAX;
    while ((size_t)(end - at) >= len &&
           (at = memchr(at, tour->pattern[0], (size_t)(end - at) - len + 1)) != NULL) {
        if (memcmp(at, tour->pattern, len) == 0) {
            if (count++ == 0) *first_match = (uint64_t)(at - tour->text) + len;
        }
        at++;
    }
    return count;
}

static void tell(struct tour *tour, const struct search *search, double seconds)
{
    char size[32], rate[32], states[32];
    uint64_t plain_first, plain = plain_search(tour, &plain_first);
    double per_second = seconds > 0 ? (double)tour->text_bytes / seconds : 0;

    cli_format_bytes((double)tour->text_bytes, size, sizeof size);
    tour_fact(tour, "text", "%s %s in a pinned buffer", size,
              tour->args->file != NULL ? "of the file" : "of generated words");
    tour_fact(tour, "automaton", "%u states, %u classes, %s",
              (search->automaton.length + 1) * COPIES, search->automaton.classes,
              cli_format_bytes((double)vyre_buffer_size(search->table), states, sizeof states));
    tour_number(tour, "bytes", (double)tour->text_bytes);
    tour_number(tour, "bytes_per_second", per_second);
    tour_number(tour, "slots", (double)search->slots);
    tour_fact(tour, "scan", "%llu slot%s, %llu of them cut in two; %s/s",
              (unsigned long long)search->slots, cli_plural(search->slots),
              (unsigned long long)search->resent, cli_format_bytes(per_second, rate, sizeof rate));
    tour_number(tour, "matches", (double)search->matches);
    tour_check(tour, "matches", search->matches == plain,
               "`%s` occurs %llu time%s; a plain loop counts %llu", tour->pattern,
               (unsigned long long)search->matches, cli_plural(search->matches),
               (unsigned long long)plain);
    if (plain > 0)
        tour_check(tour, "first match", search->first_match == plain_first,
                   "ends before byte %llu; a plain loop says %llu",
                   (unsigned long long)search->first_match, (unsigned long long)plain_first);
}

static int search_text(struct tour *tour, struct search *search)
{
    search->first_match = UINT64_MAX;
    automaton_make(&search->automaton, tour->pattern);
    TOUR_STEP(table_write(tour, search));
    for (uint64_t at = 0; at < tour->text_bytes; at += PIECE) {
        uint64_t end = at + PIECE < tour->text_bytes ? at + PIECE : tour->text_bytes;
        TOUR_STEP(push_piece(search, at, end));
    }
    uint64_t start_ns = tour_now_ns();
    TOUR_STEP(search_run(tour, search));
    tell(tour, search, (double)(tour_now_ns() - start_ns) / 1e9);
    vyre_buffer_free(search->table);
    vyre_buffer_free(tour->text_buffer);
    return CLI_EXIT_DONE;
}

int tour_search(struct tour *tour)
{
    int code = CLI_EXIT_ENVIRONMENT;

    TOUR_STEP(tour_text_load(tour));
    struct search *search = calloc(1, sizeof *search);
    if (search != NULL) search->wave = calloc(TOUR_QUEUE_SLOTS, sizeof *search->wave);
    if (search != NULL && search->wave != NULL)
        code = search_text(tour, search);
    else
        cli_complain("no memory for the search", NULL, NULL);
    if (search != NULL) {
        free(search->pieces);
        free(search->wave);
    }
    free(search);
    return code;
}
