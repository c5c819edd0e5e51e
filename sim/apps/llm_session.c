// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Open requests of an LLM server: from the client's call to the last token. See llm_server.h.
 */
#include "apps/llm_server.h"

#include <stdlib.h>

#include "engine/random.h"

/*
 * From the state of one KV block's key to the next one's below the same hash. It is odd, so no
 * two places meet, and it is not the step of random_next(), so neighbouring keys are not
 * successive numbers of one sequence.
 */
#define KEY_PLACE_STEP 0x632be59bd9b4e019ull

/*
 * Log the gaps between a session's tokens and its preemptions, and forget the session. The rest
 * of its record is written before. Returns 0 or -ENOMEM.
 */
static int session_close(struct llm_server *server, struct llm_session *session,
			 enum app_gaps kind)
{
	int status = 0;

	app_log_at(server->env->log, session->record)->preemptions =
		session->request.preemptions;
	for (u32 i = 0; i < session->gap_count && !status; i++)
		status = app_log_add_gap(server->env->log, kind, session->gaps_ns[i]);
	list_del_init(&session->node);
	llm_users_put(&server->users,
		      max(session->last_token_ns, (u64)eng_now()) + server->cfg->client.think);
	free(session);
	if (!--server->open_count)
		eng_wake_all(&server->drained);
	return status;
}

/* The first request that the engine does not have yet, or NULL. */
static struct llm_session *session_arriving(const struct llm_server *server)
{
	return list_empty(&server->arriving) ?
		       NULL :
		       list_first_entry(&server->arriving, struct llm_session, request.node);
}

u64 llm_sessions_next_ns(const struct llm_server *server)
{
	const struct llm_session *session = session_arriving(server);

	return session ? session->ready_ns : ENG_NEVER;
}

void llm_sessions_admit(struct llm_server *server)
{
	struct llm_session *session;

	while (llm_sessions_next_ns(server) <= eng_now()) {
		session = session_arriving(server);
		list_del_init(&session->request.node);
		llm_scheduler_add(&server->scheduler, &session->request);
	}
}

void llm_session_start(struct llm_server *server, const struct llm_session *session)
{
	struct app_record *record = app_log_at(server->env->log, session->record);

	if (record->start_ns)
		return;
	record->start_ns = eng_now();
	record->cached_tokens = session->request.cached;
}

int llm_session_emit(struct llm_server *server, struct llm_session *session, u64 sent_ns)
{
	struct app_record *record = app_log_at(server->env->log, session->record);
	u64 now = llm_frontend_note(&server->frontend, &server->cfg->frontend,
				    &server->env->config->host, sent_ns);
	u64 gone_ns = min(server->drop_ns, (u64)server->env->config->duration);
	/* A stop whose date has passed is late, after an event that takes long. */
	u64 stop_ns = server->stop_ns < eng_now() ? ENG_NEVER : server->stop_ns;

	/* The client or the server has gone when it would come, or the run has ended. */
	if (now > min(gone_ns, stop_ns)) {
		if (session->request.state != LLM_FINISHED)
			return 0;
		if (stop_ns < gone_ns) {
			record->outcome = APP_FAILED;
			record->reason = APP_STOPPED;
			record->finish_ns = stop_ns;
		}
		return session_close(server, session, APP_GAPS_OTHERS);
	}
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
	return session_close(server, session, APP_GAPS_COMPLETED);
}

/*
 * The client may have stopped some time ago: the server then ends the step that was in flight.
 * Where the context dies or a signal ends the run, whose dates are not known before, a token
 * that was sent may reach the client later.
 */
int llm_sessions_close(struct llm_server *server, bool failed)
{
	struct llm_session *session, *following;
	struct app_log *log = server->env->log;
	u64 end_ns = log->end_ns ? log->end_ns : app_now_ns(server->env);
	int status = 0;

	list_for_each_entry_safe(session, following, &server->open, node) {
		struct app_record *record = app_log_at(log, session->record);

		if (failed) {
			record->outcome = APP_FAILED;
			record->reason = server->death;
			record->finish_ns = max(end_ns, session->last_token_ns);
		}
		if (session->request.state == LLM_NEW)
			list_del_init(&session->request.node);
		llm_scheduler_abort(&server->scheduler, &session->request);
		if (session->last_token_ns && session->last_token_ns < end_ns)
			status |= app_log_add_gap(log, APP_GAPS_OPEN,
						  end_ns - session->last_token_ns);
		status |= session_close(server, session, APP_GAPS_OTHERS);
	}
	return status;
}

/* A request that fails at once. Returns 0 or -ENOMEM. */
static int log_failure(struct llm_server *server, struct app_record *record,
		       enum app_reason reason)
{
	record->outcome = APP_FAILED;
	record->reason = reason;
	record->finish_ns = record->arrival_ns;
	llm_users_put(&server->users, eng_now() + server->cfg->client.think);
	return app_log_add(server->env->log, record);
}

int llm_session_refuse(struct app_log *log, u64 id, const struct trace_request *request,
		       u64 date_ns)
{
	struct app_record record = {
		.id = id,
		.arrival_ns = date_ns,
		.finish_ns = date_ns,
		.prompt_tokens = max(1u, request->prompt_tokens),
		.outcome = APP_FAILED,
		.reason = APP_STOPPED,
	};

	return app_log_add(log, &record);
}

/*
 * How many full KV blocks of a prompt have keys. Prompts have prefix hashes only if the trace
 * has, and only then are blocks found again. A prompt that the scheduler refuses needs none.
 */
static u32 session_key_count(const struct llm_server *server,
			     const struct trace_request *request)
{
	const struct trace *trace = server->env->prepared;

	return server->cfg->prefix_caching && trace->hash_tokens &&
			       request->prompt_tokens <= server->cfg->max_model_len ?
		       request->prompt_tokens / (u32)server->cfg->block_tokens :
		       0;
}

/*
 * Fill in the keys of a session's request. A hash of the trace stands for several KV blocks;
 * keys of blocks are random numbers that follow from it and from the place below it.
 */
static void session_set_keys(const struct llm_server *server, struct llm_session *session,
			     const struct trace_request *request, u64 *keys, u32 count)
{
	const struct trace *trace = server->env->prepared;
	u32 blocks = trace->hash_tokens / (u32)server->cfg->block_tokens;

	for (u32 i = 0; i < count; i++) {
		u64 state = trace->hashes[request->first_hash + i / blocks] +
			    i % blocks * KEY_PLACE_STEP;

		keys[i] = max(random_next(&state), (u64)KV_NO_KEY + 1);
	}
	session->request.keys = keys;
	session->request.key_count = count;
	session->request.blocks.shared = (u32 *)&keys[count];
}

/* A record says "dropped" until the session ends, because the run may end first. */
int llm_session_open(struct llm_server *server, u64 id, const struct trace_request *request)
{
	const struct cfg_client *client = &server->cfg->client;
	/* No answer is longer than the model allows, so absurd traces cost no memory. */
	u32 tokens = min(request->response_tokens[client->trace.response],
			 (u32)server->cfg->max_model_len);
	struct app_record record = {
		.id = id,
		.arrival_ns = eng_now(),
		/* No prompt is empty: a tokenizer puts a token at its beginning. */
		.prompt_tokens = max(1u, request->prompt_tokens),
		.outcome = APP_DROPPED,
	};
	struct llm_session *session;
	u32 keys;

	if (server->dead)
		return log_failure(server, &record, server->death);
	if (client->max_open && server->open_count >= client->max_open)
		return log_failure(server, &record, APP_REFUSED);
	keys = session_key_count(server, request);
	session = calloc(1, sizeof(*session) + (tokens - 1) * sizeof(u64) +
				    keys * (sizeof(u64) + sizeof(u32)));
	if (!session)
		return -ENOMEM;
	if (keys)
		session_set_keys(server, session, request, &session->gaps_ns[tokens - 1], keys);
	session->request.prompt_tokens = record.prompt_tokens;
	session->request.target_tokens = tokens;
	session->record = server->env->log->record_count;
	if (!llm_scheduler_can_finish(&server->scheduler, &session->request)) {
		free(session);
		return log_failure(server, &record, APP_TOO_LONG);
	}
	session->ready_ns = llm_frontend_request(&server->frontend, &server->cfg->frontend,
						 &server->env->config->host, eng_now(),
						 record.prompt_tokens);
	list_add_tail(&session->request.node, &server->arriving);
	list_add_tail(&session->node, &server->open);
	server->open_count++;
	eng_wake_all(&server->work);
	return app_log_add(server->env->log, &record);
}
