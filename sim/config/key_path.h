/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Paths of keys: the names of the nested objects joined by dots, "containers.vllm.app.trace".
 * In the path of a row (config/schema.h) "*" stands for the name of a container or of a GPU,
 * and "#" for the index of an event.
 */
#ifndef SIM_CONFIG_KEY_PATH_H
#define SIM_CONFIG_KEY_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define CFG_PATH_MAX 192

/*
 * Match @path with the beginning of the row path @pattern. Returns the rest of the pattern
 * without its leading dot, "" for a full match, or NULL for none.
 */
const char *cfg_path_match(const char *path, const char *pattern);

/*
 * Copy the name of the container or GPU in @path. False: it is outside "containers." or
 * "gpus.".
 */
bool cfg_path_container(const char *path, char *ret_name, size_t size);
bool cfg_path_gpu(const char *path, char *ret_name, size_t size);

/* The index of the event in @path. False: it is outside "events.". */
bool cfg_path_event(const char *path, size_t *ret_index);

/* Write @path with the alias of a control file ("memory.limit") replaced by its name. */
void cfg_path_canonical(const char *path, char *ret_path, size_t size);

#endif
