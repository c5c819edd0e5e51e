// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Sampling; see sampler.h.
 *
 * Files are opened anew for each sample. To keep them open would save microseconds, and in the
 * public GVM driver a process that ends spins until nobody has its files open.
 */
#include "collect/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/error.h"
#include "results/results.h"

#define SAMPLER_PATH_MAX (PATH_MAX + 64)
#define MISSED_FOR_GOOD	 2 /* samples; in the first a directory may be half made */
#define NS_PER_MS	 1000000ull

/* debugfs of gvm.ko (kernel-port/linux/gvm_debugfs.c), and of the GVM paper's driver. */
static const char *const default_roots[] = {
	"/sys/kernel/debug/gvm",
	"/sys/kernel/debug/nvidia-uvm/processes",
};

void sampler_init(struct sampler *sampler, const char *root)
{
	*sampler = (struct sampler){ 0 };
	if (root)
		sampler->roots[sampler->root_count++] = root;
	for (size_t i = 0; !root && i < ARRAY_SIZE(default_roots); i++)
		sampler->roots[sampler->root_count++] = default_roots[i];
}

void sampler_destroy(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->change_count; i++)
		free(sampler->changes[i].text);
	for (size_t i = 0; i < sampler->note_count; i++)
		free(sampler->notes[i]);
	free(sampler->containers);
	free(sampler->rows);
	free(sampler->changes);
	free(sampler->notes);
	*sampler = (struct sampler){ 0 };
}

/* Room for one more in an array that grows by doubling; NULL: no memory. */
static void *array_room(void *array, size_t count, size_t element)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? 2 * count : 1, element);
}

/* Tell what cannot be sampled, and keep it for the results. */
static int sampler_note(struct sampler *sampler, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int sampler_note(struct sampler *sampler, const char *fmt, ...)
{
	char **notes = array_room(sampler->notes, sampler->note_count, sizeof(*notes));
	va_list args;
	int length;

	if (!notes)
		return -ENOMEM;
	sampler->notes = notes;
	va_start(args, fmt);
	length = vasprintf(&notes[sampler->note_count], fmt, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	fprintf(stderr, "gvmcollect: note: %s\n", notes[sampler->note_count++]);
	return 0;
}

/* A line for who watches. */
static void sampler_tell(const struct sampler *sampler, u64 time_ns,
			 const struct sampler_container *container, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void sampler_tell(const struct sampler *sampler, u64 time_ns,
			 const struct sampler_container *container, const char *fmt, ...)
{
	u64 ms = time_ns / NS_PER_MS;
	va_list args;

	if (sampler->quiet)
		return;
	printf("%6llu.%03llu s  %s: ", ms / 1000, ms % 1000, container->name);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* Append a container; it has no name yet. NULL: no memory. */
static struct sampler_container *new_container(struct sampler *sampler, u64 tgid, u64 gpu)
{
	struct sampler_container *containers =
		array_room(sampler->containers, sampler->container_count, sizeof(*containers));
	struct sampler_container *container;

	if (!containers)
		return NULL;
	sampler->containers = containers;
	container = &containers[sampler->container_count++];
	*container = (struct sampler_container){ .tgid = tgid, .gpu = gpu };
	return container;
}

int sampler_add(struct sampler *sampler, const char *name, u64 tgid, u64 gpu,
		struct sim_error *err)
{
	struct sampler_container *container;

	for (u32 i = 0; i < sampler->container_count; i++)
		if (!strcmp(sampler->containers[i].name, name))
			return sim_user_error(err, "container \"%s\" is named twice", name);
	if (sampler->container_count == CFG_CONTAINERS_MAX)
		return sim_user_error(err, "more than %d containers", CFG_CONTAINERS_MAX);
	container = new_container(sampler, tgid, gpu);
	if (!container)
		return sim_runtime_error(err, "out of memory");
	snprintf(container->name, sizeof(container->name), "%s", name);
	sampler->told = true;
	return 0;
}

/* Directories: <root>/<tgid>/<gpu>/. */

static int is_number(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
}

/* Numbered entries in ascending order; negative: there is no such directory. */
static int list_numbers(const char *path, struct dirent ***ret_entries)
{
	return scandir(path, ret_entries, is_number, versionsort);
}

static void free_list(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
}

static int open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The first GPU of a process group that has a directory, or SAMPLER_ANY_GPU. */
static u64 first_gpu(const char *root, u64 tgid)
{
	char path[SAMPLER_PATH_MAX];
	struct dirent **entries;
	u64 gpu = SAMPLER_ANY_GPU;
	int count;

	snprintf(path, sizeof(path), "%s/%llu", root, tgid);
	count = list_numbers(path, &entries);
	if (count > 0)
		gpu = strtoull(entries[0]->d_name, NULL, 10);
	free_list(entries, count);
	return gpu;
}

/* Open a container's directory and write its path. Returns a descriptor, or -1. */
static int open_container(const struct sampler *sampler, struct sampler_container *container,
			  char path[SAMPLER_PATH_MAX])
{
	int dir = -1;

	for (size_t i = 0; dir < 0 && i < sampler->root_count; i++) {
		u64 gpu = container->gpu;

		if (gpu == SAMPLER_ANY_GPU)
			gpu = first_gpu(sampler->roots[i], container->tgid);
		if (gpu == SAMPLER_ANY_GPU)
			continue;
		snprintf(path, SAMPLER_PATH_MAX, "%s/%llu/%llu", sampler->roots[i],
			 container->tgid, gpu);
		dir = open_directory(path);
		if (dir >= 0)
			container->gpu = gpu;
	}
	return dir;
}

static bool is_known(const struct sampler *sampler, u64 tgid, u64 gpu)
{
	for (u32 i = 0; i < sampler->container_count; i++)
		if (sampler->containers[i].tgid == tgid && sampler->containers[i].gpu == gpu)
			return true;
	return false;
}

/* Take in a directory that was found. A file of such a name is nobody. */
static int discover_container(struct sampler *sampler, const char *path, u64 tgid, u64 gpu)
{
	struct sampler_container *container;
	int dir;

	if (is_known(sampler, tgid, gpu))
		return 0;
	if (sampler->container_count == CFG_CONTAINERS_MAX) {
		if (sampler->too_many_told)
			return 0;
		sampler->too_many_told = true;
		return sampler_note(sampler, "%s: more than %d containers, it is not sampled",
				    path, CFG_CONTAINERS_MAX);
	}
	dir = open_directory(path);
	if (dir < 0)
		return 0;
	close(dir);
	container = new_container(sampler, tgid, gpu);
	if (!container)
		return -ENOMEM;
	snprintf(container->name, sizeof(container->name), "%llu-%llu", tgid, gpu);
	return 0;
}

static int discover_group(struct sampler *sampler, const char *root, const char *tgid)
{
	char path[SAMPLER_PATH_MAX];
	struct dirent **gpus;
	int count, rc = 0;

	snprintf(path, sizeof(path), "%s/%s", root, tgid);
	count = list_numbers(path, &gpus);
	for (int i = 0; !rc && i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", root, tgid, gpus[i]->d_name);
		rc = discover_container(sampler, path, strtoull(tgid, NULL, 10),
					strtoull(gpus[i]->d_name, NULL, 10));
	}
	free_list(gpus, count);
	return rc;
}

static int discover(struct sampler *sampler)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < sampler->root_count; i++) {
		struct dirent **groups;
		int count = list_numbers(sampler->roots[i], &groups);

		for (int j = 0; !rc && j < count; j++)
			rc = discover_group(sampler, sampler->roots[i], groups[j]->d_name);
		free_list(groups, count);
	}
	return rc;
}

/* One sample of one container. */

/* Say once of each file that it is not there, whoever's it is. */
static int note_missing(struct sampler *sampler, enum host_file_id id, const char *path)
{
	const char *alias = host_files[id].alias;

	if (sampler->missing_told & 1u << id)
		return 0;
	sampler->missing_told |= 1u << id;
	return sampler_note(sampler, "%s/%s%s%s is missing: it is not sampled", path,
			    host_files[id].name, alias ? " or " : "", alias ? alias : "");
}

static int note_unreadable(struct sampler *sampler, enum host_file_id id, const char *path,
			   const char *text, int error)
{
	if (error == -EINVAL)
		return sampler_note(sampler, "%s/%s: \"%.40s\" is not known, allowed: %s", path,
				    host_files[id].name, text, host_file_allowed(id));
	return sampler_note(sampler, "%s/%s: cannot be read: %s", path, host_files[id].name,
			    strerror(-error));
}

static int add_change(struct sampler *sampler, u64 time_ns, u32 container, enum host_file_id id,
		      const char *text)
{
	struct sampler_change *changes =
		array_room(sampler->changes, sampler->change_count, sizeof(*changes));
	struct sampler_change change = { time_ns, container, id, strdup(text) };

	if (changes)
		sampler->changes = changes;
	if (!changes || !change.text) {
		free(change.text);
		return -ENOMEM;
	}
	changes[sampler->change_count++] = change;
	return 0;
}

/* A value was read: remember it. What the timeline has is no change. */
static int take_value(struct sampler *sampler, u64 time_ns, u32 index, enum host_file_id id,
		      const struct host_value *value)
{
	struct sampler_container *container = &sampler->containers[index];
	struct sampler_file *file = &container->files[id];
	bool news = !file->seen || strcmp(file->text, value->text) != 0;

	if (news && file->seen && host_files[id].setting)
		sampler_tell(sampler, time_ns, container, "%s is %s", host_files[id].name,
			     value->text);
	file->seen = true;
	file->missed = 0;
	file->number = value->number;
	strcpy(file->text, value->text);
	if (!news || id == HOST_CURRENT || id == HOST_SWAP)
		return 0;
	return add_change(sampler, time_ns, index, id, value->text);
}

/* Read one file. Returns 1: it is known now, 0: it is not, or -ENOMEM. */
static int sample_file(struct sampler *sampler, u64 time_ns, u32 index, enum host_file_id id,
		       int dir, const char *path)
{
	struct sampler_file *file = &sampler->containers[index].files[id];
	struct host_value value;
	int rc = host_file_read(dir, id, &value);

	if (!rc) {
		rc = take_value(sampler, time_ns, index, id, &value);
		return rc ? rc : 1;
	}
	if (rc == -ENOENT) {
		if (++file->missed != MISSED_FOR_GOOD || file->seen)
			return 0;
		return note_missing(sampler, id, path);
	}
	if (file->told)
		return 0;
	file->told = true;
	return note_unreadable(sampler, id, path, value.text, rc);
}

static int add_row(struct sampler *sampler, const struct sampler_row *row)
{
	struct sampler_row *rows = array_room(sampler->rows, sampler->row_count, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	sampler->rows = rows;
	rows[sampler->row_count++] = *row;
	return 0;
}

/* Put the value of a file that was just read into the row. */
static void fill_row(struct sampler_row *row, struct sampler_container *container,
		     enum host_file_id id)
{
	u64 number = container->files[id].number;

	switch (id) {
	case HOST_CURRENT:
		row->known |= RESULTS_RESIDENT;
		row->resident_bytes = number;
		container->resident_max_bytes = max(container->resident_max_bytes, number);
		break;
	case HOST_SWAP:
		row->known |= RESULTS_SWAPPED;
		row->swapped_bytes = number;
		break;
	case HOST_STAT:
		row->known |= RESULTS_PENDING;
		row->pending_kernels = number;
		break;
	default:
		break;
	}
}

static int sample_files(struct sampler *sampler, u64 time_ns, u32 index, int dir,
			const char *path)
{
	struct sampler_row row = { .time_ns = time_ns, .container = index };
	int rc = 0;

	for (int i = 0; rc >= 0 && dir >= 0 && i < HOST_FILES; i++) {
		enum host_file_id id = (enum host_file_id)i;

		rc = sample_file(sampler, time_ns, index, id, dir, path);
		if (rc == 1)
			fill_row(&row, &sampler->containers[index], id);
	}
	return rc < 0 ? rc : add_row(sampler, &row);
}

/* What the process calls itself; read when it appears. */
static void read_command(struct sampler_container *container)
{
	char path[64];
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%llu/comm", container->tgid);
	stream = fopen(path, "re");
	if (!stream)
		return;
	if (fgets(container->command, sizeof(container->command), stream))
		container->command[strcspn(container->command, "\n")] = '\0';
	fclose(stream);
}

static bool process_exists(u64 tgid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu", tgid);
	return !access(path, F_OK);
}

/* It is there: as a directory of control files, or at least as a process. */
static void set_present(struct sampler *sampler, struct sampler_container *container,
			u64 time_ns, bool present)
{
	if (present && !container->present) {
		read_command(container);
		sampler_tell(sampler, time_ns, container, "appeared, process %llu",
			     container->tgid);
	}
	if (!present && container->present)
		sampler_tell(sampler, time_ns, container, "gone");
	if (present && !container->seen)
		container->first_ns = time_ns;
	if (present)
		container->last_ns = time_ns;
	container->present = present;
	container->seen = container->seen || present;
}

static int sample_container(struct sampler *sampler, u64 time_ns, u32 index)
{
	struct sampler_container *container = &sampler->containers[index];
	char path[SAMPLER_PATH_MAX] = "";
	int dir = open_container(sampler, container, path);
	int rc = 0;

	set_present(sampler, container, time_ns, dir >= 0 || process_exists(container->tgid));
	if (container->present)
		rc = sample_files(sampler, time_ns, index, dir, path);
	else if (!sampler->began)
		rc = sampler_note(sampler, "%s: no process %llu yet", container->name,
				  container->tgid);
	if (dir >= 0)
		close(dir);
	return rc;
}

/* A stock driver has no control files: name them all, once. */
static int note_no_roots(struct sampler *sampler)
{
	char files[512] = "", where[2 * SAMPLER_PATH_MAX] = "";
	size_t length = 0;
	int error = 0;

	for (size_t i = 0; i < sampler->root_count; i++) {
		int dir = open_directory(sampler->roots[i]);

		if (dir >= 0) {
			close(dir);
			return 0;
		}
		error = errno;
		length += (size_t)snprintf(where + length, sizeof(where) - length, "%s%s",
					   i ? " and " : "", sampler->roots[i]);
	}
	length = 0;
	for (int i = 0; i < HOST_FILES; i++)
		length += (size_t)snprintf(files + length, sizeof(files) - length, "%s%s",
					   i ? ", " : "", host_files[i].name);
	return sampler_note(sampler, "%s: %s%s; missing and not sampled: %s", where,
			    strerror(error), error == EACCES ? " (debugfs is root's)" : "",
			    files);
}

int sampler_take(struct sampler *sampler, u64 time_ns, struct sim_error *err)
{
	int rc = sampler->began ? 0 : note_no_roots(sampler);

	if (!rc && !sampler->told)
		rc = discover(sampler);
	for (u32 i = 0; !rc && i < sampler->container_count; i++)
		rc = sample_container(sampler, time_ns, i);
	sampler->began = true;
	return rc ? sim_runtime_error(err, "out of memory for samples") : 0;
}

bool sampler_is_over(const struct sampler *sampler)
{
	for (u32 i = 0; i < sampler->container_count; i++)
		if (!sampler->containers[i].seen || sampler->containers[i].present)
			return false;
	return sampler->container_count > 0;
}
