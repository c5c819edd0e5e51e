// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/paths.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/message.h"
#include "engine/error.h"

/* The search for a source tree goes up this many folders: build/<preset>/sim/cli/gvmsim. */
#define LEVELS_UP 4

/* The most that roots_find() adds. */
#define ROOTS_MAX 4

/* Folders that may hold "scenarios", "traces" and "plots", best first. */
struct roots {
	char path[ROOTS_MAX][PATH_MAX];
	size_t count;
};

static bool path_copy(const char *path, char *ret_path, size_t size)
{
	int length = snprintf(ret_path, size, "%s", path);

	return length >= 0 && (size_t)length < size;
}

bool cfg_path_join(const char *folder, const char *name, char *ret_path, size_t size)
{
	int length;

	if (*name == '/')
		return path_copy(name, ret_path, size);
	length = snprintf(ret_path, size, "%s/%s", folder, name);
	return length >= 0 && (size_t)length < size;
}

bool cfg_path_folder(const char *file, char *ret_folder, size_t size)
{
	const char *slash = strrchr(file, '/');
	char folder[PATH_MAX];
	char absolute[PATH_MAX];
	int length;

	if (!slash)
		length = snprintf(folder, sizeof(folder), ".");
	else
		length = snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - file), file);
	if (length < 0 || (size_t)length >= sizeof(folder) || !realpath(folder, absolute))
		return false;
	return path_copy(absolute, ret_folder, size);
}

bool cfg_path_is_file(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISREG(info.st_mode);
}

bool cfg_path_is_folder(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static int is_json(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return *entry->d_name != '.' && dot && !strcmp(dot, ".json");
}

static int is_folder(const struct dirent *entry)
{
	return *entry->d_name != '.' && entry->d_type == DT_DIR;
}

/* Append the names of the entries that @wanted picks, each without its last @ending bytes. */
static void list_entries(const char *folder, int (*wanted)(const struct dirent *entry),
			 size_t ending, char *text, size_t size)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, wanted, alphasort);

	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		cfg_append(text, size, "%s%.*s", *text ? ", " : "",
			   (int)(strlen(name) - ending), name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

void cfg_path_list_json(const char *folder, char *text, size_t size)
{
	list_entries(folder, is_json, strlen(".json"), text, size);
}

void cfg_path_list_folders(const char *folder, char *text, size_t size)
{
	list_entries(folder, is_folder, 0, text, size);
}

/* Add @folder/@name if it exists and is not there yet. */
static void roots_add(struct roots *roots, const char *folder, const char *name)
{
	char *root = roots->path[roots->count];
	char path[PATH_MAX];

	if (!cfg_path_join(folder, name, path, sizeof(path)) || !realpath(path, root))
		return;
	for (size_t i = 0; i < roots->count; i++) {
		if (!strcmp(roots->path[i], root))
			return;
	}
	roots->count++;
}

/* Add the nearest folder at or above @folder that looks like our source tree. */
static void roots_add_source_tree(struct roots *roots, const char *folder)
{
	char above[PATH_MAX];
	char mark[PATH_MAX];

	if (!path_copy(folder, above, sizeof(above)))
		return;
	for (int level = 0; level <= LEVELS_UP; level++) {
		char *slash = strrchr(above, '/');

		if (cfg_path_join(above, "scenarios/gpus", mark, sizeof(mark)) &&
		    !access(mark, F_OK)) {
			roots_add(roots, above, ".");
			return;
		}
		if (!slash)
			return;
		*slash = '\0';
	}
}

/* Find all roots. The roots of the running program come first. */
static void roots_find(struct roots *roots)
{
	char program[PATH_MAX];
	char folder[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	roots->count = 0;
	program[length > 0 ? length : 0] = '\0';
	if (length > 0 && cfg_path_folder(program, folder, sizeof(folder))) {
		roots_add_source_tree(roots, folder);
		roots_add(roots, folder, "../share/gvmsim");
	}
#ifdef GVMSIM_DATA_DIR
	roots_add(roots, GVMSIM_DATA_DIR, ".");
#endif
#ifdef GVMSIM_SOURCE_DIR
	/* For a build folder outside the source tree. */
	roots_add(roots, GVMSIM_SOURCE_DIR, ".");
#endif
}

void cfg_path_list_data(const char *kind, char *text, size_t size)
{
	struct roots roots;

	roots_find(&roots);
	for (size_t i = 0; i < roots.count; i++)
		cfg_append(text, size, "%s%s/%s", *text ? ", " : "", roots.path[i], kind);
}

int config_find_data(const char *kind, const char *name, char *ret_path, size_t size,
		     struct sim_error *err)
{
	struct roots roots;
	char folders[512] = "";

	roots_find(&roots);
	for (size_t i = 0; i < roots.count; i++) {
		char folder[PATH_MAX];
		char path[PATH_MAX];
		char found[PATH_MAX];

		if (cfg_path_join(roots.path[i], kind, folder, sizeof(folder)) &&
		    cfg_path_join(folder, name, path, sizeof(path)) && realpath(path, found) &&
		    path_copy(found, ret_path, size))
			return 0;
	}
	cfg_path_list_data(kind, folders, sizeof(folders));
	return cfg_error(err, name, "", "not found, allowed: a file in %s",
			 *folders ? folders : "an installation of gvmsim; none was found");
}

bool cfg_path_find(const char *folder, const char *name, const char *ending, char *ret_path,
		   size_t size)
{
	const char *const endings[] = { "", ending };
	char file[PATH_MAX];
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		int length = snprintf(file, sizeof(file), "%s%s", name, endings[i]);

		if (length >= 0 && (size_t)length < sizeof(file) &&
		    cfg_path_join(folder, file, path, sizeof(path)) && cfg_path_is_file(path))
			return path_copy(path, ret_path, size);
	}
	return false;
}

bool cfg_path_find_data(const char *kind, const char *name, const char *ending, char *ret_path,
			size_t size)
{
	const char *const endings[] = { "", ending };
	struct sim_error ignored = { 0 };
	char file[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		int length = snprintf(file, sizeof(file), "%s%s", name, endings[i]);

		if (length >= 0 && (size_t)length < sizeof(file) &&
		    !config_find_data(kind, file, ret_path, size, &ignored) &&
		    cfg_path_is_file(ret_path))
			return true;
	}
	return false;
}

void config_list_scenarios(char *text, size_t size)
{
	struct sim_error ignored = { 0 };
	char folder[PATH_MAX];

	*text = '\0';
	if (!config_find_data("scenarios", ".", folder, sizeof(folder), &ignored))
		cfg_path_list_json(folder, text, size);
}
