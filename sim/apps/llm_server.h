/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The inside of an LLM server application: the server's actor (llm_server.c) and its client's
 * (llm_client.c). Others use llm_server_run() of app.h.
 *
 * Both live in one simulation where code between two blocking calls is atomic, so nothing here
 * has a lock.
 */
#ifndef SIM_APPS_LLM_SERVER_H
#define SIM_APPS_LLM_SERVER_H

#include "apps/app.h"
#include "apps/llm_scheduler.h"
#include "gvm/pressure.h"

/* One open connection: a request in the server, from sending to its last token. */
struct llm_session {
	struct list_head node; /* in llm_server.open */
	struct llm_request request;
	size_t record;	   /* index into the log */
	u64 last_token_ns; /* 0: none yet */
	u32 gap_count;
	u64 gaps_ns[]; /* room for target_tokens - 1 */
};

struct llm_server {
	const struct app_env *env;
	const struct cfg_llm *cfg;
	struct llm_scheduler scheduler;
	struct gvm_range *weights;
	struct gvm_range *workspace; /* NULL: of size 0 */
	struct gvm_range *kv;
	struct gmmu_touch touches[3]; /* of a step */
	u32 touch_count;
	struct fifo_burst burst; /* the step in flight */

	struct list_head open; /* llm_session.node, in the order of sending */
	u32 open_count;
	struct eng_waitq work;	  /* the server: for requests, or for client_done */
	struct eng_waitq drained; /* the client: for open_count to become 0 */
	struct eng_actor *client;
	struct eng_actor *pressure_actor; /* NULL: it does not listen */
	struct gvm_listener pressure;
	bool client_done; /* sends nothing any more, takes nothing any more */
	bool dead;	  /* the context died: connections are refused */
};

/*
 * A client sends request number @id now. The answer, or how it failed, goes to the log.
 */
void llm_server_send(struct llm_server *server, u64 id, const struct trace_request *request);

/*
 * Start and stop listening for pressure: an actor gives memory of free KV blocks back. start:
 * 0 or -ENOMEM; nothing, and 0, if the server is not told to. llm_pressure.c.
 */
int llm_pressure_start(struct llm_server *server);
void llm_pressure_stop(struct llm_server *server);

/* The client's actor; @data is the server, which is ready. */
void llm_client_main(void *data);

#endif
