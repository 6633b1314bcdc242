/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The floating-point mode of the calling thread. An embedder may run with subnormals flushed or
 * with another rounding; what the library computes ahead must not depend on it.
 *
 * What is computed between enter and leave must be behind a call that the compiler cannot inline:
 * it knows nothing of the mode and would move the arithmetic.
 */
#ifndef VYRE_BASE_FLOAT_ENV_H
#define VYRE_BASE_FLOAT_ENV_H

#include <stdint.h>

#if defined(__SSE__)
#    include <xmmintrin.h>
#endif

#define VYRE_FLOAT_DEFAULT 0x1F80u /* MXCSR: nearest, subnormals kept, every exception masked */

/* Sets the default mode; returns what to give to vyre_float_leave. */
static inline uint32_t vyre_float_enter(void)
{
#if defined(__SSE__)
    uint32_t saved = _mm_getcsr();
    _mm_setcsr(VYRE_FLOAT_DEFAULT);
    return saved;
#else
    return 0;
#endif
}

static inline void vyre_float_leave(uint32_t saved)
{
#if defined(__SSE__)
    _mm_setcsr(saved);
#else
    (void)saved;
#endif
}

#endif
