/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file policy.h
 * The launch policy: from what is known of a load (how long the queue is, how dense the work, how
 * much memory is left) to advice on workers, slots, room for hits and the way to run it. The rules
 * are the reference's; docs/telemetry.md has them in full, vyre/policy.def every constant.
 *
 * All of it is advice. Nothing in the library follows it by itself; an application that wants to
 * does so when it opens a runtime, its queues and buffers:
 *
 * - worker_groups: vyre_options.workers, at most 256 (vyre_caps.max_workers).
 * - geometry.slot_count: vyre_options.default_queue_slots or vyre_queue_options.slots, as the next
 *   power of two up to 65536; and vyre_options.inflight_slots, 16 to 65536.
 * - hit_capacity: the buffer that receives hits, with hit_bytes for each.
 * - estimated_peak_device_bytes: compare it with vyre_device.memory_bytes before making buffers.
 * - age_priority_work: a vyre_options.ageing_ns below the default.
 * - promote_hot_opcodes, promote_hot_windows: vyre_operation_register, or a program, for them.
 * - pressure SATURATED: submit less at a time, or open more queues.
 * - topology MEMORY_CONSTRAINED: smaller buffers, vyre_options.run_slots and continuations.
 * - geometry.workgroup_size_x, geometry.grid, the other topologies, execution_mode: no option. A
 *   program has its own workgroup size and its slot the grid; the resident kernel is not launched
 *   again, and no option chooses between interpreter and compiler.
 *
 * Everything here is a pure function over structures in the caller's memory: no runtime, no
 * allocation, no global state; any thread. Basis points (bps) are 1/10,000. Divisions round down.
 * E_NULL is what every function returns for a required pointer that is missing, E_SIZE and
 * E_RESERVED for a structure that was not made by its _INIT macro or its own call; they are not
 * repeated below.
 */
#ifndef VYRE_POLICY_H
#define VYRE_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constants.
 * ----------------------------------------------------------------------------------------- */

enum vyre_policy_constant {
#define VYRE_POLICY(field, name, number, standard, least, most, text) VYRE_POLICY_##name = (number),
#include "vyre/policy.def"
#undef VYRE_POLICY
    VYRE_POLICY_LAST_ = 0x7fffffff
};
#define VYRE_POLICY_CONSTANTS 23u

/** All constants: a field of 32 bits for each row of vyre/policy.def. Start from
 * vyre_policy_standard. */
typedef struct vyre_policy {
    uint32_t size; /**< sizeof(vyre_policy) */
#define VYRE_POLICY(field, name, number, standard, least, most, text) uint32_t field;
#include "vyre/policy.def"
#undef VYRE_POLICY
} vyre_policy;

/** One row of vyre/policy.def. */
typedef struct vyre_policy_row {
    const char *name; /**< as the field is called */
    const char *text; /**< what it says, one line */
    uint32_t standard;
    uint32_t least;
    uint32_t most;
} vyre_policy_row;

/** Fills *policy with the defaults; its size need not be set. */
VYRE_API vyre_status vyre_policy_standard(vyre_policy *policy, vyre_error *err);

/** Changes a constant (enum vyre_policy_constant). Status: E_RANGE (no such constant, or a value
 * that it cannot have). */
VYRE_API vyre_status vyre_policy_set(vyre_policy *policy, uint32_t constant, uint32_t value,
                                     vyre_error *err);

/** Reads a constant. Status: E_RANGE. */
VYRE_API vyre_status vyre_policy_get(const vyre_policy *policy, uint32_t constant, uint32_t *value,
                                     vyre_error *err);

/** Describes a constant. Status: E_RANGE. */
VYRE_API vyre_status vyre_policy_describe(uint32_t constant, vyre_policy_row *row, vyre_error *err);

/** The constant of a name. Status: E_NOT_FOUND. */
VYRE_API vyre_status vyre_policy_find(const char *name, uint32_t *constant, vyre_error *err);

/* Classes.
 * ------------------------------------------------------------------------------------------- */

enum vyre_topology {
    VYRE_TOPOLOGY_NONE = 0, /**< no advice before this one */
    VYRE_TOPOLOGY_EMPTY = 1,
    VYRE_TOPOLOGY_SPARSE = 2,
    VYRE_TOPOLOGY_HYBRID = 3,
    VYRE_TOPOLOGY_DENSE = 4,
    VYRE_TOPOLOGY_FUSED_DENSE = 5,
    VYRE_TOPOLOGY_MEMORY_CONSTRAINED = 6
};

enum vyre_pressure {
    VYRE_PRESSURE_EMPTY = 0,
    VYRE_PRESSURE_LIGHT = 1,
    VYRE_PRESSURE_BALANCED = 2,
    VYRE_PRESSURE_SATURATED = 3
};

enum vyre_execution_mode { VYRE_EXECUTION_INTERPRETER = 0, VYRE_EXECUTION_JIT = 1 };

/** Names in small letters, such as "fused_dense"; "?" for a number that is none. */
VYRE_API const char *vyre_topology_name(uint32_t topology);
VYRE_API const char *vyre_pressure_name(uint32_t pressure);
VYRE_API const char *vyre_execution_mode_name(uint32_t mode);

/* Request.
 * ------------------------------------------------------------------------------------------- */

/** What is asked. Start from VYRE_POLICY_REQUEST_INIT or vyre_policy_direct; 0 means "not known"
 * wherever no other meaning is given. The three limits must not be 0. */
typedef struct vyre_policy_request {
    uint32_t size;                                  /**< sizeof(vyre_policy_request) */
    uint32_t queue_len;                             /**< items that wait */
    uint32_t requested_worker_groups;               /**< 0: derive them from the limits */
    uint32_t max_workgroup_size_x;                  /**< limit */
    uint32_t max_compute_workgroups_per_dimension;  /**< limit */
    uint32_t max_compute_invocations_per_workgroup; /**< limit */
    uint32_t requested_hit_capacity;                /**< 0: derive it */
    uint32_t expected_hits_per_item;                /**< 0 counts as 1 */
    uint32_t hot_opcode_count;
    uint32_t hot_window_count;
    uint32_t max_priority_age; /**< ticks that the oldest work has waited */
    uint32_t graph_node_count;
    uint32_t graph_edge_count;
    uint16_t frontier_density_bps;       /**< 0: infer it from queue and nodes */
    uint16_t memory_pressure_bps;        /**< 0: infer it from resident bytes and budget */
    uint64_t requeue_count;              /**< times that work was put back */
    uint64_t resident_device_bytes;      /**< device memory in use already */
    uint64_t device_memory_budget_bytes; /**< 0: no budget */
    uint32_t previous_topology; /**< enum vyre_topology of the last advice, for hysteresis */
    uint32_t reserved;          /**< 0 */
} vyre_policy_request;

#define VYRE_POLICY_REQUEST_INIT                                                                   \
    {                                                                                              \
        (uint32_t)sizeof(vyre_policy_request), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, \
            0u, 0u, 0u, 0u, VYRE_TOPOLOGY_NONE, 0u                                                 \
    }

/** A request for a device of which only two limits are known: `groups` are the workgroups asked for
 * and the most there can be, `width` the lanes of one. One hit an item; all else 0. */
VYRE_API vyre_status vyre_policy_direct(vyre_policy_request *request, uint32_t queue_len,
                                        uint32_t groups, uint32_t width, vyre_error *err);

/**
 * Takes over what a snapshot shows. Nodes (its slots), edges (its depth) and density are taken
 * where the request has 0; hot opcodes (metrics that are not 0) and hot windows (those with
 * hot_window_slots required and lookahead slots or more) always; REQUEUE slots are added to
 * requeue_count. policy NULL: the defaults. Status: E_RANGE (a constant that cannot be).
 */
VYRE_API vyre_status vyre_policy_add_snapshot(const vyre_policy *policy,
                                              const vyre_snapshot *snapshot,
                                              vyre_policy_request *request, vyre_error *err);

/**
 * Takes over what a count of tasks shows: those that can be scheduled become queue_len, their
 * pressure is added to requeue_count, the greater age stays. Status: E_OVERFLOW (more tasks than
 * queue_len counts).
 */
VYRE_API vyre_status vyre_policy_add_tasks(const vyre_wire_tasks *tasks,
                                           vyre_policy_request *request, vyre_error *err);

/* Advice.
 * -------------------------------------------------------------------------------------------- */

typedef struct vyre_policy_geometry {
    uint32_t workgroup_size_x; /**< lanes of a workgroup */
    uint32_t slot_count;       /**< whole workgroups for all items, at least one */
    uint32_t grid[3];          /**< workgroups; the second and third are 1 */
} vyre_policy_geometry;

/** The answer. Start from VYRE_POLICY_ADVICE_INIT. */
typedef struct vyre_policy_advice {
    uint32_t size; /**< sizeof(vyre_policy_advice), set by the caller */
    uint32_t worker_groups;
    vyre_policy_geometry geometry;
    uint32_t hit_capacity;
    uint32_t pressure;            /**< enum vyre_pressure */
    uint32_t execution_mode;      /**< enum vyre_execution_mode */
    uint32_t topology;            /**< enum vyre_topology, never NONE */
    uint32_t promote_hot_opcodes; /**< 1 or 0, as the next two */
    uint32_t promote_hot_windows;
    uint32_t age_priority_work;
    uint64_t estimated_peak_device_bytes;
    uint64_t device_memory_budget_bytes; /**< as requested */
} vyre_policy_advice;

#define VYRE_POLICY_ADVICE_INIT                                                                    \
    {                                                                                              \
        (uint32_t)sizeof(vyre_policy_advice), 0u, {0u, 0u, {0u, 0u, 0u}}, 0u, 0u, 0u, 0u, 0u, 0u,  \
            0u, 0u, 0u                                                                             \
    }

/**
 * All of it. policy NULL: the defaults. Statuses: E_RANGE (a limit is 0, or a constant or the
 * previous topology cannot be), E_OVERFLOW (slots or hits do not fit 32 bits, bytes not 64),
 * E_POLICY_BUDGET (the peak exceeds the budget; vyre_policy_peak says it).
 */
VYRE_API vyre_status vyre_policy_recommend(const vyre_policy *policy,
                                           const vyre_policy_request *request,
                                           vyre_policy_advice *advice, vyre_error *err);

/*
 * The steps of it, each by itself. They infer what they need, so the request is the same as above,
 * and each looks only at what its rule names. policy NULL: the defaults. Status of all: E_RANGE (a
 * constant or the previous topology cannot be).
 */

/** The request with density and memory pressure filled in. */
VYRE_API vyre_status vyre_policy_infer(const vyre_policy_request *request,
                                       vyre_policy_request *inferred, vyre_error *err);
/** enum vyre_topology, with hysteresis where there is a previous one. */
VYRE_API vyre_status vyre_policy_topology(const vyre_policy *policy,
                                          const vyre_policy_request *request, uint32_t *topology,
                                          vyre_error *err);
/** Worker groups after shedding. Status also: E_RANGE (a limit is 0). */
VYRE_API vyre_status vyre_policy_workers(const vyre_policy *policy,
                                         const vyre_policy_request *request, uint32_t *groups,
                                         vyre_error *err);
/** Statuses also: E_RANGE (a limit is 0), E_OVERFLOW. */
VYRE_API vyre_status vyre_policy_geometry_of(const vyre_policy *policy,
                                             const vyre_policy_request *request,
                                             vyre_policy_geometry *geometry, vyre_error *err);
/** enum vyre_pressure. Statuses as for the geometry. */
VYRE_API vyre_status vyre_policy_pressure(const vyre_policy *policy,
                                          const vyre_policy_request *request, uint32_t *pressure,
                                          vyre_error *err);
/** Status also: E_OVERFLOW. */
VYRE_API vyre_status vyre_policy_hit_capacity(const vyre_policy *policy,
                                              const vyre_policy_request *request,
                                              uint32_t *capacity, vyre_error *err);
/** Device memory at the peak, whatever the budget. Status also: E_OVERFLOW. */
VYRE_API vyre_status vyre_policy_peak(const vyre_policy *policy, const vyre_policy_request *request,
                                      uint64_t *bytes, vyre_error *err);
/** enum vyre_execution_mode. */
VYRE_API vyre_status vyre_policy_mode(const vyre_policy *policy, const vyre_policy_request *request,
                                      uint32_t *mode, vyre_error *err);
/** Whether hot opcodes and hot windows are worth promoting: 1 or 0. */
VYRE_API vyre_status vyre_policy_promotes(const vyre_policy *policy,
                                          const vyre_policy_request *request, uint32_t *opcodes,
                                          uint32_t *windows, vyre_error *err);
/** Whether waiting work should age: 1 or 0. */
VYRE_API vyre_status vyre_policy_ages(const vyre_policy *policy, const vyre_policy_request *request,
                                      uint32_t *ages, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
