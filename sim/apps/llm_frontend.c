// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/llm_frontend.h"

#include "apps/app_cost.h"

/*
 * A thread that is free from *@free_ns on works for @ns, on the reference host, on what it has
 * from @from_ns on. Returns when it is done.
 */
static u64 thread_work(u64 *free_ns, u64 from_ns, const struct cfg_host *host,
		       unsigned __int128 ns)
{
	*free_ns = max(*free_ns, from_ns) + app_host_ns(host, ns);
	return *free_ns;
}

u64 llm_frontend_request(struct llm_frontend *frontend, const struct cfg_frontend *cfg,
			 const struct cfg_host *host, u64 now_ns, u32 tokens)
{
	u64 parsed = thread_work(&frontend->server_free_ns, now_ns, host, cfg->per_request);

	return thread_work(&frontend->tokenizer_free_ns, parsed + cfg->request_wait, host,
			   (unsigned __int128)cfg->per_prompt_token * tokens);
}

u64 llm_frontend_send(struct llm_frontend *frontend, const struct cfg_frontend *cfg,
		      const struct cfg_host *host, u64 now_ns, u32 before, u32 tokens)
{
	return thread_work(&frontend->server_free_ns, now_ns, host,
			   (unsigned __int128)cfg->per_token * tokens +
				   (before ? 0 : cfg->per_step));
}

u64 llm_frontend_note(struct llm_frontend *frontend, const struct cfg_frontend *cfg,
		      const struct cfg_host *host, u64 sent_ns)
{
	return thread_work(&frontend->client_free_ns, sent_ns, host, cfg->client);
}
