// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A process is taken off the GPU, and put back, without a kernel module: RM's control call
 * NV2080_CTRL_CMD_FIFO_DISABLE_CHANNELS 0x2080110b (ctrl2080fifo.h) of a subdevice disables
 * channels, and takes what runs on them off the GPU. It is the same in 535 to 595. Measured on
 * an H200 with driver 580 (plots/reference/hardware/h200-580-freeze.txt): kernels stand still
 * within 0.6 ms, those all of whose threads wait for page faults within 26 ms; they go on
 * within 0.4 and 5 ms; nothing is lost in 15 s; and no root is needed.
 *
 * A channel that is disabled and then scheduled, as a new context does with its channels, runs
 * again. So channels that are scheduled while the process is frozen are disabled again.
 *
 * Threads of the application run on, until they wait for the GPU. They may do so in a call of
 * the driver, and hold locks of the driver's. So the worker makes no call of libcuda while the
 * process is frozen: it would not hear of the thaw.
 */
#include "rm.h"

#define RM_DISABLE_CHANNELS 0x2080110bu
#define AT_A_TIME	    64

/* NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS */
struct disable_call {
	unsigned char disable;
	u32 count;
	unsigned char only_scheduling; /* what runs is not sent away */
	unsigned char rewind_put;
	u64 preempt_event;
	u32 client[AT_A_TIME];
	u32 channel[AT_A_TIME];
};

static _Atomic bool frozen;

bool freeze_is_on(void)
{
	return frozen;
}

/* The device that a channel is on. A channel in no group has it as its parent. */
static u32 device_of(const struct rm_object *objects, u32 count,
		     const struct rm_object *channel)
{
	for (u32 i = 0; i < count; i++)
		if (objects[i].kind == RM_GROUP && objects[i].client == channel->client &&
		    objects[i].object == channel->parent)
			return objects[i].parent;
	return channel->parent;
}

/* An object of a client's: a channel, or a group with all of its channels. */
struct of_object {
	u32 client, object;
};

/* @of: NULL means every object. */
static bool is_of(const struct rm_object *channel, const struct of_object *of)
{
	return !of || (channel->client == of->client &&
		       (channel->object == of->object || channel->parent == of->object));
}

/* Make the call, and empty its list. Adds the number of channels to *channels. Returns RM's status. */
static u32 make_call(const struct rm_object *subdevice, struct disable_call *call,
		     u32 *channels)
{
	u32 status = rm_control(subdevice, subdevice->object, RM_DISABLE_CHANNELS, call,
				sizeof(*call));

	*channels += call->count;
	call->count = 0;
	return status;
}

/*
 * Disable or enable the channels of @of on the GPU of @subdevice. Adds their number to *channels.
 * Returns 0 or RM's status. LOCKING: rm_lock.
 */
static u32 set_on(const struct rm_object *objects, u32 count, const struct rm_object *subdevice,
		  const struct of_object *of, bool off, u32 *channels)
{
	struct disable_call call = { .disable = off };
	u32 status = 0;

	for (u32 i = 0; i < count && !status; i++) {
		const struct rm_object *it = &objects[i];

		if (it->kind != RM_CHANNEL || it->client != subdevice->client ||
		    !is_of(it, of) || device_of(objects, count, it) != subdevice->parent)
			continue;
		call.client[call.count] = it->client;
		call.channel[call.count++] = it->object;
		if (call.count == AT_A_TIME)
			status = make_call(subdevice, &call, channels);
	}
	if (call.count && !status)
		status = make_call(subdevice, &call, channels);
	return status;
}

/*
 * Disable or enable the channels of @of; NULL: all. Returns 0 or RM's first status.
 * LOCKING: rm_lock.
 */
static u32 set(const struct rm_object *objects, u32 count, const struct of_object *of, bool off,
	       u32 *ret_channels)
{
	u32 status = 0;

	*ret_channels = 0;
	for (u32 i = 0; i < count; i++) {
		u32 one = 0;

		if (objects[i].kind == RM_SUBDEVICE)
			one = set_on(objects, count, &objects[i], of, off, ret_channels);
		status = status ? status : one;
	}
	return status;
}

static void tell(bool on, u32 status, u32 channels)
{
	if (status)
		shim_warn("%u channels cannot be %s (status 0x%x)", channels,
			  on ? "frozen" : "thawed", status);
	else if (on && !channels)
		shim_warn("there is no channel to freeze");
	else
		shim_log("%u channels are %s", channels, on ? "frozen" : "thawed");
	if (on && rm_table_is_full())
		shim_warn("the process has more channels than the shim knows: some run on");
}

/* Where RM refuses to enable a channel, the process counts as frozen: a write of 0 tries again. */
bool freeze_set(bool on)
{
	u32 count, channels, status, enabled;
	const struct rm_object *objects = rm_lock_objects(&count);
	bool holds;

	frozen = true;
	status = set(objects, count, NULL, on, &channels);
	holds = !status && (!on || channels);
	if (on && !holds)
		frozen = set(objects, count, NULL, false, &enabled) != 0;
	else if (!on)
		frozen = !holds;
	rm_unlock_objects();
	tell(on, status, channels);
	return holds;
}

void freeze_scheduled(u32 client, u32 object)
{
	const struct of_object of = { client, object };
	const struct rm_object *objects;
	u32 count, channels, status = 0;

	if (!frozen)
		return;
	objects = rm_lock_objects(&count);
	if (frozen)
		status = set(objects, count, &of, true, &channels);
	rm_unlock_objects();
	if (status)
		shim_warn("a new channel cannot be frozen (status 0x%x)", status);
}

void freeze_reset(void)
{
	frozen = false;
}
