// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/error.h"
#include "gvm/port.h"
#include "results/requests_read.h"
#include "results/results.h"

#define NS_PER_S 1e9

enum sample_column {
	SAMPLE_TIME,
	SAMPLE_CONTAINER,
	SAMPLE_BUSY,
	SAMPLE_RESIDENT,
	SAMPLE_COLUMNS
};
static const char *const sample_columns[SAMPLE_COLUMNS] = {
	"time_ns",
	"container",
	"gpu_busy_ns",
	"resident_bytes",
};

/* The index of the container @name, which the current row has. */
static int find_container(const struct folder *folder, const struct csv *csv, const char *name,
			  size_t *ret_container, struct sim_error *err)
{
	for (size_t i = 0; i < folder->summary.container_count; i++)
		if (!strcmp(folder->summary.containers[i].name, name)) {
			*ret_container = i;
			return 0;
		}
	return sim_user_error(err, "%s:%zu: no container \"%.60s\" in " RESULTS_SUMMARY,
			      csv->file, csv->line, name);
}

/* Make room for one more row in an array that grows by doubling. NULL: no memory. */
static void *array_room(void *array, size_t count, size_t element)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * count : 1) * element);
}

static int add_record(struct folder *folder, const struct csv *csv,
		      const struct requests_row *row, struct sim_error *err)
{
	struct folder_record *records =
		array_room(folder->records, folder->record_count, sizeof(*records));
	u64 arrival = row->record.arrival_ns, first = row->record.first_ns;
	u64 finish = row->record.finish_ns;
	struct folder_record *record;

	if (!records)
		return sim_runtime_error(err, "%s: out of memory", csv->file);
	folder->records = records;
	record = &records[folder->record_count++];
	*record = (struct folder_record){ .record = row->record };
	folder->end_ns = max(folder->end_ns, finish);
	if ((first && first < arrival) || (finish && finish < arrival))
		return sim_user_error(err, "%s:%zu: an end before the arrival", csv->file,
				      csv->line);
	return find_container(folder, csv, row->container, &record->container, err);
}

static int read_requests(struct folder *folder, const char *file, struct sim_error *err)
{
	struct requests_row row;
	struct csv csv;
	int status = requests_open(&csv, file, err);

	if (status)
		return status;
	while ((status = requests_next(&csv, &row, err)) == 1) {
		status = add_record(folder, &csv, &row, err);
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

static int check_sample(const struct folder *folder, const struct csv *csv,
			struct sim_error *err)
{
	static const enum sample_column numbers[] = { SAMPLE_TIME, SAMPLE_BUSY,
						      SAMPLE_RESIDENT };
	size_t container;
	u64 number;
	int status =
		find_container(folder, csv, csv_text(csv, SAMPLE_CONTAINER), &container, err);

	for (size_t i = 0; !status && i < ARRAY_SIZE(numbers); i++)
		status = csv_u64(csv, numbers[i], &number, err);
	return status;
}

static int check_timeline(const struct folder *folder, const char *file, struct sim_error *err)
{
	struct csv csv;
	int status = csv_open(&csv, file, sample_columns, SAMPLE_COLUMNS, err);

	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		status = check_sample(folder, &csv, err);
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

static int read_config(struct folder *folder, const char *file, struct sim_error *err)
{
	json_t *root, *gpu;
	int status = results_load_json(file, RESULTS_WRITTEN, &root, err);

	if (status)
		return status;
	gpu = json_object_get(json_object_get(root, "gpu"), "profile");
	if (json_is_string(gpu) && json_string_length(gpu) < sizeof(folder->gpu))
		strcpy(folder->gpu, json_string_value(gpu));
	else
		status = sim_user_error(err,
					"%s:gpu.profile: %s, allowed: the name of a profile",
					file, gpu ? "is no name" : "is missing");
	json_decref(root);
	return status;
}

static int read_summary(struct folder *folder, const char *file, struct sim_error *err)
{
	int status = summary_load(&folder->summary, file, err);

	if (status)
		return status;
	if (folder->summary.container_count > CFG_CONTAINERS_MAX)
		return sim_user_error(err, "%s:containers: too many, allowed: %d", file,
				      CFG_CONTAINERS_MAX);
	if (!(folder->summary.sim_seconds >= 0 && folder->summary.sim_seconds < 1e9))
		return sim_user_error(err, "%s:sim_seconds: is out of range, allowed: 0 to 1e9",
				      file);
	folder->end_ns = (u64)(folder->summary.sim_seconds * NS_PER_S + 0.5);
	return 0;
}

/* Check that all files are regular files. Opening a FIFO would wait for a writer for ever. */
static int check_files(const char *path, struct sim_error *err)
{
	static const char *const names[] = {
		RESULTS_SUMMARY,
		RESULTS_CONFIG,
		RESULTS_REQUESTS,
		RESULTS_TIMELINE,
	};
	char file[PATH_MAX];
	struct stat info;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		sprintf(file, "%s/%s", path, names[i]);
		if (!stat(file, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
			return sim_user_error(err,
					      "%s: is not a file, allowed: a folder that "
					      "gvmsim or gvmcollect wrote",
					      file);
	}
	return 0;
}

static int read_files(struct folder *folder, const char *path, struct sim_error *err)
{
	char file[PATH_MAX];
	int status;

	if (strlen(path) > sizeof(file) - WRITER_NAME_MAX)
		return sim_user_error(err, "%.60s...: name of a folder is too long", path);
	status = check_files(path, err);
	sprintf(file, "%s/%s", path, RESULTS_SUMMARY);
	if (!status)
		status = read_summary(folder, file, err);
	sprintf(file, "%s/%s", path, RESULTS_CONFIG);
	if (!status)
		status = read_config(folder, file, err);
	sprintf(file, "%s/%s", path, RESULTS_REQUESTS);
	if (!status)
		status = read_requests(folder, file, err);
	sprintf(file, "%s/%s", path, RESULTS_TIMELINE);
	if (!status)
		status = check_timeline(folder, file, err);
	return status;
}

int folder_load(struct folder *folder, const char *path, struct sim_error *err)
{
	int status;

	*folder = (struct folder){ 0 };
	status = read_files(folder, path, err);
	if (status)
		folder_destroy(folder);
	return status;
}

void folder_destroy(struct folder *folder)
{
	summary_destroy(&folder->summary);
	free(folder->records);
	*folder = (struct folder){ 0 };
}
