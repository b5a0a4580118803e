/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host half of the samples, compiled with -DHOST. In: arguments LABEL=CUBIN, each a version of
 * the sample's kernel (raw, rewritten, the author's), or none for the kernel built in. Out: per
 * version one line of a Markdown table: speed, wrong runs, wrong results. Invariant: inputs are
 * small multiples of powers of two, so every sum is exact in float and a result is right only if
 * it is equal.
 */
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

enum { NO_GPU = 77, MAP_SWIZZLED_COLUMNS = 64 };

static void require(cudaError_t status)
{
	if (status != cudaSuccess) {
		fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
		exit(2);
	}
}

static void require(CUresult status)
{
	if (status != CUDA_SUCCESS) {
		fprintf(stderr, "CUDA driver: error %d\n", (int)status);
		exit(2);
	}
}

/* Through the runtime, so that the program links and starts where no driver is installed. */
template <typename Function> static Function *driver(const char *name)
{
	void *entry = nullptr;

	require(cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault));
	return reinterpret_cast<Function *>(entry);
}

static void need_gpu()
{
	int count = 0;

	if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
		printf("no GPU: skipped\n");
		exit(NO_GPU);
	}
	require(cudaSetDevice(0));
	require(cudaFree(nullptr));
}

static int multiprocessors()
{
	int count;

	require(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
	return count;
}

static CUfunction load_kernel(const char *cubin, const char *name)
{
	CUmodule module;
	CUfunction kernel;

	require(driver<decltype(cuModuleLoad)>("cuModuleLoad")(&module, cubin));
	require(driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&kernel, module, name));
	return kernel;
}

static void allow_shared(CUfunction kernel, int bytes)
{
	require(driver<decltype(cuFuncSetAttribute)>("cuFuncSetAttribute")(
		kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes));
}

static void launch(CUfunction kernel, dim3 grid, int threads, int shared, std::vector<void *> args)
{
	require(driver<decltype(cuLaunchKernel)>("cuLaunchKernel")(kernel, grid.x, grid.y, grid.z,
		threads, 1, 1, shared, nullptr, args.data(), nullptr));
}

/* A row-major bf16 matrix, read or written in boxes of 64 columns with the 128-byte swizzle. */
static CUtensorMap tensor_map(const void *matrix, uint64_t rows, uint64_t columns, uint32_t box_rows)
{
	CUtensorMap map;
	cuuint64_t size[] = {columns, rows};
	cuuint64_t stride[] = {columns * 2};
	cuuint32_t box[] = {MAP_SWIZZLED_COLUMNS, box_rows};
	cuuint32_t step[] = {1, 1};

	require(driver<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled")(&map,
		CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void *>(matrix), size, stride, box,
		step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
		CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	return map;
}

template <typename T> static T *device_array(size_t count)
{
	void *p;

	require(cudaMalloc(&p, count * sizeof(T)));
	require(cudaMemset(p, 0, count * sizeof(T)));
	return static_cast<T *>(p);
}

static __device__ uint32_t mixed(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352d;
	x = (x ^ x >> 15) * 0x846ca68b;
	return x ^ x >> 16;
}

static __global__ void fill_bf16(__nv_bfloat16 *p, size_t count, uint32_t seed)
{
	for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
		p[i] = __float2bfloat16(((int)(mixed(i + seed) % 17) - 8) / 8.0f);
}

static __global__ void fill_int8(int8_t *p, size_t count, uint32_t seed)
{
	for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
		p[i] = (int8_t)mixed(i + seed);
}

static __global__ void fill_scale(float *p, size_t count)
{
	for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
		p[i] = 1.0f / (1 << i % 5);
}

static __nv_bfloat16 *matrix_bf16(size_t rows, size_t columns, uint32_t seed)
{
	__nv_bfloat16 *p = device_array<__nv_bfloat16>(rows * columns);

	fill_bf16<<<1024, 256>>>(p, rows * columns, seed);
	return p;
}

/* The plain way: one thread per result, 32 x 32 of them share tiles of A and B. */
template <typename A>
static __global__ void reference_gemm(const A *a, const __nv_bfloat16 *b, const float *scale,
	const __nv_bfloat16 *c, float beta, __nv_bfloat16 *d, int n, int k)
{
	__shared__ float tile_a[32][33], tile_b[32][33];
	int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
	float sum = 0;

	for (int i = 0; i < k; i += 32) {
		tile_a[threadIdx.y][threadIdx.x] = (float)a[(size_t)row * k + i + threadIdx.x];
		tile_b[threadIdx.y][threadIdx.x] =
			(float)b[(size_t)(blockIdx.x * 32 + threadIdx.y) * k + i + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 32; j++)
			sum += tile_a[threadIdx.y][j] * tile_b[threadIdx.x][j];
		__syncthreads();
	}
	if (scale)
		sum *= scale[row];
	if (c)
		sum += beta * (float)c[(size_t)row * n + column];
	d[(size_t)row * n + column] = __float2bfloat16(sum);
}

static __global__ void count_wrong(
	const uint16_t *got, const uint16_t *want, size_t count, unsigned long long *wrong)
{
	unsigned long long sum = 0;

	for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
		sum += got[i] != want[i];
	if (sum)
		atomicAdd(wrong, sum);
}

struct Version {
	std::string label;
	CUfunction kernel;
	std::vector<float> milliseconds;
	int wrong_runs;
	unsigned long long wrong;
};

struct Bench {
	const char *name;
	int size = 8192;
	int runs = 20;
	std::vector<Version> versions;

	Bench(const char *name, const void *built_in, int argc, char **argv) : name(name)
	{
		need_gpu();
		for (int i = 1; i < argc; i++) {
			char *equals = strchr(argv[i], '=');
			if (!strncmp(argv[i], "size=", 5))
				size = atoi(argv[i] + 5);
			else if (!strncmp(argv[i], "runs=", 5))
				runs = atoi(argv[i] + 5);
			else if (equals)
				add(std::string(argv[i], equals - argv[i]),
					load_kernel(equals + 1, name));
			else
				usage();
		}
		if (size <= 0 || size % 1024 || runs <= 0)
			usage();
		if (versions.empty()) {
			cudaFunction_t kernel;
			require(cudaGetFuncBySymbol(&kernel, built_in));
			add("built-in", reinterpret_cast<CUfunction>(kernel));
		}
	}

	void usage() const
	{
		fprintf(stderr, "usage: %s [size=MULTIPLE_OF_1024] [runs=N] [LABEL=CUBIN...]\n", name);
		exit(2);
	}

	void add(const std::string &label, CUfunction kernel)
	{
		versions.push_back({label, kernel, {}, 0, 0});
	}

	/* Versions take turns, so that clocks and temperature are the same for all of them. */
	template <typename Launch>
	int compare(Launch start, __nv_bfloat16 *got, const __nv_bfloat16 *want)
	{
		size_t count = (size_t)size * size;
		unsigned long long *wrong = device_array<unsigned long long>(1);
		cudaEvent_t before, after;

		require(cudaEventCreate(&before));
		require(cudaEventCreate(&after));
		for (int run = -2; run < runs; run++)
			for (Version &version : versions) {
				float time;
				unsigned long long sum = 0;
				require(cudaMemset(got, 0xff, count * 2));
				require(cudaMemset(wrong, 0, 8));
				require(cudaEventRecord(before));
				start(version.kernel);
				require(cudaEventRecord(after));
				count_wrong<<<1024, 256>>>(reinterpret_cast<uint16_t *>(got),
					reinterpret_cast<const uint16_t *>(want), count, wrong);
				require(cudaMemcpy(&sum, wrong, 8, cudaMemcpyDeviceToHost));
				require(cudaEventElapsedTime(&time, before, after));
				version.wrong_runs += sum != 0;
				version.wrong += sum;
				if (run >= 0)
					version.milliseconds.push_back(time);
			}
		return report();
	}

	/* name, version, size, best and median TFLOP/s, median relative to the last version (by
	 * convention the author's), runs with wrong results, wrong results. 1: a version other
	 * than `raw` was wrong. */
	int report()
	{
		double flops = 2.0 * size * size * size;
		double base = 0;
		int status = 0;

		for (Version &v : versions)
			std::sort(v.milliseconds.begin(), v.milliseconds.end());
		base = versions.back().milliseconds[runs / 2];
		for (Version &v : versions) {
			float median = v.milliseconds[runs / 2];
			printf("| %s | %s | %d | %.1f | %.1f | %.4f | %d of %d | %llu |\n", name,
				v.label.c_str(), size, flops / v.milliseconds[0] / 1e9,
				flops / median / 1e9, base / median, v.wrong_runs, runs + 2, v.wrong);
			status |= v.wrong_runs != 0 && v.label != "raw";
		}
		return status;
	}
};
