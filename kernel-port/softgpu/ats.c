// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * ATS, by which a GPU reads the page tables of the CPU. With the parameter ats=1 RM says that
 * the platform has it. UVM wants an IOMMU with SVA in front of the GPU then, and a virtual
 * machine has none. So one is put there that only says yes. No address space of this GPU has
 * ATS, and so nothing else is asked of it.
 */
#include "softgpu.h"

#include <linux/iommu.h>
#include <linux/pci.h>

#if IS_ENABLED(CONFIG_IOMMU_SVA)

static int softgpu_iommu_feature(struct device *device, enum iommu_dev_features feature)
{
	return feature == IOMMU_DEV_FEAT_SVA ? 0 : -ENODEV;
}

static const struct iommu_ops softgpu_iommu_ops = {
	.dev_enable_feat = softgpu_iommu_feature,
	.dev_disable_feat = softgpu_iommu_feature,
};
static struct iommu_device softgpu_iommu = { .ops = &softgpu_iommu_ops };
static struct dev_iommu softgpu_dev_iommu = { .iommu_dev = &softgpu_iommu };

void softgpu_ats_begin(struct pci_dev *pci)
{
	if (!pci->dev.iommu)
		pci->dev.iommu = &softgpu_dev_iommu;
}

void softgpu_ats_end(struct pci_dev *pci)
{
	if (pci->dev.iommu == &softgpu_dev_iommu)
		pci->dev.iommu = NULL;
}

#else

void softgpu_ats_begin(struct pci_dev *pci)
{
}

void softgpu_ats_end(struct pci_dev *pci)
{
}

#endif
