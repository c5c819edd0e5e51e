// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An LLM server that listens for pressure
 * =======================================
 *
 * vLLM fills its share of the GPU with KV blocks and walks through all of them in turn. So the
 * driver sees 30 GB in use where the present requests need one or two. Under pressure the
 * driver would copy free blocks to the host and back. The server knows which blocks are free:
 *
 *     event: target bytes -> a group without a block in use -> off the
 *     queue -> discard -> parked
 *                                 ^                                                 |
 *                                 '---------- until the target is reached ----------'
 *
 * The bytes that the driver reports as freed count towards the target. Parked groups come back
 * only when the load needs them: their pages fault in as fresh memory, which is cleared and
 * never copied. The scheduler's pool stays as large as before; if memory is short by then, the
 * driver pages.
 *
 * An actor of its own does this beside the server's engine, as the handler of a usermemfd
 * would. A group between queue and park belongs to neither.
 */
#include "apps/llm_server.h"

/* Blocking: give one group back, adding to *freed. False: there is none. */
static bool pressure_drop_group(struct llm_server *server, u64 *freed)
{
	struct kv_pool *pool = &server->scheduler.pool;
	u64 bytes = ((u64)server->rank.kv.chunks / pool->group_count) << GVM_CHUNK_SHIFT;
	u32 group = kv_pool_take_group(pool);

	if (group == KV_NO_GROUP)
		return false;
	*freed += cuda_discard(&server->rank.kv, group * bytes, bytes);
	kv_pool_park_group(pool, group);
	return true;
}

/* The listener may be closed while a group is given back. */
static bool pressure_is_open(const struct llm_server *server)
{
	return server->pressure.container;
}

static void pressure_main(void *data)
{
	struct llm_server *server = data;
	struct gvm_pressure_event event;
	u64 freed;

	while (pressure_is_open(server) &&
	       gvm_listener_read(&server->pressure, &event, sizeof(event), true) > 0) {
		freed = 0;
		while (freed < event.target_bytes && pressure_is_open(server) &&
		       pressure_drop_group(server, &freed))
			;
	}
}

int llm_pressure_start(struct llm_server *server)
{
	int status;

	if (!server->env->listens)
		return 0;
	status = app_listen(server->env, &server->pressure);
	if (status)
		return status;
	server->pressure_actor = eng_spawn("llm-pressure", pressure_main, server);
	return server->pressure_actor ? 0 : -ENOMEM;
}

void llm_pressure_stop(struct llm_server *server)
{
	gvm_listener_close(&server->pressure);
	if (server->pressure_actor)
		eng_join(server->pressure_actor);
	server->pressure_actor = NULL;
}
