/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Finds the data files of this installation, and the files that a scenario names. */
#ifndef SIM_CONFIG_PATHS_H
#define SIM_CONFIG_PATHS_H

#include <stdbool.h>
#include <stddef.h>

struct sim_error;

/* Write @folder/@name (@name alone if it is absolute). False: longer than @size. */
bool cfg_path_join(const char *folder, const char *name, char *ret_path, size_t size);

/* Write the absolute folder of @file. False: it does not exist or is longer than @size. */
bool cfg_path_folder(const char *file, char *ret_folder, size_t size);

bool cfg_path_is_file(const char *path);
bool cfg_path_is_folder(const char *path);

/* Append the names of the .json files in @folder to @text, without ".json", sorted. */
void cfg_path_list_json(const char *folder, char *text, size_t size);

/* Append the names of the folders in @folder to @text, sorted. */
void cfg_path_list_folders(const char *folder, char *text, size_t size);

/* Append to @text the folders in which config_find_data() looks for data of @kind. */
void cfg_path_list_data(const char *kind, char *text, size_t size);

/*
 * Find the data file @name of @kind ("scenarios", "traces" or "plots") of this installation and
 * write its absolute path. Looks beside the running program (build folder and source tree),
 * then in the installed data folder, then in the source tree that it was built from. Returns 0
 * or -SIM_EXIT_USER.
 */
int config_find_data(const char *kind, const char *name, char *ret_path, size_t size,
		     struct sim_error *err);

/*
 * Find the file @name that a user names: below @folder, as it is or with @ending after it
 * ("/config.json"; "" is none). Writes its absolute path. False: there is none.
 */
bool cfg_path_find(const char *folder, const char *name, const char *ending, char *ret_path,
		   size_t size);

/* Likewise among the data of @kind of this installation. */
bool cfg_path_find_data(const char *kind, const char *name, const char *ending, char *ret_path,
			size_t size);

/* The names of the scenarios that come with gvmsim, "a, b"; empty if there are none. */
void config_list_scenarios(char *text, size_t size);

#endif
