/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a number is worth, or what is wrong with it. One that cannot be read becomes LANG_E_WRONG.
 */
#include <string.h>

#include "lang/ast.h"

static void bad_number(struct lang_unit *unit, struct lang_expr *expr, const char *message,
                       const char *fix)
{
    /* `3x` was declared, and complained of. */
    struct lang_name *name =
        vyre_lang_intern(unit, unit->request->text + expr->span.at, expr->span.length);
    if (!name->told) vyre_lang_say(unit, LANG_D_NUMBER, expr->span, message, fix);
    expr->kind = LANG_E_WRONG;
}

/* What C's suffixes say is said otherwise, or not at all. */
static const char *number_fix(const char *text, uint32_t length, uint32_t digits)
{
    bool suffix = digits < length;
    for (uint32_t i = digits; i < length; i++)
        suffix = suffix && text[i] && strchr("uUlL", text[i]);
    if (!suffix || digits == 0)
        return "write 12, 0x1F, 0b101, 1.5 or 1e-3, with u or i behind an integer if its type "
               "matters";
    for (uint32_t i = digits; i < length; i++)
        if ((text[i] | 0x20) == 'l') return "remove the suffix; an integer has 32 bits";
    return "write the suffix as u";
}

static uint32_t digit_of(char c)
{
    if (c >= '0' && c <= '9') return (uint32_t)(c - '0');
    if (c >= 'a' && c <= 'f') return (uint32_t)(c - 'a') + 10u;
    if (c >= 'A' && c <= 'F') return (uint32_t)(c - 'A') + 10u;
    return 99u;
}

void vyre_lang_integer(struct lang_unit *unit, struct lang_expr *expr, struct lang_token token)
{
    const char *text = unit->request->text + token.at;
    uint32_t length = token.length, base = 10, i = 0, digits = 0;
    uint64_t value = 0;
    if (length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') base = 16;
    if (length > 2 && text[0] == '0' && (text[1] | 0x20) == 'b') base = 2;
    if (base != 10) i = 2;
    expr->open = true;
    for (; i < length; i++) {
        uint32_t digit = digit_of(text[i]);
        if (text[i] == '_' && digits > 0) continue;
        if (digit >= base) break;
        digits++;
        value = value > 0xFFFFFFFFu ? value : value * base + digit;
    }
    if (i + 1 == length && digits > 0 && (text[i] == 'u' || text[i] == 'i')) {
        expr->open = false;
        expr->type = text[i] == 'u' ? LANG_TYPE_U32 : LANG_TYPE_I32;
        i++;
    }
    if (i != length || digits == 0)
        bad_number(
            unit, expr,
            vyre_lang_text(unit, "`%.*s` is no number", (int)(length > 40 ? 40 : length), text),
            number_fix(text, length, digits ? i : 0));
    else if (value > 0xFFFFFFFFu)
        bad_number(unit, expr,
                   vyre_lang_text(unit, "%.*s is greater than 4294967295, the greatest u32",
                                  (int)(length > 40 ? 40 : length), text),
                   "use a smaller number, or an f32 such as 1e10");
    else if (digits > 1 && base == 10 && text[0] == '0')
        bad_number(unit, expr, "a number that begins with 0 is octal in C and nothing here",
                   "remove the 0, or write it with 0x");
    expr->value = (uint32_t)value;
}

void vyre_lang_decimal(struct lang_unit *unit, struct lang_expr *expr, struct lang_token token)
{
    const char *text = unit->request->text + token.at;
    char copy[96];
    uint32_t length = 0, digits = 0, dots = 0, i = 0;
    for (; i < token.length && (digit_of(text[i]) < 10 || text[i] == '.' || text[i] == '_'); i++) {
        dots += text[i] == '.';
        digits += text[i] != '.' && text[i] != '_';
        if (text[i] != '_' && length < sizeof copy - 16) copy[length++] = text[i];
    }
    bool fits = length < sizeof copy - 16;
    if (i < token.length && (text[i] | 0x20) == 'e') {
        uint32_t from = i;
        copy[length++] = text[i++];
        if (i < token.length && (text[i] == '-' || text[i] == '+')) copy[length++] = text[i++];
        for (; i < token.length && digit_of(text[i]) < 10 && i - from < 8; i++)
            copy[length++] = text[i];
        if (digit_of(copy[length - 1]) >= 10) digits = 0;
    }
    copy[length] = '\0';
    if (i + 1 == token.length && (text[i] | 0x20) == 'f') i++;
    expr->type = LANG_TYPE_F32;
    if (i != token.length || digits == 0 || dots > 1 || !fits)
        bad_number(unit, expr,
                   vyre_lang_text(unit, "`%.*s` is no number",
                                  (int)(token.length > 40 ? 40 : token.length), text),
                   fits ? "write 1.5, 1e-3 or 0.5f"
                        : "write fewer digits; an f32 has 9 that count");
    else if (!vyre_lang_parse_float(copy, &expr->value))
        bad_number(unit, expr, "the number is greater than every f32", "use one below 3.4e38");
}
