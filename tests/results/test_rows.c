// SPDX-License-Identifier: MIT OR GPL-2.0
/* Rows of large files are what printf() writes. */
#include "results/rows.h"

#include "results_fixture.h"

#include <stdio.h>
#include <string.h>

/* Numbers with every count of digits, after which rows of every length come. */
START_TEST(numbers_are_those_of_printf)
{
	struct writer writer;
	struct rows rows = { .writer = &writer };
	static char wanted[1 << 17], found[1 << 17];
	size_t length = 0;

	ck_assert_int_eq(writer_open(&writer, folder, &error), 0);
	ck_assert_int_eq(writer_begin(&writer, "file", &error), 0);
	for (u64 power = 1, digits = 1; digits <= 20; digits++, power *= 10) {
		const u64 numbers[] = { power - 1, power, power + 1, 2 * power + 7, U64_MAX };

		for (size_t i = 0; i < COUNT(numbers); i++) {
			for (size_t again = 0; again < 40; again++) {
				length += (size_t)sprintf(&wanted[length], "%llu,", numbers[i]);
				rows_number(&rows, numbers[i]);
				rows_char(&rows, ',');
			}
		}
	}
	ck_assert_uint_gt(length, 4 * ROWS_ROOM);
	rows_flush(&rows);
	ck_assert_int_eq(writer_end(&writer, &error), 0);
	ck_assert_int_eq(writer_commit(&writer, &error), 0);
	get_file("file", found, sizeof(found));
	ck_assert_str_eq(found, wanted);
}
END_TEST

/* Before, after and at the room of the buffer. */
START_TEST(texts_of_any_length_keep_their_order)
{
	struct writer writer;
	struct rows rows = { .writer = &writer };
	static char text[ROWS_ROOM + 2], wanted[6 * ROWS_ROOM], found[6 * ROWS_ROOM];
	size_t length = 0;

	ck_assert_int_eq(writer_open(&writer, folder, &error), 0);
	ck_assert_int_eq(writer_begin(&writer, "file", &error), 0);
	for (size_t size = ROWS_ROOM - 1; size <= ROWS_ROOM + 1; size++) {
		memset(text, 'a' + (int)(size % 26), size);
		text[size] = '\0';
		length += (size_t)sprintf(&wanted[length], "1%s\n", text);
		rows_number(&rows, 1);
		rows_text(&rows, text);
		rows_char(&rows, '\n');
	}
	rows_flush(&rows);
	ck_assert_int_eq(writer_end(&writer, &error), 0);
	ck_assert_int_eq(writer_commit(&writer, &error), 0);
	get_file("file", found, sizeof(found));
	ck_assert_str_eq(found, wanted);
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
	struct writer writer = { .stream = fopen("/dev/full", "w") };
	struct rows rows = { .writer = &writer };

	ck_assert_ptr_nonnull(writer.stream);
	for (size_t n = 0; n < 4 * ROWS_ROOM; n++)
		rows_char(&rows, 'x');
	ck_assert_int_ne(writer.error, 0);
	fclose(writer.stream);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, numbers_are_those_of_printf);
	tcase_add_test(tests, texts_of_any_length_keep_their_order);
	tcase_add_test(tests, a_full_disk_is_noticed);
}

int main(void)
{
	return fixture_run("rows", add_tests);
}
