// SPDX-License-Identifier: MIT OR GPL-2.0
/* Records of a run beside its timeline; see parts.h. */
#include "machine/parts.h"

#include <stdlib.h>
#include <string.h>

#include "engine/error.h"

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

/* evicted() of struct gvm_port_recorder; @data is the machine. */
static void record_evicted(void *data, const struct gvm_container *container, u64 va, u32 chunk,
			   u32 pages)
{
	struct machine *machine = data;
	struct record *record = &machine->record;

	if (!record_grow(machine, (void **)&record->evictions, record->eviction_count,
			 &record->eviction_room, sizeof(*record->evictions)))
		return;
	record->evictions[record->eviction_count++] = (struct record_eviction){
		.time_ns = eng_now(),
		.container = container->tgid - MACHINE_FIRST_TGID,
		.va = va,
		.chunk = chunk,
		.pages = pages,
	};
}

int record_init(struct machine *machine, struct sim_error *err)
{
	struct record *record = &machine->record;

	if (machine->config->record_evictions)
		gvm_port_recorder = (struct gvm_port_recorder){ record_evicted, machine };
	record->newest = calloc((size_t)machine->container_count * gvm_control_count(),
				sizeof(*record->newest));
	return record->newest ? 0 : sim_runtime_error(err, "out of memory");
}

void record_destroy(struct machine *machine)
{
	gvm_port_recorder = (struct gvm_port_recorder){ 0 };
	free(machine->record.controls);
	free(machine->record.newest);
	free(machine->record.evictions);
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

/* Blocking: read a file, and add a row if its text has changed. */
static void record_file(struct sim_container *container, u32 file)
{
	struct record *record = &container->machine->record;
	size_t *newest = &record->newest[container->index * gvm_control_count() + file];
	struct record_control row = { .container = container->index,
				      .file = gvm_control_at(file)->name };

	if (gvm_control_read(container->process.container, row.file, row.text,
			     sizeof(row.text)) < 0)
		return;
	join_lines(row.text);
	if (*newest && !strcmp(record->controls[*newest - 1].text, row.text))
		return;
	/* The last sample comes after the books are closed: it is of the end of the run. */
	row.time_ns = container->machine->end_ns ? container->machine->end_ns : eng_now();
	if (!record_grow(container->machine, (void **)&record->controls, record->control_count,
			 &record->control_room, sizeof(*record->controls)))
		return;
	record->controls[record->control_count++] = row;
	*newest = record->control_count;
}

/*
 * Blocking: read all files. A process may exit meanwhile, so this takes a reference to its
 * container.
 */
static void record_all(struct machine *machine)
{
	for (u32 i = 0; i < machine->container_count; i++) {
		struct sim_container *container = &machine->containers[i];
		struct gvm_container *gvm = container->process.container;

		if (!container->process.running)
			continue;
		gvm_container_get(gvm);
		for (u32 file = 0; file < gvm_control_count() && container->process.running;
		     file++)
			record_file(container, file);
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
	while (!eng_sleep_until(date += interval))
		record_all(machine);
	/* The run may end within an interval: sample its end. */
	record_all(machine);
}
