// SPDX-License-Identifier: MIT OR GPL-2.0
/* The users of a closed loop of an LLM server's client; see llm_server.h. */
#include "apps/llm_server.h"

#include <stdlib.h>

int llm_users_start(struct llm_users *users, u32 total, u64 date_ns)
{
	users->next_ns = calloc(total, sizeof(*users->next_ns));
	if (!users->next_ns)
		return -ENOMEM;
	users->total = total;
	users->count = total;
	for (u32 i = 0; i < total; i++)
		users->next_ns[i] = date_ns;
	return 0;
}

void llm_users_put(struct llm_users *users, u64 date_ns)
{
	if (!users->total)
		return;
	users->next_ns[(users->first + users->count++) % users->total] = date_ns;
	eng_wake_all(&users->waitq);
}

int llm_users_get(struct llm_users *users, u64 stop_ns)
{
	u64 date;
	int status = 0;

	while (!users->count && !status)
		status = eng_wait(&users->waitq, stop_ns, true);
	/* The end of a request that is cut short frees its user, who is gone, too. */
	if (status || eng_interrupted())
		return status ? status : -EINTR;
	date = users->next_ns[users->first];
	if (date >= stop_ns)
		return -ETIMEDOUT;
	if (date > eng_now() && eng_sleep_until(date))
		return -EINTR;
	users->first = (users->first + 1) % users->total;
	users->count--;
	return 0;
}
