/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run-time compiler with fencepost in it: PTX goes in, the library puts the missing fences into
 * it in memory, and nvJitLink makes a cubin or, where a GPU is, the driver loads it.
 *
 *	cc jit.c $(pkg-config --cflags --libs fencepost) -ldl -o jit
 *	./jit sm_90a kernel.ptx out.cubin
 *
 * Both libraries of CUDA are opened at run time, so that this builds anywhere. Status 77: neither
 * is here.
 */
#include <fencepost.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	size_t room = 1 << 16;
	*size = 0;
	while (file && (text = realloc(text, room + 1))) {
		*size += fread(text + *size, 1, room - *size, file);
		if (*size < room)
			break;
		room *= 2;
	}
	if (file)
		fclose(file);
	return text;
}

static void say(const char *path, const struct fencepost_result *result)
{
	for (uint32_t i = 0; i < result->ndiagnostics; i++)
		fprintf(stderr, "%s:%u: %s\n", path, result->diagnostics[i]->line,
			result->diagnostics[i]->message);
	for (uint32_t i = 0; i < result->nfindings; i++)
		fprintf(stderr, "%s: %s [%s]\n", path, result->findings[i]->message,
			fencepost_rule_name(result->findings[i]->rule));
	fprintf(stderr, "%s: %u fence(s) inserted\n", path, result->inserted);
}

/* A function of a library by name; ISO C has no cast from void * to it. */
static void symbol(void *library, const char *name, void *function)
{
	*(void **)function = dlsym(library, name);
}

/* The part of nvJitLink.h that is needed; 2 says that the input is PTX. */
static int link_cubin(
	void *library, const char *target, const char *ptx, size_t size, const char *out)
{
	typedef void *handle;
	int (*create)(handle *, uint32_t, const char **), (*destroy)(handle *), (*complete)(handle);
	int (*add)(handle, int, const void *, size_t, const char *);
	int (*cubin_size)(handle, size_t *), (*cubin)(handle, void *);
	int (*log_size)(handle, size_t *), (*log)(handle, char *);
	symbol(library, "nvJitLinkCreate", &create);
	symbol(library, "nvJitLinkDestroy", &destroy);
	symbol(library, "nvJitLinkAddData", &add);
	symbol(library, "nvJitLinkComplete", &complete);
	symbol(library, "nvJitLinkGetLinkedCubinSize", &cubin_size);
	symbol(library, "nvJitLinkGetLinkedCubin", &cubin);
	symbol(library, "nvJitLinkGetErrorLogSize", &log_size);
	symbol(library, "nvJitLinkGetErrorLog", &log);
	if (!create || !destroy || !add || !complete || !cubin_size || !cubin || !log_size || !log)
		return 77;

	char arch[64];
	const char *options[] = {arch};
	handle link;
	size_t bytes = 0;
	snprintf(arch, sizeof arch, "-arch=%s", target);
	if (create(&link, 1, options))
		return 2;
	/* its size includes a NUL behind the text; the library's result has one */
	if (add(link, 2, ptx, size + 1, "fenced.ptx") || complete(link) ||
		cubin_size(link, &bytes)) {
		char *text = !log_size(link, &bytes) ? malloc(bytes + 1) : NULL;
		if (text && !log(link, text))
			fprintf(stderr, "nvJitLink: %s\n", text);
		free(text);
		destroy(&link);
		return 1;
	}
	void *image = malloc(bytes);
	FILE *file = image && !cubin(link, image) ? fopen(out, "wb") : NULL;
	int status = file && fwrite(image, 1, bytes, file) == bytes ? 0 : 2;
	if (file && fclose(file))
		status = 2;
	free(image);
	destroy(&link);
	fprintf(stderr, "nvJitLink: %zu bytes\n", bytes);
	return status;
}

/* With a GPU: cuModuleLoadData takes the PTX itself. */
static int load_module(void *library, const char *ptx)
{
	int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int), (*current)(void *);
	int (*load)(void **, const void *);
	symbol(library, "cuInit", &init);
	symbol(library, "cuDeviceGet", &device);
	symbol(library, "cuDevicePrimaryCtxRetain", &retain);
	symbol(library, "cuCtxSetCurrent", &current);
	symbol(library, "cuModuleLoadData", &load);
	if (!init || !device || !retain || !current || !load)
		return 77;
	void *context, *module;
	int number;
	if (init(0) || device(&number, 0) || retain(&context, number) || current(context))
		return 77;
	int error = load(&module, ptx);
	fprintf(stderr, "driver: cuModuleLoadData gives %d\n", error);
	return error ? 1 : 0;
}

static void *open_first(const char *const *names)
{
	void *library = NULL;
	for (; *names && !library; names++)
		library = dlopen(*names, RTLD_NOW);
	return library;
}

static int use(const char *target, const struct fencepost_result *result, const char *out)
{
	static const char *const linkers[] = {"libnvJitLink.so.13", "libnvJitLink.so.12",
		"libnvJitLink.so", "/usr/local/cuda/lib64/libnvJitLink.so", NULL};
	static const char *const drivers[] = {"libcuda.so.1", NULL};
	void *driver = open_first(drivers), *linker = open_first(linkers);
	int loaded = driver ? load_module(driver, result->ptx) : 77;
	int linked = linker ? link_cubin(linker, target, result->ptx, result->ptx_size, out) : 77;
	if (loaded == 77 && linked == 77)
		fprintf(stderr, "neither nvJitLink nor a driver with a GPU here\n");
	return loaded == 77 ? linked : linked == 77 || !linked ? loaded : linked;
}

int main(int argc, char **argv)
{
	struct fencepost_options options;
	struct fencepost_result *result;
	size_t size;
	if (argc != 4) {
		fprintf(stderr, "usage: jit TARGET KERNEL.ptx OUT.cubin\n");
		return 2;
	}
	char *ptx = read_file(argv[2], &size);
	if (!ptx)
		return 2;
	fencepost_options_init(&options, sizeof options);
	enum fencepost_status status = fencepost_run(&options, argv[2], ptx, size, &result);
	if (status == FENCEPOST_NO_MEMORY || status == FENCEPOST_BAD_OPTIONS)
		return 2;
	say(argv[2], result);
	int end = status == FENCEPOST_OK ? use(argv[1], result, argv[3]) : 2;
	fencepost_free(result);
	free(ptx);
	return end;
}
