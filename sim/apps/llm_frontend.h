/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Between an LLM server's engine and the clock of its client
 * ==========================================================
 *
 * vLLM's engine is a process of its own. Before it lies the API server. It takes a request,
 * tokenizes it and hands it to the engine. It makes a message of each token and writes it to
 * the client's connection. The client reads the message and notes the time:
 *
 *     request ->  event loop  ->  wait, tokenize  ->  engine
 *     engine  ->  event loop  ->  event loop of the client, which notes the time
 *
 * Both event loops are one thread each. So they work on one thing after the other, and what
 * comes meanwhile waits. The tokens of a step come in one message. The API server works on all
 * of them, up to LLM_FRONTEND_BATCH, before the first one leaves, and they leave together. The
 * client notes them one after the other.
 *
 * Prompts are tokenized by another thread, one after the other. It waits a while for more of
 * them first (vLLM's AsyncMicrobatchTokenizer), for a time that no host makes shorter.
 *
 * The engine does not wait for either process, and each has a core of its own. So only the
 * client's view gets later: by a few ms for one stream, by more for the tokens of many.
 *
 * Source: vLLM 0.10.1, V1 (entrypoints/openai/serving_completion.py, v1/engine/async_llm.py,
 * utils.AsyncMicrobatchTokenizer), measured with plots/reference/hardware/vllm_frontend.py.
 */
#ifndef SIM_APPS_LLM_FRONTEND_H
#define SIM_APPS_LLM_FRONTEND_H

#include "engine/types.h"

struct cfg_host;

/* Tokens that the API server works on at once (VLLM_V1_OUTPUT_PROC_CHUNK_SIZE). */
#define LLM_FRONTEND_BATCH 128u

/* Keys under "containers.<name>.app.frontend.": ns, on the reference host but for the wait. */
struct cfg_frontend {
	u64 per_request;      /* the API server's loop: of a request */
	u64 request_wait;     /* from then on, until it is tokenized; on any host */
	u64 per_prompt_token; /* to tokenize it */
	u64 per_step;	      /* the API server's loop: of the message with a step's tokens */
	u64 per_token;	      /* and of each token */
	u64 client;	      /* the client's loop: of a token */
};

/* When each thread has worked off all that it got. All zero: they are idle. */
struct llm_frontend {
	u64 server_free_ns;
	u64 tokenizer_free_ns;
	u64 client_free_ns;
};

/*
 * A request with a prompt of @tokens reaches the API server at @now_ns. Returns when the engine
 * has it: not before the request that came before it.
 */
u64 llm_frontend_request(struct llm_frontend *frontend, const struct cfg_frontend *cfg,
			 const struct cfg_host *host, u64 now_ns, u32 tokens);

/*
 * A step of the engine ended at @now_ns. The API server works on @tokens of its tokens, after
 * the first @before. Returns when they leave.
 */
u64 llm_frontend_send(struct llm_frontend *frontend, const struct cfg_frontend *cfg,
		      const struct cfg_host *host, u64 now_ns, u32 before, u32 tokens);

/* A token left the API server at @sent_ns. Returns which time the client notes. */
u64 llm_frontend_note(struct llm_frontend *frontend, const struct cfg_frontend *cfg,
		      const struct cfg_host *host, u64 sent_ns);

#endif
