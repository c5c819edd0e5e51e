// SPDX-License-Identifier: MIT OR GPL-2.0
/* Rows of large files; see rows.h. */
#include "results/rows.h"

#include <string.h>

#define DIGITS_MAX 20 /* of U64_MAX */

void rows_flush(struct rows *rows)
{
	writer_put(rows->writer, rows->text, rows->length);
	rows->length = 0;
}

void rows_text(struct rows *rows, const char *text)
{
	size_t length = strlen(text);

	if (length > ROWS_ROOM - rows->length)
		rows_flush(rows);
	if (length > ROWS_ROOM) {
		writer_put(rows->writer, text, length);
		return;
	}
	memcpy(&rows->text[rows->length], text, length);
	rows->length += length;
}

/* From the last digits to the first, two at once: a division takes longer than all the rest. */
void rows_number(struct rows *rows, u64 number)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char digits[DIGITS_MAX];
	size_t first = DIGITS_MAX;

	for (; number > 9; number /= 100) {
		first -= 2;
		memcpy(&digits[first], &pairs[number % 100 * 2], 2);
	}
	/* One digit is left if their count is odd. The number 0 has one, too. */
	if (number || first == DIGITS_MAX)
		digits[--first] = (char)('0' + number);
	if (DIGITS_MAX > ROWS_ROOM - rows->length)
		rows_flush(rows);
	memcpy(&rows->text[rows->length], &digits[first], DIGITS_MAX - first);
	rows->length += DIGITS_MAX - first;
}

void rows_char(struct rows *rows, char c)
{
	if (rows->length == ROWS_ROOM)
		rows_flush(rows);
	rows->text[rows->length++] = c;
}
