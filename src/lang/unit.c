/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The unit's memory, names and diagnostics. Diagnostics are kept until the end and reported in the
 * order of the source, because the stages find them in another one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lang/ast.h"

#define CHUNK_BYTES 16384u

struct lang_chunk {
    struct lang_chunk *next;
    size_t room; /* all of it */
    size_t used;
};

static const struct {
    uint32_t number;
    bool warning;
} rows[] = {
#define ERROR                                         false
#define WARNING                                       true
#define LANG_DIAGNOSTIC(number, name, severity, text) {number, severity},
#include "lang/diagnostics.def"
#undef ERROR
#undef WARNING
};

void vyre_lang_leave(struct lang_unit *unit, vyre_status status)
{
    unit->status = status;
    longjmp(unit->leave, 1);
}

static struct lang_chunk *add_chunk(struct lang_unit *unit, size_t bytes)
{
    size_t room = sizeof(struct lang_chunk) + (bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
    void *memory;
    vyre_status status =
        vyre_memory_alloc(unit->memory, 1, room, "source tree", &memory, unit->err);
    if (status) vyre_lang_leave(unit, status);
    struct lang_chunk *chunk = memory;
    chunk->room = room;
    chunk->used = sizeof *chunk;
    chunk->next = unit->chunks;
    unit->chunks = chunk;
    return chunk;
}

void *vyre_lang_alloc(struct lang_unit *unit, size_t count, size_t size)
{
    /* A source is bounded, and so is what is made of it: no product here overflows. */
    size_t bytes = (count * size + 15u) & ~(size_t)15u;
    struct lang_chunk *chunk = unit->chunks;
    if (!chunk || chunk->room - chunk->used < bytes) chunk = add_chunk(unit, bytes);
    void *made = (char *)chunk + chunk->used;
    chunk->used += bytes;
    return made;
}

void vyre_lang_unit_free(struct lang_unit *unit)
{
    while (unit->chunks) {
        struct lang_chunk *chunk = unit->chunks;
        unit->chunks = chunk->next;
        vyre_memory_free(unit->memory, chunk, chunk->room);
    }
    vyre_ir_program_free(unit->tree);
    unit->tree = NULL;
}

static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static void grow_names(struct lang_unit *unit)
{
    uint32_t slots = unit->name_slots ? unit->name_slots * 4u : 256u;
    struct lang_name **table = vyre_lang_alloc(unit, slots, sizeof *table);
    for (uint32_t i = 0; i < unit->name_slots; i++) {
        while (unit->names[i]) {
            struct lang_name *name = unit->names[i];
            unit->names[i] = name->chain;
            name->chain = table[name->hash & (slots - 1u)];
            table[name->hash & (slots - 1u)] = name;
        }
    }
    unit->names = table;
    unit->name_slots = slots;
}

struct lang_name *vyre_lang_intern(struct lang_unit *unit, const char *text, size_t length)
{
    uint32_t hash = hash_of(text, length);
    if (unit->name_count >= unit->name_slots) grow_names(unit);
    struct lang_name **slot = &unit->names[hash & (unit->name_slots - 1u)];
    for (struct lang_name *name = *slot; name; name = name->chain)
        if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0)
            return name;
    struct lang_name *name = vyre_lang_alloc(unit, 1, sizeof *name + length + 1);
    memcpy(name->text, text, length);
    name->length = (uint32_t)length;
    name->hash = hash;
    name->chain = *slot;
    *slot = name;
    unit->name_count++;
    return name;
}

const char *vyre_lang_text(struct lang_unit *unit, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t kept = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    char *made = vyre_lang_alloc(unit, kept + 1, 1);
    memcpy(made, text, kept);
    return made;
}

bool vyre_lang_is_warning(uint32_t number)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].number == number) return rows[i].warning;
    return false;
}

const char *vyre_lang_diagnostic_code(uint32_t number, char text[8])
{
    snprintf(text, 8, "L%03u", (unsigned)(number % 1000u));
    return text;
}

void vyre_lang_say(struct lang_unit *unit, enum lang_diagnostic_number number,
                   struct lang_span span, const char *message, const char *fix)
{
    bool warning = vyre_lang_is_warning(number);
    if (warning && unit->warnings++ >= LANG_MOST_WARNINGS) return;
    if (!warning && unit->errors++ >= LANG_MOST_ERRORS)
        vyre_lang_leave(unit, VYRE_E_SOURCE); /* more would help nobody */
    struct lang_said *said = vyre_lang_alloc(unit, 1, sizeof *said);
    said->number = number;
    said->span = span;
    said->message = message;
    said->fix = fix;
    struct lang_said **place = &unit->said;
    /* Most come in order, or nearly so, and there are never many. */
    while (*place && (*place)->span.at <= span.at)
        place = &(*place)->next;
    said->next = *place;
    *place = said;
}

void vyre_lang_give_up(struct lang_unit *unit, struct lang_span span, const char *message,
                       const char *fix)
{
    vyre_lang_say(unit, LANG_D_LIMIT, span, message, fix);
    vyre_lang_leave(unit, VYRE_E_SOURCE);
}

struct lang_span vyre_lang_join(struct lang_span a, struct lang_span b)
{
    uint32_t from = a.at < b.at ? a.at : b.at;
    uint32_t a_end = a.at + a.length, b_end = b.at + b.length;
    return (struct lang_span){from, (a_end > b_end ? a_end : b_end) - from};
}
