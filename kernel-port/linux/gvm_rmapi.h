/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * RM's control interface, as far as the hooks in nvidia-uvm.ko use it: what modules give to
 * nvidia_get_rm_ops(), of nvidia.ko or of the software GPU. NVIDIA's headers for it are not in
 * the kernel-open folder, so the numbers and layouts are here. Names are NVIDIA's, with GVM_RM_
 * before those of its control commands. SOFTGPU_CONTROL of /dev/softgpu takes the same from user
 * mode.
 */
#ifndef GVM_RMAPI_H
#define GVM_RMAPI_H

#include <linux/types.h>

#define GVM_RM_CONTROL 54u

/*
 * What nvidia_modeset_rm_ops_t::op() takes: nvidia_kernel_rmapi_ops_t with NVOS54_PARAMETERS.
 */
struct gvm_rm_control {
	__u32 op; /* GVM_RM_CONTROL */
	__u32 pad;
	__u32 client;
	__u32 object;
	__u32 command;
	__u32 flags;
	__u64 params; /* a pointer to the command's parameters */
	__u32 params_bytes;
	__u32 status; /* out: NV_STATUS */
};

/*
 * Control calls of a client about its objects. The parent of a channel is its TSG, whose parent
 * is the device. A child is asked for by RM's own number of its class, which is the same in 535 to
 * 595 (__nvoc_class_id_Subdevice). An H200's driver gives both to any user
 * (plots/reference/hardware/h200-580-freeze.txt).
 */
#define GVM_RM_CLIENT_GET_HANDLE_INFO 0xd02u
#define GVM_RM_HANDLE_INFO_PARENT     1u
struct gvm_rm_handle_info {
	__u32 object;
	__u32 index; /* GVM_RM_HANDLE_INFO_PARENT */
	union {
		__u32 result;
		__u64 pad;
	};
};

#define GVM_RM_CLIENT_GET_CHILD_HANDLE 0xd05u
#define GVM_RM_CLASS_SUBDEVICE	       0x4b01b3u
struct gvm_rm_child_handle {
	__u32 parent;
	__u32 class_id;
	__u32 object; /* out */
};

/* Of a TSG. Its slice; RM's own is 1024 us. */
#define GVM_RM_TSG_SET_TIMESLICE 0xa06c0103u
#define GVM_RM_TSG_GET_TIMESLICE 0xa06c0104u
struct gvm_rm_timeslice {
	__u64 us;
};

/*
 * Of a TSG: its process puts it on the runlist. Its channels may run from then on, also those that
 * were disabled before, as an H200's driver says. Without enable it does nothing there.
 */
#define GVM_RM_TSG_SCHEDULE 0xa06c0101u
struct gvm_rm_schedule {
	__u8 enable;
	__u8 skip_submit;
	__u8 skip_enable;
};

/* Of a TSG: it leaves the GPU. NV_ERR_TIMEOUT if it has not left in time. */
#define GVM_RM_TSG_PREEMPT	  0xa06c0105u
#define GVM_RM_PREEMPT_TIMEOUT_US 1000000u /* the longest, and without manual_timeout */
struct gvm_rm_preempt {
	__u8 wait;
	__u8 manual_timeout;
	__u32 timeout_us;
};

/*
 * Of a subdevice, and of nothing else: channels may not run, or may again. Takes 0.6 ms on an
 * H200, and 0.4 ms to let 20 channels run again.
 */
#define GVM_RM_DISABLE_CHANNELS	    0x2080110bu
#define GVM_RM_DISABLE_CHANNELS_MAX 64u
struct gvm_rm_disable_channels {
	__u8 disable;
	__u32 count;
	__u8 only_scheduling; /* those that run go on until they leave the GPU by themselves */
	__u8 rewind_put;
	__u64 preempt_event;
	__u32 client[GVM_RM_DISABLE_CHANNELS_MAX];
	__u32 channel[GVM_RM_DISABLE_CHANNELS_MAX];
};

#endif
