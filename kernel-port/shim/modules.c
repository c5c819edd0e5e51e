// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * GVM_FENCE: code is fenced as it is loaded (Guardian 4.2.3 and 4.3, inside of
 * the application's process).
 *
 *     image -> its PTX (fatbin.c) -> patched and verified (kernel-port/guardian) -> the driver
 *           -> bounds of the partition (partition.c) into the module's constants
 *
 * Code without PTX for this GPU is refused, unless the library that it lies in is in
 * GVM_FENCE_ALLOW: then it runs without a fence.
 *
 * How it differs from the paper: no file is prepared beforehand, so each module is patched and
 * compiled when it is loaded. A launch costs nothing more.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confine.h"
#include "fatbin.h"
#include "fence.h"

#define FILE_MAX (1ull << 30)

/*
 * A library, and what the driver may still read of it: with lazy loading the text is compiled
 * later. Code that was loaded while there was no context has no bounds yet.
 */
struct loaded {
	struct CUlib_st *library;
	struct confined fenced; /* bytes NULL: it runs as it is */
	char *file;		/* NULL: its image is the application's */
	bool settled;		/* it has its bounds, or needs none */
	struct loaded *next;
};

static struct loaded *libraries;
static _Atomic bool settle_wanted;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic u64 fenced_count, allowed_count, refused_count;

void modules_counts(u64 *ret_fenced, u64 *ret_allowed, u64 *ret_refused)
{
	*ret_fenced = fenced_count;
	*ret_allowed = allowed_count;
	*ret_refused = refused_count;
}

/* The file that an image lies in, for messages and GVM_FENCE_ALLOW. */
static const char *origin_of(const void *image, Dl_info *info)
{
	const char *slash;

	if (!dladdr(image, info) || !info->dli_fname)
		return "memory";
	slash = strrchr(info->dli_fname, '/');
	return slash ? slash + 1 : info->dli_fname;
}

/* Does a word of GVM_FENCE_ALLOW begin the name? "all": every name. */
static bool allowed(const char *origin)
{
	const char *at = shim_settings.fence_allow;

	while (*at) {
		size_t length = strcspn(at, ",");

		if (length &&
		    ((length == 3 && !strncmp(at, "all", 3)) || !strncmp(at, origin, length)))
			return true;
		at += length + (at[length] == ',');
	}
	return false;
}

/* 90 for compute capability 9.0; without a context that of GPU 0. */
static u32 capability(const struct shim_real *real)
{
	struct CUctx_st *context;
	int major = 0, minor = 0, device = 0;

	if (!memory_current(real, &device, &context))
		device = 0;
	real->cuDeviceGetAttribute(&major, CU_DEVICE_MAJOR, device);
	real->cuDeviceGetAttribute(&minor, CU_DEVICE_MINOR, device);
	return (u32)(10 * major + minor);
}

/* What an application loads. */
struct image {
	const void *bytes;
	size_t size;	    /* FATBIN_MEMORY: not known */
	const char *origin; /* the file that it lies in */
};

/*
 * The text to load instead of @image. Returns CU_OK: *ret_fenced is to be destroyed, and its
 * bytes are NULL if the image may be loaded as it is. Else the error that the application gets.
 */
static cu_result fence_image(const struct shim_real *real, const struct image *image,
			     struct confined *ret_fenced)
{
	const char *origin = image->origin;
	struct patch_options options = { .mode = (enum patch_mode)shim_settings.fence,
					 .pass = PATCH_CONST,
					 .margin = PATCH_MARGIN_DEFAULT };
	struct sim_error err = { "" };
	struct fatbin_text text;
	enum fatbin_kind kind;
	int status = -1;

	*ret_fenced = (struct confined){ .bytes = NULL };
	kind = fatbin_text(image->bytes, image->size, capability(real), &text);
	if (kind == FATBIN_PTX) {
		status =
			confine_text(origin, text.bytes, text.size, &options, ret_fenced, &err);
		text.why = err.text;
	}
	free(text.copy);
	if (!status) {
		fenced_count++;
		shim_log("module of %s: fenced, %llu accesses", origin,
			 ret_fenced->report.accesses);
		return CU_OK;
	}
	if (allowed(origin)) {
		allowed_count++;
		shim_log("module of %s: runs without a fence: %s", origin, text.why);
		return CU_OK;
	}
	refused_count++;
	shim_warn("module of %s is refused: %s", origin, text.why);
	return kind == FATBIN_PTX ? CU_INVALID_PTX : CU_NO_BINARY;
}

/*
 * Write the bounds to @ptr. No capture of the application is disturbed. A copy of pageable memory
 * may be under way after its call, and not all streams wait for the default one: we do.
 */
static cu_result write_bounds(const struct shim_real *real, cu_ptr ptr, size_t bytes)
{
	struct patch_bounds bounds;
	unsigned int mode;
	struct CUctx_st *context;
	cu_result result;
	int device;

	if (bytes != sizeof(bounds) || !memory_current(real, &device, &context) ||
	    !partition_bounds(real, device, &bounds))
		return CU_OUT_OF_MEMORY;
	mode = streams_relax(real);
	result = real->cuMemcpyHtoD_v2(ptr, &bounds, sizeof(bounds));
	if (result == CU_OK)
		result = real->cuStreamSynchronize(NULL);
	streams_strict(real, mode);
	return result;
}

/* Load a module that was fenced, and set its bounds. Without them it does not stay. */
static cu_result load_fenced(const struct shim_real *real, struct CUmod_st **module,
			     const char *text, unsigned int count, unsigned int *options,
			     void **values)
{
	size_t bytes = 0;
	cu_ptr ptr = 0;
	cu_result result = real->cuModuleLoadDataEx(module, text, count, options, values);

	if (result != CU_OK)
		return result;
	result = real->cuModuleGetGlobal_v2(&ptr, &bytes, *module, PATCH_BOUNDS);
	if (result == CU_OK)
		result = write_bounds(real, ptr, bytes);
	if (result != CU_OK)
		real->cuModuleUnload(*module);
	return result;
}

/* The same of a library: its bounds are set as soon as there is a context. */
static bool settle_library(const struct shim_real *real, struct CUlib_st *library)
{
	size_t bytes = 0;
	cu_ptr ptr = 0;

	return real->cuLibraryGetGlobal &&
	       real->cuLibraryGetGlobal(&ptr, &bytes, library, PATCH_BOUNDS) == CU_OK &&
	       write_bounds(real, ptr, bytes) == CU_OK;
}

void modules_settle(const struct shim_real *real)
{
	struct CUctx_st *context;
	bool left = false;
	int device;

	if (!settle_wanted || !memory_current(real, &device, &context))
		return;
	pthread_mutex_lock(&modules_lock);
	for (struct loaded *one = libraries; one; one = one->next) {
		one->settled = one->settled || settle_library(real, one->library);
		left |= !one->settled;
	}
	settle_wanted = left;
	pthread_mutex_unlock(&modules_lock);
}

static void forget(struct loaded *one)
{
	if (one->fenced.bytes)
		confined_destroy(&one->fenced);
	free(one->file);
	free(one);
}

static void remember(struct loaded *one)
{
	pthread_mutex_lock(&modules_lock);
	one->next = libraries;
	libraries = one;
	if (!one->settled)
		settle_wanted = true;
	pthread_mutex_unlock(&modules_lock);
}

/* Take it out of the list. NULL: it is not known. */
static struct loaded *take_out(const struct CUlib_st *library)
{
	struct loaded **link = &libraries, *one;

	pthread_mutex_lock(&modules_lock);
	while (*link && (*link)->library != library)
		link = &(*link)->next;
	one = *link;
	if (one)
		*link = one->next;
	pthread_mutex_unlock(&modules_lock);
	return one;
}

/*
 * Read a file with FATBIN_PAD zeros after it. *ret_bytes is the caller's to free. Otherwise
 * the file is refused: the driver would load it without a fence.
 */
static cu_result read_file(const char *path, char **ret_bytes, struct image *ret_image)
{
	FILE *file = fopen(path, "rbe");
	const char *slash = strrchr(path, '/');
	char *bytes = NULL;
	long size = -1;

	if (!file)
		return CU_FILE_NOT_FOUND;
	if (!fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size >= 0 && (u64)size < FILE_MAX && !fseek(file, 0, SEEK_SET))
		bytes = calloc(1, (size_t)size + FATBIN_PAD);
	if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
		free(bytes);
		bytes = NULL;
	}
	fclose(file);
	if (!bytes) {
		refused_count++;
		shim_warn("module %s is refused: it cannot be read to its end, or has 1 GiB "
			  "and more",
			  path);
		return CU_NO_BINARY;
	}
	*ret_bytes = bytes;
	*ret_image = (struct image){ bytes, (size_t)size, slash ? slash + 1 : path };
	return CU_OK;
}

static cu_result load(struct CUmod_st **module, const struct image *image, unsigned int count,
		      unsigned int *options, void **values)
{
	const struct shim_real *real = shim_real();
	struct confined fenced;
	cu_result result;

	result = fence_image(real, image, &fenced);
	if (result != CU_OK)
		return result;
	if (!fenced.bytes)
		return real->cuModuleLoadDataEx(module, image->bytes, count, options, values);
	result = load_fenced(real, module, fenced.bytes, count, options, values);
	confined_destroy(&fenced);
	return result;
}

/* An image in the application's memory. @info: room for its origin. */
static struct image image_of(const void *bytes, Dl_info *info)
{
	return (struct image){ bytes, FATBIN_MEMORY, origin_of(bytes, info) };
}

SHIM_EXPORT cu_result cuModuleLoadDataEx(struct CUmod_st **module, const void *image,
					 unsigned int count, unsigned int *options,
					 void **values)
{
	const struct shim_real *real = shim_real();
	struct image whole;
	Dl_info info;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence == SHIM_NO_FENCE || !module || !image)
		return real->cuModuleLoadDataEx(module, image, count, options, values);
	whole = image_of(image, &info);
	return load(module, &whole, count, options, values);
}

SHIM_EXPORT cu_result cuModuleLoadData(struct CUmod_st **module, const void *image)
{
	const struct shim_real *real = shim_real();

	if (!real)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence == SHIM_NO_FENCE)
		return real->cuModuleLoadData(module, image);
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

SHIM_EXPORT cu_result cuModuleLoadFatBinary(struct CUmod_st **module, const void *image)
{
	const struct shim_real *real = shim_real();

	if (!real)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence == SHIM_NO_FENCE)
		return real->cuModuleLoadFatBinary(module, image);
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

SHIM_EXPORT cu_result cuModuleLoad(struct CUmod_st **module, const char *path)
{
	const struct shim_real *real = shim_real();
	struct image image;
	char *bytes;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence == SHIM_NO_FENCE || !module || !path)
		return real->cuModuleLoad(module, path);
	result = read_file(path, &bytes, &image);
	if (result != CU_OK)
		return result;
	result = load(module, &image, 0, NULL, NULL);
	free(bytes);
	return result;
}

SHIM_EXPORT cu_result cuModuleUnload(struct CUmod_st *module)
{
	const struct shim_real *real = shim_real();

	return real ? real->cuModuleUnload(module) : CU_NOT_INITIALIZED;
}

/* A variable that fencing has added: a program could move its partition with it. */
static bool is_hidden(const char *name)
{
	return shim_settings.fence != SHIM_NO_FENCE && name &&
	       !strncmp(name, PATCH_PREFIX, strlen(PATCH_PREFIX));
}

SHIM_EXPORT cu_result cuModuleGetGlobal_v2(cu_ptr *ptr, size_t *bytes, struct CUmod_st *module,
					   const char *name)
{
	const struct shim_real *real = shim_real();

	if (!real)
		return CU_NOT_INITIALIZED;
	return is_hidden(name) ? CU_SYMBOL_NOT_FOUND :
				 real->cuModuleGetGlobal_v2(ptr, bytes, module, name);
}

SHIM_EXPORT cu_result cuLibraryGetGlobal(cu_ptr *ptr, size_t *bytes, struct CUlib_st *library,
					 const char *name)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuLibraryGetGlobal)
		return CU_NOT_INITIALIZED;
	return is_hidden(name) ? CU_SYMBOL_NOT_FOUND :
				 real->cuLibraryGetGlobal(ptr, bytes, library, name);
}

/* @file: the image was read from a file, and is freed here; or NULL. */
static cu_result load_library(struct CUlib_st **library, const struct image *image, char *file,
			      unsigned int *options, void **values, unsigned int count,
			      unsigned int *library_options, void **library_values,
			      unsigned int library_count)
{
	const struct shim_real *real = shim_real();
	struct loaded *one = calloc(1, sizeof(*one));
	struct CUctx_st *context;
	cu_result result;
	int device;

	if (!one) {
		free(file);
		return CU_OUT_OF_MEMORY;
	}
	one->file = file;
	result = fence_image(real, image, &one->fenced);
	if (result == CU_OK)
		result = real->cuLibraryLoadData(
			library, one->fenced.bytes ? one->fenced.bytes : image->bytes, options,
			values, count, library_options, library_values, library_count);
	if (result != CU_OK) {
		forget(one);
		return result;
	}
	one->library = *library;
	one->settled = !one->fenced.bytes || (memory_current(real, &device, &context) &&
					      settle_library(real, *library));
	remember(one);
	return CU_OK;
}

SHIM_EXPORT cu_result cuLibraryLoadData(struct CUlib_st **library, const void *image,
					unsigned int *options, void **values,
					unsigned int count, unsigned int *library_options,
					void **library_values, unsigned int library_count)
{
	const struct shim_real *real = shim_real();
	struct image whole;
	Dl_info info;

	if (!real || !real->cuLibraryLoadData)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence == SHIM_NO_FENCE || !library || !image)
		return real->cuLibraryLoadData(library, image, options, values, count,
					       library_options, library_values, library_count);
	whole = image_of(image, &info);
	return load_library(library, &whole, NULL, options, values, count, library_options,
			    library_values, library_count);
}

SHIM_EXPORT cu_result cuLibraryLoadFromFile(struct CUlib_st **library, const char *path,
					    unsigned int *options, void **values,
					    unsigned int count, unsigned int *library_options,
					    void **library_values, unsigned int library_count)
{
	const struct shim_real *real = shim_real();
	struct image image;
	char *bytes;
	cu_result result;

	if (!real || !real->cuLibraryLoadFromFile)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence == SHIM_NO_FENCE || !library || !path)
		return real->cuLibraryLoadFromFile(library, path, options, values, count,
						   library_options, library_values,
						   library_count);
	result = read_file(path, &bytes, &image);
	if (result != CU_OK)
		return result;
	return load_library(library, &image, bytes, options, values, count, library_options,
			    library_values, library_count);
}

SHIM_EXPORT cu_result cuLibraryUnload(struct CUlib_st *library)
{
	const struct shim_real *real = shim_real();
	struct loaded *one;
	cu_result result;

	if (!real || !real->cuLibraryUnload)
		return CU_NOT_INITIALIZED;
	/* First: once it is unloaded, another thread may get the same handle. */
	one = take_out(library);
	result = real->cuLibraryUnload(library);
	if (one && result == CU_OK)
		forget(one);
	else if (one)
		remember(one);
	return result;
}

/* The child of a fork cannot use its parent's modules. */
void modules_reset(void)
{
	pthread_mutex_init(&modules_lock, NULL);
	libraries = NULL;
	settle_wanted = false;
	fenced_count = allowed_count = refused_count = 0;
}
