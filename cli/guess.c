/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * "Did you mean": the edit distance between a word that was typed and the names that exist. A
 * guess is made only where it is likely: few edits for the length of the word, or a beginning of
 * the name. Called by the parser.
 */
#include "parse.h"

#include <string.h>

enum { LONGEST = 31 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, drop, change, swap two neighbours) that make one word of the other. Both are at
 * most LONGEST bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    size_t a_len = strlen(a), b_len = strlen(b);
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(change, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[b_len];
}

void cli_guess_offer(struct cli_guess *guess, const char *typed, const char *name)
{
    const char *bare_typed = typed + strspn(typed, "-");
    const char *bare_name = name + strspn(name, "-");
    size_t len = strlen(bare_typed);

    if (len == 0 || len > LONGEST || strlen(bare_name) > LONGEST) return;
    size_t edits = distance(bare_typed, bare_name);
    int beginning = len >= 2 && strncmp(bare_typed, bare_name, len) == 0;
    if (beginning && edits > 1) edits = 1;
    /* Another letter in a word of three makes another word, `gpu` is no misspelt `cpu`; only one
     * that is missing, as in `jsn`, is likely. */
    size_t most = len >= 4 ? (len + 1) / 3 : len == 3 && strlen(bare_name) == 4;
    if (!beginning && edits > most) return;
    if (guess->name == NULL || edits < guess->distance) {
        guess->name = name;
        guess->distance = edits;
    }
}
