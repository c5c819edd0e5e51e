// SPDX-License-Identifier: MIT OR GPL-2.0
/* Open requests of an LLM server: from the client's call to the last token. See llm_server.h. */
#include "apps/llm_server.h"

#include <stdlib.h>

/* Forget a session. Its record is written before. */
static void session_close(struct llm_server *server, struct llm_session *session)
{
	list_del_init(&session->node);
	free(session);
	if (!--server->open_count)
		eng_wake_all(&server->drained);
}

int llm_session_emit(struct llm_server *server, struct llm_session *session)
{
	struct app_log *log = server->env->log;
	struct app_record *record = &log->records[session->record];
	u64 now = eng_now();
	int status = 0;

	if (session->last_token_ns)
		session->gaps_ns[session->gap_count++] = now - session->last_token_ns;
	else
		record->first_ns = now;
	session->last_token_ns = now;
	record->output_tokens++;
	if (session->request.state != LLM_FINISHED)
		return 0;
	record->finish_ns = now;
	record->outcome = APP_COMPLETED;
	for (u32 i = 0; i < session->gap_count && !status; i++)
		status = app_log_add_gap(log, session->gaps_ns[i]);
	session_close(server, session);
	return status;
}

void llm_sessions_close(struct llm_server *server, bool failed)
{
	struct llm_session *session, *following;

	list_for_each_entry_safe(session, following, &server->open, node) {
		struct app_record *record = &server->env->log->records[session->record];

		if (failed) {
			record->outcome = APP_FAILED;
			record->finish_ns = eng_now();
		}
		llm_scheduler_abort(&server->scheduler, &session->request);
		session_close(server, session);
	}
}

/* A request that fails at once. Returns 0 or -ENOMEM. */
static int log_failure(struct llm_server *server, struct app_record *record)
{
	record->outcome = APP_FAILED;
	record->finish_ns = record->arrival_ns;
	return app_log_add(server->env->log, record);
}

/* A record says "dropped" until the session ends, because the run may end first. */
int llm_session_open(struct llm_server *server, u64 id, const struct trace_request *request)
{
	const struct cfg_client *client = &server->cfg->client;
	/* No answer is longer than the model allows, so absurd traces cost no memory. */
	u32 tokens = min(request->response_tokens[client->response],
			 (u32)server->cfg->max_model_len);
	struct app_record record = {
		.id = id,
		.arrival_ns = eng_now(),
		/* No prompt is empty: a tokenizer puts a token at its beginning. */
		.prompt_tokens = max(1u, request->prompt_tokens),
		.outcome = APP_DROPPED,
	};
	struct llm_session *session;

	server->env->log->arrived++;
	if (server->dead || (client->max_open && server->open_count >= client->max_open))
		return log_failure(server, &record);
	session = calloc(1, sizeof(*session) + (tokens - 1) * sizeof(u64));
	if (!session)
		return -ENOMEM;
	session->request.prompt_tokens = record.prompt_tokens;
	session->request.target_tokens = tokens;
	session->record = server->env->log->record_count;
	if (llm_scheduler_add(&server->scheduler, &session->request)) {
		free(session);
		return log_failure(server, &record);
	}
	list_add_tail(&session->node, &server->open);
	server->open_count++;
	eng_wake_all(&server->work);
	return app_log_add(server->env->log, &record);
}
