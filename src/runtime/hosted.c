/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The port of an application whose device lives in a device host.
 */
#include "runtime/internal.h"

vyre_status vyre_hosted_open(vyre *runtime, vyre_error *err)
{
    (void)runtime;
    return vyre_fail(err, VYRE_E_UNSUPPORTED, "no device host yet");
}

void vyre_runtime_account(vyre *runtime, vyre_description *description)
{
    (void)runtime;
    (void)description;
}

const struct vyre_port vyre_port_hosted = {.name = "hosted"};
