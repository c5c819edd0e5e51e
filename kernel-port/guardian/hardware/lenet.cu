// SPDX-License-Identifier: MIT OR GPL-2.0
// The kernels of lenet.c. No atomic addition: each sum has one order, so losses are the same bit by bit.

#define THREADS 128

// out[n][k][y][x] = max(0, b[k] + sum over c, i, j of in[n][c][y + i][x + j] * w[k][c][i][j])
extern "C" __global__ void conv_forward(const float *in, const float *w, const float *b, float *out,
					int count, int c_in, int size, int c_out, int r)
{
	int side = size - r + 1, at = blockIdx.x * blockDim.x + threadIdx.x;
	int x = at % side, y = at / side % side, k = at / (side * side) % c_out;
	int n = at / (side * side * c_out);
	float sum;

	if (n >= count)
		return;
	sum = b[k];
	for (int c = 0; c < c_in; c++)
		for (int i = 0; i < r; i++)
			for (int j = 0; j < r; j++)
				sum += in[((n * c_in + c) * size + y + i) * size + x + j] *
				       w[((k * c_in + c) * r + i) * r + j];
	out[at] = sum > 0 ? sum : 0;
}

// The sum of a value of each thread, in thread 0.
static __device__ float block_sum(float value)
{
	__shared__ float sums[THREADS];

	sums[threadIdx.x] = value;
	__syncthreads();
	for (int half = THREADS / 2; half; half /= 2) {
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
		__syncthreads();
	}
	return sums[0];
}

// One block for each weight, and one for each bias behind them.
extern "C" __global__ void conv_backward_w(const float *in, const float *dout, float *dw, float *db,
					   int count, int c_in, int size, int c_out, int r)
{
	int side = size - r + 1, weights = c_out * c_in * r * r, at = blockIdx.x;
	bool bias = at >= weights;
	int j = at % r, i = at / r % r, c = at / (r * r) % c_in;
	int k = bias ? at - weights : at / (r * r * c_in);
	float sum = 0;

	for (int p = threadIdx.x; p < count * side * side; p += THREADS) {
		int x = p % side, y = p / side % side, n = p / (side * side);
		float value = bias ? 1 : in[((n * c_in + c) * size + y + i) * size + x + j];

		sum += value * dout[((n * c_out + k) * side + y) * side + x];
	}
	sum = block_sum(sum);
	if (!threadIdx.x)
		(bias ? db + k : dw + at)[0] = sum;
}

extern "C" __global__ void conv_backward_in(const float *dout, const float *w, float *din, int count,
					    int c_in, int size, int c_out, int r)
{
	int side = size - r + 1, at = blockIdx.x * blockDim.x + threadIdx.x;
	int x = at % size, y = at / size % size, c = at / (size * size) % c_in;
	int n = at / (size * size * c_in);
	float sum = 0;

	if (n >= count)
		return;
	for (int k = 0; k < c_out; k++)
		for (int i = 0; i < r; i++)
			for (int j = 0; j < r; j++)
				if (y >= i && x >= j && y - i < side && x - j < side)
					sum += dout[((n * c_out + k) * side + y - i) * side + x - j] *
					       w[((k * c_in + c) * r + i) * r + j];
	din[at] = sum;
}

// Squares of four become their largest; from[] says which it was.
extern "C" __global__ void pool_forward(const float *in, float *out, int *from, int planes, int size)
{
	int half = size / 2, at = blockIdx.x * blockDim.x + threadIdx.x;
	int x = at % half * 2, y = at / half % half * 2, plane = at / (half * half), best;

	if (plane >= planes)
		return;
	best = (plane * size + y) * size + x;
	for (int i = 0; i < 4; i++) {
		int other = (plane * size + y + i / 2) * size + x + i % 2;

		if (in[other] > in[best])
			best = other;
	}
	from[at] = best;
	out[at] = in[best];
}

// The gradient goes to the largest of each square, where ReLU let it through.
extern "C" __global__ void pool_backward(const float *dout, const float *in, const int *from,
					 float *din, int planes, int size)
{
	int half = size / 2, at = blockIdx.x * blockDim.x + threadIdx.x;
	int x = at % size, y = at / size % size, plane = at / (size * size), to;

	if (plane >= planes)
		return;
	to = (plane * half + y / 2) * half + x / 2;
	din[at] = from[to] == at && in[at] > 0 ? dout[to] : 0;
}

// out[n][k] = b[k] + sum of in[n][c] * w[k][c], at least 0 if @relu
extern "C" __global__ void fc_forward(const float *in, const float *w, const float *b, float *out,
				      int count, int c_in, int c_out, int relu)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x, k = at % c_out, n = at / c_out;
	float sum;

	if (n >= count)
		return;
	sum = b[k];
	for (int c = 0; c < c_in; c++)
		sum += in[n * c_in + c] * w[k * c_in + c];
	out[at] = relu && sum < 0 ? 0 : sum;
}

extern "C" __global__ void fc_backward_w(const float *in, const float *dout, float *dw, float *db,
					 int count, int c_in, int c_out)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x, c = at % (c_in + 1), k = at / (c_in + 1);
	float sum = 0;

	if (k >= c_out)
		return;
	for (int n = 0; n < count; n++)
		sum += (c < c_in ? in[n * c_in + c] : 1) * dout[n * c_out + k];
	(c < c_in ? dw + k * c_in + c : db + k)[0] = sum;
}

// With the ReLU of the layer below, whose output is @in; NULL: it has none.
extern "C" __global__ void fc_backward_in(const float *dout, const float *w, const float *in,
					  float *din, int count, int c_in, int c_out)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x, c = at % c_in, n = at / c_in;
	float sum = 0;

	if (n >= count)
		return;
	for (int k = 0; k < c_out; k++)
		sum += dout[n * c_out + k] * w[k * c_in + c];
	din[at] = in[at] > 0 ? sum : 0;
}

// Softmax and cross entropy: the loss of each image, and the gradient of their mean.
extern "C" __global__ void softmax_loss(const float *logits, const int *labels, float *losses,
					float *dlogits, int count, int classes)
{
	int n = blockIdx.x * blockDim.x + threadIdx.x;
	const float *row = logits + n * classes;
	float largest = -1e30f, sum = 0;

	if (n >= count)
		return;
	for (int k = 0; k < classes; k++)
		largest = row[k] > largest ? row[k] : largest;
	for (int k = 0; k < classes; k++)
		sum += expf(row[k] - largest);
	losses[n] = logf(sum) + largest - row[labels[n]];
	for (int k = 0; k < classes; k++)
		dlogits[n * classes + k] =
			(expf(row[k] - largest) / sum - (k == labels[n])) / count;
}

// history[step] = mean loss
extern "C" __global__ void mean_loss(const float *losses, float *history, int step, int count)
{
	float sum = 0;

	for (int n = threadIdx.x; n < count; n += THREADS)
		sum += losses[n];
	sum = block_sum(sum);
	if (!threadIdx.x)
		history[step] = sum / count;
}

extern "C" __global__ void descend(float *w, const float *dw, float rate, int count)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x;

	if (at < count)
		w[at] -= rate * dw[at];
}

// Writes to addresses all over the GPU's memory: a hostile tenant. @span: a power of two.
extern "C" __global__ void attack(unsigned long long base, unsigned long long span,
				  unsigned long long seed, int rounds)
{
	unsigned long long x = seed + blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < rounds; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		*(unsigned int *)(base + ((x >> 20) & (span - 1) & ~3ull)) = 0xdeadbeef;
	}
}

// A kernel that never ends, unless somebody sets *stop.
extern "C" __global__ void spin(volatile int *stop)
{
	while (!*stop)
		;
}

extern "C" __global__ void fill(unsigned int *at, unsigned int value, unsigned long long count)
{
	for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
	     i += gridDim.x * blockDim.x)
		at[i] = value + (unsigned int)i;
}

extern "C" __global__ void compare(const unsigned int *at, unsigned int value,
				   unsigned long long count, unsigned int *wrong)
{
	for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
	     i += gridDim.x * blockDim.x)
		if (at[i] != value + (unsigned int)i)
			atomicAdd(wrong, 1u);
}
