/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A small CUDA runtime over a simulated GPU: what an application sees of the machine.
 *
 *     application     cuda_malloc_managed()  cuda_launch()  cuda_memcpy()  cuda_synchronize()
 *     this room       memory                 streams of operations         launch counts
 *     sim/gpu         managed ranges         TSG of the host engine, link  memory manager
 *
 * Applications know memory by its virtual address and size, and work as operations of streams:
 * bursts of equal kernels with a list of what they access, copies, events. They know nothing of
 * ranges, page tables or channels. Contexts, streams and events are in stream.h.
 *
 * The runtime owns each operation from its call to its end. An application that is interrupted
 * simply returns: cuda_context_destroy() fails its queued work.
 *
 * The runtime also counts launches, as the user-space shim of GVM 4.4 does by interposing CUDA
 * calls: device.h.
 */
#ifndef SIM_CUDA_CUDA_H
#define SIM_CUDA_CUDA_H

#include "cuda/stream.h"
#include "gvm/pressure.h"

/*
 * Memory of cudaMallocManaged, or of cudaMalloc. It stays until it is freed, or the process
 * exits.
 * All-zero is an allocation of no bytes, and may be given to every call.
 */
struct cuda_memory {
	struct cuda_context *context;
	u64 va;	   /* a multiple of a chunk */
	u64 bytes; /* as asked for */
	u32 chunks;
	struct gvm_range *range; /* of sim/gpu; NULL: empty or unmanaged */
	bool unmanaged;		 /* cudaMalloc: always on the GPU */
};

enum cuda_mode { CUDA_READ, CUDA_WRITE };

/*
 * What a kernel accesses: @chunks chunks of 2 MB of an allocation, from chunk @first on, in
 * order. Without @masks these are all pages. Else chunks come in groups of @chunks_per_mask,
 * which share a mask of the pages of 64 KB that are accessed in each, masks[(chunk - first) /
 * chunks_per_mask]; and bit number group of @groups is set if its mask is not zero. Both are
 * borrowed until the kernels have ended, and stay as they are until then.
 */
struct cuda_access {
	const struct cuda_memory *memory;
	u32 first;
	u32 chunks;
	/*
	 * Kernels that access them: each an equal part, all at once. 0: bit by bit, all
	 * kernels.
	 */
	u32 kernels;
	u32 rows_per_page; /* of a matrix, as in struct gmmu_touch; 0: no matrix */
	u32 remote_reads;  /* as in struct gmmu_touch */
	enum cuda_mode mode;
	const u32 *masks;
	const u64 *groups;
	/*
	 * Of each word of @groups, and after the last: bits set in the words before. NULL:
	 * they are counted each time, which is slow for thousands of groups.
	 */
	const u32 *ranks;
	u32 chunks_per_mask;
};

/* Words of cuda_access.groups for @masks masks; and set their bits. */
#define CUDA_GROUP_WORDS(masks) GMMU_GROUP_WORDS(masks)
static inline void cuda_index_masks(const u32 *masks, u32 count, u64 *ret_groups)
{
	gmmu_index_masks(masks, count, ret_groups);
}

/* A burst: equal kernels that the host launches one after the other. */
struct cuda_burst_config {
	u32 kernels;   /* at least 1 */
	u64 kernel_ns; /* GPU time of each, at least 1 */
	u64 launch_ns; /* host time of each launch */
	bool graph;    /* a CUDA graph: one launch for all of them, of kernels x launch_ns */
	u32 occupancy_ppm; /* share of what all SMs can hold; 0 is all */
	/* Beside kernels of others: as in struct fifo_burst. */
	u32 sm_ppm;
	u32 sm_need_ppm;
	u32 sm_busy_ppm;
	u32 sm_fixed_ppm;
	u32 sm_open_ppm;
	u32 sm_turns_ppm;
	u32 bandwidth_ppm;
	/* pages of one chunk that its warps access side by side; 0: the GPU's */
	u32 pages_at_once;
	u32 faults_per_page; /* threads with addresses of their own in a page; 0 is 1 */
	/*
	 * What kernels access bit by bit they go through in order, and fault on the next blocks
	 * of it, gpu.fault.front. Else the threads of a kernel fault on all of it side by side.
	 */
	bool in_fronts;
	struct cuda_stream *stream;	    /* NULL: the default stream */
	const struct cuda_access *accesses; /* in order; copied. Empty ones are left out */
	u32 access_count;
};

/* Where a copy or a prefetch goes. */
enum cuda_location { CUDA_DEVICE, CUDA_HOST };

/*
 * Blocking: the process exits. Its queued work fails, its memory goes back, its launches count
 * as ended. Twice is once.
 */
void cuda_process_exit(struct cuda_context *context);

/*
 * Did a context die because a fault, or the context itself, found no memory? False: it lives,
 * or it was killed. For a process that has not exited.
 */
bool cuda_died_of_memory(const struct cuda_context *context);

/*
 * Blocking: allocate @bytes of managed memory; 0 gives an empty allocation. @on_host: the
 * application has filled it on the CPU, so first accesses copy it in. Returns 0 or -ENOMEM
 * (also: the process has SIM_PROCESS_RANGES_MAX allocations).
 */
int cuda_malloc_managed(struct cuda_context *context, u64 bytes, bool on_host,
			struct cuda_memory *ret_memory);

/*
 * Blocking: advice on all of a new allocation (cuMemAdvise). Where the memory manager does not
 * know it, or has no memory for it, the allocation is as it would be without.
 */
void cuda_advise(const struct cuda_memory *memory, enum cuda_advice advice);

/*
 * Blocking: allocate @bytes of device memory that no driver pages (cudaMalloc), and with
 * @on_host copy the application's data there. If there is no room for it, the context dies
 * (gpu/unmanaged.h). Returns 0, or -ENOMEM or -EINTR from the copy.
 */
int cuda_malloc(struct cuda_context *context, u64 bytes, bool on_host,
		struct cuda_memory *ret_memory);

/*
 * Blocking: wait until all work of the context has ended, as cudaFree does, and free an
 * allocation: chunks, page tables and charge go back. It is empty then. Returns 0, or -EINTR:
 * it stays.
 */
int cuda_free(struct cuda_memory *memory);

/* All of an allocation; or the chunks of its first @bytes. */
struct cuda_access cuda_access_all(const struct cuda_memory *memory, enum cuda_mode mode);
struct cuda_access cuda_access_head(const struct cuda_memory *memory, u64 bytes,
				    enum cuda_mode mode);

/*
 * Let an access be one of @matrices equal weight matrices, each read by one product of few
 * tokens; 0: it stays bit by bit. The product's thread blocks read rows side by side, which lie
 * more than 4 KB apart in a large matrix: so it misses in a page at fewer addresses than a
 * kernel that reads all of it. A matrix is taken for a square one of 2-byte numbers.
 */
void cuda_access_matrices(struct cuda_access *access, u64 matrices);

/*
 * Part number @part of @parts equal ones of an access without masks, such as the weights of one
 * layer. Its matrices are divided, too. The parts together are the access.
 */
struct cuda_access cuda_access_part(const struct cuda_access *access, u32 part, u32 parts);

/*
 * Launch a burst as the next operation of its stream, and do not wait. Returns 0 or -ENOMEM. In
 * a dead context it fails at once, which cuda_synchronize() reports.
 */
int cuda_launch(struct cuda_context *context, const struct cuda_burst_config *config);

/* cuda_launch() and cuda_synchronize(). */
int cuda_run(struct cuda_context *context, const struct cuda_burst_config *config);

/*
 * Copy @bytes between the host and an allocation, from @offset on (cudaMemcpyAsync), as the
 * next operation of @stream. It takes the link's set-up time and bytes / bandwidth, in the
 * queue of the copy engine of its direction. Pages that are not on the GPU fault first, as for
 * a kernel that accesses them. The copy costs no time of the SMs. Returns 0, -EINVAL (not
 * within the allocation) or -ENOMEM.
 */
int cuda_memcpy_async(const struct cuda_memory *memory, u64 offset, u64 bytes,
		      enum cuda_location to, struct cuda_stream *stream);

/*
 * Blocking: the same on the default stream, and wait for it, as cuda_stream_synchronize() does.
 */
int cuda_memcpy(const struct cuda_memory *memory, u64 offset, u64 bytes, enum cuda_location to);

/*
 * Blocking: wait until all work of the context has ended, then move all pages of an allocation
 * to the GPU or to the host (cudaMemPrefetchAsync), and wait for it. Only on a GPU with
 * NVIDIA's driver. Returns 0, -EINTR or another negative errno.
 */
int cuda_prefetch(const struct cuda_memory *memory, enum cuda_location to);

/*
 * Blocking: the contents of [@offset, @offset + @bytes) are not needed any more
 * (cudaMemDiscardBatchAsync): the driver frees the chunks without a copy. May be called from
 * other actors of the application. Returns how many bytes of GPU memory that freed.
 */
u64 cuda_discard(const struct cuda_memory *memory, u64 offset, u64 bytes);

/*
 * Listen for pressure events of the context's container (Ghost 4.2). Returns as
 * gvm_listener_open() does; gvm_listener_close() is due.
 */
int cuda_listen(struct cuda_context *context, struct gvm_listener *listener);

#endif
