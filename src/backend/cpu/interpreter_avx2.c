/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interpreter for x86 with AVX2 and FMA.
 */
#define VYRE_INTERPRET vyre_interpret_avx2
#include "backend/cpu/interpreter_variant.h"
