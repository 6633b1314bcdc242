/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Words that people bring from C and from other languages of kernels: types, statements, names and
 * functions that are written otherwise here, or that there are not. Nothing here is reserved; a
 * source may use all of them as names.
 */
#include <string.h>

#include "lang/ast.h"

static const struct lang_foreign words[] = {
    {"switch", LANG_FOREIGN_WORD, "use `if` and `else if`"},
    {"case", LANG_FOREIGN_WORD, "use `if` and `else if`"},
    {"default", LANG_FOREIGN_WORD, "use `else`"},
    {"goto", LANG_FOREIGN_WORD, "use a loop with `break` and `continue`, or `return`"},
    {"struct", LANG_FOREIGN_WORD, "use a variable or a buffer for each part"},
    {"union", LANG_FOREIGN_WORD, "use a variable for each part; `u32(x)` converts"},
    {"class", LANG_FOREIGN_WORD, "use a variable or a buffer for each part"},
    {"enum", LANG_FOREIGN_WORD, "use a constant for each name: `const u32 RED = 0;`"},
    {"typedef", LANG_FOREIGN_WORD, "write the type itself: u32, i32, f32 or bool"},
    {"using", LANG_FOREIGN_WORD, "write the type itself: u32, i32, f32 or bool"},
    {"template", LANG_FOREIGN_WORD, "write a function for each type"},
    {"namespace", LANG_FOREIGN_WORD, "remove it; a source has one space of names"},
    {"import", LANG_FOREIGN_WORD, "put everything into one source"},
    {"fn", LANG_FOREIGN_WORD, "begin with the type: `u32 name(u32 x) { ... }`"},
    {"func", LANG_FOREIGN_WORD, "begin with the type: `u32 name(u32 x) { ... }`"},
    {"def", LANG_FOREIGN_WORD, "begin with the type: `u32 name(u32 x) { ... }`"},
    {"function", LANG_FOREIGN_WORD, "begin with the type: `u32 name(u32 x) { ... }`"},
    {"let", LANG_FOREIGN_WORD, "begin with the type: `u32 x = 0;`"},
    {"var", LANG_FOREIGN_WORD, "begin with the type: `u32 x = 0;`"},
    {"auto", LANG_FOREIGN_WORD, "begin with the type: `u32 x = 0;`"},
    {"elif", LANG_FOREIGN_WORD, "write `else if`"},
    {"elsif", LANG_FOREIGN_WORD, "write `else if`"},
    {"elseif", LANG_FOREIGN_WORD, "write `else if`"},
    {"foreach", LANG_FOREIGN_WORD, "write `for (u32 k = 0; k < len(x); k++)`"},
    {"loop", LANG_FOREIGN_WORD, "write `while (true)`"},
    {"then", LANG_FOREIGN_PREFIX, "remove it"},
    {"static", LANG_FOREIGN_PREFIX, "remove it; nothing outlives a launch but buffers"},
    {"extern", LANG_FOREIGN_PREFIX, "remove it; a source stands alone"},
    {"inline", LANG_FOREIGN_PREFIX, "remove it; every function is inlined"},
    {"volatile", LANG_FOREIGN_PREFIX, "remove it; use atomics where lanes share elements"},
    {"restrict", LANG_FOREIGN_PREFIX, "remove it"},
    {"__restrict__", LANG_FOREIGN_PREFIX, "remove it"},
    {"register", LANG_FOREIGN_PREFIX, "remove it"},
    {"constexpr", LANG_FOREIGN_PREFIX, "write `const`"},
    {"__device__", LANG_FOREIGN_PREFIX, "remove it"},
    {"__host__", LANG_FOREIGN_PREFIX, "remove it"},
    {"__forceinline__", LANG_FOREIGN_PREFIX, "remove it; every function is inlined"},
    {"__constant__", LANG_FOREIGN_PREFIX, "write `const`, or pass an `in` buffer"},
    {"global", LANG_FOREIGN_PREFIX, "write `in`, `out` or `inout`"},
    {"__global", LANG_FOREIGN_PREFIX, "write `in`, `out` or `inout`"},
    {"shared", LANG_FOREIGN_ARRAY, "write `workgroup`"},
    {"__shared__", LANG_FOREIGN_ARRAY, "write `workgroup`"},
    {"groupshared", LANG_FOREIGN_ARRAY, "write `workgroup`"},
    {"threadgroup", LANG_FOREIGN_ARRAY, "write `workgroup`"},
    {"local", LANG_FOREIGN_ARRAY, "write `workgroup`"},
    {"__local", LANG_FOREIGN_ARRAY, "write `workgroup`"},
    {"__global__", LANG_FOREIGN_KERNEL, "write `kernel`"},
    {"__kernel", LANG_FOREIGN_KERNEL, "write `kernel`"},
};

/* value: a variable's type; element: a buffer's. NULL: there is none. */
static const struct {
    const char *name, *value, *element;
} types[] = {
    {"int", "i32", "i32"},       {"unsigned", "u32", "u32"},  {"float", "f32", "f32"},
    {"signed", "i32", "i32"},    {"short", "i32", "i16"},     {"char", "i32", "i8"},
    {"double", NULL, NULL},      {"long", NULL, NULL},        {"uint", "u32", "u32"},
    {"int32_t", "i32", "i32"},   {"uint32_t", "u32", "u32"},  {"int16_t", "i32", "i16"},
    {"uint16_t", "u32", "u16"},  {"int8_t", "i32", "i8"},     {"uint8_t", "u32", "u8"},
    {"uchar", "u32", "u8"},      {"byte", "u32", "u8"},       {"ushort", "u32", "u16"},
    {"size_t", "u32", "u32"},    {"ptrdiff_t", "i32", "i32"}, {"_Bool", "bool", "bool"},
    {"boolean", "bool", "bool"}, {"usize", "u32", "u32"},     {"isize", "i32", "i32"},
    {"int64_t", NULL, NULL},     {"uint64_t", NULL, NULL},    {"u64", NULL, NULL},
    {"i64", NULL, NULL},         {"f64", NULL, NULL},         {"f16", NULL, NULL},
    {"bf16", NULL, NULL},        {"half", NULL, NULL},
};
enum { C_TYPES = 8 }; /* of the table: those of which C has several in a row */

static const char *const values[][2] = {
    {"NULL", "there are no pointers; use an index"},
    {"nullptr", "there are no pointers; use an index"},
    {"TRUE", "write `true`"},
    {"True", "write `true`"},
    {"FALSE", "write `false`"},
    {"False", "write `false`"},
    {"threadIdx", "write `local_id.x`"},
    {"blockIdx", "write `group_id.x`"},
    {"blockDim", "write `group_size.x`"},
    {"gridDim", "pass the number of groups as a scalar parameter"},
    {"thread_id", "write `global_id.x`"},
    {"gid", "write `global_id.x`, or `i`"},
    {"lid", "write `local_id.x`"},
    {"tid", "write `local_id.x`, or `global_id.x`"},
    {"gl_GlobalInvocationID", "write `global_id.x`"},
    {"gl_LocalInvocationID", "write `local_id.x`"},
    {"gl_WorkGroupID", "write `group_id.x`"},
    {"INFINITY", "write `1.0 / 0.0`"},
    {"FLT_MAX", "write `3.4028235e38`"},
    {"M_PI", "write `3.14159265`"},
    {"UINT_MAX", "write `0xFFFFFFFF`"},
    {"UINT32_MAX", "write `0xFFFFFFFF`"},
    {"INT_MAX", "write `2147483647`"},
    {"INT32_MAX", "write `2147483647`"},
    {"INT_MIN", "write `-2147483648`"},
    {"INT32_MIN", "write `-2147483648`"},
};

static const char *const functions[][2] = {
    {"fabs", "write `abs`"},
    {"fmin", "write `min`"},
    {"fmax", "write `max`"},
    {"rsqrt", "write `inverse_sqrt`"},
    {"printf", "write `print`"},
    {"println", "write `print`"},
    {"length", "write `len`"},
    {"size", "write `len`"},
    {"isnan", "write `is_nan`"},
    {"isinf", "write `is_inf`"},
    {"isfinite", "write `is_finite`"},
    {"syncthreads", "write `barrier`"},
    {"__syncthreads", "write `barrier`"},
    {"workgroupBarrier", "write `barrier`"},
    {"popc", "write `popcount`"},
    {"countOneBits", "write `popcount`"},
    {"brev", "write `reverse_bits`"},
    {"umulhi", "write `mul_high`"},
    {"mulhi", "write `mul_high`"},
    {"atomicAdd", "write `atomic_add`"},
    {"atomicSub", "write `atomic_sub`"},
    {"atomicMin", "write `atomic_min`"},
    {"atomicMax", "write `atomic_max`"},
    {"atomicAnd", "write `atomic_and`"},
    {"atomicOr", "write `atomic_or`"},
    {"atomicXor", "write `atomic_xor`"},
    {"atomicExch", "write `atomic_exchange`"},
    {"atomicCAS", "write `atomic_compare_exchange`"},
    {"atomic_cas", "write `atomic_compare_exchange`"},
    {"get_global_id", "write `global_id.x`, `.y` or `.z`"},
    {"get_local_id", "write `local_id.x`, `.y` or `.z`"},
    {"get_group_id", "write `group_id.x`, `.y` or `.z`"},
    {"get_local_size", "write `group_size.x`, `.y` or `.z`"},
    {"pow", "write `exp2(y * log2(x))` for a positive x, or `x * x`"},
    {"fmod", "write `x - y * trunc(x / y)`"},
    {"log10", "write `log(x) * 0.4342945`"},
    {"hypot", "write `sqrt(x * x + y * y)`"},
    {"mix", "write `a + (b - a) * t`"},
    {"lerp", "write `a + (b - a) * t`"},
    {"saturate", "write `clamp(x, 0.0, 1.0)`"},
    {"malloc", "pass a buffer as a parameter, or declare workgroup memory"},
    {"free", "remove it; nothing is allocated in a kernel"},
    {"memcpy", "copy the elements in a loop"},
    {"memset", "store to the elements in a loop"},
    {"exit", "write `return;`"},
    {"abort", "write `assert(false);`"},
};

static bool is_text(const struct lang_unit *unit, struct lang_token token, const char *text)
{
    return token.kind == LANG_NAME && strlen(text) == token.length &&
           memcmp(unit->request->text + token.at, text, token.length) == 0;
}

const struct lang_foreign *vyre_lang_foreign_word(const struct lang_unit *unit,
                                                  struct lang_token token)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_text(unit, token, words[i].word)) return &words[i];
    return NULL;
}

static size_t find_type(const struct lang_unit *unit, struct lang_token token)
{
    size_t i = 0;
    while (i < sizeof types / sizeof types[0] && !is_text(unit, token, types[i].name))
        i++;
    return i;
}

bool vyre_lang_is_foreign_type(const struct lang_unit *unit, struct lang_token token)
{
    return find_type(unit, token) < sizeof types / sizeof types[0];
}

const char *vyre_lang_foreign_name(const struct lang_unit *unit, struct lang_token token)
{
    size_t found = find_type(unit, token);
    return found < sizeof types / sizeof types[0] ? types[found].value : NULL;
}

static uint32_t token_of(const char *text)
{
    uint32_t kind = LANG_U32;
    while (kind < LANG_IF && strcmp(vyre_lang_token_text(kind), text) != 0)
        kind++;
    return kind;
}

uint32_t vyre_lang_foreign_type(struct lang_unit *unit, bool element)
{
    struct lang_token first = vyre_lang_peek(unit, 0);
    struct lang_span span = vyre_lang_span(first);
    size_t found = find_type(unit, first), next = found, most = sizeof types / sizeof types[0];
    const char *ours = NULL;
    bool without_sign = false, none = false;
    if (found == most) return 0;
    /* `unsigned long int` and the like are one type; `int` says nothing where there is more. */
    do {
        if (!ours || strcmp(types[next].name, "int") != 0)
            ours = element ? types[next].element : types[next].value;
        without_sign = without_sign || strcmp(types[next].name, "unsigned") == 0;
        none = none || !ours;
        span = vyre_lang_join(span, vyre_lang_span(vyre_lang_take(unit)));
        next = find_type(unit, vyre_lang_peek(unit, 0));
    } while (found < C_TYPES && next < C_TYPES);
    const char *quote = vyre_lang_quote(unit, span);
    if (none) {
        vyre_lang_say(unit, LANG_D_TYPE_NAME, span,
                      vyre_lang_text(unit, "there is no type `%s`: values have 32 bits",
                                     quote ? quote : types[found].name),
                      "use u32, i32 or f32");
        return LANG_BAD;
    }
    uint32_t kind = token_of(ours);
    if (without_sign && (kind == LANG_I32 || kind == LANG_I8 || kind == LANG_I16))
        kind = kind == LANG_I32 ? LANG_U32 : kind == LANG_I8 ? LANG_U8 : LANG_U16;
    vyre_lang_say(unit, LANG_D_TYPE_NAME, span,
                  vyre_lang_text(unit, "there is no type `%s`", quote ? quote : types[found].name),
                  vyre_lang_text(unit, "write `%s`", vyre_lang_token_text(kind)));
    return kind;
}

const char *vyre_lang_foreign_value(struct lang_unit *unit, const struct lang_name *name)
{
    (void)unit;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strcmp(name->text, values[i][0]) == 0) return values[i][1];
    return NULL;
}

static const char *function_fix(struct lang_unit *unit, const char *text)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(text, functions[i][0]) == 0) return functions[i][1];
    for (uint32_t i = 0; i < vyre_lang_builtin_count; i++)
        if (strcmp(text, vyre_lang_builtins[i].name) == 0)
            return vyre_lang_text(unit, "write `%s`", text);
    return NULL;
}

const char *vyre_lang_foreign_function(struct lang_unit *unit, const struct lang_name *name)
{
    const char *text = name->text;
    const char *fix = function_fix(unit, text);
    if (fix) return fix;
    /* CUDA's begin with two underscores, and C's for floats end with an f. */
    if (strncmp(text, "__", 2) == 0) text += 2;
    size_t length = strlen(text);
    if (length > 1 && text[length - 1] == 'f')
        fix = function_fix(unit, vyre_lang_text(unit, "%.*s", (int)(length - 1), text));
    return fix || text == name->text ? fix : function_fix(unit, text);
}
