// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Control files: a table of names, each with its functions for reads and writes.
 *
 * Layer: service. Writes to compute.* sleep in RPCs. Writes to gmem.limit.high and hmem.limit
 * sleep while they reclaim.
 *
 * A user may write any text, so control_parse() checks each text completely, against the bounds
 * in the table. The functions after it trust their arguments. A failed write has changed
 * nothing, with three exceptions: a setting whose RPC failed stays wished for, a limit whose
 * reclaim ended early holds, and a freeze holds while a TSG is still on the GPU.
 *
 * How it differs from the papers (GVM Table 2, Ghost Table 2) and the published driver
 *
 *   1. gmem.peak, gmem.events and "max" are as in cgroup v2. The papers' tables have no file
 *      that tells how close to its limit a container came, or how often it met the limit.
 *   2. A lowered limit holds at once. Then the write reclaims a bounded amount, a block at a
 *      time, as memory.high of cgroup v2 does. The write succeeds when no more can go;
 *      gmem.current has the result. A signal that does not kill the writer does not end it. A
 *      reclaim that was cut short returns an error, and writing the same limit again goes on
 *      with it. The published driver reclaims first and sets the limit afterwards, under locks
 *      that block every fault of the process meanwhile.
 *   3. compute.freeze reports the confirmed state of the TSGs, not the last write. A write
 *      waits until the TSGs have left the GPU, for a second at most; then it answers
 *      -ETIMEDOUT, the freeze holds, and the file says 1 as soon as they have left.
 *   4. compute.timeslice takes microseconds as well, and shows them. The papers' tables have
 *      milliseconds only, which are too coarse for the timeslice of any priority above 9.
 */
#include "gvm/control.h"
#include "gvm/activity.h"
#include "gvm/charge.h"
#include "gvm/family.h"
#include "gvm/evict.h"
#include "gvm/pressure.h"
#include "gvm/sched.h"
#include "gvm/swap.h"
#include "gvm/tsg.h"

static int control_show_u64(char *buf, size_t size, u64 value)
{
	return scnprintf(buf, size, "%llu\n", value);
}

static int control_show_limit(char *buf, size_t size, u64 bytes)
{
	if (bytes == GVM_NO_LIMIT)
		return scnprintf(buf, size, "max\n");
	return control_show_u64(buf, size, bytes);
}

/* One field that is guarded by the device's lock. */
static u64 control_get(struct gvm_container *container, const u64 *field)
{
	u64 value;

	gvm_spin_lock(&container->device->lock);
	value = *field;
	gvm_spin_unlock(&container->device->lock);
	return value;
}

/* Memory. */

static int control_high_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_limit(buf, size,
				  control_get(container, &container->gmem_high_bytes));
}

/* For the memory manager that models the published GVM: it evicts before the limit holds. */
static int control_high_prepare(struct gvm_container *container, u64 bytes)
{
	const struct gvm_device *device = container->device;

	if (!device->memory_ops || !device->memory_ops->limit_write)
		return 0;
	return device->memory_ops->limit_write(device->memory, container, bytes);
}

static int control_high_store(struct gvm_container *container, u64 bytes)
{
	gvm_limit_set_high(container, bytes);
	return 0;
}

/* The few containers that have had remote pages pay for a walk over all ranges. */
static void control_end_remote(struct gvm_container *container)
{
	const struct gvm_device *device = container->device;

	/* A device without a manager of memory has no remote pages. */
	if (device->memory_ops && device->memory_ops->remote_end &&
	    gvm_family_events(container, GVM_EVENT_REMOTE))
		device->memory_ops->remote_end(device->memory, container);
}

static int control_reclaim(struct gvm_container *container, bool wait)
{
	if (!wait) {
		gvm_pressure_post(container, (u64)gvm_charge_excess(container)
						     << GVM_CHUNK_SHIFT);
		return 0;
	}
	control_end_remote(container);
	return gvm_reclaim(container);
}

static int control_high_apply(struct gvm_container *container, bool wait)
{
	const struct gvm_device *device = container->device;
	bool enforced = device->memory_ops && device->memory_ops->enforces_limit &&
			device->memory_ops->enforces_limit(device->memory);

	return control_reclaim(container, wait && !enforced);
}

static int control_low_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_limit(buf, size,
				  control_get(container, &container->gmem_low_bytes));
}

static int control_low_store(struct gvm_container *container, u64 bytes)
{
	gvm_limit_set_low(container, bytes);
	return 0;
}

static int control_current_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_u64(buf, size, gvm_charged_bytes(container));
}

static int control_peak_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_u64(buf, size, gvm_peak_bytes(container));
}

static int control_swap_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_u64(buf, size, gvm_family_swapped_bytes(container));
}

static int control_clean_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_u64(buf, size, gvm_family_clean_bytes(container));
}

static int control_events_show(struct gvm_container *container, char *buf, size_t size)
{
	u64 high = gvm_family_events(container, GVM_EVENT_HIGH);
	u64 hmem = gvm_family_events(container, GVM_EVENT_HMEM);
	u64 oom = gvm_family_events(container, GVM_EVENT_OOM);
	u64 taken = gvm_family_events(container, GVM_EVENT_TAKEN);
	u64 remote = gvm_family_events(container, GVM_EVENT_REMOTE);
	int length;

	length = scnprintf(buf, size, "high %llu\nhmem %llu\noom %llu\n", high, hmem, oom);
	/* Only a device whose driver takes memory by force has this line. */
	if (taken)
		length += scnprintf(buf + length, size - (size_t)length, "taken %llu\n", taken);
	/* Only a container with an instruction that needs more chunks than it may have. */
	if (remote)
		length +=
			scnprintf(buf + length, size - (size_t)length, "remote %llu\n", remote);
	return length;
}

static int control_hmem_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_limit(buf, size,
				  control_get(container, &container->hmem_limit_bytes));
}

static int control_hmem_store(struct gvm_container *container, u64 bytes)
{
	gvm_limit_set_hmem(container, bytes);
	return 0;
}

/* Compute. */

static int control_timeslice_show(struct gvm_container *container, char *buf, size_t size)
{
	return scnprintf(buf, size, "%lluus\n",
			 control_get(container, &container->timeslice_us));
}

static int control_timeslice_store(struct gvm_container *container, u64 timeslice_us)
{
	return gvm_compute_set_timeslice_us(container, timeslice_us);
}

static int control_priority_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_u64(buf, size, gvm_container_priority(container));
}

static int control_priority_store(struct gvm_container *container, u64 priority)
{
	return gvm_compute_set_priority(container, (u32)priority);
}

static int control_weight_show(struct gvm_container *container, char *buf, size_t size)
{
	u32 weight;

	gvm_spin_lock(&container->device->lock);
	weight = container->weight;
	gvm_spin_unlock(&container->device->lock);
	return control_show_u64(buf, size, weight);
}

static int control_weight_store(struct gvm_container *container, u64 weight)
{
	return gvm_compute_set_weight(container, (u32)weight);
}

static int control_freeze_show(struct gvm_container *container, char *buf, size_t size)
{
	bool frozen;

	/* Without TSGs the wish is the state: the next TSG begins frozen. */
	if (list_empty(&container->tsgs))
		frozen = container->frozen;
	else
		frozen = gvm_tsgs_frozen_locked(container);
	/* A TSG that it shares obeys no container and runs. */
	frozen = frozen && !container->shared_tsgs;
	return control_show_u64(buf, size, frozen);
}

static int control_freeze_store(struct gvm_container *container, u64 freeze)
{
	return freeze ? gvm_compute_freeze(container) : gvm_compute_thaw(container);
}

static int control_freeze_apply(struct gvm_container *container, bool wait)
{
	return wait ? gvm_compute_await_frozen(container) : 0;
}

/*
 * The shim reports launches and ends at different times. So an end may be counted before its
 * launch, and the difference stops at 0.
 */
static int control_stat_show(struct gvm_container *container, char *buf, size_t size)
{
	u64 submitted, ended, pending;

	gvm_spin_lock(&container->device->lock);
	submitted = container->kernels_submitted;
	ended = container->kernels_ended;
	gvm_spin_unlock(&container->device->lock);
	pending = submitted > ended ? submitted - ended : 0;
	return scnprintf(buf, size,
			 "nr_submitted_kernels: %llu\n"
			 "nr_ended_kernels: %llu\n"
			 "nr_pending_kernels: %llu\n",
			 submitted, ended, pending);
}

/* clang-format off */
static const struct gvm_control_file control_files[] = {
	{ .name = "gmem.limit.high", .alias = "memory.limit", .mode = 0644,
	  .kind = GVM_CONTROL_BYTES, .unit = "bytes", .max = GVM_NO_LIMIT,
	  .summary = "most device memory that the container may have; a write reclaims what is above",
	  .show = control_high_show, .prepare = control_high_prepare,
	  .store = control_high_store, .apply = control_high_apply },
	{ .name = "gmem.limit.low", .mode = 0644,
	  .kind = GVM_CONTROL_BYTES, .unit = "bytes", .max = GVM_NO_LIMIT,
	  .summary = "device memory that other containers do not take from it, as far as possible",
	  .show = control_low_show, .store = control_low_store },
	{ .name = "gmem.current", .alias = "memory.current", .mode = 0444,
	  .kind = GVM_CONTROL_BYTES, .unit = "bytes",
	  .summary = "device memory charged to the container",
	  .show = control_current_show },
	{ .name = "gmem.peak", .mode = 0444,
	  .kind = GVM_CONTROL_BYTES, .unit = "bytes",
	  .summary = "the highest gmem.current so far",
	  .show = control_peak_show },
	{ .name = "gmem.events", .mode = 0444,
	  .kind = GVM_CONTROL_TEXT, .unit = "",
	  .summary = "how often the container met a limit or ran out of memory",
	  .show = control_events_show },
	{ .name = "gmem.swap.current", .alias = "memory.swap.current", .mode = 0444,
	  .kind = GVM_CONTROL_BYTES, .unit = "bytes",
	  .summary = "memory of the container that is in host memory only",
	  .show = control_swap_show },
	{ .name = "gmem.clean.current", .mode = 0444,
	  .kind = GVM_CONTROL_BYTES, .unit = "bytes",
	  .summary = "device memory of which host memory holds a valid copy",
	  .show = control_clean_show },
	{ .name = "hmem.limit", .mode = 0644,
	  .kind = GVM_CONTROL_BYTES, .unit = "bytes", .max = GVM_NO_LIMIT,
	  .summary = "most host memory that the container's evicted memory may take",
	  .show = control_hmem_show, .store = control_hmem_store, .apply = control_reclaim },
	{ .name = "compute.timeslice", .mode = 0644,
	  .kind = GVM_CONTROL_TIMESLICE, .unit = "us",
	  .min = GVM_TIMESLICE_MIN_US, .max = GVM_TIMESLICE_MAX_US,
	  .summary = "timeslice of the container's TSGs; a bare number is milliseconds",
	  .show = control_timeslice_show, .store = control_timeslice_store },
	{ .name = "compute.priority", .mode = 0644,
	  .kind = GVM_CONTROL_NUMBER, .unit = "", .max = GVM_PRIORITY_MAX,
	  .summary = "0 is the most important; priority p also sets a timeslice of 524288 us >> p",
	  .show = control_priority_show, .store = control_priority_store },
	{ .name = "compute.weight", .mode = 0644,
	  .kind = GVM_CONTROL_NUMBER, .unit = "", .min = GVM_WEIGHT_MIN, .max = GVM_WEIGHT_MAX,
	  .summary = "share of GPU time under the weighted scheduler",
	  .show = control_weight_show, .store = control_weight_store },
	{ .name = "compute.freeze", .mode = 0644,
	  .kind = GVM_CONTROL_NUMBER, .unit = "", .max = 1,
	  .summary = "1 takes the container's TSGs off the GPU, 0 lets them run again",
	  .show = control_freeze_show, .store = control_freeze_store,
	  .apply = control_freeze_apply, .tsg_mutex = true },
	{ .name = "gcgroup.stat", .mode = 0444,
	  .kind = GVM_CONTROL_TEXT, .unit = "",
	  .summary = "kernels that the container submitted, ended and has pending",
	  .show = control_stat_show },
};
/* clang-format on */

/* CONTEXT: atomic. */
u32 gvm_control_count(void)
{
	return ARRAY_SIZE(control_files);
}

/* CONTEXT: atomic. */
const struct gvm_control_file *gvm_control_at(u32 index)
{
	GVM_ASSERT(index < ARRAY_SIZE(control_files));
	return &control_files[index];
}

/* CONTEXT: atomic. */
const struct gvm_control_file *gvm_control_find(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(control_files); i++) {
		const struct gvm_control_file *file = &control_files[i];

		if (strcmp(name, file->name) == 0 ||
		    (file->alias && strcmp(name, file->alias) == 0))
			return file;
	}
	return NULL;
}

/*
 * Show a file, with the mutex that it needs. Returns the length of the text, -EINTR or -EAGAIN.
 */
static int control_show(const struct gvm_control_file *file, struct gvm_container *container,
			char *text, size_t size, bool wait)
{
	struct gvm_mutex *mutex = &container->device->tsg_mutex;
	int length;

	if (!file->tsg_mutex)
		return file->show(container, text, size);
	if (!wait && !gvm_mutex_trylock(mutex))
		return -EAGAIN;
	if (wait && gvm_mutex_lock_killable(mutex))
		return -EINTR;
	length = file->show(container, text, size);
	gvm_mutex_unlock(mutex);
	return length;
}

/*
 * A text that does not fit is an error and is not cut short: half a number is a wrong number.
 */
static int control_read(struct gvm_container *container, const char *name, char *buf,
			size_t size, bool wait)
{
	const struct gvm_control_file *file = gvm_control_find(name);
	char text[GVM_CONTROL_TEXT_MAX];
	int length;

	if (!file)
		return -ENOENT;
	if (!file->show)
		return -EACCES;
	if (gvm_device_is_dead(container->device))
		return -EIO;
	length = control_show(file, container, text, sizeof(text), wait);
	if (length < 0)
		return length;
	if ((size_t)length >= size)
		return -E2BIG;
	memcpy(buf, text, (size_t)length + 1);
	return length;
}

/* CONTEXT: process. */
int gvm_control_read(struct gvm_container *container, const char *name, char *buf, size_t size)
{
	return control_read(container, name, buf, size, true);
}

/* CONTEXT: process. */
int gvm_control_peek(struct gvm_container *container, const char *name, char *buf, size_t size)
{
	return control_read(container, name, buf, size, false);
}

static bool control_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * Parse a written text, which may end in white space, by the file's kind and bounds. Returns 0,
 * -E2BIG or -EINVAL.
 */
static int control_parse(const struct gvm_control_file *file, const char *from, size_t size,
			 u64 *ret_value)
{
	static int (*const parse[])(const char *, u64 *) = {
		[GVM_CONTROL_BYTES] = gvm_parse_bytes,
		[GVM_CONTROL_TIMESLICE] = gvm_parse_timeslice_us,
		[GVM_CONTROL_NUMBER] = gvm_parse_u64,
	};
	char text[GVM_CONTROL_TEXT_MAX];

	if (size >= sizeof(text))
		return -E2BIG;
	while (size > 0 && control_is_space(from[size - 1]))
		size--;
	memcpy(text, from, size);
	text[size] = '\0';
	if (strlen(text) != size || parse[file->kind](text, ret_value))
		return -EINVAL;
	return *ret_value < file->min || *ret_value > file->max ? -EINVAL : 0;
}

static int control_store(struct gvm_container *container, const char *name, const char *text,
			 size_t size, bool wait)
{
	const struct gvm_control_file *file = gvm_control_find(name);
	struct gvm_device *device = container->device;
	int status;
	u64 value;

	if (!file)
		return -ENOENT;
	if (!file->store)
		return -EACCES;
	status = control_parse(file, text, size, &value);
	if (status)
		return status;
	if (wait)
		status = gvm_activity_begin_wait(device, GVM_ACTIVITY_WRITERS);
	else if (!gvm_activity_begin(device, GVM_ACTIVITY_WRITERS))
		status = gvm_device_is_lost(device) ? gvm_device_error(device) : -EAGAIN;
	if (status)
		return status;
	if (wait && file->prepare)
		status = file->prepare(container, value);
	if (!status)
		status = file->store(container, value);
	if (!status && file->apply)
		status = file->apply(container, wait);
	gvm_activity_end(device, GVM_ACTIVITY_WRITERS);
	return status;
}

/* CONTEXT: process. */
int gvm_control_write(struct gvm_container *container, const char *name, const char *text,
		      size_t size)
{
	return control_store(container, name, text, size, true);
}

/* CONTEXT: process. */
int gvm_control_set(struct gvm_container *container, const char *name, const char *text,
		    size_t size)
{
	return control_store(container, name, text, size, false);
}
