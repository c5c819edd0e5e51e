/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The inside of an LLM server application: the server's actor (llm_server.c), its client's
 * (llm_client.c), its listener's (llm_pressure.c), and the requests that are open
 * (llm_session.c). What it has on a GPU is in llm_rank.h. llm_server_app.c has its keys.
 *
 * All live in one simulation where code between two blocking calls is atomic, so nothing here
 * has a lock.
 */
#ifndef SIM_APPS_LLM_SERVER_H
#define SIM_APPS_LLM_SERVER_H

#include "apps/app.h"
#include "apps/llm_config.h"
#include "apps/llm_group.h"
#include "apps/llm_scheduler.h"
#include "apps/llm_shapes.h"
#include "config/config.h"
#include "trace/trace.h"

/* One open connection: a request in the server, from sending to its last token. */
struct llm_session {
	struct list_head node; /* in llm_server.open */
	struct llm_request request;
	size_t record;	   /* index into the log */
	u64 ready_ns;	   /* when the frontend is done with the request */
	u64 last_token_ns; /* 0: none yet */
	u32 gap_count;
	/* room for target_tokens - 1 gaps, and then for the request's keys and shared blocks */
	u64 gaps_ns[];
};

/*
 * The users of a closed loop who do not wait for an answer, in the order in which they send
 * their next request. A ring.
 */
struct llm_users {
	u64 *next_ns; /* when each sends its next request; room for all users */
	u32 total;    /* 0: an open loop */
	u32 first;
	u32 count;
	struct eng_waitq waitq; /* the client: for a user */
};

struct llm_server {
	const struct app_env *env;
	const struct cfg_llm *cfg; /* of a rank, with all that does not depend on it */
	struct llm_scheduler scheduler;
	struct llm_shapes shapes;
	struct llm_rank rank; /* on the GPU of the server's process */
	int status;	      /* of the client: 0 or -ENOMEM */

	bool asleep;  /* an event has taken its memory on the GPU */
	u64 begun_ns; /* follows events from here on */
	size_t event; /* next one of the scenario that may be its own */

	struct list_head open; /* llm_session.node, in the order of sending */
	/* of these, request.node: the engine does not have them yet */
	struct list_head arriving;
	u32 open_count;
	struct eng_waitq work;	  /* the server: for requests, or for client_done */
	struct eng_waitq drained; /* the client: for open_count to become 0 */
	struct llm_users users;	  /* of a closed loop */
	struct llm_frontend frontend;
	u64 drop_ns; /* the client takes nothing from this date on; ENG_NEVER: it takes all */
	u64 stop_ns; /* the date of the event that stops the server; ENG_NEVER: none does */
	struct eng_actor *client;
	struct eng_actor *pressure_actor; /* NULL: it does not listen */
	struct gvm_listener pressure;
	bool client_done;      /* sends nothing any more, takes nothing any more */
	bool dead;	       /* the context died: connections are refused */
	enum app_reason death; /* of a dead context */
};

/*
 * llm_session.c: a client sends request number @id now. The answer, or how it failed, goes to
 * the log. Returns 0 or -ENOMEM.
 */
int llm_session_open(struct llm_server *server, u64 id, const struct trace_request *request);

/* The engine takes the requests that the frontend is done with. */
void llm_sessions_admit(struct llm_server *server);

/* When the frontend is done with the next request; ENG_NEVER: it has none. */
u64 llm_sessions_next_ns(const struct llm_server *server);

/*
 * A client sent request number @id at @date_ns, to a server that was stopped or had not booted
 * again. Returns 0 or -ENOMEM.
 */
int llm_session_refuse(struct app_log *log, u64 id, const struct trace_request *request,
		       u64 date_ns);

/* A step has taken the request out of the waiting queue now, for the first time or again. */
void llm_session_start(struct llm_server *server, const struct llm_session *session);

/*
 * A session's token leaves the API server at @sent_ns. With the last one the session is over. 0
 * or -ENOMEM.
 */
int llm_session_emit(struct llm_server *server, struct llm_session *session, u64 sent_ns);

/* End all sessions: failed with the context, else left in the log as dropped. 0 or -ENOMEM. */
int llm_sessions_close(struct llm_server *server, bool failed);

/*
 * Start and stop listening for pressure: an actor gives memory of free KV blocks back. start:
 * 0 or -ENOMEM; nothing, and 0, if the server is not told to. llm_pressure.c.
 */
int llm_pressure_start(struct llm_server *server);
void llm_pressure_stop(struct llm_server *server);

/* The client's actor; @data is the server, which is ready. */
void llm_client_main(void *data);

/* When an open loop sends request @index, if the trace's dates count from @zero_ns. */
u64 llm_client_date_ns(const struct app_env *env, u64 zero_ns, size_t index);

/* As log_absence() of struct sim_app. */
int llm_client_log_absence(const struct app_env *env);

/*
 * llm_users.c. start: so many users send their first request at @date_ns; 0 or -ENOMEM. The
 * caller frees next_ns. put: a user sends the next request at @date_ns; nothing in an
 * open loop. get, blocking: wait for a user to send a request; 0, -EINTR, or
 * -ETIMEDOUT: none does before @stop_ns.
 */
int llm_users_start(struct llm_users *users, u32 total, u64 date_ns);
void llm_users_put(struct llm_users *users, u64 date_ns);
int llm_users_get(struct llm_users *users, u64 stop_ns);

/* As sim_app.least_gpu_ns, of an LLM server. See llm_demand.c. */
u64 llm_least_gpu_ns(const struct app_env *env, u64 *ret_within_ns);

/* As sim_app.remark, of an LLM server. See llm_remarks.c. */
bool llm_remark(const struct app_env *env, u32 index, char *text, size_t size);

/* As sim_app.remark_after: users of a closed loop have gone through their trace. */
bool llm_remark_after(const struct app_env *env, char *text, size_t size);

/*
 * The server's actor: sim_app.run of llm_server_app. Blocking. Returns 0, also if it was
 * interrupted, -EIO or -ENOMEM.
 */
int llm_server_run(const struct app_env *env);

#endif
