// SPDX-License-Identifier: MIT OR GPL-2.0
/* Rules about several keys together. Each key by itself has been checked before. */
#include "config/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/guess.h"
#include "gvm/control.h"
#include "config/message.h"
#include "config/steps.h"
#include "config/units.h"

#define TEXT_MAX	  512

#define TIMELINE_INTERVAL (100 * CFG_MSEC)
#define TIMELINE_SAMPLES  36000

/* The gaps between kernels are parts of a kernel's overhead. */
static int check_gaps(struct cfg_load *load, const char *prefix, const struct cfg_gpu *gpu)
{
	const struct {
		const char *leaf;
		u64 ns;
	} gaps[] = {
		{ "kernel_gap", gpu->kernel_gap },
		{ "graph_gap", gpu->graph_gap },
	};

	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		char path[CFG_PATH_MAX];

		if (gaps[i].ns <= gpu->kernel_overhead)
			continue;
		snprintf(path, sizeof(path), "%s.%s", prefix, gaps[i].leaf);
		return cfg_reject(load, path,
				  "%llu ns is too much, allowed: at most "
				  "%s.kernel_overhead, %llu ns",
				  gaps[i].ns, prefix, gpu->kernel_overhead);
	}
	return 0;
}

/* Check the GPU whose keys are below @prefix. */
static int check_gpu(struct cfg_load *load, const char *prefix, const struct cfg_gpu *gpu)
{
	char path[CFG_PATH_MAX];

	if (gpu->memory > gpu->memory_total) {
		snprintf(path, sizeof(path), "%s.memory", prefix);
		return cfg_reject(load, path,
				  "%llu is too much, allowed: at most %s.memory_total, %llu",
				  gpu->memory, prefix, gpu->memory_total);
	}
	if (gpu->link.bandwidth_both < gpu->link.bandwidth) {
		snprintf(path, sizeof(path), "%s.link.bandwidth_both", prefix);
		return cfg_reject(load, path,
				  "%llu is too little, allowed: at least "
				  "%s.link.bandwidth, %llu",
				  gpu->link.bandwidth_both, prefix, gpu->link.bandwidth);
	}
	if (gpu->flops_bf16_mma > gpu->flops_bf16) {
		snprintf(path, sizeof(path), "%s.flops_bf16_mma", prefix);
		return cfg_reject(load, path,
				  "%llu is too much, allowed: at most %s.flops_bf16, %llu",
				  gpu->flops_bf16_mma, prefix, gpu->flops_bf16);
	}
	return check_gaps(load, prefix, gpu);
}

/* Check a container's MPS server: all its clients are on one GPU. A limit is a client's. */
static int check_mps(struct cfg_load *load, const struct cfg_container *container)
{
	const struct config *config = load->config;

	const struct {
		const char *leaf;
		u64 value, without;
	} keys[] = {
		{ "mps.limit", container->mps_limit, 100 },
		{ "mps.priority", container->mps_priority, 0 },
		{ "mps.memory_hard", container->mps_memory_hard, 0 },
		{ "mps.memory_soft", container->mps_memory_soft, 0 },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!*container->mps_server && keys[i].value != keys[i].without &&
		    !config->system->common_server)
			return cfg_reject_container(
				load, container, keys[i].leaf,
				"has no mps.server beside it, allowed: %llu", keys[i].without);
	if (container->mps_memory_hard &&
	    container->mps_memory_soft > container->mps_memory_hard)
		return cfg_reject_container(
			load, container, "mps.memory_soft",
			"%llu is too much, allowed: at most mps.memory_hard, %llu",
			container->mps_memory_soft, container->mps_memory_hard);
	for (const struct cfg_container *other = config->containers; other != container;
	     other++) {
		if (!*container->mps_server ||
		    strcmp(other->mps_server, container->mps_server) != 0 ||
		    config_gpu_index(config, other) == config_gpu_index(config, container))
			continue;
		return cfg_reject_container(
			load, container, "mps.server",
			"\"%s\" has a client on another GPU, \"%s\", allowed: one GPU",
			container->mps_server, other->name);
	}
	return 0;
}

/* Is the control file @name of @container written at the start? */
static bool is_written(const struct cfg_container *container, const char *name)
{
	for (size_t i = 0; i < container->control_count; i++)
		if (!strcmp(container->controls[i].file, name))
			return *container->controls[i].text;
	return false;
}

/*
 * Check the initial control files of a container: a priority is a
 * timeslice, so one of them counts.
 */
static int check_controls(struct cfg_load *load, const struct cfg_container *container)
{
	if (!is_written(container, "compute.priority") ||
	    !is_written(container, "compute.timeslice"))
		return 0;
	return cfg_reject_container(
		load, container, "compute.timeslice",
		"contradicts compute.priority, which sets a timeslice of its "
		"own, allowed: one of them, and null for the other");
}

/*
 * Check the containers: at least one is enabled, the GPU of each exists, and each application's
 * own rules hold.
 */
static int check_containers(struct cfg_load *load)
{
	const struct config *config = load->config;
	size_t enabled = 0;
	int status = 0;

	if (!config->container_count)
		return cfg_reject(load, "containers",
				  "is missing, allowed: at least one container");
	for (size_t i = 0; i < config->container_count; i++)
		enabled += config->containers[i].enabled;
	if (!enabled)
		return cfg_reject(load, "containers",
				  "all are disabled, allowed: at least one enabled container");
	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];
		char known[TEXT_MAX] = "";
		char right[TEXT_MAX];

		if (*container->gpu && strcmp(container->gpu, config->gpu.name) != 0 &&
		    !config_gpu_index(config, container)) {
			cfg_append(known, sizeof(known), "\"%s\"", config->gpu.name);
			for (size_t k = 0; k < config->gpu_count; k++)
				cfg_append(known, sizeof(known), ", \"%s\"",
					   config->gpus[k].name);
			guess_describe(container->gpu, known, right, sizeof(right));
			return cfg_reject_container(load, container, "gpu", "no GPU \"%s\", %s",
						    container->gpu, right);
		}
		status = check_mps(load, container);
		if (!status)
			status = check_controls(load, container);
		if (!status && container->app_type->check)
			status = container->app_type->check(load, container);
	}
	if (!status && config->system->check_containers)
		status = config->system->check_containers(load, config);
	return status;
}

int cfg_reject_container(struct cfg_load *load, const struct cfg_container *container,
			 const char *leaf, const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	char text[TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(path, sizeof(path), "containers.%s.%s", container->name, leaf);
	return cfg_reject(load, path, "%s", text);
}

int cfg_reject_app(struct cfg_load *load, const struct cfg_container *container,
		   const char *leaf, const char *fmt, ...)
{
	char key[CFG_PATH_MAX];
	char text[TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(key, sizeof(key), "app.%s", leaf);
	return cfg_reject_container(load, container, key, "%s", text);
}

int cfg_reject_event(struct cfg_load *load, size_t index, const char *leaf, const char *wrong,
		     const char *allowed)
{
	char path[CFG_PATH_MAX];

	snprintf(path, sizeof(path), "events.%zu.%s", index, leaf);
	return cfg_reject(load, path, "%s, allowed: %s", wrong, allowed);
}

/*
 * Report that the key @leaf of event @index names @unknown, which is none of the names in
 * @known.
 */
static int reject_event_name(struct cfg_load *load, size_t index, const char *leaf,
			     const char *unknown, const char *wrong, const char *known)
{
	char path[CFG_PATH_MAX];
	char right[TEXT_MAX];

	snprintf(path, sizeof(path), "events.%zu.%s", index, leaf);
	guess_describe(unknown, known, right, sizeof(right));
	return cfg_reject(load, path, "%s, %s", wrong, right);
}

/* Report that event @index lacks the key @leaf, which its kind requires. */
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

/* Check an event that writes a control file. Gives file and value their canonical spelling. */
static int check_event_write(struct cfg_load *load, size_t index)
{
	struct cfg_event *event = &load->config->events[index];
	const struct cfg_key *key = cfg_schema_find_control(&load->schema, event->file);
	char wrong[CFG_WRONG_MAX];
	char allowed[TEXT_MAX] = "";
	struct cfg_value value;
	json_t *json;
	bool right;

	if (!event->file[0] && !event->value[0])
		return cfg_reject_event(
			load, index, "file", "is missing, and nothing else says what happens",
			"file and value, or touch, exit, a load or sleep above 0, "
			"wake, stop or restart");
	if (!event->file[0])
		return missing_event_key(load, index, "file");
	if (!key) {
		cfg_schema_for_each(&load->schema, known)
		{
			if (known->scope == CFG_SCOPE_CONTROL)
				cfg_append(allowed, sizeof(allowed), "%s\"%s\"",
					   *allowed ? ", " : "", cfg_key_leaf(known));
		}
		snprintf(wrong, sizeof(wrong), "no control file \"%s\"", event->file);
		return reject_event_name(load, index, "file", event->file, wrong, allowed);
	}
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

/* Read the number of a block. Returns the text after it, or NULL: there is no number. */
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

/* How many things an event says beside a write of a control file. */
static int event_kinds(const struct cfg_event *event)
{
	return (event->touch[0] != '\0') + event->exit + (event->load != 0) +
	       (event->sleep != 0) + event->wake + event->stop + event->restart;
}

/*
 * Check an event that writes no control file. The application decides about "touch", "exit",
 * "load", "sleep" and "wake"; every container can be stopped. Reads the blocks of a
 * touch: "3", "0-7" or "7-0".
 */
static int check_event_told(struct cfg_load *load, const struct cfg_container *container,
			    size_t index)
{
	struct cfg_event *event = &load->config->events[index];
	const char *leaf = event->touch[0] ? "touch" :
			   event->exit	   ? "exit" :
			   event->load	   ? "load" :
			   event->sleep	   ? "sleep" :
			   event->wake	   ? "wake" :
			   event->stop	   ? "stop" :
					     "restart";
	char listeners[TEXT_MAX] = "";
	const char *rest;

	if (event->file[0] || event->value[0] || event_kinds(event) > 1)
		return cfg_reject_event(load, index, leaf, "does not stand alone",
					"file and value, or touch, exit, load, sleep, wake, "
					"stop or restart");
	if (event->stop || event->restart)
		return 0;
	if (!container->app_type->check_event) {
		const struct cfg_keys *const *apps = load->schema.registry->apps;

		for (; *apps; apps++) {
			if ((*apps)->check_event)
				cfg_append(listeners, sizeof(listeners), "%s%s",
					   *listeners ? ", " : "", (*apps)->listeners);
		}
		return cfg_reject_event(load, index, leaf, "its container listens to no events",
					listeners);
	}
	if (event->touch[0]) {
		rest = parse_block(event->touch, &event->first_block);
		event->last_block = event->first_block;
		if (rest && *rest == '-')
			rest = parse_block(rest + 1, &event->last_block);
		if (!rest || *rest) {
			/*
			 * Use a block that no region has. The application's message then says
			 * which blocks exist.
			 */
			event->first_block = U32_MAX;
			event->last_block = U32_MAX;
		}
	}
	return container->app_type->check_event(load, container, event, index);
}

/*
 * Check that the container of an event exists, that its kind is right, and that its time is
 * within the run.
 */
static int check_event(struct cfg_load *load, size_t index)
{
	const struct config *config = load->config;
	const struct cfg_event *event = &config->events[index];
	const struct cfg_container *container = NULL;
	char wrong[CFG_WRONG_MAX];
	char allowed[TEXT_MAX] = "";
	char at[UNITS_TEXT_MAX];
	char end[UNITS_TEXT_MAX];
	int status;

	for (size_t i = 0; i < config->container_count; i++) {
		if (!strcmp(config->containers[i].name, event->container))
			container = &config->containers[i];
		cfg_append(allowed, sizeof(allowed), "%s\"%s\"", i ? ", " : "",
			   config->containers[i].name);
	}
	if (!container) {
		snprintf(wrong, sizeof(wrong), "no container \"%s\"", event->container);
		return reject_event_name(load, index, "container", event->container, wrong,
					 allowed);
	}
	status = event_kinds(event) ? check_event_told(load, container, index) :
				      check_event_write(load, index);
	if (status || event->at <= config->duration)
		return status;
	units_format_duration(event->at, at, sizeof(at));
	units_format_duration(config->duration, end, sizeof(end));
	snprintf(wrong, sizeof(wrong), "%s is after the end", at);
	snprintf(allowed, sizeof(allowed), "at most duration, %s", end);
	return cfg_reject_event(load, index, "at", wrong, allowed);
}

/*
 * Sort by time. Equal times stay in the order of the file. Lists are short and mostly sorted.
 */
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

/*
 * The default interval is 100 ms. In a long run it is a longer one, so that the timeline of a
 * container has TIMELINE_SAMPLES rows at most.
 */
static int set_timeline_interval(struct cfg_load *load)
{
	struct config *config = load->config;
	u64 least = config->duration / TIMELINE_SAMPLES;

	if (config->timeline_interval && config->timeline_interval < CFG_MSEC)
		return cfg_reject(load, "output.timeline_interval",
				  "is too short, allowed: 0s, or 1ms to 3600s");
	if (config->trace.to && config->trace.from >= config->trace.to)
		return cfg_reject(load, "output.trace_from",
				  "is not before output.trace_to, allowed: an earlier time");
	if (!config->timeline_interval)
		config->timeline_interval =
			least > TIMELINE_INTERVAL ?
				(least + CFG_MSEC - 1) / CFG_MSEC * CFG_MSEC :
				TIMELINE_INTERVAL;
	return 0;
}

int cfg_check(struct cfg_load *load)
{
	struct config *config = load->config;
	int status = set_timeline_interval(load);

	if (!status)
		status = check_gpu(load, "gpu", &config->gpu);

	for (size_t i = 0; !status && i < config->gpu_count; i++) {
		if (!strcmp(config->gpus[i].name, config->gpu.name))
			return cfg_reject(load, load->settings.gpus[i].path,
					  "is the GPU of \"gpu\", allowed: another name");
		status = check_gpu(load, load->settings.gpus[i].path, &config->gpus[i]);
	}
	if (!status)
		status = check_containers(load);
	for (size_t i = 0; !status && i < config->event_count; i++)
		status = check_event(load, i);
	if (!status)
		sort_events(config->events, config->event_count);
	return status;
}
