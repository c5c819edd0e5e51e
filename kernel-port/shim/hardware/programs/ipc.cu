// SPDX-License-Identifier: MIT OR GPL-2.0
// Two processes share device memory by CUDA's IPC. The first fills it, the second changes and reads it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("ERR %s line %d: %s\n", #x, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void twist(uint32_t *x, int n, uint32_t a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = x[i] * 1664525u + a + i;
}

int main()
{
	const int N = 1 << 20;
	int to_child[2], to_parent[2], status;
	cudaIpcMemHandle_t handle;
	uint32_t *x;
	char done = 0;
	if (pipe(to_child) || pipe(to_parent))
		return 1;
	pid_t child = fork();
	if (!child) {
		close(to_child[1]);
		if (read(to_child[0], &handle, sizeof(handle)) != sizeof(handle))
			_exit(1);
		CK(cudaIpcOpenMemHandle((void **)&x, handle, cudaIpcMemLazyEnablePeerAccess));
		twist<<<N / 256, 256>>>(x, N, 5);
		CK(cudaDeviceSynchronize());
		CK(cudaIpcCloseMemHandle(x));
		if (write(to_parent[1], &done, 1) != 1)
			_exit(1);
		exit(0);
	}
	CK(cudaMalloc(&x, N * 4));
	CK(cudaMemset(x, 0, N * 4));
	twist<<<N / 256, 256>>>(x, N, 1);
	CK(cudaDeviceSynchronize());
	close(to_parent[1]);
	if (cudaIpcGetMemHandle(&handle, x) != cudaSuccess) {
		printf("refused\n");
		close(to_child[1]);
		return 3;
	}
	if (write(to_child[1], &handle, sizeof(handle)) != sizeof(handle) || read(to_parent[0], &done, 1) != 1)
		return 1;
	waitpid(child, &status, 0);
	std::vector<uint32_t> h(N);
	CK(cudaMemcpy(h.data(), x, N * 4, cudaMemcpyDeviceToHost));
	uint64_t hash = 1469598103934665603ull;
	for (uint32_t v : h)
		hash = (hash ^ v) * 1099511628211ull;
	printf("hash %016llx\n", (unsigned long long)hash);
	CK(cudaFree(x));
	return status;
}
