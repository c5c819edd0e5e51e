// SPDX-License-Identifier: MIT OR GPL-2.0
// Kernels of many shapes, whose PTX is the corpus: tests/guardian/corpus/README.md.
extern "C" {
__global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

__global__ void copy_vector(float4 *to, const float4 *from, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		to[i] = from[i];
}

__global__ void widths(char *c, short *s, int *i, long long *l, double2 *d)
{
	int t = threadIdx.x;

	c[t + 1] = c[t];
	s[t + 1] = s[t];
	i[t + 3] = i[t];
	l[t + 5] = l[t];
	d[t + 7] = d[t];
}

__global__ void matmul(float *c, const float *a, const float *b, int n)
{
	__shared__ float left[16][16], right[16][17];
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < n; k += 16) {
		left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++)
			sum += left[threadIdx.y][j] * right[j][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

__global__ void reduce(unsigned int *sum, const unsigned int *x, int n)
{
	extern __shared__ unsigned int part[];
	unsigned int mine = 0;

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		mine += x[i];
	for (int lane = 16; lane; lane /= 2)
		mine += __shfl_down_sync(~0u, mine, lane);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = mine;
	__syncthreads();
	if (threadIdx.x == 0)
		for (int i = 0; i < (int)blockDim.x / 32; i++)
			atomicAdd(sum, part[i]);
}

__global__ void histogram(unsigned int *bins, const unsigned char *x, int n)
{
	__shared__ unsigned int local[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[x[i]], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

__global__ void atomics(int *i, unsigned long long *l, float *f, int *old)
{
	int t = threadIdx.x;

	old[t] = atomicCAS(&i[0], t, t + 1);
	old[t + 64] = atomicExch(&i[1], t);
	atomicMax(&i[2], t);
	atomicAnd(&i[3], t);
	atomicAdd(&l[0], 1ull);
	atomicAdd(&f[0], 1.0f);
	old[t + 128] = atomicInc((unsigned int *)&i[4], 77);
}

// Generic addresses: which of them is local memory is known when it runs.
__global__ void generic_local(int *out, const int *in, int choice)
{
	int mine[8];
	const int *from;

	for (int i = 0; i < 8; i++)
		mine[i] = in[i] + 1;
	from = choice & 1 ? mine : in;
	out[threadIdx.x] = from[choice >> 1 & 7];
}

// A jump through a table.
__global__ void many_cases(int *x, int which)
{
	int t = threadIdx.x;

	switch (which) {
	case 0: x[t] += 3; break;
	case 1: x[t + 1] *= 5; break;
	case 2: x[t + 2] ^= 7; break;
	case 3: x[t + 3] -= 9; break;
	case 4: x[t + 4] |= 11; break;
	case 5: x[t + 5] &= 13; break;
	case 6: x[t + 6] /= 15; break;
	case 7: x[t + 7] %= 17; break;
	default: x[t] = 0;
	}
}

// A variable of the module at constant places, and tables in constant memory.
__device__ int counter[4];
__constant__ float weights[9];

__global__ void module_variables(float *out, const float *in, int width)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < 9; k++)
		sum += weights[k] * in[i + k % 3 + k / 3 * width];
	out[i] = sum;
	if (sum < 0)
		counter[2] = i;
}

__global__ void sort_step(int *keys, int stage, int step)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ step;

	if (other > i && (keys[i] > keys[other]) == ((i & stage) == 0)) {
		int key = keys[i];

		keys[i] = keys[other];
		keys[other] = key;
	}
}

__global__ void spmv(float *y, const int *rows, const int *columns, const float *values,
		     const float *x, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= n)
		return;
	for (int i = rows[row]; i < rows[row + 1]; i++)
		sum += values[i] * x[columns[i]];
	y[row] = sum;
}

__global__ void stencil(float *to, const float *from, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	const float *at = from + y * width + x;

	if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
		to[y * width + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-width] + at[width]);
}

__global__ void softmax(float *x, int n)
{
	float *row = x + (long long)blockIdx.x * n, largest = -1e30f, sum = 0;

	for (int i = 0; i < n; i++)
		largest = fmaxf(largest, row[i]);
	for (int i = 0; i < n; i++)
		sum += row[i] = __expf(row[i] - largest);
	for (int i = 0; i < n; i++)
		row[i] /= sum;
}

__global__ void adam(float *w, float *m, float *v, const float *g, float rate, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	m[i] = 0.9f * m[i] + 0.1f * g[i];
	v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
	w[i] -= rate * m[i] / (sqrtf(v[i]) + 1e-8f);
}

__global__ void chase(unsigned long long *out, const unsigned long long *start, int steps)
{
	unsigned long long at = (unsigned long long)start;

	for (int i = 0; i < steps; i++)
		at = *(const unsigned long long *)at;
	*out = at;
}
}
