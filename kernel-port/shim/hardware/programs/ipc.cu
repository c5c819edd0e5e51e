// SPDX-License-Identifier: MIT OR GPL-2.0
// Two processes share device memory by CUDA's IPC, of several sizes. Both write it in turn; the first reads it.
// Memory of 1 KiB is not in the hash: with managed memory it is refused, which is said.
//
// "ipc outlive": the process that exported memory is killed; the other one has it still, and cannot open more. A
// process without the shim tries, too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <string>
#include <vector>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("ERR %s line %d: %s\n", #x, __LINE__, cudaGetErrorString(e_)); fflush(stdout); _exit(1); } } while (0)

__global__ void twist(uint32_t *x, int n, uint32_t a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = x[i] * 1664525u + a + i;
}

struct part {
	cudaIpcMemHandle_t handle;
	int words;
};

static void run(uint32_t *x, int n, uint32_t a)
{
	twist<<<(n + 255) / 256, 256>>>(x, n, a);
	CK(cudaGetLastError());
	CK(cudaDeviceSynchronize());
}

// The other process: it changes each part that comes. It opens each twice, as programs may.
static int serve(int from, int to)
{
	struct part part;
	uint32_t *x, *again;
	char done = 0;

	while (read(from, &part, sizeof(part)) == sizeof(part)) {
		CK(cudaIpcOpenMemHandle((void **)&x, part.handle, cudaIpcMemLazyEnablePeerAccess));
		CK(cudaIpcOpenMemHandle((void **)&again, part.handle, cudaIpcMemLazyEnablePeerAccess));
		if (x != again)
			printf("ERR opened at two addresses\n");
		run(x, part.words, 5);
		CK(cudaIpcCloseMemHandle(again));
		run(x, part.words, 7);
		CK(cudaIpcCloseMemHandle(x));
		if (write(to, &done, 1) != 1)
			return 1;
	}
	return 0;
}

static cudaError_t try_to_open(cudaIpcMemHandle_t handle)
{
	void *ptr;
	cudaError_t result = cudaIpcOpenMemHandle(&ptr, handle, cudaIpcMemLazyEnablePeerAccess);

	cudaGetLastError();
	return result;
}

static int outlive(const char *self)
{
	const int words = 5 << 20;
	cudaIpcMemHandle_t handles[2];
	int pipes[2];
	uint32_t *x;
	if (pipe(pipes))
		return 1;
	pid_t child = fork();
	if (!child) {
		for (int i = 0; i < 2; i++) {
			CK(cudaMalloc(&x, words * 4));
			CK(cudaMemset(x, 0, words * 4));
			run(x, words, 3 + i);
			CK(cudaIpcGetMemHandle(&handles[i], x));
		}
		if (write(pipes[1], handles, sizeof(handles)) != sizeof(handles))
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	if (read(pipes[0], handles, sizeof(handles)) != sizeof(handles))
		return 1;
	CK(cudaIpcOpenMemHandle((void **)&x, handles[0], cudaIpcMemLazyEnablePeerAccess));
	fflush(stdout);
	unsetenv("LD_PRELOAD");
	FILE *bare = popen((std::string(self) + " bare").c_str(), "w");
	fwrite(handles, 1, sizeof(handles), bare);
	pclose(bare);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	run(x, words, 9);
	std::vector<uint32_t> h(words);
	CK(cudaMemcpy(h.data(), x, words * 4, cudaMemcpyDeviceToHost));
	int wrong = 0;
	for (int i = 0; i < words; i++)
		wrong += h[i] != (3u + i) * 1664525u + 9 + i;
	printf("outlive: %d words are wrong; another opening: error %d\n", wrong, try_to_open(handles[1]));
	CK(cudaIpcCloseMemHandle(x));
	CK(cudaDeviceSynchronize());
	return wrong != 0;
}

int main(int argc, char **argv)
{
	const size_t sizes[] = { 1 << 10, 2 << 20, 20 << 20, 256 << 20 };
	uint64_t hash = 1469598103934665603ull;
	int to_child[2], to_parent[2], status;
	std::vector<uint32_t *> kept;
	char done = 0;
	if (argc > 1 && !strcmp(argv[1], "outlive"))
		return outlive(argv[0]);
	if (argc > 1 && !strcmp(argv[1], "bare")) {
		cudaIpcMemHandle_t handle;
		if (fread(&handle, sizeof(handle), 1, stdin) != 1)
			return 1;
		printf("outlive: without the shim: error %d\n", try_to_open(handle));
		return 0;
	}
	if (pipe(to_child) || pipe(to_parent))
		return 1;
	pid_t child = fork();
	if (!child) {
		close(to_child[1]);
		exit(serve(to_child[0], to_parent[1]));
	}
	close(to_parent[1]);
	for (int turn = 0; turn < 3; turn++)
		for (size_t bytes : sizes) {
			struct part part;
			uint32_t *x, *inner;
			part.words = bytes / 4;
			CK(cudaMalloc(&x, bytes));
			CK(cudaMemset(x, turn, bytes));
			run(x, part.words, 1);
			cudaError_t result = cudaIpcGetMemHandle(&part.handle, x);
			if (result != cudaSuccess && bytes < (2 << 20)) {
				printf("%zu bytes are refused: %s\n", bytes, cudaGetErrorString(result));
				cudaGetLastError();
				CK(cudaFree(x));
				continue;
			}
			CK(result);
			if (write(to_child[1], &part, sizeof(part)) != sizeof(part) || read(to_parent[0], &done, 1) != 1)
				return 1;
			run(x, part.words, 9); // the address is the same
			CK(cudaMalloc(&inner, bytes));
			CK(cudaMemcpy(inner, x, bytes, cudaMemcpyDeviceToDevice));
			std::vector<uint32_t> h(part.words);
			CK(cudaMemcpy(h.data(), inner, bytes, cudaMemcpyDeviceToHost));
			CK(cudaFree(inner));
			if (bytes >= (2 << 20))
				for (uint32_t v : h)
					hash = (hash ^ v) * 1099511628211ull;
			if (turn == 1)
				kept.push_back(x); // freed at the end
			else if (turn == 2)
				CK(cudaFreeAsync(x, 0));
			else
				CK(cudaFree(x));
		}
	close(to_child[1]);
	waitpid(child, &status, 0);
	for (uint32_t *x : kept)
		CK(cudaFree(x));
	CK(cudaDeviceSynchronize());
	printf("hash %016llx\n", (unsigned long long)hash);
	return WEXITSTATUS(status);
}
