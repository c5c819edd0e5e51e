// SPDX-License-Identifier: MIT OR GPL-2.0
/* Unmanaged memory of processes; see unmanaged.h. */
#include "gpu/unmanaged.h"

#include "gpu/memory.h"
#include "gpu/process.h"
#include "gpu/service.h"

/* What the limits of a client count. */
static u64 unmanaged_counted(const struct sim_process *process)
{
	return process->context.bytes + process->unmanaged.bytes;
}

static void unmanaged_remove(struct sim_process *process, u64 bytes)
{
	struct gvm_device *device = &process->gpu->device;

	device->memory_ops->unevictable_remove(device->memory, &process->unmanaged, bytes);
}

/*
 * The status of gvm_memory_ops.unevictable_add. On failure nothing has changed. If the process
 * is killed meanwhile, it has nothing left.
 */
static int unmanaged_add(struct sim_process *process, u64 bytes)
{
	struct gvm_device *device = &process->gpu->device;
	u64 before = process->unmanaged.bytes;
	int status =
		device->memory_ops->unevictable_add(device->memory, &process->unmanaged, bytes);

	if (process->killed)
		before = 0;
	if (process->killed || status)
		unmanaged_remove(process, process->unmanaged.bytes - before);
	eng_pay_debt();
	return status;
}

/* The context dies, and its memory is free. */
static void unmanaged_die(struct sim_process *process, int status, enum sim_death death)
{
	if (!process->killed)
		process->death = death;
	sim_process_die(process, status);
	unmanaged_remove(process, process->unmanaged.bytes);
}

/*
 * End the client that is farthest above its soft limit, of the others of a server. False: none
 * is above.
 */
static bool unmanaged_end_borrower(struct sim_process *process)
{
	struct sim_process *client, *worst = NULL;
	u64 most = 0;

	if (!process->mps)
		return false;
	list_for_each_entry(client, &process->mps->clients, mps_node) {
		u64 counted = unmanaged_counted(client);

		if (client == process || !client->memory_soft || client->killed ||
		    counted <= client->memory_soft + most)
			continue;
		most = counted - client->memory_soft;
		worst = client;
	}
	if (!worst)
		return false;
	unmanaged_die(worst, -EFAULT, SIM_DEATH_BORROWER);
	return true;
}

void sim_process_take_unmanaged(struct sim_process *process, u64 bytes)
{
	u64 counted = unmanaged_counted(process) + bytes;
	bool guaranteed = process->memory_soft && counted <= process->memory_soft;
	int status;

	if (process->killed)
		return;
	if (process->memory_hard && counted > process->memory_hard) {
		unmanaged_die(process, -ENOMEM, SIM_DEATH_HARD_LIMIT);
		return;
	}
	if (process->frame_buffer &&
	    sim_process_allocated(process) + bytes > process->frame_buffer) {
		unmanaged_die(process, -ENOMEM, SIM_DEATH_BY_STATUS);
		return;
	}
	do {
		status = unmanaged_add(process, bytes);
	} while (status && status != -EINTR && guaranteed && !process->killed &&
		 unmanaged_end_borrower(process));
	if (status && status != -EINTR && !process->killed)
		unmanaged_die(process, status == -EDQUOT ? status : -ENOMEM,
			      status == -EDQUOT ? SIM_DEATH_GMEM_LIMIT : SIM_DEATH_NO_ROOM);
}

void sim_process_give_unmanaged(struct sim_process *process, u64 bytes)
{
	unmanaged_remove(process, min(bytes, process->unmanaged.bytes));
}
