/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a real host says of itself, as it goes into config.json. */
#ifndef SIM_COLLECT_HOST_H
#define SIM_COLLECT_HOST_H

#include <jansson.h>

#define HOST_TEXT_MAX 128

/* The host's name; "unknown" if it has none. */
void host_name(char *ret_text, size_t size);

/* The model of the first NVIDIA GPU; "unknown" if no driver is loaded. */
void host_gpu_model(char *ret_text, size_t size);

/*
 * A new reference: name, kernel, boot_id, NVIDIA's driver version, and the GPUs' models and bus
 * addresses. What is not there is null. NULL: no memory.
 */
json_t *host_json(void);

/*
 * A new JSON string, in which "?" stands for bytes beyond ASCII if the text is not UTF-8: whatever
 * a process or a folder is called, it does not cost us the results. NULL: no memory.
 */
json_t *host_string(const char *text);

#endif
