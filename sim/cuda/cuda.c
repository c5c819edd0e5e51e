// SPDX-License-Identifier: MIT OR GPL-2.0
/* Memory, launches and copies of the CUDA runtime; see cuda.h. */
#include "cuda/cuda.h"

#include "cuda/device.h"
#include "cuda/library.h"
#include "cuda/op.h"
#include "gpu/unmanaged.h"

void cuda_process_exit(struct cuda_context *context)
{
	if (!context->process)
		return;
	cuda_device_forget(context);
	sim_process_exit(context->process);
	cuda_context_destroy(context);
	context->process = NULL;
}

bool cuda_died_of_memory(const struct cuda_context *context)
{
	const struct sim_process *process = context->process;

	return process && process->killed && process->killed_status != -EFAULT;
}

/* Blocking: the application's share of writing the page tables of an allocation. */
static void write_page_tables(struct cuda_context *context, u32 chunks)
{
	const struct cuda_library *library = context->device->library;

	if (library && library->map_ns)
		(void)eng_sleep_until(eng_now() + library->map_ns(context, chunks));
}

void cuda_advise(const struct cuda_memory *memory, enum cuda_advice advice)
{
	static const enum gvm_advice kinds[] = {
		[CUDA_PREFER_DEVICE] = GVM_ADVICE_PREFER_GPU,
		[CUDA_ACCESSED_BY_DEVICE] = GVM_ADVICE_ACCESSED_BY_GPU_EARLY,
		[CUDA_READ_MOSTLY] = GVM_ADVICE_READ_MOSTLY,
	};

	if (advice != CUDA_NO_ADVICE && memory->range)
		(void)sim_process_advise(memory->context->process, memory->range,
					 kinds[advice]);
}

/* Blocking: the library's advice on a new allocation. */
static void advise_new(const struct cuda_memory *memory)
{
	struct cuda_context *context = memory->context;
	const struct cuda_library *library = context->device->library;

	if (library && library->advice)
		cuda_advise(memory, library->advice(context));
}

int cuda_malloc_managed(struct cuda_context *context, u64 bytes, bool on_host,
			struct cuda_memory *ret_memory)
{
	struct gvm_range *range;

	*ret_memory = (struct cuda_memory){ .context = context };
	if (!bytes)
		return 0;
	range = sim_process_map(context->process, bytes, on_host);
	if (!range)
		return -ENOMEM;
	ret_memory->va = range->va;
	ret_memory->bytes = bytes;
	ret_memory->chunks = range->block_count;
	ret_memory->range = range;
	write_page_tables(context, range->block_count);
	advise_new(ret_memory);
	return 0;
}

int cuda_malloc(struct cuda_context *context, u64 bytes, bool on_host,
		struct cuda_memory *ret_memory)
{
	u32 chunks = (u32)((bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT);
	int status;

	*ret_memory = (struct cuda_memory){ .context = context, .unmanaged = true };
	if (!bytes)
		return 0;
	sim_process_take_unmanaged(context->process, (u64)chunks << GVM_CHUNK_SHIFT);
	ret_memory->bytes = bytes;
	ret_memory->chunks = chunks;
	if (!on_host)
		return 0;
	status = cuda_memcpy(ret_memory, 0, bytes, CUDA_DEVICE);
	/* The first launch finds that the context is dead. */
	return status == -EIO ? 0 : status;
}

int cuda_free(struct cuda_memory *memory)
{
	struct cuda_context *context = memory->context;

	if (memory->bytes && context->process) {
		if (cuda_synchronize(context) == -EINTR)
			return -EINTR;
		if (memory->unmanaged)
			sim_process_give_unmanaged(context->process,
						   (u64)memory->chunks << GVM_CHUNK_SHIFT);
		else {
			write_page_tables(context, memory->chunks);
			sim_process_unmap(context->process, memory->range);
		}
	}
	*memory = (struct cuda_memory){ 0 };
	return 0;
}

struct cuda_access cuda_access_all(const struct cuda_memory *memory, enum cuda_mode mode)
{
	return (struct cuda_access){ .memory = memory, .chunks = memory->chunks, .mode = mode };
}

struct cuda_access cuda_access_head(const struct cuda_memory *memory, u64 bytes,
				    enum cuda_mode mode)
{
	struct cuda_access access = cuda_access_all(memory, mode);
	u64 chunks = (bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT;

	access.chunks = (u32)min(chunks, (u64)memory->chunks);
	return access;
}

/* Of @count things, those in the parts before number @part of @parts. */
static u32 share_before(u32 count, u32 part, u32 parts)
{
	return (u32)((u64)count * part / parts);
}

struct cuda_access cuda_access_part(const struct cuda_access *access, u32 part, u32 parts)
{
	struct cuda_access cut = *access;
	u32 begin = share_before(access->chunks, part, parts);
	u32 kernels = share_before(access->kernels, part + 1, parts) -
		      share_before(access->kernels, part, parts);

	cut.first += begin;
	cut.chunks = share_before(access->chunks, part + 1, parts) - begin;
	/* 0 would be bit by bit. */
	cut.kernels = access->kernels ? max(kernels, 1u) : 0;
	return cut;
}

/* Addresses of 4 KB in a page, which faults tell apart. */
#define ADDRESSES_PER_PAGE 16u

void cuda_access_matrices(struct cuda_access *access, u64 matrices)
{
	u64 bytes = matrices ? ((u64)access->chunks << GVM_CHUNK_SHIFT) / matrices : 0;
	u32 rows = ADDRESSES_PER_PAGE;

	access->kernels = (u32)matrices;
	/* A row has sqrt(2 x bytes) bytes. */
	while (rows > 1 && 2 * bytes > (1ull << (2 * GVM_PAGE_SHIFT)) / (rows * rows))
		rows--;
	access->rows_per_page = matrices ? rows : 0;
}

static struct gmmu_touch access_touch(const struct cuda_access *access)
{
	return (struct gmmu_touch){
		.va = access->memory->va + ((u64)access->first << GVM_CHUNK_SHIFT),
		.block_count = access->chunks,
		.kernels = access->kernels,
		.rows_per_page = access->rows_per_page,
		.remote_reads = access->remote_reads,
		.masks = access->masks,
		.groups = access->groups,
		.ranks = access->ranks,
		.blocks_per_mask = access->chunks_per_mask,
		.access = access->mode == CUDA_WRITE ? GVM_ACCESS_WRITE : GVM_ACCESS_READ,
	};
}

int cuda_launch(struct cuda_context *context, const struct cuda_burst_config *config)
{
	struct cuda_stream *stream =
		config->stream ? config->stream : cuda_default_stream(context);
	struct cuda_op *op = cuda_op_take(stream, CUDA_OP_BURST, config->access_count);
	u32 count = 0;

	if (!op)
		return -ENOMEM;
	for (u32 i = 0; i < config->access_count; i++)
		if (config->accesses[i].chunks && !config->accesses[i].memory->unmanaged)
			op->touches[count++] = access_touch(&config->accesses[i]);
	op->burst = (struct fifo_burst){
		.kernels = config->kernels,
		.kernel_ns = config->kernel_ns,
		.launch_ns = config->launch_ns,
		.sm_ppm = config->sm_ppm,
		.sm_need_ppm = config->sm_need_ppm,
		.sm_busy_ppm = config->sm_busy_ppm,
		.sm_fixed_ppm = config->sm_fixed_ppm,
		.sm_open_ppm = config->sm_open_ppm,
		.sm_turns_ppm = config->sm_turns_ppm,
		.bandwidth_ppm = config->bandwidth_ppm,
		.occupancy_ppm = config->occupancy_ppm,
		.pages_at_once = config->pages_at_once,
		.faults_per_page = config->faults_per_page,
		.in_fronts = config->in_fronts,
		.graph = config->graph,
		.touches = op->touches,
		.touch_count = count,
	};
	cuda_op_call(op);
	return 0;
}

int cuda_run(struct cuda_context *context, const struct cuda_burst_config *config)
{
	int status = cuda_launch(context, config);

	return status ? status : cuda_synchronize(context);
}

int cuda_memcpy_async(const struct cuda_memory *memory, u64 offset, u64 bytes,
		      enum cuda_location to, struct cuda_stream *stream)
{
	struct cuda_op *op;
	u64 first = offset >> GVM_CHUNK_SHIFT;

	if (offset > memory->bytes || bytes > memory->bytes - offset)
		return -EINVAL;
	if (!bytes)
		return 0;
	op = cuda_op_take(stream, CUDA_OP_COPY, 1);
	if (!op)
		return -ENOMEM;
	op->touches[0] = (struct gmmu_touch){
		.va = memory->va + (first << GVM_CHUNK_SHIFT),
		.block_count = (u32)(((offset + bytes - 1) >> GVM_CHUNK_SHIFT) - first + 1),
		.access = to == CUDA_DEVICE ? GVM_ACCESS_WRITE : GVM_ACCESS_READ,
	};
	op->burst = (struct fifo_burst){
		.kernels = 1,
		.kernel_ns = 1,
		.touches = op->touches,
		.touch_count = memory->unmanaged ? 0 : 1,
	};
	op->copy.bytes = bytes;
	op->direction = to == CUDA_DEVICE ? PCIE_H2D : PCIE_D2H;
	cuda_op_call(op);
	return 0;
}

int cuda_memcpy(const struct cuda_memory *memory, u64 offset, u64 bytes, enum cuda_location to)
{
	struct cuda_stream *stream;
	int status;

	if (!memory->bytes)
		return offset || bytes ? -EINVAL : 0;
	stream = cuda_default_stream(memory->context);
	status = cuda_memcpy_async(memory, offset, bytes, to, stream);
	return status ? status : cuda_stream_synchronize(stream);
}

int cuda_prefetch(const struct cuda_memory *memory, enum cuda_location to)
{
	int status;

	if (!memory->range)
		return 0;
	status = cuda_synchronize(memory->context);
	if (status)
		return status;
	return sim_process_prefetch(memory->context->process, memory->range,
				    to == CUDA_HOST ? GVM_PROCESSOR_CPU : GVM_PROCESSOR_GPU);
}

u64 cuda_discard(const struct cuda_memory *memory, u64 offset, u64 bytes)
{
	u64 freed;

	if (!memory->range)
		return 0;
	freed = sim_process_discard(memory->context->process, memory->range, offset, bytes);
	eng_pay_debt();
	return freed;
}

int cuda_listen(struct cuda_context *context, struct gvm_listener *listener)
{
	return gvm_listener_open(listener, context->process->container);
}
