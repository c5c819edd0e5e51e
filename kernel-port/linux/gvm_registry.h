/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What gvm.ko offers to the modules that drive GPUs: registration of a device with the core,
 * and of the processes that use it. A driver does, in this order and back:
 *
 *   gvm_device_register()                 the GPU, its gvm_gpu_ops
 *   gvm_fault_handler_start()             and evictors, as it likes
 *   gvm_process_attach()                  a process opened an address space on it
 *   gvm_space_begin()                     and may divide it among children
 *   gvm_tsg_attach(), gvm_range_init()... what that process made
 *
 * WHICH CONTAINER a process gets is decided when it opens its first address space on a device,
 * and holds until it closes its last one:
 *   1. the container of its cgroup, if the administrator has made that cgroup, or one above it,
 *      a container: gvm_cgroups_add(). No process joins or leaves such a container by other
 *      means;
 *   2. the one of the process that it names, if it may (gvm_pid_is_permitted());
 *   3. the one that its parent is in, or the parent's parent, and so on;
 *   4. a new one.
 *
 * LOCKING. One mutex of gvm_members.h guards the list of devices and their members. It is
 * outermost: the core's tsg_mutex and leaf lock are taken under it. No operation on a control
 * file takes it, and no thread waits for such an operation while holding it. So a limit write
 * that reclaims for long delays the exit of its own container's processes only.
 */
#ifndef GVM_REGISTRY_H
#define GVM_REGISTRY_H

#include "gvm/container.h"

struct gvm_member;
struct seq_file;

/*
 * Make a device and give it @number, or the lowest free one if that is taken; it names its
 * directories. *ret_device is valid until gvm_device_unregister(); what @config points to must
 * be as well. Returns 0, or -EINVAL or -ENOMEM. CONTEXT: process.
 */
int gvm_device_register(const struct gvm_device_config *config, u32 number,
			struct gvm_device **ret_device);

/*
 * Detach the processes that were attached by hand, wait for operations on their control files,
 * let every pressure descriptor read its end, and free the device: no call of its ops is made
 * any more. The caller has uncharged all memory, detached all TSGs and processes, stopped its
 * fault handler and put its references before. CONTEXT: process.
 */
void gvm_device_unregister(struct gvm_device *device);

/* The number of a registered device: <gpu> in <tgid>/<gpu>/. CONTEXT: atomic. */
u32 gvm_device_index(const struct gvm_device *device);

/*
 * One more address space of the calling process uses @device. @group_tgid names a process whose
 * container it wants to join, by its number in the caller's pid namespace; 0: none. The first
 * address space of a process makes <tgid>/<gpu>/, which shows the same container as those of
 * all other members; <tgid> is its number in the initial pid namespace.
 *
 * Returns 0, and in *ret_member the process's membership, whose container stays as long as
 * that; -ESRCH (@group_tgid is in no container of the device), -EPERM (it is in one that the
 * caller may not join), -EEXIST (the caller is in another container already), -ENOMEM, or -EIO
 * (the device is dead). CONTEXT: process.
 */
int gvm_process_attach(struct gvm_device *device, u32 group_tgid,
		       struct gvm_member **ret_member);

/* Its container: no reference. CONTEXT: atomic. */
struct gvm_container *gvm_member_container(const struct gvm_member *member);

/*
 * Undo one gvm_process_attach(). Any process may call it, because files are inherited. The last
 * call for a process removes <tgid>/<gpu>/ and waits for operations on its files. The last call
 * for a container removes the container. Its memory must have been uncharged before. CONTEXT:
 * process.
 */
void gvm_process_detach(struct gvm_member *member);

/*
 * An address space of the member is @space in its ranges: from now on its process can divide
 * it (gvm_children.h). end: it cannot any more, and its children are closed; their directories
 * have gone. end comes after its ranges are destroyed and before gvm_process_detach(), in any
 * process. begin: 0 or -ENOMEM.
 * CONTEXT: process.
 */
int gvm_space_begin(struct gvm_member *member, void *space);
void gvm_space_end(struct gvm_member *member, void *space);

/*
 * The container on device number @gpu of the process whose number is @tgid in the caller's pid
 * namespace; 0: the caller's own. Returns 0 and a reference in *ret_container, -ENODEV (no such
 * device), -ESRCH, or -EPERM (gvm_pid_is_permitted()). CONTEXT: process.
 */
int gvm_process_find(u32 tgid, u32 gpu, struct gvm_container **ret_container);

/*
 * By hand, for tests and for drivers that do not know gvm.ko: attach one address space of @tgid
 * to device number @gpu, once. @group_tgid may be @tgid. Returns 0, -EINVAL (a number is 0),
 * -ENODEV (no such device), -ESRCH (no such process), -EEXIST (attached already), -EBUSY (@tgid
 * is leaving just now) or what gvm_process_attach() returns. CONTEXT: process.
 */
int gvm_registry_attach(u32 tgid, u32 gpu, u32 group_tgid);

/*
 * Undo gvm_registry_attach(). Returns 0, -ENODEV, -ENOENT (not attached by hand), or -EBUSY:
 * the container would lose its last process, and still has memory, on the device or on the
 * host. CONTEXT: process.
 */
int gvm_registry_detach(u32 tgid, u32 gpu);

/*
 * Have @hook called for each device that is unregistered, after its last process has gone and
 * before it is freed: files that hold a container let it go. Set once, at module init. CONTEXT:
 * process.
 */
void gvm_registry_on_unregister(void (*hook)(struct gvm_device *device));

/* Write a line per device: its number, name, chunks and containers. CONTEXT: process. */
void gvm_registry_show(struct seq_file *seq);

#endif
