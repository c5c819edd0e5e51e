// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * How applications find CUDA's calls, and how they find ours instead.
 *
 * A program linked with libcuda.so.1 finds ours first, because LD_PRELOAD puts them before it.
 * A statically linked CUDA runtime (PyTorch's, and that of most libraries) opens libcuda.so.1
 * at run time, asks dlsym() for cuGetProcAddress_v2, and that for everything else, by name and
 * version. So dlsym() is hooked, and cuGetProcAddress() answers with our calls.
 *
 * dlsym(RTLD_NEXT, ...) depends on its caller. So our dlsym() asks lookup_hook() and, for
 * everything that is not CUDA's, jumps to the C library's with the stack as the caller left it.
 */
#include <dlfcn.h>
#include <string.h>

#include "shim.h"

/* Not static: the assembly below calls it. */
__attribute__((visibility("hidden"))) void *lookup_hook(void *handle, const char *name);

struct lookup_entry {
	const char *symbol;
	const char *name;
	int version;
	bool per_thread;
	void *hook;
	size_t real; /* the driver's call, in struct shim_real */
};

#define SHIM_ENTRY(symbol, name, version, per_thread) \
	{ #symbol,	    name,                     \
	  version,	    per_thread,               \
	  (void *)(symbol), offsetof(struct shim_real, symbol) },
static const struct lookup_entry entries[] = { SHIM_HOOKED(SHIM_ENTRY)
						       SHIM_ALIASES(SHIM_ENTRY) };
#undef SHIM_ENTRY
#define ENTRY_COUNT (sizeof(entries) / sizeof(entries[0]))

#if defined(__x86_64__)
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call lookup_hook\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	jmp *shim_dlsym(%rip)\n"
	"	.cfi_endproc\n"
	".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, %function\n"
	"dlsym:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	bl lookup_hook\n"
	"	mov x9, x0\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	cbz x9, 1f\n"
	"	mov x0, x9\n"
	"	ret\n"
	"1:	adrp x9, shim_dlsym\n"
	"	ldr x9, [x9, :lo12:shim_dlsym]\n"
	"	br x9\n"
	".size dlsym, .-dlsym\n");
#else
#error "the shim knows x86-64 and aarch64"
#endif

static const struct lookup_entry *find_symbol(const char *symbol)
{
	for (size_t i = 0; i < ENTRY_COUNT; i++)
		if (!strcmp(entries[i].symbol, symbol))
			return &entries[i];
	return NULL;
}

bool lookup_is_drivers(const char *symbol, const void *call)
{
	const struct lookup_entry *entry;

	if (symbol[0] != 'c' || symbol[1] != 'u' || !call)
		return false;
	entry = find_symbol(symbol);
	return entry && call == *(void *const *)((const char *)shim_real() + entry->real);
}

/* Our call, or NULL: ask the C library. */
void *lookup_hook(void *handle, const char *name)
{
	const struct lookup_entry *entry;
	void *library;

	shim_find_dlsym();
	if (name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT)
		return NULL;
	entry = find_symbol(name);
	if (!entry)
		return NULL;
	/* Without libcuda the program must not find a call only because we have one. */
	library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	dlclose(library);
	if (!shim_dlsym(handle, name) || !shim_real())
		return NULL;
	return entry->hook;
}

/*
 * The entry for what cuGetProcAddress() was asked for: of the calls with that name, the newest
 * that is not newer than @version. NULL: it is not hooked.
 */
static const struct lookup_entry *hook_for(const char *name, int version, bool per_thread)
{
	const struct lookup_entry *best = NULL;

	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		const struct lookup_entry *entry = &entries[i];

		if (entry->version > version || strcmp(entry->name, name) != 0 ||
		    (entry->per_thread && !per_thread))
			continue;
		if (!best || entry->per_thread > best->per_thread ||
		    (entry->per_thread == best->per_thread && entry->version >= best->version))
			best = entry;
	}
	return best;
}

/*
 * Did the driver give a call that we do not know? A later one may have other arguments. Then
 * the library has a symbol for it, such as cuMemAlloc_v3. The symbol of a first version is the
 * name itself. An address without a symbol is taken for the call that we know.
 */
static bool is_newer(const struct lookup_entry *known, void *call)
{
	static _Atomic bool told[ENTRY_COUNT];
	const struct lookup_entry *other;
	Dl_info info;

	if (call == *(void *const *)((const char *)shim_real() + known->real) ||
	    !dladdr(call, &info) || info.dli_saddr != call || !info.dli_sname)
		return false;
	other = find_symbol(info.dli_sname);
	if (!strcmp(info.dli_sname, known->name) ||
	    (other && !strcmp(other->name, known->name)))
		return false;
	if (!atomic_exchange(&told[known - entries], true))
		shim_warn(
			"%s is newer than this shim: what is done by it is neither counted nor "
			"limited",
			info.dli_sname);
	return true;
}

/*
 * An address that the driver gave is replaced by ours. @pfn may be NULL, where a program only
 * asks whether there is such a call.
 */
static void replace(const char *name, void **pfn, int version, u64 flags)
{
	const struct lookup_entry *known;

	if (!name || !pfn || !*pfn)
		return;
	known = hook_for(name, version, flags & CU_PROC_PER_THREAD);
	if (known && !is_newer(known, *pfn))
		*pfn = known->hook;
}

SHIM_EXPORT cu_result cuGetProcAddress(const char *symbol, void **pfn, int version,
				       uint64_t flags)
{
	const struct shim_real *real = shim_real();
	cu_result result;

	if (!real || !real->cuGetProcAddress)
		return CU_NOT_INITIALIZED;
	result = real->cuGetProcAddress(symbol, pfn, version, flags);
	if (result == CU_OK)
		replace(symbol, pfn, version, flags);
	return result;
}

SHIM_EXPORT cu_result cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
					  uint64_t flags, unsigned int *found)
{
	const struct shim_real *real = shim_real();
	cu_result result;

	if (!real || !real->cuGetProcAddress_v2)
		return CU_NOT_INITIALIZED;
	result = real->cuGetProcAddress_v2(symbol, pfn, version, flags, found);
	if (result == CU_OK)
		replace(symbol, pfn, version, flags);
	return result;
}
