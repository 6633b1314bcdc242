/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Which interpreters were built, and which this processor can run.
 */
#include "backend/cpu/interpreter.h"

struct variant {
    const char *name;
    vyre_interpreter run;
    int supported;
};

/* From the slowest to the fastest. */
static unsigned variants(struct variant *out)
{
    unsigned count = 0;
    out[count++] = (struct variant){"portable", vyre_interpret_portable, 1};
#if defined(VYRE_X86_VARIANTS)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    out[count++] = (struct variant){"avx2", vyre_interpret_avx2, avx2};
    out[count++] = (struct variant){"avx512", vyre_interpret_avx512, avx512};
#endif
    return count;
}

vyre_interpreter vyre_interpreter_at(unsigned index, const char **name)
{
    struct variant all[3];
    unsigned count = variants(all);
    for (unsigned i = 0; i < count; i++) {
        if (!all[i].supported || index-- != 0) continue;
        if (name) *name = all[i].name;
        return all[i].run;
    }
    return 0;
}

vyre_interpreter vyre_interpreter_choose(void)
{
    vyre_interpreter best = vyre_interpret_portable;
    vyre_interpreter next;
    for (unsigned i = 0; (next = vyre_interpreter_at(i, 0)) != 0; i++)
        best = next;
    return best;
}
