/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interpreter for any processor.
 */
#define VYRE_INTERPRET vyre_interpret_portable
#include "backend/cpu/interpreter_variant.h"
