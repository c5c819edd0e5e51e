#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Print softgpu_version.h: what the interface of a tree of NVIDIA's driver has. softgpu_driver.h tells
# what the names mean.
#
#   version.sh TREE
set -eu

interface=$1/common/inc/nv_uvm_interface.h
types=$1/common/inc/nv_uvm_types.h

# has NAME HEADER PATTERN: define NAME if the header, taken as one line, has the pattern
has() {
	if tr '\n' ' ' <"$2" | grep -qE "$3"; then
		echo "#define $1"
	fi
}

echo "/* SPDX-License-Identifier: MIT OR GPL-2.0 */"
has SOFTGPU_EVENTS_STRUCT "$interface" 'nvUvmInterfaceRegisterUvmEvents\('
has SOFTGPU_SPACE_ATS "$interface" 'nvUvmInterfaceAddressSpaceCreate\([^)]*enableAts'
has SOFTGPU_PAGE_DIRECTORY_DMA "$interface" 'nvUvmInterfaceSetPageDirectory\([^)]*dmaAddress'
has SOFTGPU_FLUSH_BY_INFO "$interface" 'nvUvmInterfaceFlushReplayableFaultBuffer\( *UvmGpuFaultInfo'
has SOFTGPU_TOGGLE_PREFETCH "$interface" 'nvUvmInterfaceTogglePrefetchFaults\('
has SOFTGPU_NVLINK_INFO "$interface" 'nvUvmInterfaceGetNvlinkInfo\('
has SOFTGPU_FATAL_ERROR "$interface" 'nvUvmInterfaceReportFatalError\('
has SOFTGPU_PMA_UNPIN "$interface" 'nvUvmInterfacePmaUnpinPages\('
has SOFTGPU_MAX_PAGE "$types" 'maxVidmemPageSize'
has SOFTGPU_RUNLIST_PRI "$types" 'pRunlistPRIBaseRegister'
has SOFTGPU_CONST_COUNTER "$types" 'accessCntrBufferCount'
