/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * "Did you mean": the name that takes the fewest edits from one that nothing declares. A guess is
 * made only where it is likely, for a wrong one is worse than none.
 */
#include <string.h>

#include "lang/ast.h"

enum { LONGEST = 40 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Letters that are dropped, put in, changed, or swapped with their neighbour. */
static uint32_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    uint32_t table[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        table[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= a_length; i++) {
        uint32_t *row = table[i % 3], *above = table[(i + 2) % 3], *before = table[(i + 1) % 3];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_length; j++) {
            uint32_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(change, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return table[a_length % 3][b_length];
}

void vyre_lang_offer(struct lang_guess *guess, const char *name)
{
    size_t length = strlen(guess->typed), other = strlen(name);
    if (length < 2 || length > LONGEST || other > LONGEST) return;
    uint32_t edits = distance(guess->typed, length, name, other);
    uint32_t most = length < 4 ? 1 : (uint32_t)(length + 1) / 3;
    if (edits == 0 || edits > most || other < 2) return;
    if (guess->best && edits >= guess->edits) return;
    guess->best = name;
    guess->edits = edits;
}

static bool offered(const struct lang_symbol *symbol, bool callable)
{
    return symbol && (symbol->kind == LANG_SYMBOL_FUNCTION) == callable &&
           !(symbol->kind == LANG_SYMBOL_FUNCTION && symbol->function->kernel);
}

const char *vyre_lang_guess_value(struct lang_unit *unit, const char *typed, bool callable)
{
    static const char *const ids[] = {"global_id", "local_id", "group_id", "group_size",
                                      "local_index"};
    struct lang_guess guess = {typed, NULL, 0};
    /* Each looks at every name; who has that many mistakes does not read the last ones. */
    if (unit->guesses++ >= LANG_MOST_GUESSES) return NULL;
    for (uint32_t i = 0; i < unit->name_slots; i++)
        for (const struct lang_name *name = unit->names[i]; name; name = name->chain)
            if (offered(name->symbol, callable)) vyre_lang_offer(&guess, name->text);
    if (callable)
        for (uint32_t i = 0; i < vyre_lang_builtin_count; i++)
            vyre_lang_offer(&guess, vyre_lang_builtins[i].name);
    else
        for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
            vyre_lang_offer(&guess, ids[i]);
    return guess.best;
}
