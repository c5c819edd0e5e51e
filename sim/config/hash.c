// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "engine/error.h"

#define READ_SIZE 65536

int cfg_hash_file(XXH3_state_t *state, const char *file, struct sim_error *err)
{
	char buffer[READ_SIZE];
	FILE *stream = fopen(file, "rb");
	u64 total = 0;
	size_t count;
	bool failed;

	if (!stream)
		return cfg_error(err, file, "", "cannot be read: %s", strerror(errno));
	while ((count = fread(buffer, 1, sizeof(buffer), stream))) {
		XXH3_128bits_update(state, buffer, count);
		total += count;
	}
	failed = ferror(stream);
	fclose(stream);
	XXH3_128bits_update(state, &total, sizeof(total));
	return failed ? sim_runtime_error(err, "%s: cannot be read to its end", file) : 0;
}

void cfg_hash_finish(const XXH3_state_t *state, char *ret_hex, size_t size)
{
	XXH128_canonical_t digest;

	XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state));
	*ret_hex = '\0';
	for (size_t i = 0; i < sizeof(digest.digest); i++)
		cfg_append(ret_hex, size, "%02x", digest.digest[i]);
}
