// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What does a kernel fault on? Matrix products by cuBLAS over a weight matrix in managed memory that
 * lies on the host, and a kernel that reads the same bytes. CUPTI records each group of page faults
 * and each copy to the GPU, with date and address.
 *
 * build: nvcc -O2 -arch=sm_90 footprints.cu -o footprints -I$CUDA/extras/CUPTI/include \
 *        -L$CUDA/extras/CUPTI/lib64 -lcublas -lcupti
 * run:   LD_LIBRARY_PATH=$CUDA/extras/CUPTI/lib64 ./footprints
 *
 * A line for each product of tokens x outputs x inputs (0 tokens: the reading kernel): its time, its
 * weights in blocks of 2 MiB, copies, bytes, groups of faults; and of the copies in each tenth of the
 * time, how many blocks they touch. Three runs each.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cupti.h>

#define BLOCK 2097152.0
#define TENTHS 10

struct copy {
	uint64_t start, bytes, address;
};

static std::vector<copy> copies;
static uint64_t fault_groups, first_fault;

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 8 << 20;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*records = 0;
}

static void buffer_completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		auto *counter = (CUpti_ActivityUnifiedMemoryCounter3 *)record;

		if (record->kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
			continue;
		if (counter->counterKind ==
		    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD) {
			copies.push_back({ counter->start, counter->value, counter->address });
		} else {
			if (!fault_groups++ || counter->start < first_fault)
				first_fault = counter->start;
		}
	}
	free(buffer);
}

static void count_faults_and_copies(void)
{
	CUpti_ActivityUnifiedMemoryCounterConfig config[2] = {};

	for (int i = 0; i < 2; i++) {
		config[i].scope =
			CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
		config[i].enable = 1;
	}
	config[0].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
	config[1].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
	if (cuptiActivityConfigureUnifiedMemoryCounter(config, 2) ||
	    cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) ||
	    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)) {
		fprintf(stderr, "CUPTI does not count\n");
		exit(1);
	}
}

__global__ void read_all(const uint4 *data, size_t count, unsigned *out)
{
	unsigned sum = 0;

	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
	     i += (size_t)gridDim.x * blockDim.x)
		sum += data[i].x;
	if (sum == 12345)
		*out = sum;
}

static void report(size_t tokens, size_t outputs, size_t inputs, float ms, const void *weights)
{
	std::set<uint64_t> blocks[TENTHS];
	uint64_t bytes = 0;

	for (auto &copy : copies) {
		uint64_t tenth = (uint64_t)((copy.start - first_fault) / (ms * 1e5));

		bytes += copy.bytes;
		blocks[tenth < TENTHS ? tenth : TENTHS - 1].insert(
			(copy.address - (uint64_t)weights) >> 21);
	}
	printf("footprint %zux%zux%zu ms %.3f blocks %.1f copies %zu MB %.1f fault_groups %llu "
	       "blocks_in_tenths",
	       tokens, outputs, inputs, ms, outputs * inputs * 2 / BLOCK, copies.size(),
	       bytes / 1e6, (unsigned long long)fault_groups);
	for (auto &tenth : blocks)
		printf(" %zu", tenth.size());
	printf("\n");
	fflush(stdout);
}

int main()
{
	static const size_t shapes[][3] = { { 256, 4096, 4096 },  { 256, 10240, 4096 },
					    { 256, 4096, 10240 }, { 8858, 6144, 1536 },
					    { 8858, 1536, 1536 }, { 64, 16384, 3072 },
					    { 1, 16384, 3072 },	  { 0, 10240, 4096 } };
	const float one = 1, zero = 0;
	cublasHandle_t cublas;

	cudaFree(0);
	count_faults_and_copies();
	cublasCreate(&cublas);
	for (auto &shape : shapes) {
		for (int run = 0; run < 3; run++) {
			size_t tokens = shape[0], outputs = shape[1], inputs = shape[2];
			size_t bytes = outputs * inputs * 2, rows = tokens ? tokens : 1;
			void *weights, *resident, *x, *y;
			cudaEvent_t begin, end;
			float ms;

			cudaMallocManaged(&weights, bytes);
			memset(weights, 0, bytes);
			cudaMalloc(&resident, bytes);
			cudaMalloc(&x, rows * inputs * 2);
			cudaMalloc(&y, rows * outputs * 2);
			auto go = [&](void *w) {
				if (tokens)
					cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, outputs, rows,
						     inputs, &one, w, CUDA_R_16BF, inputs, x,
						     CUDA_R_16BF, inputs, &zero, y, CUDA_R_16BF, outputs,
						     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
				else
					read_all<<<528, 256>>>((uint4 *)w, bytes / 16, (unsigned *)y);
			};
			/* The first product loads the kernel, and must not fault. */
			go(resident);
			cudaDeviceSynchronize();
			cudaEventCreate(&begin);
			cudaEventCreate(&end);
			copies.clear();
			fault_groups = 0;
			cudaEventRecord(begin);
			go(weights);
			cudaEventRecord(end);
			cudaDeviceSynchronize();
			cuptiActivityFlushAll(1);
			cudaEventElapsedTime(&ms, begin, end);
			report(tokens, outputs, inputs, ms, weights);
			cudaFree(weights);
			cudaFree(resident);
			cudaFree(x);
			cudaFree(y);
		}
	}
	return 0;
}
