/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the litmus kernels. In: arguments LABEL=FOLDER, each a set of versions (raw, rewritten, the
 * authors'): FILE.cubin with the kernels of FILE.cu, and `fences`, lines of kernel name and number of
 * fences. Out: one table in Markdown, a line per row, stale words and fences per version, two runs
 * summed. Exit status: 1 if a version but the first has stale words, or a slower fence loop.
 */
#include "../../../samples/host.cuh"
#include "rows.cuh"

enum { BLOCKS = 264, BLOCK_WORDS = 4096, RUNS = 2 };

struct Set {
	std::string label, folder;
};

static __global__ void fill_rounds(uint32_t *src)
{
	for (int i = threadIdx.x; i < BLOCK_WORDS; i += 256) {
		src[i] = 0x3f803f80;
		src[BLOCK_WORDS + i] = 0x40004000;
	}
}

static int count_fences(const Set &set, const char *kernel)
{
	FILE *file = fopen((set.folder + "/fences").c_str(), "r");
	char name[200];
	int count, found = -1;

	while (file && fscanf(file, "%199s %d", name, &count) == 2)
		if (!strcmp(name, kernel))
			found = count;
	if (file)
		fclose(file);
	return found;
}

static unsigned long long run(const Set &set, const Row &row, int rounds)
{
	std::string cubin = set.folder + "/" + row.file + ".cubin";
	CUfunction kernel = load_kernel(cubin.c_str(), row.kernel);
	uint32_t *out = device_array<uint32_t>((size_t)BLOCKS * BLOCK_WORDS);
	uint32_t *src = device_array<uint32_t>(2 * BLOCK_WORDS);
	unsigned *flags = device_array<unsigned>(2 * BLOCKS);
	unsigned long long *stale = device_array<unsigned long long>(1), result;

	fill_rounds<<<1, 256>>>(src);
	require(cudaDeviceSynchronize());
	launch(kernel, BLOCKS, row.threads, 0, {&out, &src, &flags, &stale, &rounds});
	require(cudaMemcpy(&result, stale, sizeof(result), cudaMemcpyDeviceToHost));
	require(cudaFree(out));
	require(cudaFree(src));
	require(cudaFree(flags));
	require(cudaFree(stale));
	return result;
}

/* A round's words of one CTA, or its products: what a stale count is out of. */
static double checked(const Row &row, int rounds)
{
	return (double)row.checks * BLOCKS * rounds * RUNS;
}

int main(int argc, char **argv)
{
	std::vector<Set> sets;
	int rounds = 2000, status = 0;

	need_gpu();
	for (int i = 1; i < argc; i++) {
		char *equals = strchr(argv[i], '=');
		if (!equals)
			return 2;
		if (!strncmp(argv[i], "rounds=", 7))
			rounds = atoi(equals + 1);
		else
			sets.push_back({std::string(argv[i], equals - argv[i]), equals + 1});
	}
	printf("%d CTAs, %d rounds, %d runs summed\n\n| row | pattern | checked |", BLOCKS, rounds, RUNS);
	for (const Set &set : sets)
		printf(" stale, %s | fences |", set.label.c_str());
	printf("\n|---|---|---|");
	for (size_t i = 0; i < sets.size(); i++)
		printf("---|---|");
	for (const Row &row : ROWS) {
		printf("\n| %s | `%s`: %s | %.3g |", row.name, row.kernel, row.pattern,
			checked(row, rounds));
		for (size_t i = 0; i < sets.size(); i++) {
			unsigned long long sum = 0;
			for (int j = 0; j < RUNS; j++)
				sum += run(sets[i], row, rounds);
			printf(" %llu | %d |", sum, count_fences(sets[i], row.kernel));
			fflush(stdout);
			status |= i > 0 && sum != 0;
		}
	}
	printf("\n\n| loop with a fence, cycles per round |");
	for (const Set &set : sets)
		printf(" %s |", set.label.c_str());
	printf("\n|---|");
	for (size_t i = 0; i < sets.size(); i++)
		printf("---|");
	printf("\n| `wide_fence` |");
	for (const Set &set : sets)
		printf(" %llu |", run(set, {"", "cost", "wide_fence", 128, 0, ""}, rounds));
	printf("\n\n| one instruction, cycles least / mean | idle | 8 global stores per thread in flight |\n"
	       "|---|---|---|");
	for (const char *name : {"cost_nothing", "cost_shared", "cost_global", "cost_wide", "cost_membar"}) {
		printf("\n| `%s` |", name);
		for (const char *load : {"_idle", "_busy"}) {
			std::string kernel = std::string(name) + load;
			unsigned long long cycles =
				run(sets[0], {"", "cost", kernel.c_str(), 128, 0, ""}, rounds);
			printf(" %llu / %llu |", cycles >> 32, cycles & 0xffffffff);
		}
	}
	printf("\n");
	return status;
}
