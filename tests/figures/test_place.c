// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Strict reading of JSON: each mistake names the file and the key, and the first one is kept.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/place.h"
#include "figures_fixture.h"
#include "runner.h"

static struct place_reader reader;

/* The place of @text as the root of "f.json". */
static struct place root_of(const char *text)
{
	reader = (struct place_reader){ .file = "f.json", .err = &error };
	return (struct place){ .reader = &reader, .json = parse(text) };
}

/* Expect a mistake, and drop the root. */
static void expect_mistake(const struct place *root, const char *message)
{
	ck_assert_int_eq(reader.status, -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, message);
	json_decref(root->json);
}

START_TEST(members_are_read_by_type)
{
	static const char *const words[] = { "low", "high", NULL };
	struct place root = root_of("{'t':'a','r':2.5,'b':true,'w':'high'}");

	ck_assert_str_eq(place_text(&root, "t", NULL), "a");
	ck_assert_double_eq(place_real(&root, "r", 0), 2.5);
	ck_assert(place_bool(&root, "b", false));
	ck_assert_uint_eq(place_choice(&root, "w", words, 0), 1);
	ck_assert_int_eq(reader.status, 0);
	json_decref(root.json);
}
END_TEST

START_TEST(missing_members_have_their_standard)
{
	static const char *const words[] = { "low", "high", NULL };
	struct place root = root_of("{}");

	ck_assert_ptr_null(place_text(&root, "t", NULL));
	ck_assert_str_eq(place_text(&root, "t", "x"), "x");
	ck_assert_double_eq(place_real(&root, "r", 7), 7);
	ck_assert(place_bool(&root, "b", true));
	ck_assert_uint_eq(place_choice(&root, "w", words, 1), 1);
	ck_assert_int_eq(reader.status, 0);
	json_decref(root.json);
}
END_TEST

START_TEST(a_needed_text_must_be_there)
{
	struct place root = root_of("{}");

	ck_assert_str_eq(place_text(&root, "t", PLACE_NEEDED), "");
	expect_mistake(&root, "f.json:t: is missing, allowed: a text");
}
END_TEST

START_TEST(wrong_types_are_named_with_their_key)
{
	static const char *const words[] = { "low", "high", NULL };
	struct place root = root_of("{'a':{'t':1,'r':'1','b':0,'w':'mid','e':''}}");
	struct place a = place_member(&root, "a");

	place_text(&a, "t", NULL);
	ck_assert_str_eq(error.text, "f.json:a.t: is not a text, allowed: a text");
	reader.status = 0;
	place_text(&a, "e", NULL);
	ck_assert_str_eq(error.text, "f.json:a.e: is empty, allowed: a text");
	reader.status = 0;
	place_real(&a, "r", 0);
	ck_assert_str_eq(error.text, "f.json:a.r: is not a number, allowed: a number");
	reader.status = 0;
	place_bool(&a, "b", false);
	ck_assert_str_eq(error.text,
			 "f.json:a.b: is neither true nor false, allowed: true, false");
	reader.status = 0;
	place_choice(&a, "w", words, 0);
	expect_mistake(&root, "f.json:a.w: is not known, allowed: low, high");
}
END_TEST

START_TEST(unknown_keys_and_wrong_containers_are_mistakes)
{
	static const char *const keys[] = { "a", "b", NULL };
	struct place root = root_of("{'list':[1,{'c':2}],'none':[]}");
	struct place list = place_member(&root, "list");
	struct place first = place_element(&list, 0), second = place_element(&list, 1);
	struct place empty = place_member(&root, "none"), missing = place_member(&root, "z");

	ck_assert(place_is_array(&list));
	ck_assert(!place_is_object(&second, keys));
	ck_assert_str_eq(error.text, "f.json:list[1].c: unknown key, allowed: a, b");
	reader.status = 0;
	ck_assert(!place_is_object(&first, keys));
	ck_assert_str_eq(error.text,
			 "f.json:list[0]: is not an object, allowed: an object with a, b");
	reader.status = 0;
	ck_assert(!place_is_array(&empty));
	ck_assert_str_eq(error.text,
			 "f.json:none: is empty, allowed: an array that is not empty");
	reader.status = 0;
	ck_assert(!place_is_array(&first));
	ck_assert_str_eq(
		error.text,
		"f.json:list[0]: is not an array, allowed: an array that is not empty");
	reader.status = 0;
	ck_assert(!place_is_array(&missing));
	expect_mistake(&root, "f.json:z: is missing, allowed: an array that is not empty");
}
END_TEST

START_TEST(the_first_mistake_is_kept)
{
	struct place root = root_of("{'a':1,'b':'x'}");

	place_text(&root, "a", NULL);
	place_real(&root, "b", 0);
	expect_mistake(&root, "f.json:a: is not a text, allowed: a text");
}
END_TEST

START_TEST(a_path_that_is_too_long_is_cut)
{
	struct place deep = root_of("{}");
	json_t *json = deep.json;

	for (int i = 0; i < 100; i++)
		deep = place_member(&deep, "long");
	ck_assert_uint_eq(strlen(deep.path), PLACE_PATH_MAX - 1);
	json_decref(json);
}
END_TEST

TEST_MAIN("place", members_are_read_by_type, missing_members_have_their_standard,
	  a_needed_text_must_be_there, wrong_types_are_named_with_their_key,
	  unknown_keys_and_wrong_containers_are_mistakes, the_first_mistake_is_kept,
	  a_path_that_is_too_long_is_cut)
