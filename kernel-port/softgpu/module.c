// SPDX-License-Identifier: MIT OR GPL-2.0
/* softgpu.ko: its parameters, and the one GPU that there is. */
#include "softgpu.h"

#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pci.h>

static unsigned int vidmem_mb = 128;
module_param(vidmem_mb, uint, 0444);
MODULE_PARM_DESC(vidmem_mb, "device memory in MB, even, at least 32; the last 16 are RM's");

static unsigned int fault_entries = 4096;
module_param(fault_entries, uint, 0444);
MODULE_PARM_DESC(fault_entries, "entries of the replayable fault buffer");

static char *chip = "ampere";
module_param(chip, charp, 0444);
MODULE_PARM_DESC(chip, "ampere or hopper");

/* QEMU's -device pci-testdev. */
static unsigned int pci_vendor = 0x1b36;
module_param(pci_vendor, uint, 0444);
MODULE_PARM_DESC(pci_vendor, "vendor of the PCI device that host memory is mapped for");

static unsigned int pci_device = 0x0005;
module_param(pci_device, uint, 0444);
MODULE_PARM_DESC(pci_device, "and its device id");

static struct softgpu softgpu_only;

static void softgpu_destroy(struct softgpu *gpu)
{
	if (!IS_ERR_OR_NULL(gpu->engine))
		kthread_stop(gpu->engine);
	softgpu_faults_destroy(gpu);
	softgpu_pma_destroy(gpu);
	softgpu_memory_destroy(gpu);
	softgpu_events_destroy(gpu);
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
	gpu->pci = pci_get_device(pci_vendor, pci_device, NULL);
	if (!gpu->pci) {
		pr_err("softgpu: there is no PCI device %04x:%04x to map host memory for\n",
		       pci_vendor, pci_device);
		return -ENODEV;
	}
	status = dma_set_mask_and_coherent(&gpu->pci->dev, DMA_BIT_MASK(SOFTGPU_DMA_BITS));
	if (!status)
		status = softgpu_events_init(gpu);
	if (!status)
		status = softgpu_memory_init(gpu, (u64)vidmem_mb << 20);
	if (!status)
		status = softgpu_pma_init(gpu);
	if (!status)
		status = softgpu_faults_init(gpu, fault_entries);
	if (status)
		return status;
	gpu->engine = kthread_run(softgpu_channel_engine, gpu, "softgpu engine");
	return PTR_ERR_OR_ZERO(gpu->engine);
}

static int __init softgpu_module_init(void)
{
	int status = softgpu_init(&softgpu_only);

	if (!status) {
		softgpu_rm_init(&softgpu_only);
		softgpu_rmapi_init(&softgpu_only);
		status = softgpu_device_init(&softgpu_only);
	}
	if (status)
		softgpu_destroy(&softgpu_only);
	return status;
}

static void __exit softgpu_module_exit(void)
{
	softgpu_device_destroy();
	softgpu_destroy(&softgpu_only);
}

module_init(softgpu_module_init);
module_exit(softgpu_module_exit);

MODULE_DESCRIPTION("a software GPU below nvidia-uvm.ko");
MODULE_LICENSE("Dual MIT/GPL");
