/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The inside of an LLM server application: the server's actor (llm_server.c), its client's
 * (llm_client.c), its listener's (llm_pressure.c), and the requests that are open
 * (llm_session.c).
 *
 * All live in one simulation where code between two blocking calls is atomic, so nothing here
 * has a lock.
 */
#ifndef SIM_APPS_LLM_SERVER_H
#define SIM_APPS_LLM_SERVER_H

#include "apps/app.h"
#include "apps/app_trace.h"
#include "apps/llm_experts.h"
#include "apps/llm_frontend.h"
#include "apps/llm_scheduler.h"
#include "config/config.h"
#include "trace/trace.h"

/* The request source of an LLM server and the habits of its benchmark client. */
struct cfg_client {
	struct cfg_app_trace trace;
	u64 users;	     /* "app.client.users" of a closed loop; 0: an open one */
	u64 think;	     /* "app.client.think", ns from an answer to the next request */
	u64 first_request;   /* "app.client.start", ns after the container's start */
	u64 stop;	     /* "app.client.stop", ns after the first request; 0: never */
	u64 max_open;	     /* "app.client.max_open"; 0: no limit */
	bool drop_in_flight; /* "app.client.drop_in_flight": at stop, else wait for them */
	u64 slo_ttft;	     /* "app.slo_ttft", ns; 0: none */
	u64 slo_itl;	     /* "app.slo_itl", ns; 0: none */
};

/* vLLM V1 serving one model. Keys under "containers.<name>.app.". */
struct cfg_llm {
	char model[CFG_TEXT_MAX];   /* its config.json; empty: the keys say it all */
	u64 quantization;	    /* enum llm_quantization */
	u64 weights;		    /* bytes */
	u64 embeddings;		    /* of these, in a table that a step hardly reads */
	u64 expert_weights;	    /* of these, of all experts of all layers */
	u64 experts;		    /* of a layer; 0: a dense model */
	u64 experts_per_token;	    /* of these, that a token uses */
	u64 kv_bytes_per_token;	    /* bytes */
	u64 workspace;		    /* bytes of activations that the server reserves */
	u64 gpu_memory_utilization; /* ppm of gpu.memory_total */
	u64 block_tokens;	    /* KV block size */
	u64 max_batched_tokens;	    /* token budget of a step */
	u64 max_sequences;
	u64 max_model_len;	  /* tokens */
	bool prefix_caching;	  /* KV blocks of equal prefixes are shared and kept */
	u64 flops_per_token;	  /* FLOP of a token in all layers, without attention */
	u64 head_flops;		  /* FLOP of a sequence's logits */
	u64 traffic_per_token;	  /* bytes of activations that a token moves */
	u64 attention_flops;	  /* FLOP of one query token per earlier token, all layers */
	u64 attention_tile;	  /* query tokens that attention computes for a decoding one */
	u64 attention_group;	  /* query heads that share a key head */
	u64 efficiency;		  /* ppm of gpu.flops_bf16 that its matrix products reach */
	u64 attention_efficiency; /* ppm of gpu.flops_bf16_mma that attention reaches */
	u64 memory_efficiency;	  /* ppm of gpu.memory_bandwidth that its kernels reach */
	u64 kv_bandwidth;	  /* likewise of attention while it reads KV */
	u64 kernels_per_step;
	u64 weight_matrices; /* each read by one kernel, as a whole; 0: bit by bit, by all */
	u64 layers;	     /* each one's attention reads its part of the KV; 0: bit by bit */
	u64 kernel_launch;   /* ns of host time of a launch, reference host */
	u64 host_per_step;   /* ns of host time of a step beside its launches, likewise */
	u64 host_per_sequence;	   /* and for each of its sequences */
	u64 host_per_prompt_token; /* and for each token of a prompt */
	u64 graph_tokens; /* a step of up to so many tokens is one launch: a CUDA graph */
	u64 boot; /* ns that its process starts ahead of the container's start, to be ready */
	struct cfg_frontend frontend;
	struct cfg_client client;
};

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
	const struct cfg_llm *cfg;
	struct llm_scheduler scheduler;
	struct cuda_memory weights;
	struct cuda_memory workspace; /* may be empty */
	struct cuda_memory kv;
	/* Of a step: those three, in this order, and the experts that it uses. */
	struct cuda_access accesses[4];
	struct llm_experts experts; /* of a model with experts */
	int status;		    /* of the client: 0 or -ENOMEM */

	struct list_head open; /* llm_session.node, in the order of sending */
	struct list_head
		arriving; /* of these, request.node: the engine does not have them yet */
	u32 open_count;
	struct eng_waitq work;	  /* the server: for requests, or for client_done */
	struct eng_waitq drained; /* the client: for open_count to become 0 */
	struct llm_users users;	  /* of a closed loop */
	struct llm_frontend frontend;
	u64 drop_ns; /* the client takes nothing from this date on; ENG_NEVER: it takes all */
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

/* As log_absence() of struct sim_app. */
int llm_client_log_absence(const struct app_env *env);

/*
 * llm_users.c. start: so many users send their first request at @date_ns; 0 or -ENOMEM. The
 * caller frees next_ns. put: a user sends the next request at @date_ns; nothing in an open loop. get, blocking: wait for a user to send a request; 0,
 * -EINTR, or -ETIMEDOUT: none does before @stop_ns.
 */
int llm_users_start(struct llm_users *users, u32 total, u64 date_ns);
void llm_users_put(struct llm_users *users, u64 date_ns);
int llm_users_get(struct llm_users *users, u64 stop_ns);

/* As sim_app.least_gpu_ns, of an LLM server. See llm_demand.c. */
u64 llm_least_gpu_ns(const struct app_env *env, u64 *ret_within_ns);

#endif
