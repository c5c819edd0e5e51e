// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Peers. A GPU accesses another GPU's vidmem by PTEs with the aperture PEER, and by physical
 * addresses of the copy engine. RM has to have a P2P object for the pair. Over PCIe UVM asks
 * for it when a process enables peer access, over NVLink as soon as it knows both GPUs. A GPU
 * has ids of its own for its peers. So a test sees when a driver uses the id of another GPU.
 */
#include "softgpu.h"

/*
 * A GPU's id for another one: how many numbers the other one is ahead, in a circle. Ids have 3
 * bits, and 0 is none.
 */
static u32 softgpu_peer_id(const struct softgpu *gpu, const struct softgpu *peer)
{
	return (peer->number + SOFTGPU_GPUS - gpu->number) % SOFTGPU_GPUS;
}

struct softgpu *softgpu_peer(const struct softgpu *gpu, u32 id)
{
	u32 number = (gpu->number + id) % SOFTGPU_GPUS;

	if (!id || id >= SOFTGPU_GPUS || !test_bit(number, &gpu->peers))
		return NULL;
	return softgpu_rm_gpu(number);
}

void *softgpu_mapped(struct softgpu *gpu, const struct softgpu_mapping *mapping, u64 *bytes)
{
	struct softgpu *peer = NULL;

	if (mapping->aperture == SOFTGPU_PEER)
		peer = softgpu_peer(gpu, mapping->peer);
	return peer ? softgpu_physical(peer, SOFTGPU_VIDMEM, mapping->address, bytes) :
		      softgpu_physical(gpu, mapping->aperture, mapping->address, bytes);
}

NV_STATUS nvUvmInterfaceGetP2PCaps(uvmGpuDeviceHandle first, uvmGpuDeviceHandle second,
				   UvmGpuP2PCapsParams *ret_caps)
{
	const struct softgpu *gpus[] = { softgpu_of(first), softgpu_of(second) };

	memset(ret_caps, 0, sizeof(*ret_caps));
	for (u32 i = 0; i < 2; i++)
		ret_caps->peerIds[i] = softgpu_peer_id(gpus[i], gpus[1 - i]);
	ret_caps->p2pLink = gpus[0]->nvlink ? UVM_LINK_TYPE_NVLINK_3 : UVM_LINK_TYPE_PCIE;
	ret_caps->totalLinkLineRateMBps = gpus[0]->nvlink ? 300000 : 25000;
	return NV_OK;
}

/* The handle of an object names both GPUs. */
NV_STATUS nvUvmInterfaceP2pObjectCreate(uvmGpuDeviceHandle first, uvmGpuDeviceHandle second,
					NvHandle *ret_object)
{
	struct softgpu *gpu = softgpu_of(first), *peer = softgpu_of(second);

	if (gpu == peer || test_and_set_bit(peer->number, &gpu->peers))
		return NV_ERR_INVALID_ARGUMENT;
	set_bit(gpu->number, &peer->peers);
	*ret_object = 1 + gpu->number * SOFTGPU_GPUS + peer->number;
	return NV_OK;
}

void nvUvmInterfaceP2pObjectDestroy(uvmGpuSessionHandle session, NvHandle object)
{
	u32 number = (object - 1) / SOFTGPU_GPUS, peer = (object - 1) % SOFTGPU_GPUS;
	struct softgpu *gpu = softgpu_rm_gpu(number);

	if (WARN_ON(!gpu || !test_and_clear_bit(peer, &gpu->peers)))
		return;
	clear_bit(number, &softgpu_rm_gpu(peer)->peers);
}
