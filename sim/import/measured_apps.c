// SPDX-License-Identifier: MIT OR GPL-2.0
#include "import/measured_apps.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/load.h"
#include "config/paths.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "import/measured_parts.h"
#include "import/measured_served.h"
#include "machine/machine.h"

static const struct measured_app *app_of(const struct measured *measured, const char *name)
{
	for (size_t i = 0; i < measured->request->app_count; i++)
		if (!strcmp(measured->request->apps[i].container, name))
			return &measured->request->apps[i];
	return NULL;
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
		json_object_get(measured_container(measured, container->name), "app");
	const struct summary_value *peak = &container->values[SUMMARY_GMEM_PEAK];
	char file[PATH_MAX] = MEASURED_TODO;
	u64 memory, first_ns = 0;
	int status = gpu_memory(measured, &memory, err);

	if (first_answered(measured, index, &first_ns)) {
		trace_name(measured, container->name, file, sizeof(file));
		measured->trace_count++;
		first_ns += measured->request->lead_ns;
		measured_put(measured, app, "client",
			     json_pack("{so}", "start",
				       measured_duration(
					       first_ns > start_ns ? first_ns - start_ns : 0)));
	} else {
		measured_todo(measured,
			      "containers.%s.app.trace.file: requests.csv has no answered "
			      "request of it; gvmcollect logs adds them",
			      container->name);
	}
	measured_put(measured, app, "trace", json_pack("{ss}", "file", file));
	for (size_t i = 0; i < ARRAY_SIZE(promises); i++) {
		json_t *promise = json_object_get(logged, promises[i]);

		if (json_is_string(promise))
			measured_put(measured, app, promises[i], json_incref(promise));
	}
	if (status || !peak->known || !peak->count || peak->count > memory ||
	    json_object_get(app, "gpu_memory_utilization"))
		return status;
	measured_put(measured, app, "gpu_memory_utilization",
		     json_real((double)(peak->count * 1000 / memory) / 1000));
	measured_note(measured,
		      "estimate containers.%s.app.gpu_memory_utilization: its peak of %.1f GB "
		      "over the GPU's %.1f GB; better is what its command line said",
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
	measured_put(measured, app, "load_bandwidth", json_string("1e15"));
	measured_put(measured, app, "warmup", json_string("0s"));
	if (!start_ns)
		return;
	measured_put(measured, app, "boot", measured_duration(start_ns));
	measured_put(measured, app, "warm_images", json_integer(1));
	if (first_image_ns(measured, index) > start_ns)
		measured_note(measured,
			      "estimate containers.%s.app.warm_images: an image takes longer "
			      "than the lead, so those of the results begin late; a longer "
			      "--lead mends it",
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

	measured_note(measured, "server containers.%s: vLLM with %.200s", name, model);
	if (!profile)
		measured_put(measured, app, "profile", json_string(found));
	if (!profile || !strcmp(profile, MEASURED_VLLM)) {
		if (*own)
			measured_put(measured, app, "model", json_string(own));
		if (!known) {
			measured_put(measured, app, "model", json_string(MEASURED_TODO));
			measured_todo(measured,
				      "containers.%s.app.model: gvmsim has no model of that "
				      "name; a folder with its config.json of Hugging Face",
				      name);
		}
	}
	if (measured_served_options(served, app, left, sizeof(left)))
		measured->failed = true;
	if (*left)
		measured_note(measured, "left_out containers.%s: options without a key: %s",
			      name, left);
}

int measured_apps_add(struct measured *measured, size_t index, u64 start_ns, bool early,
		      bool sampled, json_t *object, struct sim_error *err)
{
	const struct summary_container *container = &measured->folder.summary.containers[index];
	const struct measured_app *said = app_of(measured, container->name);
	const json_t *served =
		json_object_get(measured_container(measured, container->name), "served");
	const char *type = said && *said->type ? said->type :
			   container->report   ? container->report->type :
			   served	       ? report_requests.type :
						 MEASURED_TODO;
	json_t *app = json_pack("{ssss}", "type", type, "profile",
				said ? said->profile : MEASURED_TODO);
	int status = 0;

	measured_put(measured, object, "app", app);
	if (!strcmp(type, MEASURED_TODO))
		measured_todo(measured,
			      "containers.%s.app.type: no log says what it was; --app "
			      "%s=TYPE:PROFILE",
			      container->name, container->name);
	if (json_is_string(json_object_get(served, "model")) &&
	    !strcmp(type, report_requests.type)) {
		add_served(measured, container->name, served, said ? said->profile : NULL, app);
	} else if (!said) {
		measured_todo(
			measured,
			"containers.%s.app.profile: which application it was; --app %s=PROFILE",
			container->name, container->name);
	}
	/* Without GVM's driver or shim, frameworks allocate by cudaMalloc(). */
	if (!sampled && !strcmp(measured->folder.summary.system, "stock"))
		measured_put(measured, app, "memory", json_string("unmanaged"));
	if (!strcmp(type, report_requests.type))
		status = add_server(measured, index, start_ns, app, err);
	/* It ran before the collection: the server is ready, the pipeline's weights are loaded. */
	if (!strcmp(type, report_requests.type) && early)
		measured_put(measured, app, "boot", measured_duration(start_ns));
	if (!strcmp(type, report_images.type) && early)
		add_warm_pipeline(measured, index, start_ns, app);
	return status;
}
