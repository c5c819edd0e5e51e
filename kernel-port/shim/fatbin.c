// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Fat binaries. A fat binary has one module in several forms, for different GPUs. The driver
 * takes the form that fits.
 *
 *      wrapper   magic 466243b1, version, address of the header
 *      header    magic ba55ed50, version, bytes of the header, bytes of all entries
 *      entry     kind (1: PTX, 2: machine code), bytes, compute capability, flags; then its data
 *
 * NVIDIA documents the format nowhere. The fields are those of the public description by N.
 * Eiling (github.com/n-eiling/cuda-fatbin-decompression), compared with the output of nvcc 13.0
 * by tests/shim. Data is plain, LZ4 (one block) or, since CUDA 12.8, Zstandard. The latter is
 * read by libzstd.so.1, if the host has it.
 */
#include "fatbin.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u
#define HEADER_MAGIC  0xba55ed50u
#define ELF_MAGIC     0x464c457fu
#define KIND_PTX      1u
#define FLAG_LZ4      0x2000u
#define FLAG_ZSTD     0x8000u
#define TEXT_MAX      (1ull << 30)

struct wrapper {
	uint32_t magic, version;
	const void *header;
};

struct header {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
};

struct entry {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t bytes; /* of the data that follows the entry's header */
	uint32_t packed_bytes, unknown;
	uint16_t minor, major;
	uint32_t capability;
	uint32_t name_offset, name_bytes;
	uint64_t flags, reserved;
	uint64_t text_bytes; /* when it is unpacked */
};

/* The bytes of a length that LZ4 continues after its four bits. False: the input ends. */
static int lz4_length(const unsigned char **in, const unsigned char *end, size_t *length)
{
	unsigned char more = 255;

	if (*length != 15)
		return 1;
	while (more == 255) {
		if (*in == end)
			return 0;
		more = *(*in)++;
		*length += more;
	}
	return 1;
}

/* One block of LZ4. Returns the bytes written, or 0: damaged. */
static size_t lz4_unpack(const unsigned char *in, size_t in_bytes, unsigned char *out,
			 size_t out_bytes)
{
	const unsigned char *end = in + in_bytes;
	size_t at = 0;

	while (in < end) {
		size_t plain = *in >> 4, again = *in & 15, back;

		in++;
		if (!lz4_length(&in, end, &plain) || plain > (size_t)(end - in) ||
		    plain > out_bytes - at)
			return 0;
		memcpy(out + at, in, plain);
		in += plain;
		at += plain;
		if (in == end)
			return at;
		if (end - in < 2)
			return 0;
		back = (size_t)in[0] | (size_t)in[1] << 8;
		in += 2;
		if (!lz4_length(&in, end, &again) || !back || back > at ||
		    again + 4 > out_bytes - at)
			return 0;
		for (again += 4; again; again--, at++)
			out[at] = out[at - back];
	}
	return at;
}

/* Returns the bytes written, or 0: damaged, or there is no libzstd. */
static size_t zstd_unpack(const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
	size_t (*decompress)(void *to, size_t room, const void *from, size_t bytes) = NULL;
	void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
	size_t bytes;

	if (library)
		decompress = (__typeof__(decompress))dlsym(library, "ZSTD_decompress");
	bytes = decompress ? decompress(out, out_bytes, in, in_bytes) : 0;
	if (library)
		dlclose(library);
	return bytes > out_bytes ? 0 : bytes; /* an error is a number near the top */
}

/* The text of one entry. */
static enum fatbin_kind entry_text(const struct entry *entry, struct fatbin_text *ret_text)
{
	const char *data = (const char *)entry + entry->header_bytes;
	size_t room = entry->text_bytes, got;

	if (!(entry->flags & (FLAG_LZ4 | FLAG_ZSTD))) {
		ret_text->bytes = data;
		ret_text->size = strnlen(data, entry->bytes);
		return FATBIN_PTX;
	}
	ret_text->why = "its compressed PTX is damaged, or libzstd.so.1 is missing";
	if (!room || room > TEXT_MAX || entry->packed_bytes > entry->bytes)
		return FATBIN_WRONG;
	ret_text->copy = malloc(room + 1);
	if (!ret_text->copy) {
		ret_text->why = "no memory for its PTX";
		return FATBIN_WRONG;
	}
	got = entry->flags & FLAG_LZ4 ?
		      lz4_unpack((const unsigned char *)data, entry->packed_bytes,
				 (unsigned char *)ret_text->copy, room) :
		      zstd_unpack(data, entry->packed_bytes, ret_text->copy, room);
	if (!got) {
		free(ret_text->copy);
		ret_text->copy = NULL;
		return FATBIN_WRONG;
	}
	ret_text->copy[got] = '\0';
	ret_text->bytes = ret_text->copy;
	ret_text->size = strlen(ret_text->copy);
	return FATBIN_PTX;
}

enum fatbin_kind fatbin_text(const void *image, size_t size, unsigned int capability,
			     struct fatbin_text *ret_text)
{
	const struct wrapper *wrapper = image;
	const struct header *header = image;
	const struct entry *best = NULL;
	const char *at, *end;
	uint32_t magic;

	memset(ret_text, 0, sizeof(*ret_text));
	memcpy(&magic, image, sizeof(magic));
	if (magic == WRAPPER_MAGIC && size == FATBIN_MEMORY) {
		header = wrapper->header;
		magic = header->magic;
	}
	if (magic == ELF_MAGIC) {
		ret_text->why = "it is machine code without PTX";
		return FATBIN_CODE;
	}
	ret_text->why = "its fat binary is damaged";
	if (magic == WRAPPER_MAGIC)
		return FATBIN_WRONG;
	if (magic != HEADER_MAGIC) {
		ret_text->bytes = image;
		ret_text->size = strlen(ret_text->bytes);
		return FATBIN_PTX;
	}
	if (size != FATBIN_MEMORY &&
	    (size < header->header_bytes || size - header->header_bytes < header->bytes))
		return FATBIN_WRONG;
	at = (const char *)header + header->header_bytes;
	end = at + header->bytes;
	while ((size_t)(end - at) >= sizeof(struct entry)) {
		const struct entry *entry = (const struct entry *)at;
		size_t left = (size_t)(end - at);

		if (entry->header_bytes < sizeof(*entry) || entry->header_bytes > left ||
		    entry->bytes > left - entry->header_bytes)
			return FATBIN_WRONG;
		if (entry->kind == KIND_PTX && entry->capability <= capability &&
		    (!best || entry->capability > best->capability))
			best = entry;
		at += entry->header_bytes + entry->bytes;
	}
	if (best)
		return entry_text(best, ret_text);
	ret_text->why = "its fat binary has no PTX for this GPU";
	return FATBIN_CODE;
}
