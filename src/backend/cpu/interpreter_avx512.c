/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interpreter for x86 with AVX-512.
 */
#define VYRE_INTERPRET vyre_interpret_avx512
#include "backend/cpu/interpreter_variant.h"
