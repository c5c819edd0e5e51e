/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Which model a process serves, from the command line of vLLM: its own, or that of the process
 * that started it. vLLM's engine is a process of its own and hides its command line behind a
 * title.
 *
 * Only the model and the options that a scenario has keys for are taken. A command line may hold
 * keys and passwords.
 */
#ifndef SIM_COLLECT_SERVED_H
#define SIM_COLLECT_SERVED_H

#include <jansson.h>
#include <stddef.h>

#include "engine/types.h"

/*
 * The command line @text of @length bytes, whose words end with NUL. Returns
 * {"program": "vllm", "model": "...", "options": {"max-model-len": "8192"}}, which the caller
 * owns; NULL: it is no server of vLLM, or there is no memory.
 */
json_t *served_parse(const char *text, size_t length);

/* The same of process @tgid and of those that started it. */
json_t *served_read(u64 tgid);

#endif
