/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What gvm.ko offers to the modules that drive GPUs: registration of a device with the core, and of
 * the processes that use it. A driver does, in this order and back:
 *
 *   gvm_device_register()                 the GPU, its gvm_gpu_ops
 *   gvm_fault_handler_start()             and evictors, as it likes
 *   gvm_process_attach()                  a process opened an address space on it
 *   gvm_tsg_attach(), gvm_range_init()... what that process made
 *
 * LOCKING. One mutex, private to gvm_registry.c, guards the list of devices and their members. It is
 * outermost: the core's tsg_mutex and leaf lock are taken under it. No operation on a control file
 * takes it, and no thread waits for such an operation while holding it. So a limit write that
 * reclaims for long delays the exit of its own container's processes only.
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
 * Detach the processes that were attached by hand, wait for operations on their control files,
 * let every pressure descriptor read its end, and free the device: no call of its ops is made any
 * more. The caller has uncharged all memory, detached all TSGs and processes, stopped its fault
 * handler and put its references before. CONTEXT: process.
 */
void gvm_device_unregister(struct gvm_device *device);

/* The number of a registered device: <gpu> in <tgid>/<gpu>/. CONTEXT: atomic. */
u32 gvm_device_index(const struct gvm_device *device);

/*
 * One more address space of process @tgid uses @device. The process joins the container that process
 * @group_tgid is in; its own tgid: the one that it is in itself, or else a new one. All numbers
 * are of the initial pid namespace. The first address space of a process makes <tgid>/<gpu>/, which
 * shows the same container as those of all other members.
 *
 * Returns 0 and a reference in *ret_container, which is the container's as long as a process is
 * attached; -EINVAL (a tgid is 0), -ESRCH (@group_tgid is in no container of the device), -EEXIST
 * (@tgid is in another container already) or -ENOMEM. CONTEXT: process.
 */
int gvm_process_attach(struct gvm_device *device, u32 group_tgid, u32 tgid,
		       struct gvm_container **ret_container);

/*
 * Undo one gvm_process_attach() of @tgid; @container is what that returned, and is not touched again.
 * The last one of a process removes <tgid>/<gpu>/ and waits for operations on its files, the
 * last one of all removes the container: what is charged to it has been uncharged before.
 * CONTEXT: process.
 */
void gvm_process_detach(struct gvm_device *device, u32 tgid, struct gvm_container *container);

/*
 * The container that process @tgid is in on device number @gpu. Returns 0 and a reference in
 * *ret_container, -ENODEV (no such device) or -ESRCH. CONTEXT: process.
 */
int gvm_process_find(u32 tgid, u32 gpu, struct gvm_container **ret_container);

/*
 * By hand, for tests and for drivers that do not know gvm.ko: attach one address space of @tgid to
 * device number @gpu, once. Returns 0, -ENODEV (no such device), -EEXIST (attached already), -EBUSY
 * (@tgid is leaving just now) or what gvm_process_attach() returns. CONTEXT: process.
 */
int gvm_registry_attach(u32 tgid, u32 gpu, u32 group_tgid);

/*
 * Undo gvm_registry_attach(). Returns 0, -ENODEV, -ENOENT (not attached by hand), or -EBUSY: the
 * container would lose its last process, and still has memory, on the device or on the host. CONTEXT:
 * process.
 */
int gvm_registry_detach(u32 tgid, u32 gpu);

/*
 * Have @hook called for each device that is unregistered, after its last process has gone and before it
 * is freed: files that hold a container let it go. Set once, at module init. CONTEXT: process.
 */
void gvm_registry_on_unregister(void (*hook)(struct gvm_device *device));

/* Write a line per device: its number, name, chunks and containers. CONTEXT: process. */
void gvm_registry_show(struct seq_file *seq);

#endif
