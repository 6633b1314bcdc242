/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Decimal literals: against the C library's reader, in its default mode, over random digits and at
 * the borders; and that the mode of the caller changes nothing.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/ast.h"
#include "tap.h"

static uint64_t seed = 0x9E3779B97F4A7C15u;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* What VIR0 makes of it: no subnormals. */
static uint32_t expected(const char *text, bool *finite)
{
    float value = strtof(text, NULL);
    *finite = !isinf(value);
    return vyre_lang_bits(value);
}

static bool agrees(const char *text)
{
    bool finite;
    uint32_t want = expected(text, &finite), got = 0;
    bool fits = vyre_lang_parse_float(text, &got);
    if (fits == finite && (!fits || got == want)) return true;
    note("%s: got 0x%08x (%d), expected 0x%08x (%d)", text, got, fits, want, finite);
    return false;
}

static void random_ones(void)
{
    bool same = true;
    for (uint32_t k = 0; k < 200000 && same; k++) {
        char text[128];
        uint32_t length = 0, digits = 1 + draw(draw(8) == 0 ? 70 : 12), dot = draw(digits + 1);
        for (uint32_t i = 0; i < digits; i++) {
            if (i == dot) text[length++] = '.';
            text[length++] = (char)('0' + draw(10));
        }
        if (draw(2)) length += (uint32_t)snprintf(text + length, 16, "e%d", (int)draw(110) - 60);
        text[length] = '\0';
        same = agrees(text);
    }
    ok(same, "200,000 random numbers are what strtof makes of them");
    /* Halfway between two floats, written out in full, and one digit more or less. */
    for (uint32_t k = 0; k < 20000 && same; k++) {
        char text[128];
        uint32_t bits = 0x0A000000u + draw(0x6A000000u);
        double middle = ((double)vyre_lang_float(bits) + (double)vyre_lang_float(bits + 1)) / 2;
        snprintf(text, sizeof text, "%.70e", middle);
        char *mantissa_end = strchr(text, 'e');
        if (draw(3) == 0) mantissa_end[-1] = (char)('0' + draw(10));
        same = agrees(text);
    }
    ok(same, "so are those halfway between two floats");
}

static void borders(void)
{
    static const char *const texts[] = {"0",
                                        "0.0",
                                        ".5",
                                        "1",
                                        "1e0",
                                        "3.4028234e38",
                                        "3.4028235e38",
                                        "3.4028235677973366e38",
                                        "3.40282356e38",
                                        "3.4028236e38",
                                        "1e39",
                                        "1e40",
                                        "1e9999",
                                        "1e-9999",
                                        "1.17549435e-38",
                                        "1.1754943e-38",
                                        "1.17549429e-38",
                                        "1.1754942e-38",
                                        "1e-38",
                                        "1.4e-45",
                                        "7e-46",
                                        "1e-46",
                                        "16777217",
                                        "16777219",
                                        "0.1",
                                        "1e-3",
                                        "123456789",
                                        "0000000000.000000000000001e15",
                                        "99999999999999999999999999999999999999",
                                        "0.00000000000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ok(agrees(texts[i]), "%s", texts[i]);
}

static void modes(void)
{
    static const int all[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < 3; i++) {
        uint32_t small = 0, large = 0;
        fesetround(all[i]);
        bool fits =
            vyre_lang_parse_float("1e-3", &small) && vyre_lang_parse_float("3.4028235e38", &large);
        fesetround(FE_TONEAREST);
        ok(fits && small == 0x3A83126Fu && large == 0x7F7FFFFFu, "the caller's mode %zu", i);
    }
}

int main(void)
{
    borders();
    random_ones();
    modes();
    return done();
}
