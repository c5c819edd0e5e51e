// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Use of the GPU that went past the shim. It cannot be caught, so the end of the process says
 * it: one line on stderr, or in the log.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

#define DESCRIPTORS 256

/*
 * Does the process use UVM? Each program that computes on the GPU has its
 * device open; nvidia-smi has not. It may be called in a signal handler, so
 * descriptors are tried one by one.
 */
static bool uvm_is_open(void)
{
	static const char name[] = "/nvidia-uvm";
	char path[32], target[256];

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target));
		if (length >= (ssize_t)sizeof(name) - 1 && length < (ssize_t)sizeof(target) &&
		    !memcmp(target + length - (sizeof(name) - 1), name, sizeof(name) - 1))
			return true;
	}
	return false;
}

/*
 * Does a line of /proc/self/maps begin a copy of libcuda: the mapping of the start of its file?
 */
static bool begins_libcuda(const char *line)
{
	const char *name = strrchr(line, '/');
	const char *offset = strchr(line, ' ');

	if (!name || !offset || strncmp(name, "/libcuda.so", 11) != 0)
		return false;
	return !strncmp(offset + 6, "00000000 ", 9); /* after " r--p " */
}

/* Count copies in the whole lines of @text. Returns the bytes of these lines. */
static size_t count_copies(char *text, size_t bytes, u32 *copies)
{
	char *line = text, *end;

	while ((end = memchr(line, '\n', bytes - (size_t)(line - text)))) {
		*end = '\0';
		*copies += begins_libcuda(line);
		line = end + 1;
	}
	return (size_t)(line - text);
}

/*
 * How often is libcuda loaded? dlmopen() loads it again for each namespace, and
 * dl_iterate_phdr() shows the caller's namespace only. It may be called in a signal handler,
 * once: the buffer is static, since such a stack is small.
 */
static u32 copies_of_libcuda(void)
{
	static char text[4608]; /* a line with the longest path */
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t kept = 0; /* bytes of a line whose end is not read yet */
	ssize_t got;
	u32 copies = 0;

	if (fd < 0)
		return 0;
	while ((got = read(fd, text + kept, sizeof(text) - kept)) > 0) {
		size_t taken = count_copies(text, kept + (size_t)got, &copies);

		kept += (size_t)got - taken;
		memmove(text, text + taken, kept);
	}
	close(fd);
	return copies;
}

/* The tables of a library that say which calls of others it uses. */
struct imports {
	ElfW(Addr) base;
	const char *strings;
	const ElfW(Sym) * symbols;
	const ElfW(Rela) * tables[2]; /* calls, and addresses */
	size_t bytes[2];
	bool needs_libcuda;
};

/* glibc adds the base to the addresses of most libraries as it loads them. */
static const void *at(ElfW(Addr) base, ElfW(Addr) address)
{
	return (const void *)(address < base ? base + address : address);
}

static void read_imports(const ElfW(Dyn) * dynamic, ElfW(Addr) base, struct imports *imports)
{
	*imports = (struct imports){ .base = base };
	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			imports->strings = at(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_SYMTAB)
			imports->symbols = at(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_JMPREL)
			imports->tables[0] = at(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			imports->bytes[0] = d->d_un.d_val;
		else if (d->d_tag == DT_RELA)
			imports->tables[1] = at(base, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			imports->bytes[1] = d->d_un.d_val;
	}
	for (const ElfW(Dyn) *d = dynamic; imports->strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED &&
		    !strncmp(imports->strings + d->d_un.d_val, "libcuda.so", 10))
			imports->needs_libcuda = true;
}

/* A call that we hook, which this library has from the driver; NULL: none. */
static const char *call_past_us(const struct imports *imports)
{
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < imports->bytes[t] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Rela) *entry = &imports->tables[t][i];
			size_t symbol = ELF64_R_SYM(entry->r_info);
			const char *name;

			if (!symbol)
				continue;
			name = imports->strings + imports->symbols[symbol].st_name;
			if (lookup_is_drivers(name,
					      *(void **)(imports->base + entry->r_offset)))
				return name;
		}
	return NULL;
}

/*
 * A library that was opened with RTLD_DEEPBIND, and is linked with libcuda,
 * has the driver's calls.
 */
static int look_at_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct imports imports;
	const char *name;

	(void)size;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		read_imports((const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
			     info->dlpi_addr, &imports);
		if (!imports.needs_libcuda || !imports.symbols)
			continue;
		name = call_past_us(&imports);
		if (name)
			shim_warn("%s calls the driver's %s and not the shim's, as with "
				  "RTLD_DEEPBIND: its memory is not limited, and its "
				  "launches are not counted",
				  info->dlpi_name, name);
	}
	return 0;
}

void unseen_tell(bool forked, bool in_signal)
{
	if (streams_next_device(-1) < 0 && (turns_groups() || (!forked && uvm_is_open())))
		shim_warn("this program used the GPU by a way that the shim does not see: its "
			  "memory is not limited, and its launches are not counted");
	if (forked || !shim_real_if_used())
		return;
	if (copies_of_libcuda() > 1)
		shim_warn("libcuda is loaded more than once, as by dlmopen(): only the first "
			  "copy's memory is limited, and its launches counted");
	if (!in_signal)
		dl_iterate_phdr(look_at_library, NULL);
}
