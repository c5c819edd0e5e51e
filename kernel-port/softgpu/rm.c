// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The RM interface: sessions, the GPU and what it can do. UVM registers its callbacks, opens a
 * session, then a GPU, a device on it, fault buffers, an address space, the PMA, TSGs and
 * channels, in this order. Memory and address spaces are in rm_space.c, channels in channel.c,
 * faults in fault_buffer.c, access counters in counters.c.
 */
#include "softgpu.h"

static struct softgpu *softgpu_rm_gpus[SOFTGPU_GPUS]; /* by number */

void softgpu_rm_add(struct softgpu *gpu)
{
	softgpu_rm_gpus[gpu->number] = gpu;
}

struct softgpu *softgpu_rm_gpu(u32 number)
{
	return number < SOFTGPU_GPUS ? softgpu_rm_gpus[number] : NULL;
}

/* By the UUID of the GPU, or of an instance of it. */
static struct softgpu *softgpu_find(const NvProcessorUuid *uuid)
{
	struct softgpu *gpu;

	for (u32 i = 0; (gpu = softgpu_rm_gpu(i)); i++)
		if (memcmp(uuid, &gpu->uuid, SOFTGPU_UUID_INSTANCE) == 0)
			return gpu;
	return NULL;
}

NV_STATUS nvUvmInterfaceSessionCreate(uvmGpuSessionHandle *ret_session,
				      UvmPlatformInfo *ret_info)
{
	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->atsSupported = softgpu_has_ats();
	*ret_session = (uvmGpuSessionHandle)softgpu_rm_gpu(0);
	return NV_OK;
}

NV_STATUS nvUvmInterfaceSessionDestroy(uvmGpuSessionHandle session)
{
	return NV_OK;
}

#ifdef SOFTGPU_EVENTS_STRUCT
NV_STATUS nvUvmInterfaceRegisterUvmEvents(struct UvmEventsLinux *callbacks)
#else
NV_STATUS nvUvmInterfaceRegisterUvmCallbacks(struct UvmOpsUvmEvents *callbacks)
#endif
{
	struct softgpu *gpu;

	for (u32 i = 0; (gpu = softgpu_rm_gpu(i)); i++) {
		down_write(&gpu->uvm_lock);
		gpu->uvm = callbacks;
		up_write(&gpu->uvm_lock);
	}
	return NV_OK;
}

#ifdef SOFTGPU_EVENTS_STRUCT
void nvUvmInterfaceDeRegisterUvmEvents(void)
#else
void nvUvmInterfaceDeRegisterUvmOps(void)
#endif
{
	struct softgpu *gpu;

	for (u32 i = 0; (gpu = softgpu_rm_gpu(i)); i++) {
		down_write(&gpu->uvm_lock);
		gpu->uvm = NULL;
		up_write(&gpu->uvm_lock);
	}
}

NV_STATUS nvUvmInterfaceRegisterGpu(const NvProcessorUuid *uuid, UvmGpuPlatformInfo *ret_info)
{
	struct softgpu *gpu = softgpu_find(uuid);

	if (!gpu)
		return NV_ERR_GPU_UUID_NOT_FOUND;
	ret_info->pci_dev = gpu->pci;
	ret_info->dma_addressable_start = 0;
	ret_info->dma_addressable_limit = BIT_ULL(SOFTGPU_DMA_BITS) - 1;
	return NV_OK;
}

void nvUvmInterfaceUnregisterGpu(const NvProcessorUuid *uuid)
{
}

/* MIG: the client names an instance. Numbers begin with 1: a driver takes 0 for none. */
static NV_STATUS softgpu_describe_instance(const struct softgpu *gpu,
					   const UvmGpuClientInfo *client, UvmGpuInfo *info)
{
	u32 instance = client->hSmcPartRef;

	if (!gpu->instances)
		return NV_OK;
	if (!instance || instance > gpu->instances)
		return NV_ERR_OBJECT_NOT_FOUND;
	info->smcEnabled = NV_TRUE;
	info->smcSwizzId = instance;
	info->smcUserClientInfo = *client;
	info->uuid.uuid[SOFTGPU_UUID_INSTANCE] = instance;
	return NV_OK;
}

NV_STATUS nvUvmInterfaceGetGpuInfo(const NvProcessorUuid *uuid, const UvmGpuClientInfo *client,
				   UvmGpuInfo *ret_info)
{
	struct softgpu *gpu = softgpu_find(uuid);

	if (!gpu)
		return NV_ERR_GPU_UUID_NOT_FOUND;
	memset(ret_info, 0, sizeof(*ret_info));
	strscpy(ret_info->name, "Software GPU", sizeof(ret_info->name));
	ret_info->uuid = *uuid;
	ret_info->gpuArch = gpu->chip->architecture;
	ret_info->hostClass = gpu->chip->host_class;
	ret_info->ceClass = gpu->chip->copy_class;
	ret_info->computeClass = gpu->chip->compute_class;
	ret_info->subdeviceCount = 1;
	ret_info->gpcCount = 7;
	ret_info->maxGpcCount = 8;
	ret_info->tpcCount = 54;
	ret_info->maxTpcPerGpcCount = 8;
	ret_info->sysmemLink = UVM_LINK_TYPE_PCIE;
	ret_info->sysmemLinkRateMBps = 25000;
#ifdef SOFTGPU_CONST_COUNTER
	ret_info->accessCntrBufferCount = 1;
#endif
	return softgpu_describe_instance(gpu, client, ret_info);
}

NV_STATUS nvUvmInterfaceDeviceCreate(uvmGpuSessionHandle session, const UvmGpuInfo *info,
				     const NvProcessorUuid *uuid,
				     uvmGpuDeviceHandle *ret_device, NvBool partition)
{
	struct softgpu *gpu = softgpu_find(uuid);

	if (!gpu)
		return NV_ERR_GPU_UUID_NOT_FOUND;
	if (partition && (!info->smcSwizzId || info->smcSwizzId > gpu->instances))
		return NV_ERR_INVALID_ARGUMENT;
	*ret_device = (uvmGpuDeviceHandle)&gpu->parts[partition ? info->smcSwizzId - 1 : 0];
	return NV_OK;
}

void nvUvmInterfaceDeviceDestroy(uvmGpuDeviceHandle device)
{
}

NV_STATUS nvUvmInterfaceQueryCaps(uvmGpuDeviceHandle device, UvmGpuCaps *ret_caps)
{
	memset(ret_caps, 0, sizeof(*ret_caps));
	return NV_OK;
}

NV_STATUS nvUvmInterfaceGetFbInfo(uvmGpuDeviceHandle device, UvmGpuFbInfo *ret_info)
{
	const struct softgpu_pma *pma = &((struct softgpu_part *)device)->pma;

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->maxAllocatableAddress = pma->end * SOFTGPU_CHUNK - 1;
	ret_info->heapSize = (pma->end - pma->begin) * SOFTGPU_CHUNK >> 10;
	ret_info->reservedHeapSize = SOFTGPU_RESERVED >> 10;
#ifdef SOFTGPU_MAX_PAGE
	ret_info->maxVidmemPageSize = SOFTGPU_CHUNK;
#endif
	return NV_OK;
}

NV_STATUS nvUvmInterfaceGetEccInfo(uvmGpuDeviceHandle device, UvmGpuEccInfo *ret_info)
{
	struct softgpu *gpu = softgpu_of(device);

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->bEccEnabled = NV_TRUE;
	ret_info->eccMask = 1;
	ret_info->eccReadLocation = &gpu->ecc_interrupt;
	ret_info->eccErrorNotifier = &gpu->ecc_error;
	return NV_OK;
}

#ifdef SOFTGPU_NVLINK_INFO
NV_STATUS nvUvmInterfaceGetNvlinkInfo(uvmGpuDeviceHandle device, UvmGpuNvlinkInfo *ret_info)
{
	memset(ret_info, 0, sizeof(*ret_info));
	return NV_OK;
}
#endif

/* RM reads the ECC interrupt and sets the notifier. */
NV_STATUS nvUvmInterfaceServiceDeviceInterruptsRM(uvmGpuDeviceHandle device)
{
	struct softgpu *gpu = softgpu_of(device);

	if (READ_ONCE(gpu->lost))
		return NV_ERR_GPU_IS_LOST;
	if (xchg(&gpu->ecc_interrupt, 0))
		WRITE_ONCE(gpu->ecc_error, NV_TRUE);
	return NV_OK;
}

#ifdef SOFTGPU_FATAL_ERROR
void nvUvmInterfaceReportFatalError(NV_STATUS error)
{
	pr_err("softgpu: UVM reports the fatal error %x\n", error);
}
#endif
