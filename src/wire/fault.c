/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Names and texts of faults, from fault.def and from nowhere else.
 */
#include "wire/layout.h"

const char *vyre_fault_name(uint32_t fault)
{
    switch (fault) {
#define VYRE_FAULT(name, value, text)                                                              \
    case (value):                                                                                  \
        return #name;
#include "vyre/fault.def"
#undef VYRE_FAULT
    default:
        return "?";
    }
}

const char *vyre_fault_text(uint32_t fault)
{
    switch (fault) {
#define VYRE_FAULT(name, value, text)                                                              \
    case (value):                                                                                  \
        return text;
#include "vyre/fault.def"
#undef VYRE_FAULT
    default:
        return "not a fault of this library";
    }
}
