// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The benchmark client of an LLM server
 * =====================================
 *
 * It replays a trace open-loop: a request is sent at its date however slow the server is. With
 * client.users it is a closed loop instead: each of so many users sends a request, waits for
 * its end, thinks for client.think, and sends the trace's next one. Dates of the trace play no
 * part then, and the trace is gone through once. The client's
 * habits are part of every number that it reports, so they are modelled and configurable:
 *
 *  - Dates count from when it begins to send: client.start after the container's start, or when
 *    the server is ready if that is later. The trace's own zero is there, so the first request
 *    comes as late after it as it does in the trace.
 *  - From a "load" event on, the trace's time passes so many times as fast.
 *  - client.stop counts from the first request. Nothing is sent at that date or later. What is
 *    in flight then is dropped from all statistics, or awaited.
 *  - client.max_open: it holds so many connections and no more. A request that comes on top
 *    fails at once and never reaches the server.
 *  - Against a server whose context died it goes on: each connection is refused, and counts as
 *    a failed request. (A real client sees the same, since the port is closed.)
 *  - Events may stop the server and start it again. The trace's dates stay what they are. What
 *    is in flight at the stop fails, and so does each request up to the end of the boot. Users
 *    of a closed loop wait for that, and go on with the trace's next request. The log has a
 *    record for each request that was sent, so their number says where the trace goes on.
 */
#include "apps/llm_server.h"

#include <string.h>

#include "config/config.h"

/*
 * Blocking: the client waits for @date, if it is to come. Returns 0, or -EINTR: it is interrupted,
 * or the run is over and the server's actor, which interrupts it, still waits for something else.
 */
static int client_wait(const struct app_env *env, u64 date)
{
	if (date > eng_now() && eng_sleep_until(date))
		return -EINTR;
	return app_is_late(env) ? -EINTR : 0;
}

/* When the client begins; its stop date is ENG_NEVER if it has none. */
struct client_dates {
	u64 zero_ns;
	u64 open_ns; /* no request reaches the server earlier: zero_ns, or later if it restarted */
	u64 stop_ns;
};

static const struct cfg_client *client_of(const struct app_env *env)
{
	const struct cfg_llm *cfg = env->container->app;

	return &cfg->client;
}

/*
 * Blocking: the users send the trace's requests, each its next one after its last one has
 * ended. All begin at once. Returns 0, -EINTR or -ENOMEM.
 */
static int client_send_closed(struct llm_server *server, const struct client_dates *dates)
{
	const struct trace *trace = server->env->prepared;
	int status =
		llm_users_start(&server->users, (u32)server->cfg->client.users, dates->open_ns);

	for (size_t i = server->env->log->record_count; i < trace->count && !status; i++) {
		status = llm_users_get(&server->users, dates->stop_ns);
		if (!status && app_is_late(server->env))
			status = -EINTR;
		if (!status)
			status = llm_session_open(server, i, &trace->requests[i]);
	}
	return status == -ETIMEDOUT ? 0 : status;
}

/* The time of the trace passes as fast as the last "load" event of the container says. */
u64 llm_client_date_ns(const struct app_env *env, u64 zero_ns, size_t index)
{
	const struct config *config = env->config;
	unsigned __int128 left =
		app_trace_offset_ns(env->prepared, &client_of(env)->trace, index);
	u64 from_ns = zero_ns, load = CFG_PPM;

	for (size_t i = 0; i < config->event_count; i++) {
		const struct cfg_event *event = &config->events[i];
		u64 at_ns = max((u64)event->at, from_ns);
		unsigned __int128 passed =
			(unsigned __int128)(at_ns - from_ns) * load / CFG_PPM;

		if (!event->load || strcmp(event->container, env->container->name) != 0)
			continue;
		if (left <= passed)
			break;
		left -= passed;
		from_ns = at_ns;
		load = event->load;
	}
	return from_ns + (u64)min(left * CFG_PPM / load, (unsigned __int128)(ENG_NEVER / 4));
}

/* The first client of a container sets the zero of the trace's dates. */
static struct client_dates client_plan(const struct app_env *env)
{
	const struct cfg_client *cfg = client_of(env);
	struct client_dates dates = { .stop_ns = ENG_NEVER };

	if (!env->log->zero_ns)
		env->log->zero_ns =
			max(env->container->start + cfg->first_request, (u64)eng_now());
	dates.zero_ns = env->log->zero_ns;
	dates.open_ns = env->reopen_ns ? max(env->reopen_ns, (u64)eng_now()) : dates.zero_ns;
	if (cfg->stop)
		dates.stop_ns =
			cfg->stop + (cfg->users ? dates.zero_ns :
						  llm_client_date_ns(env, dates.zero_ns, 0));
	return dates;
}

/*
 * Blocking, if @end_ns is to come: log requests from the next one on, as failed, that are sent
 * before @end_ns to a server that is not there; each at its date, since the run may end before.
 * Returns 0, -EINTR or -ENOMEM.
 */
static int client_log_refused(const struct app_env *env, const struct client_dates *dates,
			      u64 end_ns)
{
	const struct trace *trace = env->prepared;
	int status = 0;

	for (size_t i = env->log->record_count; i < trace->count && !status; i++) {
		u64 date = llm_client_date_ns(env, dates->zero_ns, i);

		if (date >= min(end_ns, dates->stop_ns))
			break;
		status = client_wait(env, date);
		if (!status)
			status = llm_session_refuse(env->log, i, &trace->requests[i], date);
	}
	return status;
}

int llm_client_log_absence(const struct app_env *env)
{
	struct app_log *log = env->log;
	struct client_dates dates;

	if (!log->zero_ns || log->end_ns)
		return 0;
	dates = client_plan(env);
	if (dates.stop_ns < eng_now())
		log->end_ns = dates.stop_ns;
	return client_of(env)->users ? 0 : client_log_refused(env, &dates, eng_now());
}

/* Blocking: send the trace's requests at their dates. Returns 0, -EINTR or -ENOMEM. */
static int client_send_all(struct llm_server *server, const struct client_dates *dates)
{
	const struct trace *trace = server->env->prepared;
	int status = client_log_refused(server->env, dates, dates->open_ns);

	for (size_t i = server->env->log->record_count; i < trace->count && !status; i++) {
		u64 date = llm_client_date_ns(server->env, dates->zero_ns, i);

		if (date >= dates->stop_ns)
			return 0;
		status = client_wait(server->env, date);
		if (!status)
			status = llm_session_open(server, i, &trace->requests[i]);
	}
	return status;
}

/* Blocking: wait for answers in flight, if they are not dropped. */
static void client_drain(struct llm_server *server)
{
	int status = 0;

	while (server->open_count && !status)
		status = eng_wait(&server->drained, server->drop_ns, true);
	/* The engine has answered all. The last tokens are still on their way. */
	if (!status && server->frontend.client_free_ns > eng_now())
		eng_sleep_until(min(server->frontend.client_free_ns, server->drop_ns));
}

void llm_client_main(void *data)
{
	struct llm_server *server = data;
	const struct trace *trace = server->env->prepared;
	struct client_dates dates;
	int status;

	if (trace->count) {
		dates = client_plan(server->env);
		if (server->cfg->client.drop_in_flight)
			server->drop_ns = dates.stop_ns;
		status = server->cfg->client.users ? client_send_closed(server, &dates) :
						     client_send_all(server, &dates);
		if (!status)
			client_drain(server);
		if (status == -ENOMEM)
			server->status = status;
	}
	/* The client of a restarted server has ended before, if it had sent all. */
	if (!server->env->stopping && !server->env->log->end_ns)
		server->env->log->end_ns = app_now_ns(server->env);
	server->client_done = true;
	eng_wake_all(&server->work);
}
