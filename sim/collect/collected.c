// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/collected.h"

#include <stdlib.h>
#include <string.h>

#include "collect/host.h"
#include "config/units.h"
#include "engine/error.h"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

#define NS_PER_S 1e9

/* Copy the last value of a file into a metric. Returns false if the file was never seen. */
static bool set_last(struct summary_container *container, enum summary_metric_id metric,
		     const struct sampler_container *sampled, const char *name)
{
	const struct sampler_file *file = sampler_last(sampled, name);

	if (file)
		summary_set_count(container, metric, file->number);
	return file;
}

/*
 * Counts by key, "high 7 hmem 0 oom 1", since the process started, and the rate of launches. A
 * driver may lack the file, or a key.
 */
static void set_counts(struct summary_container *container,
		       const struct sampler_container *sampled)
{
	static const struct {
		const char *key;
		enum summary_metric_id metric;
		const char *file;
	} counts[] = { { "high", SUMMARY_EVENTS_HIGH, "gmem.events" },
		       { "hmem", SUMMARY_EVENTS_HMEM, "gmem.events" },
		       { "oom", SUMMARY_EVENTS_OOM, "gmem.events" },
		       { "nr_submitted_kernels", SUMMARY_KERNELS_SUBMITTED, "gcgroup.stat" },
		       { "nr_ended_kernels", SUMMARY_KERNELS_ENDED, "gcgroup.stat" } };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct sampler_file *file = sampler_last(sampled, counts[i].file);
		u64 count;

		if (file && host_file_number(file->text, counts[i].key, &count))
			summary_set_count(container, counts[i].metric, count);
	}
	if (sampled->launches.launched)
		summary_set_real(container, SUMMARY_KERNELS_PER_S,
				 launches_per_s(&sampled->launches));
}

static void summarise_container(struct summary_container *container,
				const struct sampler_container *sampled)
{
	bool has_current;

	strcpy(container->name, sampled->name);
	snprintf(container->status, sizeof(container->status), "%s",
		 sampled->seen ? SUMMARY_OK : "never appeared");
	has_current = set_last(container, SUMMARY_GMEM_CURRENT, sampled, "gmem.current");
	set_last(container, SUMMARY_GMEM_SWAP, sampled, "gmem.swap.current");
	set_counts(container, sampled);
	if (sampled->resident_samples)
		summary_set_count(container, SUMMARY_GMEM_MEAN,
				  sampled->resident_sum_bytes / sampled->resident_samples);
	/* The public GVM driver has no peak. The highest sample takes its place. */
	if (!set_last(container, SUMMARY_GMEM_PEAK, sampled, "gmem.peak") && has_current)
		summary_set_count(container, SUMMARY_GMEM_PEAK, sampled->resident_max_bytes);
}

int collected_summary(const struct collected *collected, struct summary *summary,
		      struct sim_error *err)
{
	const struct sampler *sampler = collected->sampler;

	*summary = (struct summary){
		.measured = true,
		.complete = collected->complete,
		.sim_seconds = (double)collected->end_ns / NS_PER_S,
		.wall_seconds = (double)collected->end_ns / NS_PER_S,
	};
	host_name(summary->name, sizeof(summary->name));
	snprintf(summary->system, sizeof(summary->system), "%s", collected->system);
	snprintf(summary->version, sizeof(summary->version), "%s", GVMSIM_VERSION);
	summary->containers =
		calloc(sampler->container_count + 1, sizeof(*summary->containers));
	if (!summary->containers)
		return sim_runtime_error(err, "out of memory for the results");
	for (u32 i = 0; i < sampler->container_count; i++)
		summarise_container(&summary->containers[summary->container_count++],
				    &sampler->containers[i]);
	return 0;
}

/* A number, or null if it is not known. */
static json_t *number_json(bool known, u64 number)
{
	return known ? json_integer((json_int_t)number) : json_null();
}

static json_t *containers_json(const struct sampler *sampler)
{
	json_t *containers = json_object();

	for (u32 i = 0; i < sampler->container_count; i++) {
		const struct sampler_container *container = &sampler->containers[i];
		bool gone = container->seen && !container->present;
		json_t *object = json_pack(
			"{sIsosososos{soso}}", "tgid", (json_int_t)container->tgid, "gpu",
			number_json(container->gpu != SAMPLER_ANY_GPU, container->gpu),
			"command", host_string(container->command), "first_sample_ns",
			number_json(container->seen, container->first_ns), "last_sample_ns",
			number_json(gone, container->last_ns), "app", "type", json_null(),
			"log", json_null());

		if (container->served)
			json_object_set(object, "served", container->served);
		json_object_set_new(containers, container->name, object);
	}
	return containers;
}

static json_t *strings_json(const char *const *texts, size_t count)
{
	json_t *strings = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(strings, host_string(texts[i]));
	return strings;
}

static int write_config(const struct collected *collected, struct writer *writer,
			struct sim_error *err)
{
	const struct sampler *sampler = collected->sampler;
	char date[sizeof("2026-01-31T23:59:59Z") + 8] = "";
	char interval[UNITS_TEXT_MAX], model[CFG_NAME_MAX];
	struct tm utc;
	json_t *root;
	int status;

	if (gmtime_r(&collected->start_date, &utc))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	units_format_duration(collected->interval_ns, interval, sizeof(interval));
	host_gpu_model(model, sizeof(model));
	root = json_pack(
		"{sssss{ss}s{ss}s{sssIsI}s{sssIss}sosososo}", "source", SUMMARY_HARDWARE,
		"program", "gvmcollect " GVMSIM_VERSION, "system", "name", collected->system,
		"gpu", "profile", model, "sampling", "interval", interval, "taken",
		(json_int_t)collected->taken, "skipped", (json_int_t)collected->skipped,
		"clock", "name", "CLOCK_MONOTONIC", "start_ns", (json_int_t)collected->start_ns,
		"start_date", date, "host", host_json(), "roots",
		strings_json(sampler->roots, sampler->root_count), "containers",
		containers_json(sampler), "notes",
		strings_json((const char *const *)sampler->notes, sampler->note_count));
	status = results_write_json(writer, RESULTS_CONFIG, root, err);
	json_decref(root);
	return status;
}

static int write_timeline(const struct sampler *sampler, struct writer *writer,
			  struct sim_error *err)
{
	int status = results_begin_timeline(writer, err);

	if (status)
		return status;
	for (size_t i = 0; i < sampler->row_count; i++) {
		const struct sampler_row *row = &sampler->rows[i];
		struct results_sample sample = {
			.container = sampler->containers[row->container].name,
			.known = row->known,
			.time_ns = row->time_ns,
			.resident_bytes = row->resident_bytes,
			.swapped_bytes = row->swapped_bytes,
			.pending_kernels = row->pending_kernels,
		};

		results_put_sample(writer, &sample);
	}
	return writer_end(writer, err);
}

static int write_controls(const struct sampler *sampler, struct writer *writer,
			  struct sim_error *err)
{
	int status = results_begin_controls(writer, err);

	if (status)
		return status;
	for (size_t i = 0; i < sampler->change_count; i++) {
		const struct sampler_change *change = &sampler->changes[i];

		results_put_control(writer, change->time_ns,
				    sampler->containers[change->container].name,
				    change->file->name, change->text);
	}
	return writer_end(writer, err);
}

/* config.json comes first and summary.json last; see results_commit(). */
int collected_write(const struct collected *collected, const struct summary *summary,
		    struct writer *writer, struct sim_error *err)
{
	int status = write_config(collected, writer, err);

	/* Logs of applications come later; until then requests.csv has its header only. */
	if (!status)
		status = results_begin_requests(writer, err);
	if (!status)
		status = writer_end(writer, err);
	if (!status)
		status = write_timeline(collected->sampler, writer, err);
	if (!status)
		status = write_controls(collected->sampler, writer, err);
	if (!status)
		status = results_write_summary(writer, summary, err);
	if (!status)
		status = results_commit(writer, err);
	if (status)
		writer_abort(writer);
	return status;
}
