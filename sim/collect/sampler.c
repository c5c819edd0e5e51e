// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Sampling; see sampler.h.
 *
 * Files are opened anew for each sample. Open files would save microseconds, but a process of
 * the public GVM driver that ends spins until all its files are closed.
 */
#include "collect/sampler.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/directories.h"
#include "collect/served.h"
#include "engine/error.h"
#include "results/results.h"

#define MISSED_FOR_GOOD 2 /* samples; a directory may be half made in the first one */

/*
 * debugfs of gvm.ko (kernel-port/linux/gvm_files_debugfs.c), and of the GVM paper's driver;
 * files of the shim (kernel-port/shim/report.c).
 */
static const char *const default_roots[] = {
	"/sys/kernel/debug/gvm",
	"/sys/kernel/debug/nvidia-uvm/processes",
	"/run/gvm-shim",
};

/* The shim's own folder, where it is another one than root's: kernel-port/shim/settings.c. */
static const char *shim_root_of_user(struct sampler *sampler)
{
	const char *given = getenv("GVM_SHIM_DIR");

	if (given && *given == '/')
		return given;
	if (!geteuid())
		return NULL;
	snprintf(sampler->own_root, sizeof(sampler->own_root), "/tmp/gvm-shim-%u", geteuid());
	return sampler->own_root;
}

void sampler_init(struct sampler *sampler, const char *root)
{
	GVM_ASSERT(gvm_control_count() <= 64); /* missing_told has a bit for each */
	*sampler = (struct sampler){ 0 };
	if (root) {
		sampler->roots[sampler->root_count++] = root;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(default_roots); i++)
		sampler->roots[sampler->root_count++] = default_roots[i];
	root = shim_root_of_user(sampler);
	if (root && strcmp(root, default_roots[ARRAY_SIZE(default_roots) - 1]) != 0)
		sampler->roots[sampler->root_count++] = root;
}

void sampler_destroy(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->change_count; i++)
		free(sampler->changes[i].text);
	for (size_t i = 0; i < sampler->note_count; i++)
		free(sampler->notes[i]);
	for (u32 i = 0; i < sampler->container_count; i++) {
		json_decref(sampler->containers[i].served);
		free(sampler->containers[i].files);
	}
	free(sampler->containers);
	free(sampler->rows);
	free(sampler->changes);
	free(sampler->notes);
	*sampler = (struct sampler){ 0 };
}

/* Tell the user what is new with a container. */
static void sampler_tell(const struct sampler *sampler, u64 time_ns,
			 const struct sampler_container *container, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void sampler_tell(const struct sampler *sampler, u64 time_ns,
			 const struct sampler_container *container, const char *fmt, ...)
{
	char text[GVM_CONTROL_TEXT_MAX + 64]; /* a setting and its name */
	va_list args;

	if (!sampler->news)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sampler->news(time_ns, container->name, text);
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
	container = sampler_new_container(sampler, tgid, gpu);
	if (!container)
		return sim_runtime_error(err, "out of memory");
	snprintf(container->name, sizeof(container->name), "%s", name);
	sampler->named = true;
	return 0;
}

/* The fields of a row of the timeline that a control file fills. */
static bool is_current(const struct gvm_control_file *file)
{
	return !strcmp(file->name, "gmem.current");
}

static bool is_swap(const struct gvm_control_file *file)
{
	return !strcmp(file->name, "gmem.swap.current");
}

/*
 * Remember a value that was read, and add a change if it is new. Values of the timeline are in
 * its rows and add none.
 */
static int take_value(struct sampler *sampler, u64 time_ns, u32 index, u32 file_index,
		      const struct host_value *value)
{
	struct sampler_container *container = &sampler->containers[index];
	const struct gvm_control_file *control = gvm_control_at(file_index);
	struct sampler_file *file = &container->files[file_index];
	bool news = !file->seen || strcmp(file->text, value->text) != 0;
	struct sampler_change change = { time_ns, index, control, NULL };
	struct sampler_change *changes;

	if (news && file->seen && host_file_is_setting(control))
		sampler_tell(sampler, time_ns, container, "%s is %s", control->name,
			     value->text);
	file->seen = true;
	file->missed = 0;
	file->number = value->number;
	strcpy(file->text, value->text);
	if (!news || is_current(control) || is_swap(control))
		return 0;
	changes = samples_room(sampler->changes, sampler->change_count, sizeof(*changes));
	if (!changes)
		return -ENOMEM;
	sampler->changes = changes;
	change.text = strdup(value->text);
	if (!change.text)
		return -ENOMEM;
	changes[sampler->change_count++] = change;
	return 0;
}

/*
 * Read one file. A missing file is noted once for all containers, a file that cannot be read
 * once for this one. Returns 1: its value is known now, 0: it is not, or -ENOMEM.
 */
static int sample_file(struct sampler *sampler, u64 time_ns, u32 index, u32 file_index, int dir,
		       const char *path)
{
	const struct gvm_control_file *control = gvm_control_at(file_index);
	struct sampler_file *file = &sampler->containers[index].files[file_index];
	struct host_value value;
	int status = host_file_read(dir, control, &value);

	if (!status) {
		status = take_value(sampler, time_ns, index, file_index, &value);
		return status ? status : 1;
	}
	if (status == -ENOENT) {
		if (++file->missed != MISSED_FOR_GOOD || file->seen ||
		    (sampler->missing_told & 1ull << file_index))
			return 0;
		sampler->missing_told |= 1ull << file_index;
		return sampler_note(sampler, "%s/%s%s%s is missing: it is not sampled", path,
				    control->name, control->alias ? " or " : "",
				    control->alias ? control->alias : "");
	}
	if (file->told)
		return 0;
	file->told = true;
	if (status == -EINVAL)
		return sampler_note(sampler, "%s/%s: \"%.40s\" is not known, allowed: %s", path,
				    control->name, value.text, host_file_allowed(control));
	return sampler_note(sampler, "%s/%s: cannot be read: %s", path, control->name,
			    strerror(-status));
}

/* Put the value of a file that was just read into the row. */
static void fill_row(struct sampler_row *row, struct sampler_container *container, u32 index)
{
	const struct gvm_control_file *file = gvm_control_at(index);
	u64 number = container->files[index].number;

	if (is_current(file)) {
		row->known |= RESULTS_RESIDENT;
		row->resident_bytes = number;
		container->resident_max_bytes = max(container->resident_max_bytes, number);
		container->resident_sum_bytes += number;
		container->resident_samples += number != 0;
	} else if (is_swap(file)) {
		row->known |= RESULTS_SWAPPED;
		row->swapped_bytes = number;
	} else if (!strcmp(file->name, "gcgroup.stat")) {
		row->known |= RESULTS_PENDING;
		row->pending_kernels = number;
		if (host_file_number(container->files[index].text, "nr_submitted_kernels",
				     &number))
			launches_sample(&container->launches, row->time_ns, number);
	}
}

/*
 * Read all files in @dir (-1: none) into a row. Settings come first: a sample with a new
 * setting then has a usage that is no older than the setting.
 */
static int sample_files(struct sampler *sampler, u64 time_ns, u32 index, int dir,
			const char *path)
{
	struct sampler_row row = { .time_ns = time_ns, .container = index };
	struct sampler_row *rows;

	for (u32 i = 0; dir >= 0 && i < 2 * gvm_control_count(); i++) {
		u32 file = i % gvm_control_count();
		bool settings = i < gvm_control_count();
		int status;

		if (host_file_is_setting(gvm_control_at(file)) != settings)
			continue;
		status = sample_file(sampler, time_ns, index, file, dir, path);
		if (status < 0)
			return status;
		if (status)
			fill_row(&row, &sampler->containers[index], file);
	}
	rows = samples_room(sampler->rows, sampler->row_count, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	sampler->rows = rows;
	rows[sampler->row_count++] = row;
	return 0;
}

/* Read the name that the process gives itself. Done once, when the process appears. */
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

/* Tell that a container appears or goes, and remember when it was present. */
static void set_present(struct sampler *sampler, struct sampler_container *container,
			u64 time_ns, bool present)
{
	if (present && !container->present) {
		read_command(container);
		json_decref(container->served);
		container->served = served_read(container->tgid);
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
	char path[SAMPLER_PATH_MAX] = "", process[64];
	int dir = directories_open(sampler, container, path);
	int status = 0;

	/* It is present as a directory of control files, or at least as a process. */
	snprintf(process, sizeof(process), "/proc/%llu", container->tgid);
	set_present(sampler, container, time_ns, dir >= 0 || !access(process, F_OK));
	if (container->present)
		status = sample_files(sampler, time_ns, index, dir, path);
	else if (!sampler->began)
		status = sampler_note(sampler, "%s: no process %llu yet", container->name,
				      container->tgid);
	if (dir >= 0)
		close(dir);
	return status;
}

int sampler_take(struct sampler *sampler, u64 time_ns, struct sim_error *err)
{
	int status = sampler->began ? 0 : directories_note_no_roots(sampler);

	if (!status && !sampler->named)
		status = directories_discover(sampler);
	for (u32 i = 0; !status && i < sampler->container_count; i++)
		status = sample_container(sampler, time_ns, i);
	sampler->began = true;
	return status ? sim_runtime_error(err, "out of memory for samples") : 0;
}

bool sampler_is_over(const struct sampler *sampler)
{
	for (u32 i = 0; i < sampler->container_count; i++)
		if (!sampler->containers[i].seen || sampler->containers[i].present)
			return false;
	return sampler->container_count > 0;
}

const struct sampler_file *sampler_last(const struct sampler_container *container,
					const char *name)
{
	for (u32 i = 0; i < gvm_control_count(); i++)
		if (!strcmp(gvm_control_at(i)->name, name) && container->files[i].seen)
			return &container->files[i];
	return NULL;
}
