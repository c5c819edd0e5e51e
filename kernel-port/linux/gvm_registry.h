/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What gvm.ko offers to the modules that drive GPUs: registration of a device with the core, and
 * the containers that were attached to it by hand.
 *
 * LOCKING. One mutex, private to gvm_registry.c, guards the list of devices, their attachments
 * and the directories in debugfs. It is outermost: the core's tsg_mutex and leaf lock are taken
 * under it, and no operation on a control file ever takes it, so that removing a directory may
 * wait for the operations that are under way in it.
 */
#ifndef GVM_REGISTRY_H
#define GVM_REGISTRY_H

#include "gvm/container.h"

struct seq_file;

/*
 * Make a device and give it the lowest free number, which names its directories in debugfs.
 * *ret_device is valid until gvm_device_unregister(); what @config points to must be as well.
 * Returns 0, or -EINVAL or -ENOMEM. CONTEXT: process.
 */
int gvm_device_register(const struct gvm_device_config *config, struct gvm_device **ret_device);

/*
 * Detach the containers that were attached by hand, wait until nobody is inside their control
 * files, and free the device: no call of its ops is made any more. The caller has uncharged all
 * memory, detached all TSGs, stopped its fault handler and put its references before.
 * CONTEXT: process.
 */
void gvm_device_unregister(struct gvm_device *device);

/* The number of a registered device: <gpu> in <tgid>/<gpu>/. CONTEXT: atomic. */
u32 gvm_device_index(const struct gvm_device *device);

/*
 * The bring-up door, until GPU drivers register processes themselves: attach one process of
 * @tgid to device number @gpu and make its control files. Returns 0, -EINVAL (tgid 0), -ENODEV
 * (no such device), -EEXIST (attached already) or -ENOMEM. CONTEXT: process.
 */
int gvm_registry_attach(u32 tgid, u32 gpu);

/*
 * Undo gvm_registry_attach(). Returns 0, -ENODEV, -ENOENT (not attached), or -EBUSY: it is still
 * charged for memory. CONTEXT: process.
 */
int gvm_registry_detach(u32 tgid, u32 gpu);

/* Write a line per device: its number, name, chunks and containers. CONTEXT: process. */
void gvm_registry_show(struct seq_file *seq);

#endif
