/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Finds the files that a scenario names. See also config_find_data(). */
#ifndef SIM_CONFIG_PATHS_H
#define SIM_CONFIG_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Write @folder/@name (@name alone if it is absolute). False: longer than @size. */
bool cfg_path_join(const char *folder, const char *name, char *ret_path, size_t size);

/* Write the absolute folder of @file. False: it does not exist or is longer than @size. */
bool cfg_path_folder(const char *file, char *ret_folder, size_t size);

bool cfg_path_is_file(const char *path);
bool cfg_path_is_folder(const char *path);

/* Append the names of the .json files in @folder to @text, without ".json", sorted. */
void cfg_path_list_json(const char *folder, char *text, size_t size);

/* Append to @text the folders in which config_find_data() looks for data of @kind. */
void cfg_path_list_data(const char *kind, char *text, size_t size);

#endif
