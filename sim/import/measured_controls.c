// SPDX-License-Identifier: MIT OR GPL-2.0
#include "import/measured_controls.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"
#include "gvm/control.h"
#include "gvm/port.h"
#include "gvm/sched.h"
#include "gvm/tsg.h"
#include "results/csv.h"
#include "results/results.h"

enum { TIME, CONTAINER, FILE_NAME, VALUE, COLUMNS };

static int add_row(struct measured_controls *controls, const struct csv *csv,
		   struct sim_error *err)
{
	const struct gvm_control_file *file = gvm_control_find(csv_text(csv, FILE_NAME));
	struct measured_control *list;
	size_t container = 0;
	u64 time_ns;
	int status = csv_u64(csv, TIME, &time_ns, err);

	while (container < controls->summary->container_count &&
	       strcmp(controls->summary->containers[container].name,
		      csv_text(csv, CONTAINER)) != 0)
		container++;
	/* Counters are no settings. */
	if (status || !file || !(file->mode & 0222) ||
	    container == controls->summary->container_count)
		return status;
	list = reallocarray(controls->list, controls->count + 1, sizeof(*list));
	if (!list)
		return sim_runtime_error(err, "out of memory");
	controls->list = list;
	list[controls->count] = (struct measured_control){
		.container = container,
		.time_ns = time_ns,
		.file = file,
	};
	snprintf(list[controls->count].value, sizeof(list[controls->count].value), "%s",
		 csv_text(csv, VALUE));
	controls->count++;
	return 0;
}

int measured_controls_read(struct measured_controls *controls, const char *results,
			   const struct summary *summary, struct sim_error *err)
{
	static const char *const names[COLUMNS] = { "time_ns", "container", "file", "value" };
	char path[PATH_MAX + 32];
	struct csv csv;
	int status;

	*controls = (struct measured_controls){ .summary = summary, .events = json_array() };
	if (!controls->events)
		return sim_runtime_error(err, "out of memory");
	snprintf(path, sizeof(path), "%s/" RESULTS_CONTROLS, results);
	if (!csv_exists(path))
		return 0;
	status = csv_open(&csv, path, names, COLUMNS, err);
	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		status = add_row(controls, &csv, err);
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

void measured_controls_destroy(struct measured_controls *controls)
{
	free(controls->list);
	json_decref(controls->events);
	*controls = (struct measured_controls){ 0 };
}

bool measured_controls_has(const struct measured_controls *controls, size_t container)
{
	for (size_t i = 0; i < controls->count; i++)
		if (controls->list[i].container == container)
			return true;
	return false;
}

/* The value of a setting in the first sample of a container; NULL: it was not there. */
static const struct measured_control *first_of(const struct measured_controls *controls,
					       size_t container, const char *name)
{
	const struct measured_control *sample = NULL;

	for (size_t i = 0; i < controls->count; i++) {
		const struct measured_control *control = &controls->list[i];

		if (control->container != container)
			continue;
		sample = sample ? sample : control;
		if (!strcmp(control->file->name, name))
			return control->time_ns == sample->time_ns ? control : NULL;
	}
	return NULL;
}

/* Does a first value set nothing: no limit, no protection, an equal share? */
static bool sets_nothing(const struct measured_control *control)
{
	char weight[16];
	const struct {
		const char *file, *value;
	} unset[] = {
		{ "gmem.limit.high", "max" }, { "gmem.limit.low", "0" },
		{ "hmem.limit", "max" },      { "compute.weight", weight },
		{ "compute.freeze", "0" },
	};

	snprintf(weight, sizeof(weight), "%u", GVM_WEIGHT_DEFAULT);
	for (size_t i = 0; i < ARRAY_SIZE(unset); i++)
		if (!strcmp(control->file->name, unset[i].file) &&
		    !strcmp(control->value, unset[i].value))
			return true;
	return false;
}

/* How a timeslice in the first sample came about. */
enum slice_origin {
	SLICE_ALONE,	   /* there is no priority beside it */
	SLICE_OF_PRIORITY, /* the priority has set it: a scenario has one of them */
	SLICE_AFTER_PRIORITY,
};

static enum slice_origin slice_origin(const struct measured_controls *controls,
				      const struct measured_control *slice)
{
	const struct measured_control *priority =
		first_of(controls, slice->container, "compute.priority");
	u64 number, slice_ns;
	char *end;

	if (!priority)
		return SLICE_ALONE;
	number = strtoull(priority->value, &end, 10);
	if (*end || number > GVM_PRIORITY_MAX ||
	    units_parse_duration(slice->value, &slice_ns) != UNITS_OK ||
	    gvm_priority_to_timeslice_us((u32)number) * 1000 != slice_ns)
		return SLICE_AFTER_PRIORITY;
	return SLICE_OF_PRIORITY;
}

static json_t *event_json(const struct measured_controls *controls,
			  const struct measured_control *control, u64 at_ns)
{
	char at[UNITS_TEXT_MAX];

	units_format_duration(at_ns, at, sizeof(at));
	return json_pack("{ssssssss}", "at", at, "container",
			 controls->summary->containers[control->container].name, "file",
			 control->file->name, "value", control->value);
}

int measured_controls_take(struct measured_controls *controls, size_t container, u64 start_ns,
			   u64 lead_ns, json_t *object, struct sim_error *err)
{
	int status = 0;

	for (size_t i = 0; !status && i < controls->count; i++) {
		const struct measured_control *control = &controls->list[i];
		enum slice_origin origin = SLICE_ALONE;
		bool first;

		if (control->container != container)
			continue;
		first = first_of(controls, container, control->file->name) == control;
		if (first && sets_nothing(control))
			continue;
		if (first && !strcmp(control->file->name, "compute.timeslice"))
			origin = slice_origin(controls, control);
		if (origin == SLICE_OF_PRIORITY)
			continue;
		if (first && origin == SLICE_ALONE)
			status = json_object_set_new(object, control->file->name,
						     json_string(control->value));
		else
			status = json_array_append_new(
				controls->events,
				event_json(controls, control,
					   first ? start_ns : lead_ns + control->time_ns));
	}
	return status ? sim_runtime_error(err, "out of memory") : 0;
}
