/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Applications: actors that submit work to their GPU context, touch declared memory, and log
 * what their users saw. Nothing here computes a latency: latencies happen.
 */
#ifndef SIM_APPS_APP_H
#define SIM_APPS_APP_H

#include <string.h>

#include "config/config.h"
#include "gpu/process.h"

/* How a request or an image ended. */
enum app_outcome {
	APP_COMPLETED,
	APP_FAILED,  /* the client could not even open a connection, or the context died */
	APP_DROPPED, /* in flight when the client stopped, or the run ended */
};

/* One request or image. Dates in ns of simulated time; 0: did not happen. */
struct app_record {
	u64 id;
	u64 arrival_ns;
	u64 first_ns; /* first token; an image's only date is its end */
	u64 finish_ns;
	u32 prompt_tokens;
	u32 output_tokens;
	enum app_outcome outcome;
};

/* What an application logged. Owned by it. */
struct app_log {
	struct app_record *records; /* in order of arrival */
	size_t record_count;
	size_t record_room;
	u64 *gaps_ns; /* inter-token gaps of completed requests, pooled */
	size_t gap_count;
	size_t gap_room;
	u64 arrived; /* requests that the client tried to send */
};

/* Append; returns the record's index, or aborts the program when there is no memory. */
size_t app_log_add(struct app_log *log, const struct app_record *record);
void app_log_add_gap(struct app_log *log, u64 gap_ns);
void app_log_destroy(struct app_log *log);

/* What an application is given. Borrowed for its life. */
struct app_env {
	const struct config *config;
	const struct cfg_container *container;
	struct sim_process *process; /* started */
	const struct trace *trace;   /* of an LLM server's client; else NULL */
	struct app_log *log;
	bool listens; /* it is to listen for pressure events of its container */
};

/* An application type. */
struct sim_app {
	struct cfg_keys keys; /* its name and its keys of a scenario */
	/*
	 * Blocking: run the application in the calling actor until it is done, its context dies
	 * or it is interrupted. Returns 0, -EIO when the context died, or -ENOMEM. On return
	 * nothing of it is queued on the GPU any more and its own actors have ended; the process
	 * is the caller's to end, if it has not ended itself.
	 */
	int (*run)(const struct app_env *env);
};

extern const struct sim_app llm_server_app;
extern const struct sim_app diffusion_app;
extern const struct sim_app pages_app;

/* The keys of all of them, NULL at the end: what a scenario can name as app.type. */
extern const struct cfg_keys *const sim_app_types[];

/* The application type with these keys. */
static inline const struct sim_app *sim_app_of(const struct cfg_keys *keys)
{
	return container_of(keys, struct sim_app, keys);
}

struct cfg_llm;

/* Application types as results know them; a container that was watched on real hardware has none. */
enum cfg_app_type {
	CFG_APP_LLM_SERVER,
	CFG_APP_DIFFUSION,
	CFG_APP_PAGES,
	CFG_APP_UNKNOWN,
};

static inline enum cfg_app_type cfg_app_type_of(const struct cfg_container *container)
{
	static const char *const names[] = { "llm-server", "diffusion", "pages" };
	u32 type = 0;

	while (type < CFG_APP_UNKNOWN && strcmp(container->app_type->name, names[type]) != 0)
		type++;
	return (enum cfg_app_type)type;
}

/* Does the server's share of the GPU hold weights, workspace and some KV blocks? */
bool llm_server_fits(const struct cfg_llm *cfg, const struct cfg_gpu *gpu);

#endif
