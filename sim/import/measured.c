// SPDX-License-Identifier: MIT OR GPL-2.0
#include "import/measured.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/paths.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "gvm/port.h"
#include "import/card.h"
#include "import/measured_apps.h"
#include "import/measured_controls.h"
#include "import/measured_parts.h"
#include "machine/machine.h"
#include "results/results.h"
#include "trace/trace_file.h"
#include "trace/trace_read.h"

#define NS_PER_S 1e9

/* The card that the driver has reported: "NVIDIA H200". Empty: it is not known. */
static void find_card(struct measured *measured)
{
	const json_t *host = json_object_get(measured->config, "host");
	const json_t *gpu = json_array_get(json_object_get(host, "gpus"), 0);
	const char *card = json_string_value(json_object_get(gpu, "model"));

	/* tools/corun writes what nvidia-smi calls a name. */
	if (!card)
		card = json_string_value(json_object_get(gpu, "name"));
	if (!card && strcmp(measured->folder.gpu, "unknown") != 0)
		card = measured->folder.gpu;
	snprintf(measured->card, sizeof(measured->card), "%s", card ? card : "");
}

static void add_gpu(struct measured *measured)
{
	char profile[CFG_NAME_MAX] = MEASURED_TODO;

	if (measured->request->gpu)
		snprintf(profile, sizeof(profile), "%s", measured->request->gpu);
	else if (!card_profile(measured->card, profile, sizeof(profile)))
		snprintf(profile, sizeof(profile), MEASURED_TODO);
	if (!strcmp(profile, MEASURED_TODO))
		measured_todo(
			measured,
			"gpu.profile: no profile of scenarios/gpus is of %s; --gpu PROFILE",
			*measured->card ? measured->card :
					  "a card that the folder does not name");
	measured_put(measured, measured->scenario, "gpu",
		     json_pack("{ss}", "profile", profile));
}

/* A date of a container in the folder's config.json; 0: it has none. */
static u64 config_date(const struct measured *measured, const char *name, const char *key)
{
	json_int_t date =
		json_integer_value(json_object_get(measured_container(measured, name), key));

	return date > 0 ? (u64)date : 0;
}

/* Within two samples it cannot be told from one that ran before the collection. */
static bool is_early(const struct measured *measured, u64 first_ns)
{
	const char *text = json_string_value(
		json_object_get(json_object_get(measured->config, "sampling"), "interval"));
	u64 interval_ns = 0;

	if (text && units_parse_duration(text, &interval_ns) != UNITS_OK)
		interval_ns = 0;
	return first_ns <= 2 * interval_ns;
}

static int add_container(struct measured *measured, size_t index,
			 struct measured_controls *controls, struct sim_error *err)
{
	const struct summary_container *container = &measured->folder.summary.containers[index];
	u64 first_ns = config_date(measured, container->name, "first_sample_ns");
	u64 last_ns = config_date(measured, container->name, "last_sample_ns");
	u64 lead_ns = measured->request->lead_ns;
	bool early = is_early(measured, first_ns);
	u64 start_ns = lead_ns + (early ? 0 : first_ns);
	json_t *object = json_pack("{so}", "start", measured_duration(start_ns));
	int status;

	measured_put(measured, json_object_get(measured->scenario, "containers"),
		     container->name, object);
	status = measured_controls_take(controls, index, start_ns, lead_ns, object, err);
	if (!status)
		status = measured_apps_add(measured, index, start_ns, early,
					   measured_controls_has(controls, index), object, err);
	if (last_ns && json_array_append_new(
			       controls->events,
			       json_pack("{sosssb}", "at", measured_duration(lead_ns + last_ns),
					 "container", container->name, "stop", 1)))
		measured->failed = true;
	return status;
}

/* Containers of several GPUs: the folder does not say which cards these were. */
static void note_gpus(struct measured *measured)
{
	const struct summary *summary = &measured->folder.summary;
	const json_t *first = NULL;

	for (size_t i = 0; i < summary->container_count; i++) {
		const char *name = summary->containers[i].name;
		const json_t *gpu = json_object_get(measured_container(measured, name), "gpu");

		if (!json_is_integer(gpu))
			continue;
		first = first ? first : gpu;
		if (json_equal(first, gpu))
			continue;
		measured_todo(
			measured,
			"containers.%s.gpu: it ran on GPU %lld, and others on another one",
			name, (long long)json_integer_value(gpu));
	}
}

/* An event while they are sorted. */
struct dated {
	u64 at_ns;
	size_t place;
	json_t *event;
};

/* Those of one date as they came. */
static int compare_dates(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Add the events in the order of their dates. */
static int add_events(struct measured *measured, json_t *events, struct sim_error *err)
{
	size_t count = json_array_size(events);
	struct dated *sorted = calloc(count + 1, sizeof(*sorted));
	json_t *array = json_array();

	if (!sorted || !array) {
		free(sorted);
		json_decref(array);
		return sim_runtime_error(err, "out of memory");
	}
	for (size_t i = 0; i < count; i++) {
		json_t *event = json_array_get(events, i);

		sorted[i] = (struct dated){ .place = i, .event = event };
		units_parse_duration(json_string_value(json_object_get(event, "at")),
				     &sorted[i].at_ns);
	}
	qsort(sorted, count, sizeof(*sorted), compare_dates);
	for (size_t i = 0; i < count && i < CFG_EVENTS_MAX; i++)
		if (json_array_append(array, sorted[i].event))
			measured->failed = true;
	free(sorted);
	measured->event_count = json_array_size(array);
	if (count > CFG_EVENTS_MAX)
		measured_todo(measured,
			      "events: the first %d of %zu changes of settings; a policy may "
			      "have made them",
			      CFG_EVENTS_MAX, count);
	if (measured->event_count)
		measured_put(measured, measured->scenario, "events", array);
	else
		json_decref(array);
	return 0;
}

/* The scenario's name is its file's, in the letters of a name. */
static void add_head(struct measured *measured)
{
	const struct summary *summary = &measured->folder.summary;
	const json_t *clock = json_object_get(measured->config, "clock");
	const char *date = json_string_value(json_object_get(clock, "start_date"));
	char name[CFG_NAME_MAX], lead[UNITS_TEXT_MAX], text[CFG_TEXT_MAX];
	const char *base = strrchr(measured->request->out, '/');
	u64 end_ns = (u64)(summary->sim_seconds * NS_PER_S + 0.5);

	base = base ? base + 1 : measured->request->out;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(base, "."), base);
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) || *c == '-' || *c == '_' ? *c : '-';
	units_format_duration(measured->request->lead_ns, lead, sizeof(lead));
	snprintf(text, sizeof(text),
		 "What gvmcollect measured on %.60s, %.60s, %.40s; by gvmsim scenario import. "
		 "The collection begins at %s.",
		 summary->name, *measured->card ? measured->card : "an unknown GPU",
		 date ? date : "at an unknown date", lead);
	measured_put(measured, measured->scenario, "name",
		     json_string(*name ? name : "measured"));
	measured_put(measured, measured->scenario, "description", json_string(text));
	measured_put(measured, measured->scenario, "duration",
		     measured_duration(measured->request->lead_ns + end_ns));
	add_gpu(measured);
	measured_put(measured, measured->scenario, "system",
		     json_pack("{ss}", "name", summary->system));
	measured_put(measured, measured->scenario, "containers", json_object());
}

/* Is there a profile in @kind, "apps" or "gpus", beside the scenario or of gvmsim? */
static int check_profile(const struct measured *measured, const char *option, const char *kind,
			 const char *profile, const char *folder, struct sim_error *err)
{
	char name[CFG_NAME_MAX + 16], path[PATH_MAX];

	snprintf(name, sizeof(name), "%s/%s", kind, profile);
	if (strlen(profile) < CFG_NAME_MAX &&
	    (cfg_path_find(folder, name, ".json", path, sizeof(path)) ||
	     cfg_path_find_data("scenarios", name, ".json", path, sizeof(path))))
		return 0;
	return sim_user_error(err,
			      "%s: no profile \"%.100s\", allowed: a file of scenarios/%s, or "
			      "of %s beside %s",
			      option, profile, kind, kind, measured->request->out);
}

/* Refuse an output that is a file of the results folder. */
static int check_out(const struct measured_request *request, struct sim_error *err)
{
	static const char *const own[] = {
		RESULTS_CONFIG,	  RESULTS_SUMMARY,   RESULTS_REQUESTS, RESULTS_TIMELINE,
		RESULTS_CONTROLS, RESULTS_EVICTIONS, RESULTS_POLICY,   RESULTS_ACTIVITY,
	};
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		snprintf(path, sizeof(path), "%s/%s", request->results, own[i]);
		if (whole_file_is(request->out, path))
			return sim_user_error(err, "%s: cannot write: is a file of the results",
					      request->out);
	}
	return 0;
}

/* Are all that the user names there: containers and profiles? */
static int check_request(const struct measured *measured, struct sim_error *err)
{
	const struct measured_request *request = measured->request;
	char folder[PATH_MAX];
	int status;

	if (!measured->folder.summary.measured)
		return sim_user_error(err,
				      "%s: is a simulation's, allowed: a folder that "
				      "gvmcollect wrote; gvmsim run takes its config.json",
				      request->results);
	status = check_out(request, err);
	if (!status && !cfg_path_folder(request->out, folder, sizeof(folder)))
		return sim_user_error(err, "%s: cannot write: no such folder", request->out);
	if (!status && request->gpu)
		status = check_profile(measured, "--gpu", "gpus", request->gpu, folder, err);
	for (size_t i = 0; !status && i < request->app_count; i++) {
		const struct measured_app *app = &request->apps[i];

		if (!summary_find(&measured->folder.summary, app->container))
			return sim_user_error(err, "--app: %s has no container \"%s\"",
					      request->results, app->container);
		status = check_profile(measured, "--app", "apps", app->profile, folder, err);
	}
	return status;
}

int measured_open(struct measured *measured, const struct measured_request *request,
		  struct sim_error *err)
{
	struct measured_controls controls = { 0 };
	char file[PATH_MAX + 32];
	int status;

	*measured = (struct measured){ .request = request };
	measured->scenario = json_object();
	measured->notes = json_array();
	if (!measured->scenario || !measured->notes)
		return sim_runtime_error(err, "out of memory");
	status = folder_load(&measured->folder, request->results, err);
	snprintf(file, sizeof(file), "%s/" RESULTS_CONFIG, request->results);
	if (!status)
		status = results_load_json(file, RESULTS_WRITTEN, &measured->config, err);
	if (!status)
		status = check_request(measured, err);
	if (status)
		return status;
	find_card(measured);
	add_head(measured);
	status = measured_controls_read(&controls, request->results, &measured->folder.summary,
					err);
	for (size_t i = 0; !status && i < measured->folder.summary.container_count; i++)
		status = add_container(measured, i, &controls, err);
	note_gpus(measured);
	if (!status)
		status = add_events(measured, controls.events, err);
	measured_controls_destroy(&controls);
	if (!status && measured->failed)
		status = sim_runtime_error(err, "out of memory");
	return status;
}

void measured_close(struct measured *measured)
{
	folder_destroy(&measured->folder);
	json_decref(measured->config);
	json_decref(measured->scenario);
	json_decref(measured->notes);
	*measured = (struct measured){ 0 };
}

/* Write the trace of one server, and say what is in it. */
static int write_trace(struct measured *measured, const char *container, const char *name,
		       struct sim_error *err)
{
	char in[PATH_MAX + 32], folder[PATH_MAX], out[PATH_MAX];
	struct trace trace;
	int status;

	snprintf(in, sizeof(in), "%s/" RESULTS_REQUESTS, measured->request->results);
	if (!cfg_path_folder(measured->request->out, folder, sizeof(folder)) ||
	    !cfg_path_join(folder, name, out, sizeof(out)))
		return sim_user_error(err, "%s: the path is too long", name);
	trace_init(&trace);
	status = trace_read_container(in, container, TRACE_BAD_ROWS_FAIL, &trace, err);
	if (!status)
		status = trace_write(out, &trace, err);
	if (!status)
		measured_note(measured,
			      "trace %s: %zu requests; %llu without a complete answer left out",
			      name, trace.count, (unsigned long long)trace.failures);
	trace_destroy(&trace);
	return status;
}

/* Write the traces of all servers. */
static int write_traces(struct measured *measured, struct sim_error *err)
{
	const char *name;
	json_t *container;
	int status = 0;

	json_object_foreach(json_object_get(measured->scenario, "containers"), name,
			    container) {
		const char *trace = json_string_value(json_object_get(
			json_object_get(json_object_get(container, "app"), "trace"), "file"));

		if (!status && trace && strcmp(trace, MEASURED_TODO) != 0)
			status = write_trace(measured, name, trace, err);
	}
	return status;
}

int measured_write(struct measured *measured, struct sim_error *err)
{
	struct whole_file file;
	/* First: where the scenario cannot be written, no trace is. */
	int status = whole_file_open(&file, measured->request->out, err);

	if (status)
		return status;
	status = write_traces(measured, err);
	if (!status &&
	    (json_dumpf(measured->scenario, file.stream, JSON_INDENT(4) | CFG_JSON_PRECISION) ||
	     fputc('\n', file.stream) == EOF))
		status = sim_runtime_error(err, "%s: cannot write: %s", measured->request->out,
					   strerror(errno));
	if (!status)
		return whole_file_commit(&file, err);
	whole_file_abort(&file);
	return status;
}
