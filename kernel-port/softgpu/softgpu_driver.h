/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * NVIDIA's driver, as the software GPU sees it: the interface between nvidia-uvm.ko and
 * nvidia.ko, and the classes and registers of GPUs of Ampere and Hopper. The headers are those
 * of the tree that nvidia-uvm.ko is built from; none of them is here.
 *
 * The interface differs from version to version. version.sh looks into the tree's headers and
 * writes softgpu_version.h, with these names defined where they hold:
 *
 *   SOFTGPU_EVENTS_STRUCT       RegisterUvmEvents() has replaced RegisterUvmCallbacks()
 *   SOFTGPU_SPACE_ATS           AddressSpaceCreate() has an argument for ATS
 *   SOFTGPU_PAGE_DIRECTORY_DMA  SetPageDirectory() returns a DMA address
 *   SOFTGPU_FLUSH_BY_INFO       FlushReplayableFaultBuffer() gets the fault info, not the
 *                               device
 *   SOFTGPU_TOGGLE_PREFETCH     there is a TogglePrefetchFaults()
 *   SOFTGPU_NVLINK_INFO         there is a GetNvlinkInfo()
 *   SOFTGPU_FATAL_ERROR         there is a ReportFatalError()
 *   SOFTGPU_PMA_UNPIN           there is a PmaUnpinPages()
 *   SOFTGPU_MAX_PAGE            UvmGpuFbInfo has maxVidmemPageSize
 *   SOFTGPU_RUNLIST_PRI         UvmGpuChannelInstanceInfo has pRunlistPRIBaseRegister
 *   SOFTGPU_CONST_COUNTER       EnableAccessCntr() takes a pointer to const
 *
 * Functions that are declared and that no file here defines are generated (stubs.sh): they say
 * their name once and return NV_ERR_NOT_SUPPORTED.
 */
#ifndef SOFTGPU_DRIVER_H
#define SOFTGPU_DRIVER_H

#include "nv_uvm_interface.h"

#include "clc369.h"	/* packets of the fault buffer */
#include "clc56f.h"	/* host methods */
#include "clc6b5.h"	/* methods of the copy engine */
#include "clc86f.h"	/* what Hopper has more of host methods */
#include "clc8b5.h"	/* and of copy methods */
#include "ctrl2080mc.h" /* architectures */

#include "softgpu_version.h"

#endif
