/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file vyre.h
 * The whole public API of libvyre.
 */
#ifndef VYRE_VYRE_H
#define VYRE_VYRE_H

#include "vyre/buffer.h"
#include "vyre/compile.h"
#include "vyre/evidence.h"
#include "vyre/policy.h"
#include "vyre/program.h"
#include "vyre/queue.h"
#include "vyre/runtime.h"
#include "vyre/share.h"
#include "vyre/sketch.h"
#include "vyre/snapshot.h"
#include "vyre/source.h"
#include "vyre/status.h"
#include "vyre/stream.h"
#include "vyre/telemetry.h"
#include "vyre/tenant.h"
#include "vyre/wire.h"

#endif
