// SPDX-License-Identifier: MIT OR GPL-2.0
/* See picture.h. An entry is a folder with a file for each terminal of gnuplot. */
#include "figures/picture.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/hash.h"
#include "config/paths.h"
#include "engine/error.h"
#include "figures/cache_folder.h"
#include "figures/cache_sum.h"
#include "figures/gnuplot.h"
#include "figures/run_cache.h"
#include "results/writer.h"

/* 200 KB each. "figure all" draws 33. */
#define PICTURES_KEPT	200

#define PICTURES_FOLDER "results/pictures"
#define PICTURE_NAME	"picture" /* in an entry */
#define COPY_SIZE	65536

/* Add the identity of the gnuplot that would be started. False: there is none. */
static bool hash_gnuplot(XXH3_state_t *state)
{
	const char *folder = getenv("PATH");
	char path[PATH_MAX];
	struct stat info;

	while (folder) {
		int length = (int)strcspn(folder, ":");

		snprintf(path, sizeof(path), "%.*s/gnuplot", length, folder);
		if (!access(path, X_OK) && !stat(path, &info)) {
			XXH3_128bits_update(state, path, strlen(path) + 1);
			XXH3_128bits_update(state, &info.st_size, sizeof(info.st_size));
			XXH3_128bits_update(state, &info.st_mtim, sizeof(info.st_mtim));
			return true;
		}
		folder = folder[length] ? folder + length + 1 : NULL;
	}
	return false;
}

static int is_script(const struct dirent *item)
{
	const char *dot = strrchr(item->d_name, '.');

	return dot && !strcmp(dot, ".gp");
}

/* Scripts load each other, so all of them count. Returns 0 or a negative enum sim_exit. */
static int hash_scripts(XXH3_state_t *state, struct sim_error *err)
{
	char folder[PATH_MAX], path[PATH_MAX];
	int status = config_find_data("plots", ".", folder, sizeof(folder), err);
	struct dirent **list = NULL;
	int count = status ? 0 : scandir(folder, &list, is_script, alphasort);

	for (int i = 0; i < count; i++) {
		if (!cfg_path_join(folder, list[i]->d_name, path, sizeof(path)))
			status = -SIM_EXIT_RUNTIME;
		if (!status)
			status = cfg_hash_file(state, path, err);
		free(list[i]);
	}
	free(list);
	return status;
}

/* A file that is not there is read by no script: what draws it says so in a variable. */
static int hash_data(XXH3_state_t *state, const struct gnuplot *gnuplot, struct sim_error *err)
{
	int status = 0;

	for (size_t i = 0; !status && i < gnuplot->count; i++)
		XXH3_128bits_update(state, gnuplot->list[i], strlen(gnuplot->list[i]) + 1);
	for (size_t i = 0; !status && i < gnuplot->file_count; i++)
		if (!access(gnuplot->files[i], F_OK))
			status = cfg_hash_file(state, gnuplot->files[i], err);
	return status;
}

/*
 * Hash what is about to be drawn. False: no picture is kept here, or something cannot be read;
 * that is an error only for gnuplot.
 */
static bool make_key(const struct gnuplot *gnuplot, const char *script,
		     char ret_key[CFG_HASH_MAX])
{
	XXH3_state_t *state = XXH3_createState();
	struct sim_error ignored = { 0 };
	char program[CFG_HASH_MAX];
	bool made;

	if (!state)
		return false;
	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, script, strlen(script) + 1);
	made = !access(RUN_CACHE_FOLDER, F_OK) && hash_gnuplot(state) &&
	       !hash_scripts(state, &ignored) && !hash_data(state, gnuplot, &ignored) &&
	       !run_cache_hash_program(program, &ignored);
	XXH3_128bits_update(state, program, made ? sizeof(program) : 0);
	cfg_hash_finish(state, ret_key, CFG_HASH_MAX);
	XXH3_freeState(state);
	return made;
}

/* Copy @from into the writer's temporary file of @name. Returns 0 or -SIM_EXIT_RUNTIME. */
static int copy_picture(FILE *from, const char *name, struct writer *writer,
			struct sim_error *err)
{
	int status = writer_begin(writer, name, err);
	char buffer[COPY_SIZE];
	size_t count;

	if (status)
		return status;
	while ((count = fread(buffer, 1, sizeof(buffer), from)))
		writer_put(writer, buffer, count);
	status = writer_end(writer, err);
	if (!status && ferror(from))
		status = sim_runtime_error(err, "%s: cannot be read to its end", name);
	return status;
}

/* Open the pictures @name.* of a folder. False: one is missing, and none stays open. */
static bool open_pictures(const char *folder, const char *name, FILE *ret_files[])
{
	bool all = true;
	char path[PATH_MAX];

	for (size_t i = 0; i < GNUPLOT_TERMINALS; i++) {
		snprintf(path, sizeof(path), "%s/%s.%s", folder, name, gnuplot_terminals[i]);
		ret_files[i] = fopen(path, "rb");
		all = all && ret_files[i];
	}
	for (size_t i = 0; !all && i < GNUPLOT_TERMINALS; i++)
		if (ret_files[i])
			fclose(ret_files[i]);
	return all;
}

/* Copy pictures that are open into the writer's folder, and close them. */
static int copy_pictures(FILE *files[], const char *name, struct writer *writer,
			 struct sim_error *err)
{
	char to[WRITER_NAME_MAX];
	int status = 0;

	for (size_t i = 0; i < GNUPLOT_TERMINALS; i++) {
		snprintf(to, sizeof(to), "%s.%s", name, gnuplot_terminals[i]);
		if (!status)
			status = copy_picture(files[i], to, writer, err);
		fclose(files[i]);
	}
	return status;
}

/* The folder of an entry. */
static void entry_path(const char *key, char *ret_path, size_t size)
{
	snprintf(ret_path, size, PICTURES_FOLDER "/%s", key);
}

/*
 * Write the pictures of an entry into temporary files of the writer. *ret_taken: the entry was
 * there. Returns 0 or -SIM_EXIT_RUNTIME: they cannot be written.
 */
static int take_entry(const char *key, const char *figure, struct writer *writer,
		      bool *ret_taken, struct sim_error *err)
{
	FILE *files[GNUPLOT_TERMINALS];
	char entry[PATH_MAX];

	entry_path(key, entry, sizeof(entry));
	*ret_taken = cache_sum_holds(entry) && open_pictures(entry, PICTURE_NAME, files);
	if (!*ret_taken)
		return 0;
	cache_folder_touch(entry);
	return copy_pictures(files, figure, writer, err);
}

/*
 * Keep the pictures of a folder. Those that cannot be kept are drawn again next time. Those
 * that were used longest ago are removed.
 */
static void keep_entry(const char *key, const char *folder, const char *figure)
{
	FILE *files[GNUPLOT_TERMINALS];
	struct sim_error ignored = { 0 };
	struct writer writer;
	char entry[PATH_MAX];
	int lock;

	entry_path(key, entry, sizeof(entry));
	lock = cache_folder_enter(PICTURES_FOLDER, 1, PICTURES_KEPT, 0);
	if (!writer_open(&writer, entry, &ignored)) {
		if (open_pictures(folder, figure, files) &&
		    !copy_pictures(files, PICTURE_NAME, &writer, &ignored))
			writer_commit(&writer, &ignored);
		writer_abort(&writer);
		cache_sum_write(entry, &ignored);
	}
	cache_folder_leave(lock);
}

int picture_draw(struct gnuplot *gnuplot, const char *script, const char *figure, bool fresh,
		 const struct signals *signals, struct writer *writer, struct sim_error *err)
{
	char key[CFG_HASH_MAX];
	bool kept = make_key(gnuplot, script, key), taken = false;
	int status = 0;

	if (kept && !fresh)
		status = take_entry(key, figure, writer, &taken, err);
	if (!status && !taken)
		status = gnuplot_draw(gnuplot, script, figure, signals, writer, err);
	if (!status)
		status = writer_commit(writer, err);
	else
		writer_abort(writer);
	if (!status && kept && !taken)
		keep_entry(key, writer->folder, figure);
	return status;
}
