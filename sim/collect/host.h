/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Facts about a real host, for config.json. */
#ifndef SIM_COLLECT_HOST_H
#define SIM_COLLECT_HOST_H

#include <jansson.h>

#define HOST_TEXT_MAX 128

/* Write the host's name; "unknown" if it has none. */
void host_name(char *ret_text, size_t size);

/* Write the model of the first NVIDIA GPU; "unknown" if no driver is loaded. */
void host_gpu_model(char *ret_text, size_t size);

/*
 * A JSON object with name, kernel, boot_id, NVIDIA's driver version, and the GPUs' models and
 * bus addresses. Missing facts are null. The caller owns it. NULL: no memory.
 */
json_t *host_json(void);

/*
 * A new JSON string. If the text is not UTF-8, "?" replaces bytes beyond ASCII: the name of a
 * process or folder may be any bytes, and results are written all the same. NULL: no memory.
 */
json_t *host_string(const char *text);

#endif
