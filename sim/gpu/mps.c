// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * MPS servers: several processes in one entry of the runlist.
 *
 * On a real GPU the clients' channels are in one TSG, the server's. Here each client has a
 * fifo_tsg of its own in the server's entry (fifo.h), since it has a queue of bursts. The core
 * sees one TSG, the first client's. All further clients share it (gvm_tsg_share()), so writes
 * to compute.* of all of them answer -EOPNOTSUPP, and the scheduler does not hold it. When the
 * first client leaves, the next one takes its place.
 */
#include "gpu/mps.h"

void sim_mps_init(struct sim_mps *mps, struct sim_gpu *gpu)
{
	gvm_mutex_init(&mps->lock, "mps");
	INIT_LIST_HEAD(&mps->clients);
	fifo_server_init(&gpu->fifo, &mps->entry, 0);
}

/* The first client of the server, or NULL. */
static struct sim_process *mps_first(struct sim_mps *mps)
{
	return list_empty(&mps->clients) ?
		       NULL :
		       list_first_entry(&mps->clients, struct sim_process, mps_node);
}

/* The core retries what an RPC could not do. */
static void mps_share_locked(struct sim_process *client)
{
	(void)gvm_tsg_share(&mps_first(client->mps)->core_tsg, client->container,
			    &client->mps_share);
}

static void mps_attach_locked(struct sim_process *first)
{
	(void)gvm_tsg_attach(first->container, &first->core_tsg, first->tsg.id);
}

void sim_mps_join(struct sim_process *process)
{
	struct sim_mps *mps = process->mps;

	gvm_mutex_lock(&mps->lock);
	list_add_tail(&process->mps_node, &mps->clients);
	if (process == mps_first(mps))
		mps_attach_locked(process);
	else
		mps_share_locked(process);
	gvm_mutex_unlock(&mps->lock);
}

/* The first client has left the list: the next one's TSG stands for the server from now on. */
static void mps_replace_first_locked(struct sim_mps *mps, struct sim_process *former)
{
	struct sim_process *first = mps_first(mps), *client;

	list_for_each_entry(client, &mps->clients, mps_node)
		gvm_tsg_unshare(&client->mps_share, &client->gpu->device);
	gvm_tsg_detach(&former->core_tsg);
	if (first)
		mps_attach_locked(first);
	list_for_each_entry(client, &mps->clients, mps_node)
		if (client != first)
			mps_share_locked(client);
}

void sim_mps_leave(struct sim_process *process)
{
	struct sim_mps *mps = process->mps;
	bool first;

	gvm_mutex_lock(&mps->lock);
	first = process == mps_first(mps);
	list_del_init(&process->mps_node);
	if (first)
		mps_replace_first_locked(mps, process);
	else
		gvm_tsg_unshare(&process->mps_share, &process->gpu->device);
	gvm_mutex_unlock(&mps->lock);
}
