// SPDX-License-Identifier: MIT OR GPL-2.0
#include "import/measured.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/load.h"
#include "config/paths.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "gvm/port.h"
#include "import/card.h"
#include "import/measured_controls.h"
#include "import/measured_served.h"
#include "machine/machine.h"
#include "results/results.h"
#include "trace/trace_file.h"
#include "trace/trace_read.h"

#define NS_PER_S 1e9

/* A line for the user. */
static void note(struct measured *measured, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void note(struct measured *measured, const char *fmt, ...)
{
	char text[CFG_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (json_array_append_new(measured->notes, json_string(text)))
		measured->failed = true;
}

/* Set a member of @object, a part of the scenario. Takes @value; NULL: there was no memory. */
static void put(struct measured *measured, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		measured->failed = true;
}

static json_t *duration_json(u64 ns)
{
	char text[UNITS_TEXT_MAX];

	units_format_duration(ns, text, sizeof(text));
	return json_string(text);
}

static json_t *container_config(const struct measured *measured, const char *name)
{
	return json_object_get(json_object_get(measured->config, "containers"), name);
}

static const struct measured_app *app_of(const struct measured *measured, const char *name)
{
	for (size_t i = 0; i < measured->request->app_count; i++)
		if (!strcmp(measured->request->apps[i].container, name))
			return &measured->request->apps[i];
	return NULL;
}

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
	if (!strcmp(profile, MEASURED_TODO)) {
		note(measured,
		     "TODO gpu.profile: no profile of scenarios/gpus is of %s; "
		     "--gpu PROFILE",
		     *measured->card ? measured->card : "a card that the folder does not name");
		measured->todos++;
	}
	put(measured, measured->scenario, "gpu", json_pack("{ss}", "profile", profile));
}

/*
 * The memory of the scenario's GPU; 0: it is not known, as of a profile beside the scenario, which
 * is not found from here. Returns 0 or -SIM_EXIT_RUNTIME.
 */
static int gpu_memory(const struct measured *measured, u64 *ret_memory, struct sim_error *err)
{
	const char *profile = json_string_value(
		json_object_get(json_object_get(measured->scenario, "gpu"), "profile"));
	char set[CFG_NAME_MAX + 16], name[CFG_NAME_MAX + 16], path[PATH_MAX];
	const struct cfg_override override = { .path_and_value = set };
	struct sim_error ignored = { 0 };
	struct config config;

	*ret_memory = 0;
	profile = profile ? profile : MEASURED_TODO;
	snprintf(name, sizeof(name), "gpus/%s", profile);
	if (!cfg_path_find_data("scenarios", name, ".json", path, sizeof(path)))
		return 0;
	snprintf(set, sizeof(set), "gpu.profile=%s", profile);
	/* Its applications do not run: of the scenario, only the machine counts. */
	if (config_load(&machine_registry, "vllm-diffusion-80g", &override, 1, &config,
			&ignored))
		return sim_runtime_error(err, "out of memory");
	*ret_memory = config.gpu.memory_total;
	config_destroy(&config);
	return 0;
}

/* The date of the first request that was answered; the trace's zero. False: there is none. */
static bool first_answered(const struct measured *measured, size_t container, u64 *ret_ns)
{
	bool found = false;

	for (size_t i = 0; i < measured->folder.record_count; i++) {
		const struct folder_record *record = &measured->folder.records[i];

		if (record->container != container || record->record.outcome != APP_COMPLETED)
			continue;
		*ret_ns = found ? min(*ret_ns, (u64)record->record.arrival_ns) :
				  (u64)record->record.arrival_ns;
		found = true;
	}
	return found;
}

/* The name of a file beside the scenario: "mine-vllm.trace" of mine.json. */
static void trace_name(const struct measured *measured, const char *container, char *text,
		       size_t size)
{
	const char *base = strrchr(measured->request->out, '/');
	const char *end;

	base = base ? base + 1 : measured->request->out;
	end = strrchr(base, '.');
	snprintf(text, size, "%.*s-%s.trace",
		 (int)(end && end > base ? end - base : (ptrdiff_t)strlen(base)), base,
		 container);
}

/* What a server was asked, and what it had promised. */
static int add_server(struct measured *measured, size_t index, u64 start_ns, json_t *app,
		      struct sim_error *err)
{
	static const char *const promises[] = { "slo_ttft", "slo_itl" };
	const struct summary_container *container = &measured->folder.summary.containers[index];
	const json_t *logged =
		json_object_get(container_config(measured, container->name), "app");
	const struct summary_value *peak = &container->values[SUMMARY_GMEM_PEAK];
	char file[PATH_MAX] = MEASURED_TODO;
	u64 memory, first_ns = 0;
	int status = gpu_memory(measured, &memory, err);

	if (first_answered(measured, index, &first_ns)) {
		trace_name(measured, container->name, file, sizeof(file));
		measured->trace_count++;
		first_ns += measured->request->lead_ns;
		put(measured, app, "client",
		    json_pack("{so}", "start",
			      duration_json(first_ns > start_ns ? first_ns - start_ns : 0)));
	} else {
		note(measured,
		     "TODO containers.%s.app.trace.file: requests.csv has no answered request "
		     "of it; gvmcollect logs adds them",
		     container->name);
		measured->todos++;
	}
	put(measured, app, "trace", json_pack("{ss}", "file", file));
	for (size_t i = 0; i < ARRAY_SIZE(promises); i++) {
		json_t *promise = json_object_get(logged, promises[i]);

		if (json_is_string(promise))
			put(measured, app, promises[i], json_incref(promise));
	}
	if (status || !peak->known || !peak->count || peak->count > memory ||
	    json_object_get(app, "gpu_memory_utilization"))
		return status;
	put(measured, app, "gpu_memory_utilization",
	    json_real((double)(peak->count * 1000 / memory) / 1000));
	note(measured,
	     "estimate containers.%s.app.gpu_memory_utilization: its peak of %.1f GB over the "
	     "GPU's %.1f GB; better is what its command line said",
	     container->name, (double)peak->count / 1e9, (double)memory / 1e9);
	return 0;
}

/* The length of a container's first image that was completed; 0: there is none. */
static u64 first_image_ns(const struct measured *measured, size_t container)
{
	for (size_t i = 0; i < measured->folder.record_count; i++) {
		const struct folder_record *record = &measured->folder.records[i];

		if (record->container == container && record->record.outcome == APP_COMPLETED)
			return record->record.finish_ns - record->record.arrival_ns;
	}
	return 0;
}

/*
 * A pipeline that made images before the collection: it makes one within the lead, so that its
 * memory is on the GPU and its kernels are known when the collection begins.
 */
static void add_warm_pipeline(struct measured *measured, size_t index, u64 start_ns,
			      json_t *app)
{
	put(measured, app, "load_bandwidth", json_string("1e15"));
	put(measured, app, "warmup", json_string("0s"));
	if (!start_ns)
		return;
	put(measured, app, "boot", duration_json(start_ns));
	put(measured, app, "warm_images", json_integer(1));
	if (first_image_ns(measured, index) > start_ns)
		note(measured,
		     "estimate containers.%s.app.warm_images: an image takes longer than the "
		     "lead, so those of the results begin late; a longer --lead mends it",
		     measured->folder.summary.containers[index].name);
}

/*
 * What the command line of a container's server says. @profile: the user's word, or NULL; it stays.
 * Writes the profile.
 */
static void add_served(struct measured *measured, const char *name, const json_t *served,
		       const char *profile, json_t *app)
{
	const char *model = json_string_value(json_object_get(served, "model"));
	char found[CFG_NAME_MAX], own[CFG_NAME_MAX], left[CFG_TEXT_MAX / 2];
	bool known = measured_served_profile(model, found, own, sizeof(found));

	note(measured, "server containers.%s: vLLM with %.200s", name, model);
	if (!profile)
		put(measured, app, "profile", json_string(found));
	if (!profile || !strcmp(profile, MEASURED_VLLM)) {
		if (*own)
			put(measured, app, "model", json_string(own));
		if (!known) {
			put(measured, app, "model", json_string(MEASURED_TODO));
			note(measured,
			     "TODO containers.%s.app.model: gvmsim has no model of that name; "
			     "a "
			     "folder with its config.json of Hugging Face",
			     name);
			measured->todos++;
		}
	}
	if (measured_served_options(served, app, left, sizeof(left)))
		measured->failed = true;
	if (*left)
		note(measured, "left_out containers.%s: options without a key: %s", name, left);
}

/*
 * Add the application of a container to @object: what its log, its command line and the user say
 * of it.
 */
static int add_app(struct measured *measured, size_t index, u64 start_ns, bool early,
		   bool sampled, json_t *object, struct sim_error *err)
{
	const struct summary_container *container = &measured->folder.summary.containers[index];
	const struct measured_app *said = app_of(measured, container->name);
	const json_t *served =
		json_object_get(container_config(measured, container->name), "served");
	const char *type = said && *said->type ? said->type :
			   container->report   ? container->report->type :
			   served	       ? report_requests.type :
						 MEASURED_TODO;
	json_t *app = json_pack("{ssss}", "type", type, "profile",
				said ? said->profile : MEASURED_TODO);
	int status = 0;

	put(measured, object, "app", app);
	if (!strcmp(type, MEASURED_TODO)) {
		note(measured,
		     "TODO containers.%s.app.type: no log says what it was; --app "
		     "%s=TYPE:PROFILE",
		     container->name, container->name);
		measured->todos++;
	}
	if (json_is_string(json_object_get(served, "model")) &&
	    !strcmp(type, report_requests.type)) {
		add_served(measured, container->name, served, said ? said->profile : NULL, app);
	} else if (!said) {
		note(measured,
		     "TODO containers.%s.app.profile: which application it was; --app "
		     "%s=PROFILE",
		     container->name, container->name);
		measured->todos++;
	}
	/* Without GVM's driver or shim, frameworks allocate by cudaMalloc(). */
	if (!sampled && !strcmp(measured->folder.summary.system, "stock"))
		put(measured, app, "memory", json_string("unmanaged"));
	if (!strcmp(type, report_requests.type))
		status = add_server(measured, index, start_ns, app, err);
	/* It ran before the collection: the server is ready, the pipeline's weights are loaded. */
	if (!strcmp(type, report_requests.type) && early)
		put(measured, app, "boot", duration_json(start_ns));
	if (!strcmp(type, report_images.type) && early)
		add_warm_pipeline(measured, index, start_ns, app);
	return status;
}

/* A date of a container in the folder's config.json; 0: it has none. */
static u64 config_date(const struct measured *measured, const char *name, const char *key)
{
	json_int_t date =
		json_integer_value(json_object_get(container_config(measured, name), key));

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
	json_t *object = json_pack("{so}", "start", duration_json(start_ns));
	int status;

	put(measured, json_object_get(measured->scenario, "containers"), container->name,
	    object);
	status = measured_controls_take(controls, index, start_ns, lead_ns, object, err);
	if (!status)
		status = add_app(measured, index, start_ns, early,
				 measured_controls_has(controls, index), object, err);
	if (last_ns &&
	    json_array_append_new(controls->events,
				  json_pack("{sosssb}", "at", duration_json(lead_ns + last_ns),
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
		const json_t *gpu = json_object_get(container_config(measured, name), "gpu");

		if (!json_is_integer(gpu))
			continue;
		first = first ? first : gpu;
		if (json_equal(first, gpu))
			continue;
		note(measured,
		     "TODO containers.%s.gpu: it ran on GPU %lld, and others on another one",
		     name, (long long)json_integer_value(gpu));
		measured->todos++;
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
	if (count > CFG_EVENTS_MAX) {
		note(measured,
		     "TODO events: the first %d of %zu changes of settings; a policy "
		     "may have made them",
		     CFG_EVENTS_MAX, count);
		measured->todos++;
	}
	if (measured->event_count)
		put(measured, measured->scenario, "events", array);
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
		 "The "
		 "collection begins at %s.",
		 summary->name, *measured->card ? measured->card : "an unknown GPU",
		 date ? date : "at an unknown date", lead);
	put(measured, measured->scenario, "name", json_string(*name ? name : "measured"));
	put(measured, measured->scenario, "description", json_string(text));
	put(measured, measured->scenario, "duration",
	    duration_json(measured->request->lead_ns + end_ns));
	add_gpu(measured);
	put(measured, measured->scenario, "system", json_pack("{ss}", "name", summary->system));
	put(measured, measured->scenario, "containers", json_object());
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
		return sim_user_error(
			err,
			"%s: is a simulation's, allowed: a folder that gvmcollect "
			"wrote; gvmsim run takes its config.json",
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
		note(measured,
		     "trace %s: %zu requests; %llu without a complete answer left out", name,
		     trace.count, (unsigned long long)trace.failures);
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
