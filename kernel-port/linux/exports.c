// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What gvm.ko gives to other modules. Gathered here because the core knows no world, and so has
 * no EXPORT_SYMBOL of its own; only what somebody uses is listed.
 */
#include "gvm/block.h"
#include "gvm/charge.h"
#include "gvm/clock.h"
#include "gvm/container.h"
#include "gvm/control.h"
#include "gvm/device.h"
#include "gvm/evict.h"
#include "gvm/fault.h"
#include "gvm/hint.h"
#include "gvm/pressure.h"
#include "gvm/sched.h"
#include "gvm/tsg.h"

#include <linux/export.h>

#include "gvm_registry.h"

/* The port (gvm_world.h). */
EXPORT_SYMBOL_GPL(gvm_lock_class);
EXPORT_SYMBOL_GPL(gvm_complete_all);
EXPORT_SYMBOL_GPL(gvm_completion_wait);
EXPORT_SYMBOL_GPL(gvm_worker_start);
EXPORT_SYMBOL_GPL(gvm_worker_stop);

/* Devices. */
EXPORT_SYMBOL_GPL(gvm_device_register);
EXPORT_SYMBOL_GPL(gvm_device_unregister);
EXPORT_SYMBOL_GPL(gvm_device_index);
EXPORT_SYMBOL_GPL(gvm_process_attach);
EXPORT_SYMBOL_GPL(gvm_process_detach);
EXPORT_SYMBOL_GPL(gvm_check);

/* Containers and what they are charged for. */
EXPORT_SYMBOL_GPL(gvm_container_find);
EXPORT_SYMBOL_GPL(gvm_container_put);
EXPORT_SYMBOL_GPL(gvm_charge_reserve);
EXPORT_SYMBOL_GPL(gvm_charge_cancel);
EXPORT_SYMBOL_GPL(gvm_charge_bind);
EXPORT_SYMBOL_GPL(gvm_uncharge);
EXPORT_SYMBOL_GPL(gvm_clean_charge);
EXPORT_SYMBOL_GPL(gvm_swap_charge);
EXPORT_SYMBOL_GPL(gvm_swap_uncharge);
EXPORT_SYMBOL_GPL(gvm_clock_is_picked);
EXPORT_SYMBOL_GPL(gvm_clock_pick_own);

/* TSGs. */
EXPORT_SYMBOL_GPL(gvm_tsg_attach);
EXPORT_SYMBOL_GPL(gvm_tsg_detach);

/* Faults. */
EXPORT_SYMBOL_GPL(gvm_fault_handler_start);
EXPORT_SYMBOL_GPL(gvm_fault_handler_stop);

/* The scheduler. */
EXPORT_SYMBOL_GPL(gvm_scheduler_kick);
EXPORT_SYMBOL_GPL(gvm_scheduler_start);
EXPORT_SYMBOL_GPL(gvm_scheduler_stop);

/* What only the tests of the core call: a driver has gvm_registry.h, a user the control files. */
EXPORT_SYMBOL_GPL(gvm_port_alloc_hook);

EXPORT_SYMBOL_GPL(gvm_device_init);
EXPORT_SYMBOL_GPL(gvm_device_destroy);
EXPORT_SYMBOL_GPL(gvm_container_attach);
EXPORT_SYMBOL_GPL(gvm_container_detach);
EXPORT_SYMBOL_GPL(gvm_container_get);
EXPORT_SYMBOL_GPL(gvm_container_rename);
EXPORT_SYMBOL_GPL(gvm_container_count_event);
EXPORT_SYMBOL_GPL(gvm_container_count_kernels);
EXPORT_SYMBOL_GPL(gvm_charged_bytes);
EXPORT_SYMBOL_GPL(gvm_charge_excess);
EXPORT_SYMBOL_GPL(gvm_charge_force);
EXPORT_SYMBOL_GPL(gvm_peak_bytes);
EXPORT_SYMBOL_GPL(gvm_limit_set_high);
EXPORT_SYMBOL_GPL(gvm_limit_set_low);
EXPORT_SYMBOL_GPL(gvm_limit_set_hmem);
EXPORT_SYMBOL_GPL(gvm_charge_pin);
EXPORT_SYMBOL_GPL(gvm_charge_unpin);

EXPORT_SYMBOL_GPL(gvm_clock_pick_global);
EXPORT_SYMBOL_GPL(gvm_clock_pick_protected);
EXPORT_SYMBOL_GPL(gvm_clock_putback);
EXPORT_SYMBOL_GPL(gvm_clock_refill_stash);
EXPORT_SYMBOL_GPL(gvm_clock_take);
EXPORT_SYMBOL_GPL(gvm_hint_next);

EXPORT_SYMBOL_GPL(gvm_listener_close);
EXPORT_SYMBOL_GPL(gvm_listener_is_at_end);
EXPORT_SYMBOL_GPL(gvm_listener_open);
EXPORT_SYMBOL_GPL(gvm_listener_poll);
EXPORT_SYMBOL_GPL(gvm_listener_read);
EXPORT_SYMBOL_GPL(gvm_pressure_post);
EXPORT_SYMBOL_GPL(gvm_pressure_post_device);

EXPORT_SYMBOL_GPL(gvm_compute_freeze);
EXPORT_SYMBOL_GPL(gvm_compute_set_priority);
EXPORT_SYMBOL_GPL(gvm_compute_set_timeslice_us);
EXPORT_SYMBOL_GPL(gvm_compute_set_weight);
EXPORT_SYMBOL_GPL(gvm_compute_thaw);
EXPORT_SYMBOL_GPL(gvm_priority_to_timeslice_us);
EXPORT_SYMBOL_GPL(gvm_timeslice_us_to_priority);
EXPORT_SYMBOL_GPL(gvm_tsg_plan_locked);
EXPORT_SYMBOL_GPL(gvm_sched_decide_locked);
EXPORT_SYMBOL_GPL(gvm_scheduler_round);
EXPORT_SYMBOL_GPL(gvm_tsgs_frozen_locked);

EXPORT_SYMBOL_GPL(gvm_control_at);
EXPORT_SYMBOL_GPL(gvm_control_count);
EXPORT_SYMBOL_GPL(gvm_control_find);
EXPORT_SYMBOL_GPL(gvm_control_read);
EXPORT_SYMBOL_GPL(gvm_control_set);
EXPORT_SYMBOL_GPL(gvm_control_write);
EXPORT_SYMBOL_GPL(gvm_parse_bytes);
EXPORT_SYMBOL_GPL(gvm_parse_timeslice_us);
EXPORT_SYMBOL_GPL(gvm_parse_u64);

EXPORT_SYMBOL_GPL(gvm_block_evict);
EXPORT_SYMBOL_GPL(gvm_block_evictable);
EXPORT_SYMBOL_GPL(gvm_block_hint);
EXPORT_SYMBOL_GPL(gvm_evictor_start);
EXPORT_SYMBOL_GPL(gvm_evictor_stop);
EXPORT_SYMBOL_GPL(gvm_fault_service);
EXPORT_SYMBOL_GPL(gvm_frame_is_pinned);
EXPORT_SYMBOL_GPL(gvm_frame_pin);
EXPORT_SYMBOL_GPL(gvm_hugepage_plan);
EXPORT_SYMBOL_GPL(gvm_memory_destroy);
EXPORT_SYMBOL_GPL(gvm_memory_init);
EXPORT_SYMBOL_GPL(gvm_page_table_range_bytes);
EXPORT_SYMBOL_GPL(gvm_page_table_space_bytes);
EXPORT_SYMBOL_GPL(gvm_pinned_add);
EXPORT_SYMBOL_GPL(gvm_pinned_init);
EXPORT_SYMBOL_GPL(gvm_pinned_release);
EXPORT_SYMBOL_GPL(gvm_range_destroy);
EXPORT_SYMBOL_GPL(gvm_range_discard);
EXPORT_SYMBOL_GPL(gvm_range_enter);
EXPORT_SYMBOL_GPL(gvm_range_init);
EXPORT_SYMBOL_GPL(gvm_range_leave);
EXPORT_SYMBOL_GPL(gvm_range_service);
EXPORT_SYMBOL_GPL(gvm_reclaim);
