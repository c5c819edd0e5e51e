// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The exports of gvm.ko, in two groups. They are gathered here because the core knows no world,
 * and so has no EXPORT_SYMBOL of its own. tests/kernel/exports.sh holds each group to its
 * users: nothing is exported for tests, which have a copy of the core (kernel-port/coretest).
 */
#include "gvm/activity.h"
#include "gvm/block.h"
#include "gvm/charge.h"
#include "gvm/child.h"
#include "gvm/clock.h"
#include "gvm/container.h"
#include "gvm/device.h"
#include "gvm/evict.h"
#include "gvm/evictor.h"
#include "gvm/fault.h"
#include "gvm/quiesce.h"
#include "gvm/sched.h"
#include "gvm/swap.h"
#include "gvm/tsg.h"

#include <linux/export.h>

#include "gvm_registry.h"

/*
 * Group 1. The driver of a GPU that leaves memory to the core's block layer:
 * kernel-port/fakegpu.
 */

/* Devices, containers and their processes. */
EXPORT_SYMBOL_GPL(gvm_device_register);
EXPORT_SYMBOL_GPL(gvm_device_unregister);
EXPORT_SYMBOL_GPL(gvm_device_index);
EXPORT_SYMBOL_GPL(gvm_process_attach);
EXPORT_SYMBOL_GPL(gvm_process_detach);
EXPORT_SYMBOL_GPL(gvm_process_find);
EXPORT_SYMBOL_GPL(gvm_space_begin);
EXPORT_SYMBOL_GPL(gvm_space_end);
EXPORT_SYMBOL_GPL(gvm_member_container);
EXPORT_SYMBOL_GPL(gvm_container_count_kernels);
EXPORT_SYMBOL_GPL(gvm_container_count_event);
EXPORT_SYMBOL_GPL(gvm_container_put);
EXPORT_SYMBOL_GPL(gvm_check);

/* Suspend, reset, loss, and memory taken by force. */
EXPORT_SYMBOL_GPL(gvm_device_quiesce);
EXPORT_SYMBOL_GPL(gvm_device_resume);
EXPORT_SYMBOL_GPL(gvm_device_set_lost);
EXPORT_SYMBOL_GPL(gvm_clock_take_range);
EXPORT_SYMBOL_GPL(gvm_clock_is_picked);

/* TSGs and the scheduler. */
EXPORT_SYMBOL_GPL(gvm_tsg_attach);
EXPORT_SYMBOL_GPL(gvm_tsg_detach);
EXPORT_SYMBOL_GPL(gvm_tsg_share);
EXPORT_SYMBOL_GPL(gvm_tsg_unshare);
EXPORT_SYMBOL_GPL(gvm_scheduler_start);
EXPORT_SYMBOL_GPL(gvm_scheduler_stop);
EXPORT_SYMBOL_GPL(gvm_scheduler_kick_launch);

/* Faults and evictors. */
EXPORT_SYMBOL_GPL(gvm_fault_handler_start);
EXPORT_SYMBOL_GPL(gvm_fault_handler_stop);
EXPORT_SYMBOL_GPL(gvm_evictor_start);
EXPORT_SYMBOL_GPL(gvm_evictor_stop);
EXPORT_SYMBOL_GPL(gvm_container_evictor_get);
EXPORT_SYMBOL_GPL(gvm_container_evictor_restart);
EXPORT_SYMBOL_GPL(gvm_container_evictor_put);

/* The block layer. */
EXPORT_SYMBOL_GPL(gvm_memory_init);
EXPORT_SYMBOL_GPL(gvm_memory_destroy);
EXPORT_SYMBOL_GPL(gvm_range_init);
EXPORT_SYMBOL_GPL(gvm_range_destroy);
EXPORT_SYMBOL_GPL(gvm_range_discard);
EXPORT_SYMBOL_GPL(gvm_block_memory_ops);
EXPORT_SYMBOL_GPL(gvm_page_table_range_bytes);
EXPORT_SYMBOL_GPL(gvm_page_table_space_bytes);
EXPORT_SYMBOL_GPL(gvm_unevictable_add);
EXPORT_SYMBOL_GPL(gvm_unevictable_release);
EXPORT_SYMBOL_GPL(gvm_unevictable_remove);

/* The port. */
EXPORT_SYMBOL_GPL(gvm_worker_start);
EXPORT_SYMBOL_GPL(gvm_worker_stop);
EXPORT_SYMBOL_GPL(gvm_trace_wait);

/*
 * Group 2. The glue to NVIDIA's driver, which manages chunks itself and asks the policy layer
 * at its hook points (docs/kernel-modules.md): gvm_nvidia.ko. gvm_selftest.ko stands in for it
 * in tests without that driver.
 */

/* Charges: reserve before the chunk is allocated, bind it, uncharge it when it is freed. */
EXPORT_SYMBOL_GPL(gvm_charge_adopt_piece);
EXPORT_SYMBOL_GPL(gvm_charge_reserve_bytes);
EXPORT_SYMBOL_GPL(gvm_charge_reserve_chunk);
EXPORT_SYMBOL_GPL(gvm_charge_cancel_bytes);
EXPORT_SYMBOL_GPL(gvm_charge_bind);
EXPORT_SYMBOL_GPL(gvm_charge_bind_part);
EXPORT_SYMBOL_GPL(gvm_charge_bind_piece);
EXPORT_SYMBOL_GPL(gvm_charge_bind_unevictable);
EXPORT_SYMBOL_GPL(gvm_uncharge);
EXPORT_SYMBOL_GPL(gvm_uncharge_part);
EXPORT_SYMBOL_GPL(gvm_uncharge_piece);
EXPORT_SYMBOL_GPL(gvm_uncharge_unevictable);
EXPORT_SYMBOL_GPL(gvm_swap_charge);
EXPORT_SYMBOL_GPL(gvm_swap_uncharge);

/* Who pays: children. */
EXPORT_SYMBOL_GPL(gvm_child_payer);
EXPORT_SYMBOL_GPL(gvm_container_get);

/* Victims. */
EXPORT_SYMBOL_GPL(gvm_clock_count_taken);
EXPORT_SYMBOL_GPL(gvm_clock_force);
EXPORT_SYMBOL_GPL(gvm_clock_pick_global);
EXPORT_SYMBOL_GPL(gvm_clock_pick_own);
EXPORT_SYMBOL_GPL(gvm_clock_putback);
EXPORT_SYMBOL_GPL(gvm_clock_putback_rest);
EXPORT_SYMBOL_GPL(gvm_clock_take);
EXPORT_SYMBOL_GPL(gvm_evict_wait_for);
EXPORT_SYMBOL_GPL(gvm_evictors_kick);

/* Suspend. */
EXPORT_SYMBOL_GPL(gvm_device_quiesce_to_sleep);

/* The port's locks. */
EXPORT_SYMBOL_GPL(gvm_lock_class);
EXPORT_SYMBOL_GPL(gvm_mutex_lock);
EXPORT_SYMBOL_GPL(gvm_mutex_unlock);
