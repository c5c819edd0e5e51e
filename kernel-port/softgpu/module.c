// SPDX-License-Identifier: MIT OR GPL-2.0
/* softgpu.ko: its parameters, and the GPUs that there are. */
#include "softgpu.h"

#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pci.h>

static unsigned int vidmem_mb = 128;
module_param(vidmem_mb, uint, 0444);
MODULE_PARM_DESC(vidmem_mb, "device memory in MB, even, at least 32, at most 131072 (ampere) "
			    "or 1048576 (hopper); the last 16 are RM's");

static unsigned int fault_entries = 4096;
module_param(fault_entries, uint, 0444);
MODULE_PARM_DESC(fault_entries, "entries of the replayable fault buffer");

static char *chip = "ampere";
module_param(chip, charp, 0444);
MODULE_PARM_DESC(chip, "ampere or hopper");

static unsigned int gpus = 1;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "1 to 3");

static bool nvlink;
module_param(nvlink, bool, 0444);
MODULE_PARM_DESC(nvlink, "GPUs are connected by NVLink, not by PCIe");

static unsigned int instances;
module_param(instances, uint, 0444);
MODULE_PARM_DESC(instances, "of MIG in each GPU, which they divide evenly; 0: MIG is off");

static bool ats;
module_param(ats, bool, 0444);
MODULE_PARM_DESC(ats, "RM says that the platform has ATS. No address space has it");

/* QEMU's -device pci-testdev. */
static unsigned int pci_vendor = 0x1b36;
module_param(pci_vendor, uint, 0444);
MODULE_PARM_DESC(pci_vendor, "vendor of the PCI device that host memory is mapped for");

static unsigned int pci_device = 0x0005;
module_param(pci_device, uint, 0444);
MODULE_PARM_DESC(pci_device, "and its device id");

static unsigned int patience_ms = 30000;
module_param(patience_ms, uint, 0444);
MODULE_PARM_DESC(
	patience_ms,
	"an access or a push that waits for UVM ends when UVM has done nothing for so long");

static struct softgpu softgpu_all[SOFTGPU_GPUS];

/* The device of a GPU: each has one of its own, if there are so many. NULL: there is none. */
static struct pci_dev *softgpu_find_pci(u32 number)
{
	struct pci_dev *pci = pci_get_device(pci_vendor, pci_device, NULL);

	for (u32 i = 0; pci && i < number; i++) {
		struct pci_dev *next = pci_get_device(pci_vendor, pci_device, pci_dev_get(pci));

		if (!next)
			break;
		pci_dev_put(pci);
		pci = next;
	}
	return pci;
}

bool softgpu_has_ats(void)
{
	return ats;
}

/* Its memory, less RM's own, in equal parts. */
static int softgpu_parts_init(struct softgpu *gpu)
{
	u64 chunks = (gpu->vidmem_bytes - SOFTGPU_RESERVED) / SOFTGPU_CHUNK;
	u32 parts = max(instances, 1u);
	int status = 0;

	gpu->instances = instances;
	for (u32 i = 0; i < parts && !status; i++) {
		gpu->parts[i].gpu = gpu;
		gpu->parts[i].number = i;
		status = softgpu_pma_init(&gpu->parts[i], i * (chunks / parts),
					  (i + 1) * (chunks / parts));
	}
	return status;
}

/* Also what softgpu_init() has begun, or never began. */
static void softgpu_destroy(struct softgpu *gpu)
{
	softgpu_device_destroy(gpu);
	if (!IS_ERR_OR_NULL(gpu->engine))
		kthread_stop(gpu->engine);
	softgpu_faults_destroy(gpu);
	for (u32 i = 0; i < SOFTGPU_INSTANCES; i++)
		softgpu_pma_destroy(&gpu->parts[i]);
	softgpu_memory_destroy(gpu);
	softgpu_events_destroy(gpu);
	if (gpu->pci)
		softgpu_ats_end(gpu->pci);
	pci_dev_put(gpu->pci);
}

static int softgpu_init(struct softgpu *gpu)
{
	int status;

	if (strcmp(chip, softgpu_ampere.name) == 0) {
		gpu->chip = &softgpu_ampere;
	} else if (strcmp(chip, softgpu_hopper.name) == 0) {
		gpu->chip = &softgpu_hopper;
	} else {
		pr_err("softgpu: there is no chip %s, only ampere and hopper\n", chip);
		return -EINVAL;
	}
	mutex_init(&gpu->lock);
	init_rwsem(&gpu->walkers);
	init_rwsem(&gpu->uvm_lock);
	softgpu_scheduler_init(gpu);
	softgpu_counters_init(gpu);
	softgpu_engine_faults_init(gpu);
	INIT_LIST_HEAD(&gpu->channels);
	INIT_LIST_HEAD(&gpu->spaces);
	INIT_LIST_HEAD(&gpu->user_channels);
	BUILD_BUG_ON(sizeof(SOFTGPU_UUID) > sizeof(gpu->uuid));
	memcpy(&gpu->uuid, SOFTGPU_UUID, sizeof(SOFTGPU_UUID));
	gpu->uuid.uuid[SOFTGPU_UUID_NUMBER] += gpu->number;
	gpu->nvlink = nvlink;
	gpu->patience = msecs_to_jiffies(patience_ms);
	gpu->pci = softgpu_find_pci(gpu->number);
	if (!gpu->pci) {
		pr_err("softgpu: there is no PCI device %04x:%04x to map host memory for\n",
		       pci_vendor, pci_device);
		return -ENODEV;
	}
	if (ats)
		softgpu_ats_begin(gpu->pci);
	status = dma_set_mask_and_coherent(&gpu->pci->dev, DMA_BIT_MASK(SOFTGPU_DMA_BITS));
	if (!status)
		status = softgpu_events_init(gpu);
	if (!status)
		status = softgpu_memory_init(gpu, (u64)vidmem_mb << 20);
	if (!status)
		status = softgpu_parts_init(gpu);
	if (!status)
		status = softgpu_faults_init(gpu, fault_entries);
	if (status)
		return status;
	gpu->engine = kthread_run(softgpu_channel_engine, gpu, "softgpu engine");
	if (IS_ERR(gpu->engine))
		return PTR_ERR(gpu->engine);
	softgpu_rm_add(gpu);
	return softgpu_device_init(gpu);
}

static void softgpu_destroy_all(void)
{
	for (u32 i = 0; i < gpus; i++)
		softgpu_destroy(&softgpu_all[i]);
}

static int __init softgpu_module_init(void)
{
	int status = 0;

	if (!gpus || gpus > SOFTGPU_GPUS) {
		pr_err("softgpu: gpus=%u, and it has to be 1 to %u\n", gpus, SOFTGPU_GPUS);
		return -EINVAL;
	}
	if (instances > SOFTGPU_INSTANCES) {
		pr_err("softgpu: instances=%u, and it has to be at most %u\n", instances,
		       SOFTGPU_INSTANCES);
		return -EINVAL;
	}
	for (u32 i = 0; i < gpus && !status; i++) {
		softgpu_all[i].number = i;
		status = softgpu_init(&softgpu_all[i]);
	}
	if (status)
		softgpu_destroy_all();
	return status;
}

static void __exit softgpu_module_exit(void)
{
	softgpu_destroy_all();
}

module_init(softgpu_module_init);
module_exit(softgpu_module_exit);

MODULE_DESCRIPTION("a software GPU below nvidia-uvm.ko");
MODULE_LICENSE("Dual MIT/GPL");
