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
 */
#include "apps/llm_server.h"

#include <string.h>

#include "config/config.h"

/* When the client begins; its stop date is ENG_NEVER if it has none. */
struct client_dates {
	u64 zero_ns;
	u64 stop_ns;
};

static u64 client_offset_ns(const struct llm_server *server, size_t index)
{
	return app_trace_offset_ns(server->env->prepared, &server->cfg->client.trace, index);
}

/*
 * Blocking: the users send the trace's requests, each its next one after its last one has
 * ended. All begin at once. Returns 0, -EINTR or -ENOMEM.
 */
static int client_send_closed(struct llm_server *server, const struct client_dates *dates)
{
	const struct trace *trace = server->env->prepared;
	int status =
		llm_users_start(&server->users, (u32)server->cfg->client.users, dates->zero_ns);

	for (size_t i = 0; i < trace->count && !status; i++) {
		status = llm_users_get(&server->users, dates->stop_ns);
		if (!status)
			status = llm_session_open(server, i, &trace->requests[i]);
	}
	return status == -ETIMEDOUT ? 0 : status;
}

/*
 * When to send request @index. The time of the trace passes as fast as the last "load" event of
 * the container says.
 */
static u64 client_date_ns(const struct llm_server *server, const struct client_dates *dates,
			  size_t index)
{
	const struct config *config = server->env->config;
	unsigned __int128 left = client_offset_ns(server, index);
	u64 from_ns = dates->zero_ns, load = CFG_PPM;

	for (size_t i = 0; i < config->event_count; i++) {
		const struct cfg_event *event = &config->events[i];
		u64 at_ns = max((u64)event->at, from_ns);
		unsigned __int128 passed =
			(unsigned __int128)(at_ns - from_ns) * load / CFG_PPM;

		if (!event->load || strcmp(event->container, server->env->container->name) != 0)
			continue;
		if (left <= passed)
			break;
		left -= passed;
		from_ns = at_ns;
		load = event->load;
	}
	return from_ns + (u64)min(left * CFG_PPM / load, (unsigned __int128)(ENG_NEVER / 4));
}

static struct client_dates client_plan(const struct llm_server *server)
{
	const struct cfg_client *cfg = &server->cfg->client;
	u64 start = server->env->container->start + cfg->first_request;
	struct client_dates dates = { .zero_ns = max(start, (u64)eng_now()),
				      .stop_ns = ENG_NEVER };
	u64 first_ns = cfg->users ? dates.zero_ns : client_date_ns(server, &dates, 0);

	if (cfg->stop)
		dates.stop_ns = first_ns + cfg->stop;
	return dates;
}

/* Blocking: send the trace's requests at their dates. Returns 0, -EINTR or -ENOMEM. */
static int client_send_all(struct llm_server *server, const struct client_dates *dates)
{
	const struct trace *trace = server->env->prepared;
	int status = 0;

	for (size_t i = 0; i < trace->count && !status; i++) {
		u64 date = client_date_ns(server, dates, i);

		if (date >= dates->stop_ns)
			return 0;
		if (date > eng_now() && eng_sleep_until(date))
			return -EINTR;
		status = llm_session_open(server, i, &trace->requests[i]);
	}
	return status;
}

/* Blocking: wait for answers in flight; no longer than the stop date, if that drops them. */
static void client_drain(struct llm_server *server, const struct client_dates *dates)
{
	u64 date = server->cfg->client.drop_in_flight ? dates->stop_ns : ENG_NEVER;
	int status = 0;

	while (server->open_count && !status)
		status = eng_wait(&server->drained, date, true);
}

void llm_client_main(void *data)
{
	struct llm_server *server = data;
	const struct trace *trace = server->env->prepared;
	struct client_dates dates;
	int status;

	if (trace->count) {
		dates = client_plan(server);
		status = server->cfg->client.users ? client_send_closed(server, &dates) :
						     client_send_all(server, &dates);
		if (!status)
			client_drain(server, &dates);
		if (status == -ENOMEM)
			server->status = status;
	}
	server->env->log->end_ns = eng_now();
	server->client_done = true;
	eng_wake_all(&server->work);
}
