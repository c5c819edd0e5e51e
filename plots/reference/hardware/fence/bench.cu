// SPDX-License-Identifier: MIT OR GPL-2.0
// Kernels whose slow-down by fences is measured: fence_gpu.c. All have the same parameters: a is written, b and
// c are numbers from 0 to 1, p are indices below n. n is a power of four; there are n threads in blocks of 256.
#define KERNEL(name) \
	extern "C" __global__ void __launch_bounds__(256) name(float *a, const float *b, const float *c, int *p, int n)
#define I (int)(blockIdx.x * 256 + threadIdx.x)

static __device__ int root(int n)
{
	return 1 << ((31 - __clz(n)) / 2);
}

// BLAS 1 and 2.
KERNEL(axpy) { int i = I; a[i] = 0.5f * b[i] + c[i]; }
KERNEL(copy) { int i = I; a[i] = b[i]; }
KERNEL(scale) { int i = I; a[i] = 2.0f * b[i]; }
KERNEL(triad4)
{
	int i = I;

	if (i < n / 4) {
		float4 x = ((const float4 *)b)[i], y = ((const float4 *)c)[i];

		((float4 *)a)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
	}
}
KERNEL(dot)
{
	__shared__ float part[256];
	int i = I;

	part[threadIdx.x] = b[i] * c[i];
	for (int k = 128; k; k /= 2) {
		__syncthreads();
		if (threadIdx.x < k)
			part[threadIdx.x] += part[threadIdx.x + k];
	}
	if (!threadIdx.x)
		a[blockIdx.x] = part[0];
}
KERNEL(amax)
{
	float x = fabsf(b[I]);

	for (int lane = 16; lane; lane /= 2)
		x = fmaxf(x, __shfl_down_sync(~0u, x, lane));
	if (threadIdx.x % 32 == 0)
		a[I / 32] = x;
}
KERNEL(gemv)
{
	int r = root(n), row = I;
	float sum = 0;

	if (row < r) {
		for (int k = 0; k < r; k++)
			sum += b[k * r + row] * c[k];
		a[row] = sum;
	}
}
KERNEL(ger) { int i = I, r = root(n); a[i] = b[i] + c[i / r] * c[i % r]; }
KERNEL(rotate) { int i = I; float x = b[i], y = c[i]; a[i] = 0.8f * x + 0.6f * y; }
// BLAS 3.
KERNEL(gemm_naive)
{
	int r = root(n), i = I;
	float sum = 0;

	for (int k = 0; k < 256; k++)
		sum += b[i / r * r + k] * c[k * r + i % r];
	a[i] = sum;
}
KERNEL(gemm_tiled)
{
	__shared__ float left[16][17], right[16][17];
	int r = root(n), blocks = r / 16, x = threadIdx.x % 16, y = threadIdx.x / 16;
	int row = blockIdx.x / blocks * 16 + y, column = blockIdx.x % blocks * 16 + x;
	float sum = 0;

	for (int k = 0; k < 512; k += 16) {
		left[y][x] = b[row * r + k + x];
		right[y][x] = c[(k + y) * r + column];
		__syncthreads();
		for (int j = 0; j < 16; j++)
			sum += left[y][j] * right[j][x];
		__syncthreads();
	}
	a[row * r + column] = sum;
}
KERNEL(transpose)
{
	__shared__ float tile[16][17];
	int r = root(n), blocks = r / 16, x = threadIdx.x % 16, y = threadIdx.x / 16;
	int row = blockIdx.x / blocks * 16, column = blockIdx.x % blocks * 16;

	tile[y][x] = b[(row + y) * r + column + x];
	__syncthreads();
	a[(column + y) * r + row + x] = tile[x][y];
}
// FFT.
KERNEL(fft_step)
{
	int i = I, half = n / 2;

	if (i < half) {
		float x = b[i], y = b[i + half], s, t;

		__sincosf(0.001f * i, &s, &t);
		a[i] = x + t * y;
		a[i + half] = x - s * y;
	}
}
KERNEL(fft_block)
{
	__shared__ float re[256], im[256];
	int t = threadIdx.x;

	re[t] = b[I];
	im[t] = c[I];
	for (int k = 1; k < 256; k *= 2) {
		__syncthreads();
		float x = re[t ^ k], y = im[t ^ k], s, d;

		__sincosf(3.14159f * (t & (k - 1)) / k, &s, &d);
		__syncthreads();
		re[t] += d * x - s * y;
		im[t] += d * y + s * x;
	}
	__syncthreads();
	a[I] = re[t] + im[t];
}
// Sparse.
KERNEL(gather) { int i = I; a[i] = b[p[i]]; }
KERNEL(scatter) { int i = I; a[i ^ 5] = b[i]; }
KERNEL(spmv)
{
	int row = I;
	float sum = 0;

	for (int k = 0; k < 8; k++)
		sum += c[(row * 8 + k) & (n - 1)] * b[p[(row * 8 + k) & (n - 1)]];
	a[row] = sum;
}
KERNEL(bfs_step)
{
	int i = I, next = p[i];

	if (b[i] < 0.5f)
		a[i] = b[next] + 1;
}
// Rodinia's shapes.
KERNEL(gaussian_step) { int i = I, r = root(n); a[i] = b[i] - c[i / r * r] * b[i % r]; }
KERNEL(hotspot)
{
	int r = root(n), i = I, x = i % r, y = i / r;

	if (x > 0 && y > 0 && x < r - 1 && y < r - 1)
		a[i] = b[i] + 0.1f * (b[i - 1] + b[i + 1] + b[i - r] + b[i + r] - 4 * b[i]) + c[i];
}
KERNEL(hotspot_shared)
{
	__shared__ float tile[18][18];
	int r = root(n), blocks = r / 16, x = threadIdx.x % 16, y = threadIdx.x / 16;
	int row = blockIdx.x / blocks * 16, column = blockIdx.x % blocks * 16;

	for (int i = threadIdx.x; i < 324; i += 256)
		tile[i / 18][i % 18] = b[((row + i / 18 - 1) * r + column + i % 18 - 1) & (n - 1)];
	__syncthreads();
	a[(row + y) * r + column + x] = tile[y + 1][x + 1] + 0.1f * (tile[y][x + 1] + tile[y + 2][x + 1] +
				     tile[y + 1][x] + tile[y + 1][x + 2] - 4 * tile[y + 1][x + 1]);
}
KERNEL(lavamd)
{
	int box = blockIdx.x * 256;
	float x = b[I], force = 0;

	for (int k = 0; k < 64; k++) {
		float d = x - b[box + k];

		force += c[box + k] * __expf(-d * d);
	}
	a[I] = force;
}
KERNEL(particle_find)
{
	float u = b[I];
	int low = 0, high = 1023;

	while (low < high) {
		int middle = (low + high) / 2;

		if (c[middle] * middle < u * 1000)
			low = middle + 1;
		else
			high = middle;
	}
	p[I] = low;
	a[I] = b[low];
}
KERNEL(pathfinder) { int i = I; a[i] = c[i] + fminf(b[i], fminf(b[i ? i - 1 : 0], b[(i + 1) & (n - 1)])); }
KERNEL(kmeans)
{
	float x = b[I], best = 1e30f;

	for (int k = 0; k < 32; k++) {
		float d = x - c[k];

		best = fminf(best, d * d);
	}
	a[I] = best;
}
KERNEL(nn) { int i = I; float x = b[i] - 0.3f, y = c[i] - 0.7f; a[i] = sqrtf(x * x + y * y); }
KERNEL(lud) { int r = root(n), i = I, row = i / r; if (i % r > row) a[i] = b[i] - b[row * r] * b[i % r] / (c[row] + 1); }
KERNEL(backprop)
{
	float sum = 0;

	for (int k = 0; k < 16; k++)
		sum += b[(I * 16 + k) & (n - 1)] * c[k];
	a[I] = 1 / (1 + __expf(-sum));
}
KERNEL(srad) { int i = I; float d = b[(i + 1) & (n - 1)] - b[i]; a[i] = b[i] + 0.25f * d / (1 + d * d); }
// Networks.
KERNEL(conv3x3)
{
	int r = root(n), i = I, x = i % r, y = i / r;
	float sum = 0;

	if (x > 0 && y > 0 && x < r - 1 && y < r - 1)
		for (int k = 0; k < 9; k++)
			sum += c[k] * b[i + (k / 3 - 1) * r + k % 3 - 1];
	a[i] = sum;
}
KERNEL(conv5x5)
{
	int r = root(n), i = I, x = i % r, y = i / r;
	float sum = 0;

	if (x > 1 && y > 1 && x < r - 2 && y < r - 2)
		for (int k = 0; k < 25; k++)
			sum += c[k] * b[i + (k / 5 - 2) * r + k % 5 - 2];
	a[i] = sum;
}
KERNEL(pool) { int i = I, r = root(n); if (i < n / 4) { const float *at = b + i / (r / 2) * 2 * r + i % (r / 2) * 2; a[i] = fmaxf(fmaxf(at[0], at[1]), fmaxf(at[r], at[r + 1])); } }
KERNEL(relu) { int i = I; a[i] = fmaxf(b[i] - 0.5f, 0); }
KERNEL(gelu) { int i = I; float x = b[i]; a[i] = 0.5f * x * (1 + tanhf(0.79788f * (x + 0.044715f * x * x * x))); }
KERNEL(softmax)
{
	__shared__ float part[8];
	float x = b[I], m = x, s;

	for (int lane = 16; lane; lane /= 2)
		m = fmaxf(m, __shfl_xor_sync(~0u, m, lane));
	s = x = __expf(x - m);
	for (int lane = 16; lane; lane /= 2)
		s += __shfl_xor_sync(~0u, s, lane);
	part[threadIdx.x / 32] = s;
	__syncthreads();
	a[I] = x / (part[0] + part[1] + part[2] + part[3]);
}
KERNEL(layernorm)
{
	float x = b[I], s = x, q = x * x;

	for (int lane = 16; lane; lane /= 2) {
		s += __shfl_xor_sync(~0u, s, lane);
		q += __shfl_xor_sync(~0u, q, lane);
	}
	a[I] = (x - s / 32) * rsqrtf(q / 32 - s * s / 1024 + 1e-5f) * c[threadIdx.x] + c[threadIdx.x + 256];
}
KERNEL(attention)
{
	int r = root(n), row = I / 64 % r;
	float best = 0, sum = 0;

	for (int k = 0; k < 64; k++) {
		float w = __expf(b[(row * 64 + k) & (n - 1)] * c[k]);

		best += w * b[(k * 64 + threadIdx.x % 64) & (n - 1)];
		sum += w;
	}
	a[I] = best / sum;
}
KERNEL(adam)
{
	int i = I;
	float m = 0.9f * a[i] + 0.1f * b[i], v = 0.999f * c[i] + 0.001f * b[i] * b[i];

	a[i] = m / (sqrtf(v) + 1e-8f);
}
KERNEL(embedding) { int i = I; a[i] = b[(p[i / 64] * 64 + i % 64) & (n - 1)]; }
// Others.
KERNEL(scan_block)
{
	__shared__ float part[256];
	float x = b[I];

	for (int k = 1; k < 256; k *= 2) {
		part[threadIdx.x] = x;
		__syncthreads();
		if (threadIdx.x >= k)
			x += part[threadIdx.x - k];
		__syncthreads();
	}
	a[I] = x;
}
KERNEL(histogram)
{
	__shared__ int bins[256];

	bins[threadIdx.x] = 0;
	__syncthreads();
	atomicAdd(&bins[p[I] & 255], 1);
	__syncthreads();
	a[I] = bins[threadIdx.x];
}
KERNEL(histogram_global) { atomicAdd(&p[I & 1023], 1); }
KERNEL(bitonic)
{
	int i = I, other = i ^ 64;

	if (other > i && p[i] > p[other]) {
		int key = p[i];

		p[i] = p[other];
		p[other] = key;
	}
}
KERNEL(nbody)
{
	__shared__ float box[256];
	float x = b[I], sum = 0;

	box[threadIdx.x] = c[I];
	__syncthreads();
	for (int k = 0; k < 256; k++) {
		float d = box[k] - x;

		sum += d * rsqrtf(d * d + 0.01f);
	}
	a[I] = sum;
}
KERNEL(monte_carlo)
{
	unsigned int state = I;
	int hits = 0;

	for (int k = 0; k < 64; k++) {
		state = state * 1664525u + 1013904223u;
		hits += state >> 31;
	}
	a[I] = hits;
}
KERNEL(chase) { int at = I; for (int k = 0; k < 8; k++) at = p[at & (n - 1)]; a[I] = at; }
KERNEL(small_table) { int at = I & 255; for (int k = 0; k < 64; k++) at = p[at & 255] & 255; a[I] = at; }
