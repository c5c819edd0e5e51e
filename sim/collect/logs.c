// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/logs.h"

#include <stdlib.h>
#include <string.h>

#include "collect/app_logs.h"
#include "collect/collected.h"
#include "collect/host.h"
#include "config/units.h"
#include "engine/error.h"

#define NS_PER_S 1e9

/* A folder while logs go into it. */
struct logs {
	const struct logs_entry *entries;
	size_t count;
	void (*note)(const char *text);
	struct summary summary;
	json_t *config;
	char config_file[PATH_MAX];
	struct app_log_window window;
	struct app_log logs[CFG_CONTAINERS_MAX]; /* by container of the summary */
};

static int logs_mistake(const struct logs *logs, const char *what, struct sim_error *err)
{
	return sim_user_error(err, "%s:%s, allowed: a folder that gvmcollect wrote",
			      logs->config_file, what);
}

/* Read the folder's summary, its configuration and the time span of its collection. */
static int logs_open(struct logs *logs, const char *folder, struct sim_error *err)
{
	char file[PATH_MAX];
	json_t *start;
	int status;

	if (strlen(folder) > PATH_MAX - WRITER_NAME_MAX)
		return sim_user_error(err, "%.60s...: name of a folder is too long", folder);
	sprintf(file, "%s/" RESULTS_SUMMARY, folder);
	sprintf(logs->config_file, "%s/" RESULTS_CONFIG, folder);
	status = summary_load(&logs->summary, file, err);
	if (!status)
		status = results_load_json(logs->config_file, RESULTS_WRITTEN, &logs->config,
					   err);
	if (!status && logs->summary.container_count > CFG_CONTAINERS_MAX)
		status = sim_user_error(err, "%s:containers: too many, allowed: %d", file,
					CFG_CONTAINERS_MAX);
	if (status)
		return status;
	if (!logs->summary.measured)
		return logs_mistake(logs, "source: is not \"" SUMMARY_HARDWARE "\"", err);
	start = json_object_get(json_object_get(logs->config, "clock"), "start_ns");
	if (!json_is_integer(start) || json_integer_value(start) < 0)
		return logs_mistake(logs, "clock.start_ns: is not a time", err);
	logs->window.start_ns = (u64)json_integer_value(start);
	logs->window.end_ns =
		logs->window.start_ns + (u64)(logs->summary.sim_seconds * NS_PER_S + 0.5);
	return 0;
}

static void logs_close(struct logs *logs)
{
	for (size_t i = 0; i < ARRAY_SIZE(logs->logs); i++)
		app_log_destroy(&logs->logs[i]);
	summary_destroy(&logs->summary);
	json_decref(logs->config);
}

static int logs_read(struct logs *logs, const struct logs_entry *entry, struct app_log *log,
		     struct sim_error *err)
{
	char note[PATH_MAX + 128];
	u64 outside;
	int status;

	if (entry->report == &report_requests)
		status = app_logs_read_vllm(log, entry->file, &logs->window, &outside, err);
	else
		status = app_logs_read_images(log, entry->file, &logs->window, &outside, err);
	if (status || !outside)
		return status;
	if (!log->record_count)
		return sim_user_error(err,
				      "%s: nothing in it is within the collection, %.3f s to "
				      "%.3f s after this host started; allowed: a log of the "
				      "same time and host",
				      entry->file, (double)logs->window.start_ns / NS_PER_S,
				      (double)logs->window.end_ns / NS_PER_S);
	snprintf(note, sizeof(note),
		 "%s: %llu of %llu began before or after the collection and are left out",
		 entry->file, outside, outside + log->record_count);
	logs->note(note);
	return 0;
}

/* Write the application into config.json: its type, its log, and its promised times. */
static int logs_set_config(struct logs *logs, const struct summary_container *container,
			   const struct logs_entry *entry)
{
	json_t *object =
		json_object_get(json_object_get(logs->config, "containers"), container->name);
	char slo[UNITS_TEXT_MAX];
	json_t *app;

	if (!entry)
		return json_object_set_new(object, "app", json_pack("{snsn}", "type", "log"));
	app = json_pack("{ssso}", "type", entry->report->type, "log", host_string(entry->file));
	for (int promise = 0; promise < APP_PROMISES; promise++) {
		u64 ns = entry->promises_ns[promise];

		if (!entry->report->promises[promise])
			continue;
		units_format_duration(ns, slo, sizeof(slo));
		json_object_set_new(app, entry->report->promises[promise],
				    ns ? json_string(slo) : json_null());
	}
	return json_object_set_new(object, "app", app);
}

static int logs_apply(struct logs *logs, size_t index, struct sim_error *err)
{
	struct summary_container *container = &logs->summary.containers[index];
	const struct logs_entry *entry = NULL;
	int status = 0;

	for (size_t i = 0; i < logs->count; i++)
		if (!strcmp(logs->entries[i].container, container->name))
			entry = &logs->entries[i];
	/* Without an entry, the report of an earlier log goes. */
	container->report = entry ? entry->report : NULL;
	if (entry)
		status = logs_read(logs, entry, &logs->logs[index], err);
	if (status)
		return status;
	if (logs_set_config(logs, container, entry))
		return logs_mistake(logs, "containers: one is missing", err);
	if (entry && summary_set_log(container, &logs->logs[index], entry->promises_ns,
				     logs->window.end_ns - logs->window.start_ns))
		return sim_runtime_error(err, "out of memory for the results");
	return 0;
}

/* Does each log belong to a container that was sampled? */
static int logs_check_names(const struct logs *logs, struct sim_error *err)
{
	for (size_t i = 0; i < logs->count; i++)
		if (!summary_find(&logs->summary, logs->entries[i].container))
			return sim_user_error(err,
					      "%s: no container \"%s\" was collected, see "
					      "containers in %s",
					      logs->entries[i].file, logs->entries[i].container,
					      logs->config_file);
	return 0;
}

static int logs_write(const struct logs *logs, const char *folder, struct sim_error *err)
{
	struct writer writer;
	int status = results_prepare(&writer, folder, err);

	if (status)
		return status;
	status = results_write_json(&writer, RESULTS_CONFIG, logs->config, err);
	if (!status)
		status = results_begin_requests(&writer, err);
	if (!status) {
		for (size_t i = 0; i < logs->summary.container_count; i++)
			results_put_log(&writer, logs->summary.containers[i].name,
					logs->summary.containers[i].report, &logs->logs[i]);
		status = writer_end(&writer, err);
	}
	if (!status)
		status = results_write_summary(&writer, &logs->summary, err);
	if (!status)
		status = writer_commit(&writer, err);
	if (status)
		writer_abort(&writer);
	return status;
}

int logs_add(const char *folder, const struct logs_entry *entries, size_t count,
	     void (*note)(const char *text), struct sim_error *err)
{
	struct logs *logs = calloc(1, sizeof(*logs));
	int status;

	if (!logs)
		return sim_runtime_error(err, "out of memory");
	logs->entries = entries;
	logs->count = count;
	logs->note = note;
	status = logs_open(logs, folder, err);
	if (!status)
		status = logs_check_names(logs, err);
	for (size_t i = 0; !status && i < logs->summary.container_count; i++)
		status = logs_apply(logs, i, err);
	if (!status)
		status = logs_write(logs, folder, err);
	logs_close(logs);
	free(logs);
	return status;
}
