// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What gvm.ko gives to other modules. Gathered here because the core knows no world, and so has
 * no EXPORT_SYMBOL of its own; only what somebody uses is listed.
 */
#include "gvm/charge.h"
#include "gvm/clock.h"
#include "gvm/container.h"
#include "gvm/device.h"
#include "gvm/fault.h"
#include "gvm/tsg.h"

#include <linux/export.h>

#include "gvm_registry.h"

/* The port (gvm_world.h). */
EXPORT_SYMBOL_GPL(gvm_complete_all);
EXPORT_SYMBOL_GPL(gvm_completion_wait);
EXPORT_SYMBOL_GPL(gvm_worker_start);
EXPORT_SYMBOL_GPL(gvm_worker_stop);

/* Devices. */
EXPORT_SYMBOL_GPL(gvm_device_register);
EXPORT_SYMBOL_GPL(gvm_device_unregister);
EXPORT_SYMBOL_GPL(gvm_device_index);
EXPORT_SYMBOL_GPL(gvm_check);

/* Containers and what they are charged for. */
EXPORT_SYMBOL_GPL(gvm_container_find);
EXPORT_SYMBOL_GPL(gvm_container_put);
EXPORT_SYMBOL_GPL(gvm_charge_reserve);
EXPORT_SYMBOL_GPL(gvm_charge_cancel);
EXPORT_SYMBOL_GPL(gvm_charge_bind);
EXPORT_SYMBOL_GPL(gvm_uncharge);
EXPORT_SYMBOL_GPL(gvm_swap_charge);
EXPORT_SYMBOL_GPL(gvm_swap_uncharge);
EXPORT_SYMBOL_GPL(gvm_clock_touch);
EXPORT_SYMBOL_GPL(gvm_clock_pick_own);

/* TSGs. */
EXPORT_SYMBOL_GPL(gvm_tsg_attach);
EXPORT_SYMBOL_GPL(gvm_tsg_detach);

/* Faults. */
EXPORT_SYMBOL_GPL(gvm_fault_handler_start);
EXPORT_SYMBOL_GPL(gvm_fault_handler_stop);
