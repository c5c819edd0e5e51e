// SPDX-License-Identifier: MIT OR GPL-2.0
// Memory of one card in programs of another: for a machine with two. Two processes share memory by CUDA's IPC, the one on
// card 0 and the other on card 1, in both directions, and both write it. The exporting process uses it from both cards, by peer
// access and by copies, before the export and behind it. What a card cannot reach is said.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
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

static uint64_t hash = 1469598103934665603ull;

static void run_on(int card, uint32_t *x, int n, uint32_t a)
{
	CK(cudaSetDevice(card));
	twist<<<(n + 255) / 256, 256>>>(x, n, a);
	CK(cudaGetLastError());
	CK(cudaDeviceSynchronize());
}

// The other process, on the other card.
static int serve(int card, int from, int to)
{
	struct part part;
	uint32_t *x, *own;
	char done = 0;

	while (read(from, &part, sizeof(part)) == sizeof(part)) {
		CK(cudaSetDevice(card));
		CK(cudaIpcOpenMemHandle((void **)&x, part.handle, cudaIpcMemLazyEnablePeerAccess));
		run_on(card, x, part.words, 5);
		CK(cudaMalloc(&own, part.words * 4));
		CK(cudaMemcpy(own, x, part.words * 4, cudaMemcpyDefault));
		run_on(card, own, part.words, 11);
		CK(cudaMemcpy(x, own, part.words * 4, cudaMemcpyDefault));
		CK(cudaDeviceSynchronize());
		CK(cudaFree(own));
		CK(cudaIpcCloseMemHandle(x));
		if (write(to, &done, 1) != 1)
			return 1;
	}
	return 0;
}

static void add(const uint32_t *x, int words)
{
	std::vector<uint32_t> h(words);
	CK(cudaMemcpy(h.data(), x, words * 4ul, cudaMemcpyDefault));
	for (uint32_t v : h)
		hash = (hash ^ v) * 1099511628211ull;
}

// Memory of card @home goes to a process on the other one.
static void share(int home, size_t bytes, int to, int from)
{
	struct part part;
	uint32_t *x, *copy;
	char done = 0;
	part.words = bytes / 4;
	CK(cudaSetDevice(home));
	CK(cudaMalloc(&x, bytes));
	CK(cudaMemset(x, home, bytes));
	run_on(home, x, part.words, 1);
	run_on(!home, x, part.words, 3); // by peer access
	CK(cudaSetDevice(home));
	CK(cudaIpcGetMemHandle(&part.handle, x));
	if (write(to, &part, sizeof(part)) != sizeof(part) || read(from, &done, 1) != 1)
		exit(1);
	run_on(!home, x, part.words, 7); // it reaches it still
	run_on(home, x, part.words, 9);
	CK(cudaSetDevice(!home));
	CK(cudaMalloc(&copy, bytes));
	CK(cudaMemcpyPeer(copy, !home, x, home, bytes));
	add(copy, part.words);
	CK(cudaFree(copy));
	CK(cudaSetDevice(home));
	CK(cudaFree(x));
}

int main(void)
{
	const size_t sizes[] = { 2 << 20, 20 << 20, 256 << 20 };
	for (int home = 0; home < 2; home++) {
		int to_child[2], to_parent[2], status;
		if (pipe(to_child) || pipe(to_parent))
			return 1;
		fflush(stdout);
		pid_t parent = fork(); // each direction has processes of its own
		if (!parent) {
			pid_t child = fork();
			if (!child) {
				close(to_child[1]);
				exit(serve(!home, to_child[0], to_parent[1]));
			}
			close(to_parent[1]);
			for (int card = 0; card < 2; card++) {
				int can = 0;
				CK(cudaDeviceCanAccessPeer(&can, card, !card));
				printf("card %d reaches card %d: %d\n", card, !card, can);
				CK(cudaSetDevice(card));
				if (can)
					CK(cudaDeviceEnablePeerAccess(!card, 0));
			}
			for (size_t bytes : sizes)
				share(home, bytes, to_child[1], to_parent[0]);
			close(to_child[1]);
			waitpid(child, &status, 0);
			printf("card %d exports: %016llx\n", home, (unsigned long long)hash);
			exit(WEXITSTATUS(status));
		}
		close(to_child[0]), close(to_child[1]), close(to_parent[0]), close(to_parent[1]);
		waitpid(parent, &status, 0);
		if (status)
			return 1;
	}
	return 0;
}
