// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * RM's control interface: TSGs get slices, and are disabled and preempted. Other modules call
 * it by nvidia_get_rm_ops(), as nvidia-modeset.ko does, and user mode by SOFTGPU_CONTROL.
 *
 * GPU N is a client's device SOFTGPU_DEVICE + N and its subdevice SOFTGPU_SUBDEVICE + N. TSG N is
 * the client's object SOFTGPU_TSG + N. CLIENT_GET_HANDLE_INFO tells the TSG of a channel and the
 * device of a TSG, and CLIENT_GET_CHILD_HANDLE the subdevice of a device.
 */
#include "softgpu.h"

#include "nv-modeset-interface.h"
#include "gvm_rmapi.h"

#define SOFTGPU_TSG	  0x10000u
#define SOFTGPU_DEVICE	  0x20000u
#define SOFTGPU_SUBDEVICE 0x20100u

/* A channel in the TSG of that handle, or NULL. LOCKING: softgpu.lock. */
static struct softgpu_user_channel *softgpu_channel_in(struct softgpu *gpu, u32 client,
						       u32 object)
{
	struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &gpu->user_channels, node)
		if (softgpu_tsg_has(channel, client, object - SOFTGPU_TSG))
			return channel;
	return NULL;
}

static NV_STATUS softgpu_control_handle_info(struct softgpu *gpu, u32 client, void *params)
{
	struct gvm_rm_handle_info *info = params;
	struct softgpu_user_channel *channel;

	if (info->index != GVM_RM_HANDLE_INFO_PARENT)
		return NV_ERR_NOT_SUPPORTED;
	channel = softgpu_user_channel_find(gpu, client, info->object);
	if (channel)
		info->result = SOFTGPU_TSG + channel->tsg->number;
	else if (softgpu_channel_in(gpu, client, info->object))
		info->result = SOFTGPU_DEVICE + gpu->number;
	else
		return NV_ERR_OBJECT_NOT_FOUND;
	return NV_OK;
}

static NV_STATUS softgpu_control_child_handle(struct softgpu *gpu, void *params)
{
	struct gvm_rm_child_handle *child = params;

	if (child->parent != SOFTGPU_DEVICE + gpu->number ||
	    child->class_id != GVM_RM_CLASS_SUBDEVICE)
		return NV_ERR_OBJECT_NOT_FOUND;
	child->object = SOFTGPU_SUBDEVICE + gpu->number;
	return NV_OK;
}

/* A TSG's own commands. LOCKING: softgpu.lock. */
static NV_STATUS softgpu_control_timeslice(struct softgpu *gpu, struct softgpu_user_tsg *tsg,
					   u32 command, void *params)
{
	struct gvm_rm_timeslice *timeslice = params;

	if (command == GVM_RM_TSG_GET_TIMESLICE) {
		timeslice->us = tsg->timeslice_us;
		return NV_OK;
	}
	if (!timeslice->us)
		return NV_ERR_INVALID_ARGUMENT;
	softgpu_tsg_set_timeslice(gpu, tsg, timeslice->us);
	return NV_OK;
}

/* LOCKING: softgpu.lock. */
static NV_STATUS softgpu_control_schedule(struct softgpu *gpu, struct softgpu_user_tsg *tsg,
					  void *params)
{
	const struct gvm_rm_schedule *schedule = params;
	struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &tsg->channels, tsg_node)
		if (schedule->enable)
			softgpu_channel_disable(gpu, channel, false);
	return NV_OK;
}

/*
 * Preempt a channel's TSG. softgpu.lock is given up for the wait: a TSG with faults leaves the
 * SMs once UVM has serviced these, and UVM's channels need the lock for that. What else the
 * caller has looked up may be gone. LOCKING: softgpu.lock.
 */
static NV_STATUS softgpu_control_preempt_tsg(struct softgpu *gpu,
					     struct softgpu_user_channel *channel, bool wait,
					     u32 timeout_us)
{
	NV_STATUS status;

	channel->references++;
	mutex_unlock(&gpu->lock);
	status = softgpu_tsg_preempt(gpu, channel->tsg, wait, timeout_us);
	softgpu_user_channel_put(gpu, channel);
	mutex_lock(&gpu->lock);
	return status;
}

static NV_STATUS softgpu_control_preempt(struct softgpu *gpu,
					 struct softgpu_user_channel *channel, void *params)
{
	const struct gvm_rm_preempt *preempt = params;
	u32 timeout_us = GVM_RM_PREEMPT_TIMEOUT_US;

	if (preempt->manual_timeout)
		timeout_us = preempt->timeout_us;
	if (timeout_us > GVM_RM_PREEMPT_TIMEOUT_US)
		return NV_ERR_INVALID_ARGUMENT;
	return softgpu_control_preempt_tsg(gpu, channel, preempt->wait, timeout_us);
}

/*
 * Disable or enable. All have to be there, or nothing happens. By another object than the
 * subdevice an H200's driver does not support it. LOCKING: softgpu.lock.
 */
static NV_STATUS softgpu_control_disable(struct softgpu *gpu, u32 object, void *params)
{
	struct gvm_rm_disable_channels *list = params;
	struct softgpu_user_channel *channel;
	NV_STATUS status = NV_OK;

	if (object != SOFTGPU_SUBDEVICE + gpu->number)
		return NV_ERR_NOT_SUPPORTED;
	if (list->count > GVM_RM_DISABLE_CHANNELS_MAX)
		return NV_ERR_INVALID_ARGUMENT;
	for (u32 i = 0; i < list->count; i++)
		if (!softgpu_user_channel_find(gpu, list->client[i], list->channel[i]))
			return NV_ERR_OBJECT_NOT_FOUND;
	for (u32 i = 0; i < list->count; i++) {
		channel = softgpu_user_channel_find(gpu, list->client[i], list->channel[i]);
		if (channel)
			softgpu_channel_disable(gpu, channel, list->disable);
	}
	for (u32 i = 0; list->disable && !list->only_scheduling && i < list->count; i++) {
		NV_STATUS one = NV_OK;

		/* It may have gone while another one left. */
		channel = softgpu_user_channel_find(gpu, list->client[i], list->channel[i]);
		if (channel)
			one = softgpu_control_preempt_tsg(gpu, channel, true,
							  GVM_RM_PREEMPT_TIMEOUT_US);
		if (status == NV_OK)
			status = one;
	}
	return status;
}

/* LOCKING: softgpu.lock. */
static NV_STATUS softgpu_control_locked(struct softgpu *gpu, u32 client, u32 object,
					u32 command, void *params)
{
	struct softgpu_user_channel *channel;

	if (command == GVM_RM_CLIENT_GET_HANDLE_INFO)
		return softgpu_control_handle_info(gpu, client, params);
	if (command == GVM_RM_CLIENT_GET_CHILD_HANDLE)
		return softgpu_control_child_handle(gpu, params);
	if (command == GVM_RM_DISABLE_CHANNELS)
		return softgpu_control_disable(gpu, object, params);
	channel = softgpu_channel_in(gpu, client, object);
	if (!channel)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (command == GVM_RM_TSG_PREEMPT)
		return softgpu_control_preempt(gpu, channel, params);
	if (command == GVM_RM_TSG_SCHEDULE)
		return softgpu_control_schedule(gpu, channel->tsg, params);
	return softgpu_control_timeslice(gpu, channel->tsg, command, params);
}

u32 softgpu_control_bytes(u32 command)
{
	switch (command) {
	case GVM_RM_CLIENT_GET_HANDLE_INFO:
		return sizeof(struct gvm_rm_handle_info);
	case GVM_RM_CLIENT_GET_CHILD_HANDLE:
		return sizeof(struct gvm_rm_child_handle);
	case GVM_RM_DISABLE_CHANNELS:
		return sizeof(struct gvm_rm_disable_channels);
	case GVM_RM_TSG_SCHEDULE:
		return sizeof(struct gvm_rm_schedule);
	case GVM_RM_TSG_PREEMPT:
		return sizeof(struct gvm_rm_preempt);
	case GVM_RM_TSG_SET_TIMESLICE:
	case GVM_RM_TSG_GET_TIMESLICE:
		return sizeof(struct gvm_rm_timeslice);
	default:
		return 0;
	}
}

NV_STATUS softgpu_control(struct softgpu *gpu, u32 client, u32 object, u32 command,
			  void *params)
{
	NV_STATUS status;

	if (READ_ONCE(gpu->lost))
		return NV_ERR_GPU_IS_LOST;
	if (softgpu_fails(gpu, SOFTGPU_FAIL_CONTROL))
		return NV_ERR_TIMEOUT;
	if (softgpu_fails(gpu, SOFTGPU_FAIL_HANDLE))
		return NV_ERR_OBJECT_NOT_FOUND;
	mutex_lock(&gpu->lock);
	status = softgpu_control_locked(gpu, client, object, command, params);
	mutex_unlock(&gpu->lock);
	return status;
}

/*
 * Whether the GPU has the object of a call: a channel, a TSG, a device or a subdevice. LOCKING:
 * softgpu.lock.
 */
static bool softgpu_rmapi_has(struct softgpu *gpu, const struct gvm_rm_control *control)
{
	const void *params = (const void *)(uintptr_t)control->params;
	const struct gvm_rm_handle_info *info = params;
	const struct gvm_rm_child_handle *child = params;

	switch (control->command) {
	case GVM_RM_CLIENT_GET_HANDLE_INFO:
		return softgpu_user_channel_find(gpu, control->client, info->object) ||
		       softgpu_channel_in(gpu, control->client, info->object);
	case GVM_RM_CLIENT_GET_CHILD_HANDLE:
		return child->parent == SOFTGPU_DEVICE + gpu->number;
	case GVM_RM_DISABLE_CHANNELS:
		return control->object == SOFTGPU_SUBDEVICE + gpu->number;
	default:
		return softgpu_channel_in(gpu, control->client, control->object);
	}
}

static struct softgpu *softgpu_rmapi_gpu(const struct gvm_rm_control *control)
{
	struct softgpu *gpu;

	for (u32 i = 0; (gpu = softgpu_rm_gpu(i)); i++) {
		bool has;

		mutex_lock(&gpu->lock);
		has = softgpu_rmapi_has(gpu, control);
		mutex_unlock(&gpu->lock);
		if (has)
			return gpu;
	}
	return softgpu_rm_gpu(0);
}

static void softgpu_rmapi_count(struct softgpu *gpu, u32 command)
{
	mutex_lock(&gpu->lock);
	gpu->stats.disables += command == GVM_RM_DISABLE_CHANNELS;
	gpu->stats.preempts += command == GVM_RM_TSG_PREEMPT;
	mutex_unlock(&gpu->lock);
}

static void softgpu_rmapi_op(nvidia_modeset_stack_ptr stack, void *data)
{
	struct gvm_rm_control *control = data;
	u32 bytes = softgpu_control_bytes(control->command);
	struct softgpu *gpu;

	if (control->op != GVM_RM_CONTROL || !bytes) {
		control->status = NV_ERR_NOT_SUPPORTED;
		return;
	}
	if (control->params_bytes != bytes) {
		control->status = NV_ERR_INVALID_ARGUMENT;
		return;
	}
	gpu = softgpu_rmapi_gpu(control);
	softgpu_rmapi_count(gpu, control->command);
	control->status = softgpu_control(gpu, control->client, control->object,
					  control->command, (void *)(uintptr_t)control->params);
}

static int softgpu_rmapi_alloc_stack(nvidia_modeset_stack_ptr *ret_stack)
{
	*ret_stack = NULL;
	return 0;
}

static void softgpu_rmapi_free_stack(nvidia_modeset_stack_ptr stack)
{
}

/* RM wants to hear its own version from the caller. Here it is not compared. */
NV_STATUS nvidia_get_rm_ops(nvidia_modeset_rm_ops_t *rm_ops)
{
	rm_ops->alloc_stack = softgpu_rmapi_alloc_stack;
	rm_ops->free_stack = softgpu_rmapi_free_stack;
	rm_ops->op = softgpu_rmapi_op;
	return NV_OK;
}
EXPORT_SYMBOL_GPL(nvidia_get_rm_ops);
