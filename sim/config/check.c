// SPDX-License-Identifier: MIT OR GPL-2.0
/* Rules that relate several keys; each key by itself is right when these run. */
#include "config/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "gvm/control.h"
#include "config/message.h"
#include "config/units.h"

#define TEXT_MAX 512

/* The GPU whose keys are below @prefix. */
static int check_gpu(struct cfg_load *load, const char *prefix, const struct cfg_gpu *gpu)
{
	char path[CFG_PATH_MAX];

	if (gpu->memory > gpu->memory_total) {
		snprintf(path, sizeof(path), "%s.memory", prefix);
		return cfg_reject(load, path,
				  "%llu is too much, allowed: at most %s.memory_total, "
				  "%llu",
				  gpu->memory, prefix, gpu->memory_total);
	}
	if (gpu->link.bandwidth_both < gpu->link.bandwidth) {
		snprintf(path, sizeof(path), "%s.link.bandwidth_both", prefix);
		return cfg_reject(load, path,
				  "%llu is too little, allowed: at least "
				  "%s.link.bandwidth, %llu",
				  gpu->link.bandwidth_both, prefix, gpu->link.bandwidth);
	}
	return 0;
}

static int check_gpus(struct cfg_load *load)
{
	const struct config *config = load->config;
	int status = check_gpu(load, "gpu", &config->gpu);

	for (size_t i = 0; !status && i < config->gpu_count; i++) {
		if (!strcmp(config->gpus[i].name, config->gpu.name))
			return cfg_reject(load, load->settings.gpus[i].path,
					  "is the GPU of \"gpu\", allowed: another name");
		status = check_gpu(load, load->settings.gpus[i].path, &config->gpus[i]);
	}
	return status;
}

/* The GPU that a container names has to be there. */
static int check_container_gpu(struct cfg_load *load, const struct cfg_container *container)
{
	const struct config *config = load->config;
	char path[CFG_PATH_MAX];
	char known[TEXT_MAX] = "";

	if (!*container->gpu || !strcmp(container->gpu, config->gpu.name) ||
	    config_gpu_index(config, container))
		return 0;
	cfg_append(known, sizeof(known), "\"%s\"", config->gpu.name);
	for (size_t i = 0; i < config->gpu_count; i++)
		cfg_append(known, sizeof(known), ", \"%s\"", config->gpus[i].name);
	snprintf(path, sizeof(path), "containers.%s.gpu", container->name);
	return cfg_reject(load, path, "no GPU \"%s\", allowed: %s", container->gpu, known);
}

static int check_containers(struct cfg_load *load)
{
	const struct config *config = load->config;

	if (!config->container_count)
		return cfg_reject(load, "containers",
				  "is missing, allowed: at least one container");
	for (size_t i = 0; i < config->container_count; i++) {
		if (config->containers[i].enabled)
			return 0;
	}
	return cfg_reject(load, "containers", "none is enabled, allowed: at least one that is");
}

int cfg_reject_app(struct cfg_load *load, const struct cfg_container *container,
		   const char *leaf, const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	char text[TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(path, sizeof(path), "containers.%s.app.%s", container->name, leaf);
	return cfg_reject(load, path, "%s", text);
}

int cfg_reject_event(struct cfg_load *load, size_t index, const char *leaf, const char *wrong,
		     const char *allowed)
{
	char path[CFG_PATH_MAX];

	snprintf(path, sizeof(path), "events.%zu.%s", index, leaf);
	return cfg_reject(load, path, "%s, allowed: %s", wrong, allowed);
}

/* A key that an event of this kind cannot do without. */
static int missing_event_key(struct cfg_load *load, size_t index, const char *leaf)
{
	char path[CFG_PATH_MAX];
	char allowed[TEXT_MAX];

	snprintf(path, sizeof(path), "events.%zu.%s", index, leaf);
	cfg_describe_allowed(cfg_schema_find(&load->schema, path, NULL), allowed,
			     sizeof(allowed));
	return cfg_error(load->err, load->settings.event_origins[index], path,
			 "is missing, allowed: %s", allowed);
}

static int check_event_container(struct cfg_load *load, size_t index)
{
	const struct config *config = load->config;
	const char *name = config->events[index].container;
	char wrong[CFG_WRONG_MAX];
	char known[TEXT_MAX] = "";

	for (size_t i = 0; i < config->container_count; i++) {
		if (!strcmp(config->containers[i].name, name))
			return 0;
		cfg_append(known, sizeof(known), "%s\"%s\"", i ? ", " : "",
			   config->containers[i].name);
	}
	snprintf(wrong, sizeof(wrong), "no container \"%s\"", name);
	return cfg_reject_event(load, index, "container", wrong, known);
}

static int reject_event_file(struct cfg_load *load, size_t index)
{
	char wrong[CFG_WRONG_MAX];
	char known[TEXT_MAX] = "";

	cfg_schema_for_each(&load->schema, key)
	{
		if (key->scope == CFG_SCOPE_CONTROL)
			cfg_append(known, sizeof(known), "%s\"%s\"", *known ? ", " : "",
				   cfg_key_leaf(key));
	}
	snprintf(wrong, sizeof(wrong), "no control file \"%s\"",
		 load->config->events[index].file);
	return cfg_reject_event(load, index, "file", wrong, known);
}

/* The value has to be right for the file. File and value get their canonical spelling. */
static int check_event_write(struct cfg_load *load, size_t index)
{
	struct cfg_event *event = &load->config->events[index];
	const struct cfg_key *key = cfg_schema_find_control(&load->schema, event->file);
	char wrong[CFG_WRONG_MAX];
	char allowed[TEXT_MAX];
	struct cfg_value value;
	json_t *json;
	bool right;

	if (!event->file[0])
		return missing_event_key(load, index, "file");
	if (!key)
		return reject_event_file(load, index);
	if (!event->value[0])
		return missing_event_key(load, index, "value");
	json = json_string(event->value);
	if (!json)
		return sim_runtime_error(load->err, "out of memory");
	right = cfg_value_parse(key, json, &value, wrong);
	json_decref(json);
	if (!right) {
		cfg_describe_allowed(key, allowed, sizeof(allowed));
		return cfg_reject_event(load, index, "value", wrong, allowed);
	}
	snprintf(event->file, sizeof(event->file), "%s", key->control->name);
	cfg_value_control_text(key, &value, event->value, sizeof(event->value));
	return 0;
}

/* The container of an event; it is known to exist. */
static const struct cfg_container *event_container(const struct cfg_load *load, size_t index)
{
	const struct cfg_container *container = load->config->containers;

	while (strcmp(container->name, load->config->events[index].container) != 0)
		container++;
	return container;
}

/* A number of a block, and where the text goes on; NULL: there is none. */
static const char *parse_block(const char *text, u32 *ret_block)
{
	unsigned long block;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	block = strtoul(text, &end, 10);
	*ret_block = block < U32_MAX ? (u32)block : U32_MAX;
	return end;
}

/* "3", "0-7", "7-0". */
static bool parse_touch(struct cfg_event *event)
{
	const char *rest = parse_block(event->touch, &event->first_block);

	event->last_block = event->first_block;
	if (rest && *rest == '-')
		rest = parse_block(rest + 1, &event->last_block);
	return rest && !*rest;
}

/* Append the containers that listen to events, of all application types. */
static void list_listeners(const struct cfg_load *load, char *text, size_t size)
{
	const struct cfg_keys *const *apps = load->schema.registry->apps;

	*text = '\0';
	for (; *apps; apps++) {
		if ((*apps)->check_event)
			cfg_append(text, size, "%s%s", *text ? ", " : "", (*apps)->listeners);
	}
}

/* An event that is no write: the application of its container has to listen. */
static int check_event_told(struct cfg_load *load, size_t index)
{
	const struct cfg_container *container = event_container(load, index);
	struct cfg_event *event = &load->config->events[index];
	const char *leaf = event->touch[0] ? "touch" : "exit";
	char listeners[TEXT_MAX];

	if (event->file[0] || event->value[0] || (event->touch[0] && event->exit))
		return cfg_reject_event(load, index, leaf, "is not all that is asked for",
					"file and value, or touch, or exit");
	list_listeners(load, listeners, sizeof(listeners));
	if (!container->app_type->check_event)
		return cfg_reject_event(load, index, leaf, "nobody there listens to events",
					listeners);
	if (event->touch[0] && !parse_touch(event)) {
		event->first_block = U32_MAX; /* the application says which ones there are */
		event->last_block = U32_MAX;
	}
	return container->app_type->check_event(load, container, event, index);
}

static int check_event_kind(struct cfg_load *load, size_t index)
{
	const struct cfg_event *event = &load->config->events[index];

	return event->touch[0] || event->exit ? check_event_told(load, index) :
						check_event_write(load, index);
}

static int check_event_time(struct cfg_load *load, size_t index)
{
	char at[UNITS_TEXT_MAX];
	char end[UNITS_TEXT_MAX];
	char wrong[CFG_WRONG_MAX];
	char allowed[CFG_WRONG_MAX];

	if (load->config->events[index].at <= load->config->duration)
		return 0;
	units_format_duration(load->config->events[index].at, at, sizeof(at));
	units_format_duration(load->config->duration, end, sizeof(end));
	snprintf(wrong, sizeof(wrong), "%s is after the end", at);
	snprintf(allowed, sizeof(allowed), "at most duration, %s", end);
	return cfg_reject_event(load, index, "at", wrong, allowed);
}

/* By time, equal times in the order of the file. Lists are short, and mostly sorted already. */
static void sort_events(struct cfg_event *events, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct cfg_event event = events[i];
		size_t at = i;

		for (; at > 0 && events[at - 1].at > event.at; at--)
			events[at] = events[at - 1];
		events[at] = event;
	}
}

static int check_events(struct cfg_load *load)
{
	int status = 0;

	for (size_t i = 0; !status && i < load->config->event_count; i++) {
		status = check_event_container(load, i);
		if (!status)
			status = check_event_kind(load, i);
		if (!status)
			status = check_event_time(load, i);
	}
	if (!status)
		sort_events(load->config->events, load->config->event_count);
	return status;
}

static int check_container(struct cfg_load *load, const struct cfg_container *container)
{
	const struct cfg_keys *type = container->app_type;
	int status = check_container_gpu(load, container);

	if (status)
		return status;
	return type->check ? type->check(load, container) : 0;
}

int cfg_check(struct cfg_load *load)
{
	int status = check_gpus(load);

	if (!status)
		status = check_containers(load);
	for (size_t i = 0; !status && i < load->config->container_count; i++)
		status = check_container(load, &load->config->containers[i]);
	return status ? status : check_events(load);
}
