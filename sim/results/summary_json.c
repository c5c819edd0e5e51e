// SPDX-License-Identifier: MIT OR GPL-2.0
/* Writes summary.json and reads it back. Metrics come in the order of summary_metric(). */
#include "results/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/json_read.h"
#include "engine/error.h"

#define KEY_MAX 256

static bool is_integer(const struct metric *metric)
{
	return metric->unit == METRIC_COUNT || metric->unit == METRIC_BYTES;
}

/* The child object @name of @parent. Makes it if there is none. */
static json_t *child_object(json_t *parent, const char *name)
{
	json_t *child = json_object_get(parent, name);

	if (child)
		return child;
	if (json_object_set_new(parent, name, json_object()))
		return NULL;
	return json_object_get(parent, name);
}

/*
 * Put a metric at its key, which has at most one dot: "gmem.peak" is "peak" in the object
 * "gmem".
 */
static int put_metric(json_t *object, const struct metric *metric,
		      const struct summary_value *value)
{
	const char *dot = strchr(metric->key, '.');
	char parent[KEY_MAX];
	json_t *json;

	if (!value->known)
		json = json_null();
	else if (is_integer(metric))
		json = json_integer((json_int_t)value->count);
	else if (value->bound)
		json = json_pack("{sf}", SUMMARY_AT_LEAST, value->real);
	else
		json = json_real(value->real);
	if (!dot)
		return json_object_set_new(object, metric->key, json);
	snprintf(parent, sizeof(parent), "%.*s", (int)(dot - metric->key), metric->key);
	return json_object_set_new(child_object(object, parent), dot + 1, json);
}

static int put_container(json_t *containers, const struct summary_container *container)
{
	json_t *object = child_object(containers, container->name);
	const struct summary_value *value;
	const struct metric *metric;
	int status;

	status = json_object_set_new(object, "type", json_string(summary_type_name(container)));
	status |= json_object_set_new(object, "status", json_string(container->status));
	if (*container->gpu)
		status |= json_object_set_new(object, "gpu", json_string(container->gpu));
	for (size_t i = 0; !status && (metric = summary_metric(container, i, &value)); i++)
		if (value->known || !metric_is_optional(metric))
			status = put_metric(object, metric, value);
	return status;
}

/* The bytes that RM keeps: a number for one GPU, an object of numbers by name for several. */
static json_t *reserved_json(const struct summary *summary)
{
	json_t *object;

	if (!summary->gpu_count)
		return json_null();
	if (summary->gpu_count == 1)
		return json_integer((json_int_t)summary->gpus[0].reserved);
	object = json_object();
	for (size_t i = 0; i < summary->gpu_count; i++) {
		const struct summary_gpu *gpu = &summary->gpus[i];

		if (json_object_set_new(object, gpu->name,
					json_integer((json_int_t)gpu->reserved))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

/* What became of the time of each GPU. */
static int put_gpu_times(json_t *root, const struct summary *summary)
{
	json_t *gpus = child_object(root, "gpus");
	int status = 0;

	for (size_t i = 0; i < summary->time_count; i++) {
		const struct summary_gpu_time *time = &summary->times[i];
		json_t *gpu = child_object(gpus, time->name);

		for (int k = 0; k < SUMMARY_GPU_METRICS; k++)
			status |= put_metric(gpu, &summary_gpu_metrics[k], &time->values[k]);
	}
	return status;
}

/* What the policy of gvmd did. */
static json_t *policy_json(const struct summary *summary)
{
	return json_pack("{ss ss sI sI sI}", "name", summary->policy.name, "status",
			 summary->policy.status, "steps", (json_int_t)summary->policy.steps,
			 "writes", (json_int_t)summary->policy.writes, "refused",
			 (json_int_t)summary->policy.refused);
}

static int put_head(json_t *root, const struct summary *summary)
{
	const struct summary_value *speedup = &summary->speedup;
	const struct summary_value *rate = &summary->requests_per_wall_second;
	int status;

	status = json_object_set_new(root, "name", json_string(summary->name));
	status |= json_object_set_new(root, "system", json_string(summary->system));
	if (summary->measured)
		status |= json_object_set_new(root, "source", json_string(SUMMARY_HARDWARE));
	status |= json_object_set_new(root, "complete", json_boolean(summary->complete));
	status |= json_object_set_new(root, "sim_seconds", json_real(summary->sim_seconds));
	status |= json_object_set_new(root, "wall_seconds", json_real(summary->wall_seconds));
	status |= json_object_set_new(root, "speedup",
				      speedup->known ? json_real(speedup->real) : json_null());
	status |= json_object_set_new(root, "requests",
				      json_integer((json_int_t)summary->requests));
	status |= json_object_set_new(root, "requests_per_wall_second",
				      rate->known ? json_real(rate->real) : json_null());
	status |= json_object_set_new(
		root, "seed",
		summary->measured ? json_null() : json_integer((json_int_t)summary->seed));
	status |= json_object_set_new(root, "gpu_reserved_bytes", reserved_json(summary));
	if (!summary->measured)
		status |= put_gpu_times(root, summary);
	if (*summary->policy.name)
		status |= json_object_set_new(root, "policy", policy_json(summary));
	status |= json_object_set_new(root, "config_hash", json_string(summary->config_hash));
	status |= json_object_set_new(root, "version", json_string(summary->version));
	return status;
}

static int put_ignored(json_t *root, const struct summary *summary)
{
	json_t *keys = json_array();
	int status = 0;

	for (size_t i = 0; !status && i < summary->ignored_count; i++)
		status = json_array_append_new(keys, json_string(summary->ignored_keys[i]));
	return status | json_object_set_new(root, "ignored_keys", keys);
}

json_t *summary_json(const struct summary *summary)
{
	json_t *root = json_object();
	json_t *containers;
	int status;

	status = put_head(root, summary) | put_ignored(root, summary);
	containers = child_object(root, "containers");
	for (size_t i = 0; !status && i < summary->container_count; i++)
		status = put_container(containers, &summary->containers[i]);
	if (status || !containers) {
		json_decref(root);
		return NULL;
	}
	return root;
}

/* A file while it is read. The first mistake is reported, later ones are dropped. */
struct load {
	const char *file;
	struct sim_error *err;
	int status;
};

/* Report a mistake at @key of the object at the path @prefix; the root's path is "". */
static void load_mistake(struct load *load, const char *prefix, const char *key,
			 const char *what, const char *allowed)
{
	if (!load->status)
		load->status =
			sim_user_error(load->err, "%s:%s%s%s: %s, allowed: %s", load->file,
				       prefix, *prefix ? "." : "", key, what, allowed);
}

/* The value at @key below @object; the key has at most one dot. NULL: it is missing. */
static const json_t *find_value(const json_t *object, const char *key)
{
	const char *dot = strchr(key, '.');
	char parent[KEY_MAX];

	if (!dot)
		return json_object_get(object, key);
	snprintf(parent, sizeof(parent), "%.*s", (int)(dot - key), key);
	return json_object_get(json_object_get(object, parent), dot + 1);
}

/* As find_value(); a missing one is a mistake. */
static const json_t *load_value(struct load *load, const json_t *object, const char *prefix,
				const char *key, const char *allowed)
{
	const json_t *value = find_value(object, key);

	if (!value)
		load_mistake(load, prefix, key, "is missing", allowed);
	return value;
}

static void load_text(struct load *load, const json_t *object, const char *prefix,
		      const char *key, char *ret_text, size_t size)
{
	const json_t *value = load_value(load, object, prefix, key, "a string");

	if (!value)
		return;
	if (!json_is_string(value))
		load_mistake(load, prefix, key, "is not a string", "a string");
	else if (json_string_length(value) >= size)
		load_mistake(load, prefix, key, "is too long", "what gvmsim run writes");
	else
		strcpy(ret_text, json_string_value(value));
}

/* A time in seconds, up to what fits into 64 bits of nanoseconds. */
static double load_seconds(struct load *load, const json_t *root, const char *key)
{
	const char *allowed = "a number from 0 to 1e10";
	const json_t *value = load_value(load, root, "", key, allowed);
	double seconds = json_number_value(value);

	if (value && (!json_is_number(value) || seconds < 0 || seconds > 1e10))
		load_mistake(load, "", key, "is not a time in seconds", allowed);
	return seconds;
}

static void load_metric(struct load *load, const json_t *object, const char *prefix,
			const struct metric *metric, struct summary_value *ret_value)
{
	const char *key = metric->key;
	bool integer = is_integer(metric);
	const char *allowed = integer ? "an integer that is not negative, or null" :
					"a number, {\"" SUMMARY_AT_LEAST
					"\": a number} or null";
	const json_t *value;

	if (metric_is_optional(metric) && !find_value(object, key))
		return;
	value = load_value(load, object, prefix, key, allowed);
	if (!value || json_is_null(value))
		return;
	if (!integer && json_is_object(value)) {
		ret_value->bound = true;
		value = json_object_get(value, SUMMARY_AT_LEAST);
	}
	if (integer ? json_is_integer(value) && json_integer_value(value) >= 0 :
		      json_is_number(value)) {
		ret_value->known = true;
		ret_value->count = integer ? (u64)json_integer_value(value) : 0;
		ret_value->real = integer ? 0 : json_number_value(value);
		return;
	}
	load_mistake(load, prefix, key, "is of a wrong type", allowed);
}

/* The report of an application type; "unknown" has none. */
static void load_report(struct load *load, const char *prefix, const char *type,
			struct summary_container *container)
{
	const struct app_report *report;
	char allowed[KEY_MAX] = "";
	size_t length = 0;

	for (size_t i = 0; (report = app_report_at(i)); i++) {
		if (!strcmp(report->type, type))
			container->report = report;
		if (length < sizeof(allowed))
			length += (size_t)snprintf(allowed + length, sizeof(allowed) - length,
						   "%s\"%s\"", i ? ", " : "", report->type);
	}
	if (container->report || !strcmp(type, SUMMARY_UNKNOWN))
		return;
	if (length < sizeof(allowed))
		snprintf(allowed + length, sizeof(allowed) - length,
			 " or \"" SUMMARY_UNKNOWN "\"");
	load_mistake(load, prefix, "type", "is unknown", allowed);
}

static void load_container(struct load *load, const char *name, const json_t *object,
			   struct summary_container *container)
{
	char type[SUMMARY_TYPE_MAX] = "";
	const struct summary_value *value;
	const struct metric *metric;
	char prefix[KEY_MAX];

	snprintf(prefix, sizeof(prefix), "containers.%s", name);
	if (strlen(name) >= sizeof(container->name))
		load_mistake(load, "containers", name, "is too long", "a name of a container");
	snprintf(container->name, sizeof(container->name), "%s", name);
	load_text(load, object, prefix, "type", type, sizeof(type));
	load_text(load, object, prefix, "status", container->status, sizeof(container->status));
	if (json_object_get(object, "gpu"))
		load_text(load, object, prefix, "gpu", container->gpu, sizeof(container->gpu));
	load_report(load, prefix, type, container);
	for (size_t i = 0; !load->status && (metric = summary_metric(container, i, &value));
	     i++)
		/* summary_metric() takes and returns const; the container is not. */
		load_metric(load, object, prefix, metric, (struct summary_value *)value);
}

static void load_containers(struct load *load, json_t *root, struct summary *summary)
{
	json_t *containers = json_object_get(root, "containers");
	const char *name;
	json_t *object;

	if (!json_is_object(containers)) {
		load_mistake(load, "", "containers", "is missing", "an object");
		return;
	}
	summary->containers =
		calloc(json_object_size(containers) + 1, sizeof(*summary->containers));
	if (!summary->containers) {
		load->status = sim_runtime_error(load->err, "out of memory");
		return;
	}
	json_object_foreach(containers, name, object) {
		if (!load->status)
			load_container(load, name, object,
				       &summary->containers[summary->container_count++]);
	}
}

static void load_head(struct load *load, const json_t *root, struct summary *summary)
{
	const json_t *complete;
	const char *source = json_string_value(json_object_get(root, "source"));

	summary->measured = source && !strcmp(source, SUMMARY_HARDWARE);
	load_text(load, root, "", "name", summary->name, sizeof(summary->name));
	load_text(load, root, "", "system", summary->system, sizeof(summary->system));
	load_text(load, root, "", "config_hash", summary->config_hash,
		  sizeof(summary->config_hash));
	load_text(load, root, "", "version", summary->version, sizeof(summary->version));
	summary->sim_seconds = load_seconds(load, root, "sim_seconds");
	summary->wall_seconds = load_seconds(load, root, "wall_seconds");
	complete = load_value(load, root, "", "complete", "true or false");
	if (complete && !json_is_boolean(complete))
		load_mistake(load, "", "complete", "is not a boolean", "true or false");
	summary->complete = json_is_true(complete);
}

int results_load_json(const char *file, const char *wanted, json_t **ret_root,
		      struct sim_error *err)
{
	FILE *stream = fopen(file, "rb");
	struct stat info;
	json_error_t bad;

	if (!stream)
		return sim_user_error(err, "%s: cannot be read: %s, allowed: %s", file,
				      strerror(errno), wanted);
	if (!fstat(fileno(stream), &info) && S_ISDIR(info.st_mode)) {
		fclose(stream);
		return sim_user_error(err, "%s: is a folder, allowed: a file", file);
	}
	*ret_root = cfg_json_read(stream, &bad);
	fclose(stream);
	if (*ret_root)
		return 0;
	if (!*bad.text)
		return sim_runtime_error(err, "%s: out of memory", file);
	return sim_user_error(err, "%s:%d:%d: %s", file, bad.line, bad.column, bad.text);
}

int summary_load(struct summary *summary, const char *file, struct sim_error *err)
{
	struct load load = { .file = file, .err = err };
	json_t *root;

	*summary = (struct summary){ 0 };
	load.status = results_load_json(file, RESULTS_WRITTEN, &root, err);
	if (load.status)
		return load.status;
	load_head(&load, root, summary);
	if (!load.status)
		load_containers(&load, root, summary);
	json_decref(root);
	if (load.status)
		summary_destroy(summary);
	return load.status;
}
