// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm_selftest.ko, for tests only: a device of 16 chunks. Its GPU does nothing but record the
 * calls that it gets. The module uses gvm.ko as the glue to NVIDIA's driver does: it owns the
 * chunks, charges and evicts them. A test acts as the GPU's driver through these files in
 * /sys/kernel/debug/gvm_selftest:
 *
 *   check              read: the result of gvm_check(), "ok" or an error number
 *   calls              read: the calls that the GPU got, one a line; write: clear the record
 *   fail_next          write "<errno>": the next RPC, fault service or eviction fails with it
 *   charge, uncharge   write "<tgid> <n>": charge or uncharge n chunks
 *   evict              write "<tgid> <n>": evict n victims of the container's own clock
 *   hold               write "1": evictions and timeslice RPCs wait; "0": they go on
 *   space              write "<tgid>": make an address space of the writing process, in the
 *                      container of process <tgid>, until the file is closed (selftest_space.c)
 *   break              write: break an invariant of the core
 *   second             write "1": add a second GPU, on which nothing runs; "0": remove it
 *   wrong              write "<name>": make a mistake, for a debug kernel (selftest_wrong.c)
 *   tsg_attach         write "<tgid> <id>": attach a TSG to the container
 *   tsg_detach         write "<tgid> <id>": detach it
 *   fault              write "<tgid> <n>": n pages fault, the first one twice; returns when the
 *                      fault handler has replayed them. read: the handler's counts
 */
#include "gvm/charge.h"
#include "gvm/clock.h"
#include "gvm/fault.h"
#include "gvm/swap.h"
#include "gvm/tsg.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "gvm_registry.h"
#include "selftest.h"

#define SELFTEST_CHUNKS	    16
#define SELFTEST_FAULTS_MAX 64
#define SELFTEST_CALLS_MAX  4096

/* A TSG that a test attached. Guarded by selftest.mutex. */
struct selftest_tsg {
	struct list_head node; /* in selftest.tsgs */
	struct gvm_tsg tsg;
};

/*
 * The device and its GPU. LOCKING: mutex, then the core's locks, then lock. The core calls none
 * of the functions that take lock under its own leaf lock.
 */
static struct {
	struct gvm_device *device;
	struct gvm_fault_handler handler;
	struct dentry *dir;

	struct mutex mutex; /* guards the next two; one driver call at a time */
	struct gvm_container *owners[SELFTEST_CHUNKS]; /* of each chunk; NULL: it is free */
	struct list_head tsgs;			       /* selftest_tsg.node */

	struct gvm_spinlock lock; /* guards all below */
	struct gvm_waitqueue wq; /* woken when faults are queued or replayed, or hold changes */
	struct gvm_fault queue[SELFTEST_FAULTS_MAX];
	u32 queued;
	u64 replays;
	int fail_next; /* 0, or -errno */
	bool hold;
	size_t calls_length;
	char calls[SELFTEST_CALLS_MAX];
} selftest;

/* Record a call. Text that does not fit is dropped. */
static __printf(1, 2) void selftest_log(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	gvm_spin_lock(&selftest.lock);
	selftest.calls_length +=
		vscnprintf(selftest.calls + selftest.calls_length,
			   sizeof(selftest.calls) - selftest.calls_length, fmt, args);
	gvm_spin_unlock(&selftest.lock);
	va_end(args);
}

/* The result of a call: the error in fail_next, which it clears; or else 0. */
static int selftest_take_failure(void)
{
	int status;

	gvm_spin_lock(&selftest.lock);
	status = selftest.fail_next;
	selftest.fail_next = 0;
	gvm_spin_unlock(&selftest.lock);
	return status;
}

static u32 selftest_fetch_faults(void *gpu, struct gvm_fault *faults, u32 max)
{
	u32 count;

	gvm_spin_lock(&selftest.lock);
	count = min(selftest.queued, max);
	memcpy(faults, selftest.queue, count * sizeof(*faults));
	selftest.queued -= count;
	memmove(selftest.queue, selftest.queue + count, selftest.queued * sizeof(*faults));
	gvm_spin_unlock(&selftest.lock);
	return count;
}

static void selftest_service(void *memory, void *space, struct gvm_fault *faults, u32 count,
			     struct gvm_fence *fence)
{
	selftest_log("service %u\n", count);
	for (u32 i = 0; i < count; i++)
		faults[i].status = selftest_take_failure();
}

static void selftest_cancel_fault(void *gpu, const struct gvm_fault *fault)
{
	selftest_log("cancel %llu\n", fault->va);
}

static int selftest_flush_and_replay(void *gpu, const struct gvm_fence *fence)
{
	selftest_log("replay\n");
	gvm_spin_lock(&selftest.lock);
	selftest.replays++;
	gvm_spin_unlock(&selftest.lock);
	gvm_wake_up_all(&selftest.wq);
	return 0;
}

static int selftest_wait_for_faults(void *gpu)
{
	return gvm_wait_event_interruptible(&selftest.wq, READ_ONCE(selftest.queued));
}

static int selftest_evict_chunk(void *memory, u32 chunk, struct gvm_eviction *eviction)
{
	int status = -ENOENT;

	selftest_log("evict %u\n", chunk);
	gvm_wait_event(&selftest.wq, !READ_ONCE(selftest.hold));
	mutex_lock(&selftest.mutex);
	if (gvm_clock_is_picked(selftest.device, chunk)) {
		status = selftest_take_failure();
		if (status) {
			gvm_clock_putback(selftest.device, chunk);
		} else {
			gvm_uncharge(selftest.device, chunk);
			selftest.owners[chunk] = NULL;
		}
	}
	mutex_unlock(&selftest.mutex);
	return status;
}

static bool selftest_evictable(void *memory, u32 chunk)
{
	return true;
}

static int selftest_tsg_set_timeslice(void *gpu, u32 tsg, u64 timeslice_us)
{
	selftest_log("timeslice %u %llu\n", tsg, timeslice_us);
	gvm_wait_event(&selftest.wq, !READ_ONCE(selftest.hold));
	return selftest_take_failure();
}

static int selftest_tsgs_disable(void *gpu, const u32 *tsgs, u32 count, bool preempt)
{
	for (u32 i = 0; i < count; i++)
		selftest_log("disable %u\n", tsgs[i]);
	return selftest_take_failure();
}

static int selftest_tsgs_enable(void *gpu, const u32 *tsgs, u32 count)
{
	for (u32 i = 0; i < count; i++)
		selftest_log("enable %u\n", tsgs[i]);
	return selftest_take_failure();
}

static int selftest_tsg_preempt(void *gpu, u32 tsg)
{
	selftest_log("preempt %u\n", tsg);
	return selftest_take_failure();
}

/* No TSG is ever on the GPU. */
static void selftest_tsg_sample(void *gpu, u32 tsg, struct gvm_tsg_sample *ret_sample)
{
	ret_sample->on_gpu = false;
}

static const struct gvm_gpu_ops selftest_ops = {
	.fetch_faults = selftest_fetch_faults,
	.cancel_fault = selftest_cancel_fault,
	.flush_and_replay = selftest_flush_and_replay,
	.wait_for_faults = selftest_wait_for_faults,
	.tsg_set_timeslice = selftest_tsg_set_timeslice,
	.tsgs_disable = selftest_tsgs_disable,
	.tsgs_enable = selftest_tsgs_enable,
	.tsg_preempt = selftest_tsg_preempt,
	.tsg_sample = selftest_tsg_sample,
};

static const struct gvm_memory_ops selftest_memory_ops = {
	.service = selftest_service,
	.evictable = selftest_evictable,
	.evict = selftest_evict_chunk,
};

/* Find a chunk of @owner; NULL: a free chunk. Returns GVM_NO_CHUNK if there is none. */
static u32 selftest_find_chunk(const struct gvm_container *owner)
{
	for (u32 i = 0; i < SELFTEST_CHUNKS; i++)
		if (selftest.owners[i] == owner)
			return i;
	return GVM_NO_CHUNK;
}

/* Reserve, allocate and bind one chunk. Returns 0, -EDQUOT or -ENOMEM. */
static int selftest_charge_one(struct gvm_container *container)
{
	int status = gvm_charge_reserve(container);
	u32 chunk;

	if (status)
		return status;
	chunk = selftest_find_chunk(NULL);
	if (chunk == GVM_NO_CHUNK) {
		gvm_charge_cancel(container);
		return -ENOMEM;
	}
	selftest.owners[chunk] = container;
	gvm_charge_bind(container, chunk);
	return 0;
}

static int selftest_charge(struct gvm_container *container, u32 count)
{
	int status = 0;

	while (count-- && !status)
		status = selftest_charge_one(container);
	return status;
}

/* Give up the container's host memory. No eviction runs meanwhile, since it needs our mutex. */
static void selftest_forget_swap(struct gvm_container *container)
{
	u64 bytes;

	gvm_spin_lock(&selftest.device->lock);
	bytes = container->swapped_bytes;
	gvm_spin_unlock(&selftest.device->lock);
	gvm_swap_uncharge(container, bytes);
}

/* Returns 0, or -ENOENT if the container has fewer chunks. */
static int selftest_uncharge(struct gvm_container *container, u32 count)
{
	u32 chunk;

	selftest_forget_swap(container);
	while (count--) {
		chunk = selftest_find_chunk(container);
		if (chunk == GVM_NO_CHUNK)
			return -ENOENT;
		gvm_uncharge(selftest.device, chunk);
		selftest.owners[chunk] = NULL;
	}
	return 0;
}

/* Returns 0, or -ENOENT if the clock has no victim. */
static int selftest_evict(struct gvm_container *container, u32 count)
{
	u32 chunk;

	while (count--) {
		chunk = gvm_clock_pick_own(container);
		if (chunk == GVM_NO_CHUNK)
			return -ENOENT;
		gvm_uncharge(selftest.device, chunk);
		gvm_swap_charge(container, GVM_CHUNK_BYTES);
		selftest.owners[chunk] = NULL;
	}
	return 0;
}

static int selftest_tsg_attach(struct gvm_container *container, u32 id)
{
	struct selftest_tsg *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (!entry)
		return -ENOMEM;
	list_add_tail(&entry->node, &selftest.tsgs);
	return gvm_tsg_attach(container, &entry->tsg, id);
}

static void selftest_tsg_destroy(struct selftest_tsg *entry)
{
	gvm_tsg_detach(&entry->tsg);
	list_del(&entry->node);
	kfree(entry);
}

static int selftest_tsg_detach(struct gvm_container *container, u32 id)
{
	struct selftest_tsg *entry;

	list_for_each_entry(entry, &selftest.tsgs, node) {
		if (entry->tsg.container == container && entry->tsg.id == id) {
			selftest_tsg_destroy(entry);
			return 0;
		}
	}
	return -ENOENT;
}

static void selftest_queue_fault(struct gvm_container *container, u64 page)
{
	selftest.queue[selftest.queued++] = (struct gvm_fault){
		.space = container,
		.va = page * GVM_PAGE_BYTES,
		.access = GVM_ACCESS_READ,
	};
}

/* The fault on page 0 comes again at the end: the handler has to sort to find the duplicate. */
static int selftest_fault(struct gvm_container *container, u32 count)
{
	u64 replays;
	u32 page;

	if (count < 1 || count >= SELFTEST_FAULTS_MAX)
		return -EINVAL;
	gvm_spin_lock(&selftest.lock);
	if (selftest.queued) {
		gvm_spin_unlock(&selftest.lock);
		return -EBUSY;
	}
	replays = selftest.replays;
	for (page = 0; page < count; page++)
		selftest_queue_fault(container, page);
	selftest_queue_fault(container, 0);
	gvm_spin_unlock(&selftest.lock);
	gvm_wake_up_all(&selftest.wq);
	return gvm_wait_event_interruptible(&selftest.wq,
					    READ_ONCE(selftest.replays) != replays);
}

/* Take a short text from the user. Returns 0, -E2BIG or -EFAULT. */
static int selftest_copy_text(char *text, size_t room, const char __user *buf, size_t size)
{
	if (size >= room)
		return -E2BIG;
	if (copy_from_user(text, buf, size))
		return -EFAULT;
	text[size] = '\0';
	return 0;
}

/* A file to which "<tgid> <n>" is written. The file's inode points to its action. */
struct selftest_action {
	const char *name;
	int (*apply)(struct gvm_container *container, u32 n);
};

static const struct selftest_action selftest_actions[] = {
	{ "charge", selftest_charge },	       { "uncharge", selftest_uncharge },
	{ "evict", selftest_evict },	       { "tsg_attach", selftest_tsg_attach },
	{ "tsg_detach", selftest_tsg_detach }, { "fault", selftest_fault },
};

static ssize_t selftest_action_write(struct file *file, const char __user *buf, size_t size,
				     loff_t *offset)
{
	const struct selftest_action *action = file_inode(file)->i_private;
	struct gvm_container *container;
	char text[32];
	u32 tgid;
	u32 n;
	int status = selftest_copy_text(text, sizeof(text), buf, size);

	if (status)
		return status;
	if (sscanf(text, "%u %u", &tgid, &n) != 2)
		return -EINVAL;
	status = gvm_process_find(tgid, gvm_device_index(selftest.device), &container);
	if (status)
		return status;
	mutex_lock(&selftest.mutex);
	status = action->apply(container, n);
	mutex_unlock(&selftest.mutex);
	gvm_container_put(container);
	return status ? status : (ssize_t)size;
}

static int selftest_fault_show(struct seq_file *seq, void *unused)
{
	const struct gvm_fault_stats *stats = &selftest.handler.stats;

	seq_printf(seq, "batches %llu faults %llu duplicates %llu cancelled %llu\n",
		   stats->batches, stats->faults, stats->duplicates, stats->cancelled);
	return 0;
}

/* Only "fault" can be read. */
static int selftest_action_open(struct inode *inode, struct file *file)
{
	return single_open(file, selftest_fault_show, NULL);
}

static const struct file_operations selftest_action_fops = {
	.owner = THIS_MODULE,
	.open = selftest_action_open,
	.release = single_release,
	.read = seq_read,
	.write = selftest_action_write,
	.llseek = seq_lseek,
};

static ssize_t selftest_hold_write(struct file *file, const char __user *buf, size_t size,
				   loff_t *offset)
{
	bool hold;
	int status = kstrtobool_from_user(buf, size, &hold);

	if (status)
		return status;
	WRITE_ONCE(selftest.hold, hold);
	gvm_wake_up_all(&selftest.wq);
	return size;
}

static const struct file_operations selftest_hold_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = selftest_hold_write,
	.llseek = noop_llseek,
};

/* Uncharge a free chunk. The core finds the broken invariant, and the device is dead. */
static ssize_t selftest_break_write(struct file *file, const char __user *buf, size_t size,
				    loff_t *offset)
{
	gvm_uncharge(selftest.device, selftest_find_chunk(NULL));
	return size;
}

static const struct file_operations selftest_break_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = selftest_break_write,
	.llseek = noop_llseek,
};

static ssize_t selftest_fail_next_write(struct file *file, const char __user *buf, size_t size,
					loff_t *offset)
{
	u32 error;
	int status = kstrtou32_from_user(buf, size, 10, &error);

	if (status)
		return status;
	if (error > MAX_ERRNO)
		return -ERANGE;
	gvm_spin_lock(&selftest.lock);
	selftest.fail_next = -(int)error;
	gvm_spin_unlock(&selftest.lock);
	return size;
}

static const struct file_operations selftest_fail_next_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = selftest_fail_next_write,
	.llseek = noop_llseek,
};

static int selftest_calls_show(struct seq_file *seq, void *unused)
{
	gvm_spin_lock(&selftest.lock);
	seq_write(seq, selftest.calls, selftest.calls_length);
	gvm_spin_unlock(&selftest.lock);
	return 0;
}

static int selftest_calls_open(struct inode *inode, struct file *file)
{
	return single_open(file, selftest_calls_show, NULL);
}

static ssize_t selftest_calls_write(struct file *file, const char __user *buf, size_t size,
				    loff_t *offset)
{
	gvm_spin_lock(&selftest.lock);
	selftest.calls_length = 0;
	gvm_spin_unlock(&selftest.lock);
	return size;
}

static const struct file_operations selftest_calls_fops = {
	.owner = THIS_MODULE,
	.open = selftest_calls_open,
	.release = single_release,
	.read = seq_read,
	.write = selftest_calls_write,
	.llseek = seq_lseek,
};

static int selftest_check_show(struct seq_file *seq, void *unused)
{
	int status = gvm_check(selftest.device);

	if (status)
		seq_printf(seq, "%d\n", status);
	else
		seq_puts(seq, "ok\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(selftest_check);

static void selftest_create_files(void)
{
	struct dentry *dir = debugfs_create_dir("gvm_selftest", NULL);

	selftest.dir = dir;
	debugfs_create_file("check", 0444, dir, NULL, &selftest_check_fops);
	debugfs_create_file("calls", 0644, dir, NULL, &selftest_calls_fops);
	debugfs_create_file("break", 0200, dir, NULL, &selftest_break_fops);
	debugfs_create_file("wrong", 0200, dir, NULL, &selftest_wrong_fops);
	debugfs_create_file("hold", 0200, dir, NULL, &selftest_hold_fops);
	debugfs_create_file("second", 0200, dir, NULL, &selftest_second_fops);
	debugfs_create_file("space", 0200, dir, selftest.device, &selftest_space_fops);
	debugfs_create_file("fail_next", 0200, dir, NULL, &selftest_fail_next_fops);
	for (u32 i = 0; i < ARRAY_SIZE(selftest_actions); i++)
		debugfs_create_file(selftest_actions[i].name, 0600, dir,
				    (void *)&selftest_actions[i], &selftest_action_fops);
}

static int __init selftest_init(void)
{
	static const struct gvm_device_config config = {
		.name = "selftest",
		.chunk_count = SELFTEST_CHUNKS,
		.ops = &selftest_ops,
		.memory_ops = &selftest_memory_ops,
		.default_timeslice_us = 1024,
	};
	int status;

	mutex_init(&selftest.mutex);
	INIT_LIST_HEAD(&selftest.tsgs);
	gvm_spin_init(&selftest.lock, "gvm_selftest");
	gvm_waitqueue_init(&selftest.wq);
	status = gvm_device_register(&config, 0, &selftest.device);
	if (status)
		return status;
	status = gvm_fault_handler_start(&selftest.handler, selftest.device);
	if (status) {
		gvm_device_unregister(selftest.device);
		return status;
	}
	selftest_create_files();
	return 0;
}

/* A container with pages in host memory, and a reference to it. NULL: there is none. */
static struct gvm_container *selftest_find_swapped(void)
{
	struct gvm_container *container;
	struct gvm_container *found = NULL;

	gvm_spin_lock(&selftest.device->lock);
	list_for_each_entry(container, &selftest.device->containers, node)
		if (container->swapped_bytes)
			found = container;
	if (found)
		found->refs++;
	gvm_spin_unlock(&selftest.device->lock);
	return found;
}

static void selftest_forget_all_swap(void)
{
	struct gvm_container *container;

	while ((container = selftest_find_swapped())) {
		selftest_forget_swap(container);
		gvm_container_put(container);
	}
}

/* The order in which a GPU's driver is removed: faults, TSGs, memory, device. */
static void __exit selftest_exit(void)
{
	struct selftest_tsg *entry;
	struct selftest_tsg *next;

	debugfs_remove(selftest.dir);
	gvm_fault_handler_stop(&selftest.handler);
	list_for_each_entry_safe(entry, next, &selftest.tsgs, node)
		selftest_tsg_destroy(entry);
	for (u32 i = 0; i < SELFTEST_CHUNKS; i++)
		if (selftest.owners[i])
			gvm_uncharge(selftest.device, i);
	selftest_forget_all_swap();
	selftest_second_set(false);
	gvm_device_unregister(selftest.device);
}

module_init(selftest_init);
module_exit(selftest_exit);

MODULE_DESCRIPTION("Tests of gvm.ko: a GPU that records the calls that it gets");
MODULE_AUTHOR("The gvmsim authors");
MODULE_LICENSE("Dual MIT/GPL");
