// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Two GPUs, each of which can access the other's vidmem once RM has a P2P object for both: by PTEs with the aperture
 * PEER, and by physical addresses of the copy engine. Each names the other by an id of its own, so that ids which are
 * mixed up lead nowhere. Over PCIe UVM asks for the object when a process enables peer access; over NVLink as
 * soon as it knows both.
 */
#include "softgpu.h"

#define SOFTGPU_P2P_HANDLE 1u /* there is one object at most */

u32 softgpu_peer_id(const struct softgpu *gpu)
{
	return SOFTGPU_GPUS - gpu->number;
}

bool softgpu_is_peer(const struct softgpu *gpu, u32 id)
{
	return gpu->peer && READ_ONCE(gpu->p2p) && id == softgpu_peer_id(gpu);
}

NV_STATUS nvUvmInterfaceGetP2PCaps(uvmGpuDeviceHandle first, uvmGpuDeviceHandle second,
				   UvmGpuP2PCapsParams *ret_caps)
{
	const struct softgpu *gpus[] = { softgpu_of(first), softgpu_of(second) };

	memset(ret_caps, 0, sizeof(*ret_caps));
	for (u32 i = 0; i < 2; i++)
		ret_caps->peerIds[i] = softgpu_peer_id(gpus[i]);
	ret_caps->p2pLink = gpus[0]->nvlink ? UVM_LINK_TYPE_NVLINK_3 : UVM_LINK_TYPE_PCIE;
	ret_caps->totalLinkLineRateMBps = gpus[0]->nvlink ? 300000 : 25000;
	return NV_OK;
}

static void softgpu_p2p_set(bool p2p)
{
	struct softgpu *gpu;

	for (u32 i = 0; (gpu = softgpu_rm_gpu(i)); i++)
		WRITE_ONCE(gpu->p2p, p2p);
}

NV_STATUS nvUvmInterfaceP2pObjectCreate(uvmGpuDeviceHandle first, uvmGpuDeviceHandle second,
					NvHandle *ret_object)
{
	struct softgpu *gpu = softgpu_of(first);

	if (gpu->peer != softgpu_of(second) || READ_ONCE(gpu->p2p))
		return NV_ERR_INVALID_ARGUMENT;
	softgpu_p2p_set(true);
	*ret_object = SOFTGPU_P2P_HANDLE;
	return NV_OK;
}

void nvUvmInterfaceP2pObjectDestroy(uvmGpuSessionHandle session, NvHandle object)
{
	if (!WARN_ON(object != SOFTGPU_P2P_HANDLE))
		softgpu_p2p_set(false);
}
