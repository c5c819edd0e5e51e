// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Gives a target every file of the named folders: a bug that fuzzing found is tested for good.
 *
 * Files that fuzzing found are called by their SHA-1. The others are written by hand, and reach
 * deep into the program as long as they are valid. They have to be accepted, or refused if
 * their name begins with "refused".
 */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

#define INPUT_BYTES_MAX (1u << 20)
#define SHA1_DIGITS	40u

static bool has_own_name(const char *name)
{
	return strlen(name) != SHA1_DIGITS || strspn(name, "0123456789abcdef") != SHA1_DIGITS;
}

static void replay_file(const char *path, const char *name)
{
	static uint8_t input[INPUT_BYTES_MAX];
	FILE *file = fopen(path, "rb");
	uint8_t *exact;
	size_t size;

	FUZZ_ASSERT(file);
	size = fread(input, 1, sizeof(input), file);
	FUZZ_ASSERT(!ferror(file) && size < sizeof(input));
	fclose(file);
	/* A copy of the exact size: a sanitizer sees a read beyond its end. */
	exact = malloc(size ? size : 1);
	FUZZ_ASSERT(exact);
	memcpy(exact, input, size);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(exact, size);
	if (has_own_name(name))
		FUZZ_ASSERT(fuzz_accepted == (strncmp(name, "refused", 7) != 0));
	free(exact);
}

static size_t replay_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	size_t replayed = 0;

	FUZZ_ASSERT(count >= 0);
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.') {
			replay_file(path, entries[i]->d_name);
			replayed++;
		}
		free(entries[i]);
	}
	free(entries);
	return replayed;
}

int main(int argc, char **argv)
{
	size_t replayed = 0;

	for (int i = 1; i < argc; i++)
		replayed += replay_folder(argv[i]);
	printf("%zu inputs\n", replayed);
	return replayed ? EXIT_SUCCESS : EXIT_FAILURE;
}
