// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Control files: a table of names, and what reading and writing each one does.
 *
 * Layer: service. Writes to compute.* sleep in RPCs, those to gmem.limit.high and hmem.limit while
 * they reclaim.
 *
 * This is the border. A text comes from a user who may have written anything, so it is checked
 * here, completely, and what is behind it trusts its arguments. A write that fails has changed
 * nothing, but for a setting whose RPC failed: that one stays as a wish, and the error tells.
 *
 *
 * How it differs from the papers (GVM Table 2, Ghost Table 2) and the published driver
 *
 *   1. gmem.peak, gmem.events and "max" are habits of cgroup v2; the two tables have nothing
 *      that says how close to its limit a container came, or how often it hit it.
 *   2. A limit that is lowered holds at once. Then the write reclaims, boundedly and a block at a
 *      time, as memory.high of cgroup v2 does, until its thread is killed, and succeeds
 *      whatever came of it: gmem.current tells. The published driver reclaims first and sets the
 *      limit afterwards, under locks that block every fault of the process meanwhile.
 *   3. compute.freeze reports what is known of the TSGs, not what was last written.
 *   4. compute.timeslice takes microseconds as well, and shows them. The tables have
 *      milliseconds only, which cannot say what any priority above 9 means.
 */
#include "gvm/control.h"
#include "gvm/charge.h"
#include "gvm/evict.h"
#include "gvm/pressure.h"
#include "gvm/sched.h"
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

static int control_high_store(struct gvm_container *container, const char *text)
{
	u64 bytes;

	if (gvm_parse_bytes(text, &bytes))
		return -EINVAL;
	gvm_limit_set_high(container, bytes);
	return 0;
}

static void control_reclaim(struct gvm_container *container, bool wait)
{
	if (wait)
		gvm_reclaim(container);
	else
		gvm_pressure_post(container, (u64)gvm_charge_excess(container)
						     << GVM_CHUNK_SHIFT);
}

static int control_low_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_limit(buf, size,
				  control_get(container, &container->gmem_low_bytes));
}

static int control_low_store(struct gvm_container *container, const char *text)
{
	u64 bytes;

	if (gvm_parse_bytes(text, &bytes))
		return -EINVAL;
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
	return control_show_u64(buf, size, control_get(container, &container->swapped_bytes));
}

static int control_clean_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_u64(buf, size, control_get(container, &container->clean_bytes));
}

static int control_events_show(struct gvm_container *container, char *buf, size_t size)
{
	u64 high, hmem, oom;

	gvm_spin_lock(&container->device->lock);
	high = container->events[GVM_EVENT_HIGH];
	hmem = container->events[GVM_EVENT_HMEM];
	oom = container->events[GVM_EVENT_OOM];
	gvm_spin_unlock(&container->device->lock);
	return scnprintf(buf, size, "high %llu\nhmem %llu\noom %llu\n", high, hmem, oom);
}

static int control_hmem_show(struct gvm_container *container, char *buf, size_t size)
{
	return control_show_limit(buf, size, control_get(container, &container->hmem_bytes));
}

static int control_hmem_store(struct gvm_container *container, const char *text)
{
	u64 bytes;

	if (gvm_parse_bytes(text, &bytes))
		return -EINVAL;
	gvm_limit_set_hmem(container, bytes);
	return 0;
}

/* Compute. */

static int control_timeslice_show(struct gvm_container *container, char *buf, size_t size)
{
	u64 timeslice_us;

	if (gvm_mutex_lock_killable(&container->device->tsg_mutex))
		return -EINTR;
	timeslice_us = container->timeslice_us;
	gvm_mutex_unlock(&container->device->tsg_mutex);
	return scnprintf(buf, size, "%lluus\n", timeslice_us);
}

static int control_timeslice_store(struct gvm_container *container, const char *text)
{
	u64 timeslice_us;

	if (gvm_parse_timeslice_us(text, &timeslice_us))
		return -EINVAL;
	return gvm_compute_set_timeslice_us(container, timeslice_us);
}

static int control_priority_show(struct gvm_container *container, char *buf, size_t size)
{
	u32 priority;

	if (gvm_mutex_lock_killable(&container->device->tsg_mutex))
		return -EINTR;
	priority = container->priority;
	gvm_mutex_unlock(&container->device->tsg_mutex);
	return control_show_u64(buf, size, priority);
}

static int control_priority_store(struct gvm_container *container, const char *text)
{
	u64 priority;

	if (gvm_parse_u64(text, &priority) || priority > GVM_PRIORITY_MAX)
		return -EINVAL;
	return gvm_compute_set_priority(container, (u32)priority);
}

static int control_weight_show(struct gvm_container *container, char *buf, size_t size)
{
	u32 weight;

	if (gvm_mutex_lock_killable(&container->device->tsg_mutex))
		return -EINTR;
	weight = container->weight;
	gvm_mutex_unlock(&container->device->tsg_mutex);
	return control_show_u64(buf, size, weight);
}

static int control_weight_store(struct gvm_container *container, const char *text)
{
	u64 weight;

	if (gvm_parse_u64(text, &weight) || weight > GVM_WEIGHT_MAX)
		return -EINVAL;
	return gvm_compute_set_weight(container, (u32)weight);
}

static int control_freeze_show(struct gvm_container *container, char *buf, size_t size)
{
	bool frozen;

	if (gvm_mutex_lock_killable(&container->device->tsg_mutex))
		return -EINTR;
	frozen = gvm_tsgs_frozen_locked(container);
	/* No TSG can contradict the wish; the next one will be born frozen. */
	if (list_empty(&container->tsgs))
		frozen = container->frozen;
	gvm_mutex_unlock(&container->device->tsg_mutex);
	return control_show_u64(buf, size, frozen);
}

static int control_freeze_store(struct gvm_container *container, const char *text)
{
	u64 freeze;

	if (gvm_parse_u64(text, &freeze) || freeze > 1)
		return -EINVAL;
	return freeze ? gvm_compute_freeze(container) : gvm_compute_thaw(container);
}

/* The shim reports the two sides at different times, so an end may be ahead of its start. */
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

static const struct gvm_control_file control_files[] = {
	{ "gmem.limit.high", "memory.limit", control_high_show, control_high_store,
	  control_reclaim },
	{ "gmem.limit.low", NULL, control_low_show, control_low_store, NULL },
	{ "gmem.current", "memory.current", control_current_show, NULL, NULL },
	{ "gmem.peak", NULL, control_peak_show, NULL, NULL },
	{ "gmem.events", NULL, control_events_show, NULL, NULL },
	{ "gmem.swap.current", "memory.swap.current", control_swap_show, NULL, NULL },
	{ "gmem.clean.current", NULL, control_clean_show, NULL, NULL },
	{ "hmem.limit", NULL, control_hmem_show, control_hmem_store, control_reclaim },
	{ "compute.timeslice", NULL, control_timeslice_show, control_timeslice_store, NULL },
	{ "compute.priority", NULL, control_priority_show, control_priority_store, NULL },
	{ "compute.weight", NULL, control_weight_show, control_weight_store, NULL },
	{ "compute.freeze", NULL, control_freeze_show, control_freeze_store, NULL },
	{ "gcgroup.stat", NULL, control_stat_show, NULL, NULL },
};

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
	u32 i;

	for (i = 0; i < ARRAY_SIZE(control_files); i++) {
		const struct gvm_control_file *file = &control_files[i];

		if (strcmp(name, file->name) == 0 ||
		    (file->alias && strcmp(name, file->alias) == 0))
			return file;
	}
	return NULL;
}

/*
 * Half a number is a wrong number: a text that does not fit is an error and is not cut short.
 * CONTEXT: process.
 */
int gvm_control_read(struct gvm_container *container, const char *name, char *buf, size_t size)
{
	const struct gvm_control_file *file = gvm_control_find(name);
	char text[GVM_CONTROL_TEXT_MAX];
	int length;

	if (!file)
		return -ENOENT;
	if (!file->show)
		return -EACCES;
	length = file->show(container, text, sizeof(text));
	if (length < 0)
		return length;
	if ((size_t)length >= size)
		return -E2BIG;
	memcpy(buf, text, (size_t)length + 1);
	return length;
}

static bool control_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Copy a written text without the white space at its end. Returns 0 or -EINVAL. */
static int control_take_text(char *text, const char *from, size_t size)
{
	while (size > 0 && control_is_space(from[size - 1]))
		size--;
	memcpy(text, from, size);
	text[size] = '\0';
	return size > 0 && strlen(text) == size ? 0 : -EINVAL;
}

static int control_store(struct gvm_container *container, const char *name, const char *text,
			 size_t size, bool wait)
{
	const struct gvm_control_file *file = gvm_control_find(name);
	char copy[GVM_CONTROL_TEXT_MAX];
	int error;

	if (!file)
		return -ENOENT;
	if (!file->store)
		return -EACCES;
	if (size >= sizeof(copy))
		return -E2BIG;
	error = control_take_text(copy, text, size);
	if (error)
		return error;
	error = file->store(container, copy);
	if (!error && file->settle)
		file->settle(container, wait);
	return error;
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
