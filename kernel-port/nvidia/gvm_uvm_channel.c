// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A source of nvidia-uvm.ko: channels of user mode come and go, and RM's control calls about
 * them and their TSGs.
 *
 * nvidia.ko exports nvidia_get_rm_ops() for nvidia-modeset.ko. Its op() makes control
 * calls with the rights of the kernel. A call names a channel by the handles that user
 * mode has registered. The registration keeps the channel, and does not keep the
 * handles: see README.md, known gaps.
 */
#include "gvm_uvm_hooks.h"

#include "gvm_uvm.h"
#include "nv-modeset-interface.h"
#include "gvm_rmapi.h"
#include "uvm_kvmalloc.h"
#include "uvm_va_space.h"

/* One control call. Returns 0 or an errno as gvm_uvm_services has it. */
static int gvm_uvm_control(u32 client, u32 object, u32 command, void *params, u32 bytes)
{
	nvidia_modeset_rm_ops_t ops = { .version_string = NV_VERSION_STRING };
	struct gvm_rm_control call = {
		.op = GVM_RM_CONTROL,
		.client = client,
		.object = object,
		.command = command,
		.params = (uintptr_t)params,
		.params_bytes = bytes,
	};
	nvidia_modeset_stack_ptr stack = NULL;

	if (nvidia_get_rm_ops(&ops) != NV_OK)
		return -EOPNOTSUPP;
	if (ops.alloc_stack(&stack))
		return -ENOMEM;
	ops.op(stack, &call);
	ops.free_stack(stack);
	switch (call.status) {
	case NV_OK:
		return 0;
	case NV_ERR_OBJECT_NOT_FOUND:
	case NV_ERR_INVALID_CLIENT:
		return -ENODEV;
	case NV_ERR_GPU_IS_LOST:
		return -ENXIO;
	case NV_ERR_TIMEOUT:
		return -ETIMEDOUT;
	case NV_ERR_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

int gvm_uvm_tsg_set_timeslice(const struct gvm_uvm_channel *channel, u64 timeslice_us)
{
	struct gvm_rm_timeslice params = { .us = timeslice_us };

	return gvm_uvm_control(channel->client, channel->tsg, GVM_RM_TSG_SET_TIMESLICE, &params,
			       sizeof(params));
}

/* Without a register that says when the TSG has left, RM waits for that: a second at most. */
int gvm_uvm_tsg_preempt(const struct gvm_uvm_channel *channel)
{
	struct gvm_rm_preempt params = { .wait = !channel->state };

	return gvm_uvm_control(channel->client, channel->tsg, GVM_RM_TSG_PREEMPT, &params,
			       sizeof(params));
}

int gvm_uvm_channels_disable(const struct gvm_uvm_channel *const *channels, u32 count,
			     bool disable, bool preempt)
{
	struct gvm_rm_disable_channels params = {
		.disable = disable,
		.count = count,
		.only_scheduling = !preempt,
	};

	BUILD_BUG_ON(GVM_UVM_CHANNELS_MAX != GVM_RM_DISABLE_CHANNELS_MAX);
	for (u32 i = 0; i < count; i++) {
		params.client[i] = channels[i]->client;
		params.channel[i] = channels[i]->object;
	}
	return gvm_uvm_control(channels[0]->client, channels[0]->subdevice,
			       GVM_RM_DISABLE_CHANNELS, &params, sizeof(params));
}

static int gvm_uvm_parent_of(u32 client, u32 object, u32 *ret_parent)
{
	struct gvm_rm_handle_info params = { .object = object,
					     .index = GVM_RM_HANDLE_INFO_PARENT };
	int status = gvm_uvm_control(client, client, GVM_RM_CLIENT_GET_HANDLE_INFO, &params,
				     sizeof(params));

	*ret_parent = params.result;
	return status;
}

/* The handles of what control calls are about: the channel's TSG, and the GPU of both. */
static int gvm_uvm_channel_handles(struct gvm_uvm_channel *channel)
{
	struct gvm_rm_child_handle params = { .class_id = GVM_RM_CLASS_SUBDEVICE };
	u32 client = channel->client;
	int status = gvm_uvm_parent_of(client, channel->object, &channel->tsg);

	if (!status)
		status = gvm_uvm_parent_of(client, channel->tsg, &params.parent);
	if (!status)
		status = gvm_uvm_control(client, client, GVM_RM_CLIENT_GET_CHILD_HANDLE,
					 &params, sizeof(params));
	channel->subdevice = params.object;
	return status;
}

/* The status that a process gets for a channel that is refused. */
static NV_STATUS gvm_uvm_channel_status(int error)
{
	switch (error) {
	case 0:
		return NV_OK;
	case -ENODEV:
		return NV_ERR_OBJECT_NOT_FOUND;
	case -ENXIO:
		return NV_ERR_GPU_IS_LOST;
	case -ETIMEDOUT:
		return NV_ERR_TIMEOUT;
	case -EOPNOTSUPP:
		return NV_ERR_NOT_SUPPORTED;
	case -EPERM:
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	case -ENOMEM:
		return NV_ERR_NO_MEMORY;
	default:
		return NV_ERR_INVALID_STATE;
	}
}

static void gvm_uvm_channel_refused(uvm_gpu_t *gpu, int status)
{
	pr_warn_ratelimited("gvm refuses a channel of process %d on %s: its TSG %s (%d)\n",
			    task_tgid_nr(current), uvm_gpu_name(gpu),
			    status == -EPERM ? "is in another container, as MPS has it" :
					       "cannot be controlled",
			    status);
}

/*
 * A channel whose TSG cannot get its container's settings is refused: a tenant that is frozen
 * could get one that runs. A channel without a TSG does not use the SMs. The VA space is locked
 * for reading, so the channel stays meanwhile, and it does not run yet.
 */
NV_STATUS gvm_uvm_channel_attach(uvm_user_channel_t *user_channel)
{
	uvm_gpu_t *gpu = user_channel->gpu;
	struct gvm_uvm_space *space =
		gvm_uvm_space_find(&gpu->pmm, user_channel->gpu_va_space->va_space);
	struct gvm_uvm_channel *channel;
	int status;

	if (!space || !user_channel->tsg.valid ||
	    user_channel->engine_type != UVM_GPU_CHANNEL_ENGINE_TYPE_GR)
		return NV_OK;
	channel = uvm_kvmalloc_zero(sizeof(*channel));
	if (!channel)
		return NV_ERR_NO_MEMORY;
	channel->space = space;
	channel->client = user_channel->user_rm_channel.user_client;
	channel->object = user_channel->user_rm_channel.user_object;
	channel->runlist = user_channel->hw_runlist_id;
	channel->tsg_id = user_channel->tsg.id;
	channel->state = user_channel->chram_channel_register;
	status = gvm_uvm_channel_handles(channel);
	if (!status)
		status = gvm_uvm_channel_keep(space->gpu, user_channel, channel);
	if (!status) {
		status = space->gpu->calls->channel_attach(channel);
		if (status)
			gvm_uvm_channel_drop(space->gpu, user_channel);
	}
	if (status) {
		gvm_uvm_channel_refused(gpu, status);
		uvm_kvfree(channel);
	}
	return gvm_uvm_channel_status(status);
}

/* RM has stopped the channel, and still has it. */
void gvm_uvm_channel_detach(uvm_user_channel_t *user_channel)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(&user_channel->gpu->pmm);
	struct gvm_uvm_channel *channel = NULL;

	if (gpu)
		channel = gvm_uvm_channel_drop(gpu, user_channel);
	if (!channel)
		return;
	gpu->calls->channel_detach(channel);
	uvm_kvfree(channel);
}
