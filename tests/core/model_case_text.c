// SPDX-License-Identifier: MIT OR GPL-2.0
/* Cases as text: an operation on each line. */
#include "model_case.h"

#include <stdlib.h>

void case_write_op(FILE *file, const struct model_op *op)
{
	u32 has = case_op_has(op->kind);

	fputs(case_op_name(op->kind), file);
	if (has & CASE_HAS_CONTAINER)
		fprintf(file, " container=%u", op->container);
	if (has & CASE_HAS_CHUNK)
		fprintf(file, " chunk=%u", op->chunk);
	if (has & CASE_HAS_VALUE)
		fprintf(file, " value=%llu", op->value);
	fputc('\n', file);
}

void case_write(FILE *file, const struct model_case *written)
{
	u32 i;

	fprintf(file, "chunks %u\n", written->chunks);
	for (i = 0; i < written->count; i++)
		case_write_op(file, &written->ops[i]);
}

/* Take " key=number" off *text. */
static bool take_number(const char **text, const char *key, u64 below, u64 *ret_number)
{
	size_t length = strlen(key);
	char *end;

	if (strncmp(*text, key, length) || (*text)[length] < '0' || (*text)[length] > '9')
		return false;
	*ret_number = strtoull(*text + length, &end, 10);
	*text = end;
	return below == 0 || *ret_number < below;
}

static bool read_arguments(const char *text, u32 has, struct model_op *op)
{
	u64 container = 0, chunk = 0;

	if (has & CASE_HAS_CONTAINER &&
	    !take_number(&text, " container=", MODEL_CONTAINERS, &container))
		return false;
	if (has & CASE_HAS_CHUNK && !take_number(&text, " chunk=", MODEL_CHUNKS, &chunk))
		return false;
	if (has & CASE_HAS_VALUE && !take_number(&text, " value=", 0, &op->value))
		return false;
	op->container = (u8)container;
	op->chunk = (u8)chunk;
	return strcmp(text, "\n") == 0;
}

static bool read_op(const char *line, struct model_op *op)
{
	size_t length = strcspn(line, " \n");
	u8 kind;

	*op = (struct model_op){ 0 };
	for (kind = 0; kind < MODEL_OPS; kind++) {
		if (strlen(case_op_name(kind)) != length ||
		    strncmp(line, case_op_name(kind), length))
			continue;
		op->kind = kind;
		return read_arguments(line + length, case_op_has(kind), op);
	}
	return false;
}

static bool read_line(const char *line, struct model_case *ret_case)
{
	u64 chunks;

	if (line[0] == '#' || line[0] == '\n')
		return true;
	if (ret_case->chunks)
		return ret_case->count < CASE_OPS_MAX &&
		       read_op(line, &ret_case->ops[ret_case->count++]);
	if (!take_number(&line, "chunks ", MODEL_CHUNKS + 1, &chunks) || strcmp(line, "\n"))
		return false;
	ret_case->chunks = (u32)chunks;
	return chunks > 0;
}

u32 case_read(FILE *file, struct model_case *ret_case)
{
	char line[128];
	u32 number = 1;

	ret_case->chunks = 0;
	ret_case->count = 0;
	for (; fgets(line, sizeof(line), file); number++) {
		if (!read_line(line, ret_case))
			return number;
	}
	return ret_case->chunks ? 0 : number;
}
