// SPDX-License-Identifier: MIT OR GPL-2.0
/* Records of a run beside its timeline; see parts.h. */
#include "machine/parts.h"

#include <stdlib.h>
#include <string.h>

#include "engine/error.h"

/*
 * A record of a TSG that runs is not much longer. It has the sum of what was executed, not its
 * moments.
 */
#define ACTIVITY_RUN_MAX_NS 10000000ull

/*
 * Make room for one more element of *@array. Without memory the run ends, and this returns
 * false.
 */
static bool record_grow(struct machine *machine, void **array, size_t count, size_t *room,
			size_t element)
{
	size_t wanted = *room ? 2 * *room : 256;
	void *grown;

	if (count < *room)
		return true;
	grown = realloc(*array, wanted * element);
	if (!grown) {
		machine_fail(machine, -ENOMEM);
		return false;
	}
	*array = grown;
	*room = wanted;
	return true;
}

/*
 * The index of the scenario's container to which a container of the core belongs. A child of a
 * family has its number there; the family itself belongs to all, and is RECORD_NO_ONE.
 */
static u32 record_index(const struct gvm_container *container)
{
	u32 number = (u32)container->tgid;

	if (container->parent)
		number = container->child_number;
	return number < MACHINE_FIRST_TGID ? RECORD_NO_ONE : number - MACHINE_FIRST_TGID;
}

/* evicted() of struct gvm_port_recorder; @data is the machine. */
static void record_evicted(void *data, const struct gvm_container *container, u64 va, u32 chunk,
			   u32 pages)
{
	struct machine *machine = data;
	struct record *record = &machine->record;
	u32 index = record_index(container);

	if (index == RECORD_NO_ONE ||
	    !record_grow(machine, (void **)&record->evictions, record->eviction_count,
			 &record->eviction_room, sizeof(*record->evictions)))
		return;
	record->evictions[record->eviction_count++] = (struct record_eviction){
		.time_ns = eng_now(),
		.container = index,
		.va = va,
		.chunk = chunk,
		.pages = pages,
	};
}

/* The newest batch of a GPU, or NULL. There are few GPUs, so it is among the last ones. */
static struct record_batch *newest_batch(struct record *record, u32 gpu)
{
	for (size_t i = record->batch_count; i-- > 0;)
		if (record->batches[i].gpu == gpu)
			return &record->batches[i];
	return NULL;
}

/* batch() of struct gvm_port_recorder; @data is the machine. */
static void record_batch(void *data, const struct gvm_device *device, bool begins, u32 faults)
{
	const struct sim_gpu *gpu = container_of(device, struct sim_gpu, device);
	struct machine *machine = data;
	struct record *record = &machine->record;
	u32 index = (u32)(gpu - machine->gpus);
	struct record_batch *batch;

	if (!begins) {
		batch = newest_batch(record, index);
		if (batch) {
			batch->to_ns = eng_now();
			batch->distinct = faults;
		}
		return;
	}
	if (!record_grow(machine, (void **)&record->batches, record->batch_count,
			 &record->batch_room, sizeof(*record->batches)))
		return;
	record->batches[record->batch_count++] = (struct record_batch){
		.from_ns = eng_now(),
		.gpu = index,
		.faults = faults,
	};
}

/* pressure() of struct gvm_port_recorder; @data is the machine. */
static void record_pressure(void *data, const struct gvm_container *container, u64 bytes)
{
	struct machine *machine = data;
	struct record *record = &machine->record;
	u32 index = record_index(container);

	if (index == RECORD_NO_ONE ||
	    !record_grow(machine, (void **)&record->pressures, record->pressure_count,
			 &record->pressure_room, sizeof(*record->pressures)))
		return;
	record->pressures[record->pressure_count++] = (struct record_pressure){
		.time_ns = eng_now(),
		.bytes = bytes,
		.container = index,
		.listeners = container->listener_count,
	};
}

/* The container whose process has this TSG. */
static const struct sim_container *container_of_tsg(const struct fifo_tsg *tsg)
{
	const struct sim_process *process = container_of(tsg, struct sim_process, tsg);

	return container_of(process, struct sim_container, process);
}

/*
 * The container that holds the runlist of a TSG that has to wait: one with faults, if these
 * block it. RECORD_NO_ONE: no entry is loaded, or its own, as while it is frozen.
 */
static u32 find_holder(const struct fifo_tsg *waiting, enum fifo_activity activity)
{
	const struct fifo_entry *current = waiting->entry->runlist->current;
	u32 holder = RECORD_NO_ONE;
	struct fifo_tsg *tsg;

	if (activity != FIFO_BLOCKED && (activity != FIFO_WAITS || !waiting->enabled))
		return RECORD_NO_ONE;
	if (current == waiting->entry && activity != FIFO_BLOCKED)
		return RECORD_NO_ONE;
	fifo_for_each_loaded(current, tsg)
		if (tsg != waiting &&
		    (holder == RECORD_NO_ONE || (tsg->stalled && activity == FIFO_BLOCKED)))
			holder = container_of_tsg(tsg)->index;
	return holder;
}

/* spent() of struct fifo_observer; @data is the machine. Equal neighbours become one record. */
static void record_spent(void *data, const struct fifo_tsg *tsg, enum fifo_activity activity,
			 u64 from_ns, u64 to_ns, u64 busy_ns, u64 slow_ns)
{
	struct machine *machine = data;
	struct record *record = &machine->record;
	u32 index = container_of_tsg(tsg)->index, by = find_holder(tsg, activity);
	struct record_activity *last;

	if (record->last_activity[index]) {
		last = &record->activities[record->last_activity[index] - 1];
		if (last->to_ns == from_ns && last->activity == activity && last->by == by &&
		    (activity != FIFO_RUNS || to_ns - last->from_ns <= ACTIVITY_RUN_MAX_NS)) {
			last->to_ns = to_ns;
			last->busy_ns += busy_ns;
			last->slow_ns += slow_ns;
			return;
		}
	}
	if (!record_grow(machine, (void **)&record->activities, record->activity_count,
			 &record->activity_room, sizeof(*record->activities)))
		return;
	record->activities[record->activity_count++] = (struct record_activity){
		.from_ns = from_ns,
		.to_ns = to_ns,
		.busy_ns = busy_ns,
		.slow_ns = slow_ns,
		.container = index,
		.by = by,
		.activity = activity,
	};
	record->last_activity[index] = record->activity_count;
}

/* copied() of struct pcie_observer; @data is the machine. */
static void record_copied(void *data, const struct pcie_link *link,
			  enum pcie_direction direction, u64 from_ns, u64 bytes)
{
	const struct sim_gpu *gpu = container_of(link, struct sim_gpu, link);
	struct machine *machine = data;
	struct record *record = &machine->record;

	if (!record_grow(machine, (void **)&record->copies, record->copy_count,
			 &record->copy_room, sizeof(*record->copies)))
		return;
	record->copies[record->copy_count++] = (struct record_copy){
		.from_ns = from_ns,
		.to_ns = eng_now(),
		.bytes = bytes,
		.gpu = (u32)(gpu - machine->gpus),
		.direction = direction,
	};
}

void record_observe(struct machine *machine, struct sim_gpu *gpu)
{
	if (machine->config->record_activity || machine->config->trace.form)
		gpu->fifo.observer = (struct fifo_observer){ record_spent, machine };
	if (machine->config->trace.form)
		gpu->link.observer = (struct pcie_observer){ record_copied, machine };
}

int record_init(struct machine *machine, struct sim_error *err)
{
	struct record *record = &machine->record;

	gvm_port_recorder = (struct gvm_port_recorder){ .data = machine };
	if (machine->config->record_evictions || machine->config->trace.form)
		gvm_port_recorder.evicted = record_evicted;
	if (machine->config->trace.form) {
		gvm_port_recorder.batch = record_batch;
		gvm_port_recorder.pressure = record_pressure;
	}
	record->newest = calloc((size_t)machine->container_count * gvm_control_count(),
				sizeof(*record->newest));
	record->last_activity =
		calloc(machine->container_count + 1, sizeof(*record->last_activity));
	return record->newest && record->last_activity ?
		       0 :
		       sim_runtime_error(err, "out of memory");
}

void record_destroy(struct machine *machine)
{
	gvm_port_recorder = (struct gvm_port_recorder){ 0 };
	free(machine->record.controls);
	free(machine->record.newest);
	free(machine->record.evictions);
	free(machine->record.activities);
	free(machine->record.copies);
	free(machine->record.batches);
	free(machine->record.pressures);
	free(machine->record.last_activity);
}

/* Replace line ends in @text by blanks, and drop those at its end. */
static void join_lines(char *text)
{
	size_t length = strlen(text);

	while (length && text[length - 1] == '\n')
		text[--length] = '\0';
	for (; *text; text++)
		if (*text == '\n')
			*text = ' ';
}

/*
 * Read a file, and add a row if its text has changed. Blocking, unless this is the @last sample:
 * then a file that cannot be read at once has no row.
 */
static void record_file(struct sim_container *container, u32 file, bool last)
{
	struct machine *machine = container->machine;
	struct record *record = &machine->record;
	size_t *newest = &record->newest[container->index * gvm_control_count() + file];
	struct record_control row = { .container = container->index,
				      .file = gvm_control_at(file)->name };
	int (*read)(struct gvm_container * gvm, const char *name, char *text, size_t size) =
		last ? gvm_control_peek : gvm_control_read;

	if (read(container->process.container, row.file, row.text, sizeof(row.text)) < 0)
		return;
	/* The run may have ended while this waited. */
	if (machine->end_ns && !last)
		return;
	join_lines(row.text);
	if (*newest && !strcmp(record->controls[*newest - 1].text, row.text))
		return;
	row.time_ns = eng_now();
	if (!record_grow(machine, (void **)&record->controls, record->control_count,
			 &record->control_room, sizeof(*record->controls)))
		return;
	record->controls[record->control_count++] = row;
	*newest = record->control_count;
}

/*
 * Read all files; blocking, unless this is the @last sample. A process may exit meanwhile, so
 * this takes a reference to its container.
 */
static void record_all(struct machine *machine, bool last)
{
	for (u32 i = 0; i < machine->container_count; i++) {
		struct sim_container *container = &machine->containers[i];
		struct gvm_container *gvm = container->process.container;

		if (!container->process.running)
			continue;
		cuda_device_report(&container->cuda);
		gvm_container_get(gvm);
		for (u32 file = 0; file < gvm_control_count() && container->process.running;
		     file++)
			record_file(container, file, last);
		gvm_container_put(gvm);
	}
}

void record_main(void *data)
{
	struct machine *machine = data;
	u64 interval = machine->config->timeline_interval;
	u64 date = 0;

	if (!machine->config->record_controls)
		return;
	while (!eng_sleep_until(date += interval) && !machine->end_ns)
		record_all(machine, false);
}

/* The run may end within an interval: sample its end, in no time. */
void record_end(struct machine *machine)
{
	if (machine->config->record_controls)
		record_all(machine, true);
	gvm_port_recorder = (struct gvm_port_recorder){ 0 };
	for (u32 i = 0; i < machine->gpu_count; i++) {
		machine->gpus[i].fifo.observer = (struct fifo_observer){ 0 };
		machine->gpus[i].link.observer = (struct pcie_observer){ 0 };
	}
}
