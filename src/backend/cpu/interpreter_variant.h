/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * One compilation of the interpreter: VYRE_INTERPRET names the function. For the files beside this
 * one only.
 *
 * On x86 it is called with subnormal operands read as zero and results not flushed, which is what
 * VIR0 asks for (vm/arith.h, dev_float_enter).
 */
#if defined(__x86_64__)
#    define VM_LAZY_FLUSH 1
#endif

#include "backend/cpu/interpreter.h"
#include "device/interp.h"

uint32_t VYRE_INTERPRET(struct dev_frame *frame)
{
    return dev_interpret(frame);
}
