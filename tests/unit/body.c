#include "body.h"

#include <json-c/json.h>
#include <stdio.h>

#include "support.h"

static struct arena arena;

static int teardown(void **state) {
    arena_destroy(&arena);
    return scratch_teardown(state);
}

static int arena_teardown(void **state) {
    (void)state;
    arena_destroy(&arena);
    return 0;
}

static int only_seven_looked_up; /* the id that exists() was asked for last */

static bool is_seven(struct db *db, int64_t id) {
    (void)db;
    only_seven_looked_up = (int)id;
    return id == 7;
}

static const struct field fields[] = {
    {":sku", FIELD_TOKEN, 1, 8},
    {":name", FIELD_TEXT, 2, 5},
    {":price", FIELD_INTEGER, 0, INT64_C(1000000000000)},
    {":stock", FIELD_INTEGER, -5, 5, .optional = true, .standard = 3},
    {":category_id", FIELD_REFERENCE, 1, INT64_MAX, .exists = is_seven},
};

enum { FIELD_COUNT = COUNT(fields) };

static struct request request_of(const char *json) {
    return (struct request){
        .arena = &arena, .content_type = TEXT("application/json"), .body = text_from(json)};
}

/* Opens a body that must be good JSON. The request must live as long. */
static void open_body(struct body *body, const struct request *request) {
    struct response response;
    response_start(&response, &arena);
    if (!body_open(body, request, &response, BODY_JSON)) {
        fail_msg("%.*s", (int)response.body.length, response.body.data);
    }
}

/* The errors as "pointer detail" lines. */
static struct text errors_of(const struct body *body, int *status) {
    struct response response;
    struct buffer lines = {.arena = &arena};
    response_start(&response, &arena);
    body_refuse(body, &response, 422);
    *status = response.status;
    assert_text(response.content_type, TEXT("application/problem+json"));
    buffer_append(&response.body, TEXT("\0"));
    struct json_object *problem = json_tokener_parse(response.body.data);
    struct json_object *errors = NULL;
    assert_true(json_object_object_get_ex(problem, "errors", &errors));
    for (size_t i = 0; i < json_object_array_length(errors); i++) {
        struct json_object *error = json_object_array_get_idx(errors, i);
        struct json_object *pointer = NULL;
        struct json_object *detail = NULL;
        assert_int_equal(json_object_object_length(error), 2);
        assert_true(json_object_object_get_ex(error, "pointer", &pointer));
        assert_true(json_object_object_get_ex(error, "detail", &detail));
        buffer_append(&lines, text_from(json_object_get_string(pointer)));
        buffer_append(&lines, TEXT(" "));
        buffer_append(&lines, text_from(json_object_get_string(detail)));
        buffer_append(&lines, TEXT("\n"));
    }
    json_object_put(problem);
    return buffer_text(&lines);
}

/* ---- what is JSON --------------------------------------------------------------------------- */

static void only_json_is_opened(void **state) {
    static const struct {
        struct text media_type, body;
        enum body_state body_state;
        enum body_media media;
        int status; /* 0: opened */
    } cases[] = {
        {{"application/json", 16}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 0},
        {{"application/json; charset=utf-8", 31}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 0},
        {{"Application/JSON;charset=UTF-8", 30}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 0},
        {{" application/json ", 18}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 0},
        {{"application/json;", 17}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 0},
        {{"application/json", 16}, {"[]", 2}, BODY_WHOLE, BODY_JSON, 0},
        {{"application/json", 16}, {"null", 4}, BODY_WHOLE, BODY_JSON, 0},
        {{"application/merge-patch+json", 28}, {"{}", 2}, BODY_WHOLE, BODY_MERGE_PATCH, 0},
        {{"application/json", 16}, {"{}", 2}, BODY_WHOLE, BODY_MERGE_PATCH, 0},
        {{"application/merge-patch+json", 28}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{NULL, 0}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"", 0}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"text/plain", 10}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"text/json", 9}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"application/jsonx", 17}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"application/jso", 15}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"application/json, text/plain", 28}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"application/x-www-form-urlencoded", 33}, {"{}", 2}, BODY_WHOLE, BODY_JSON, 415},
        {{"text/plain", 10}, {"{}", 2}, BODY_WHOLE, BODY_MERGE_PATCH, 415},
        {{"application/json", 16}, {NULL, 0}, BODY_WHOLE, BODY_JSON, 400},
        {{"application/json", 16}, {" \n", 2}, BODY_WHOLE, BODY_JSON, 400},
        {{"application/json", 16}, {"{", 1}, BODY_WHOLE, BODY_JSON, 400},
        {{"application/json", 16}, {"{} x", 4}, BODY_WHOLE, BODY_JSON, 400},
        {{"application/json", 16}, {"{\"a\":1,\"a\":1}", 13}, BODY_WHOLE, BODY_JSON, 400},
        {{"application/json", 16}, {"{}", 2}, BODY_CUT_OFF, BODY_JSON, 400},
        {{"application/json", 16}, {"{}", 2}, BODY_TOO_LARGE, BODY_JSON, 413},
        {{"text/plain", 10}, {"{}", 2}, BODY_TOO_LARGE, BODY_JSON, 413},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request request = {.arena = &arena,
                                  .content_type = cases[i].media_type,
                                  .body = cases[i].body,
                                  .body_state = cases[i].body_state};
        struct response response;
        struct body body;
        response_start(&response, &arena);
        bool opened = body_open(&body, &request, &response, cases[i].media);
        if (opened != (cases[i].status == 0) || response.status != cases[i].status) {
            fail_msg("case %zu gives %d, %d", i, opened, response.status);
        }
    }
}

static void the_elements_of_an_array_are_counted_and_nothing_else_has_any(void **state) {
    static const struct {
        const char *json;
        int64_t elements;
    } cases[] = {{"[]", 0},      {"[1]", 1}, {"[{},null,[]]", 3}, {"{}", -1}, {"null", -1},
                 {"\"[]\"", -1}, {"1", -1}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request request = request_of(cases[i].json);
        struct body body;
        open_body(&body, &request);
        assert_int_equal(body_elements(&body), cases[i].elements);
    }
}

/* ---- fields --------------------------------------------------------------------------------- */

#define SKU      "\"sku\":\"A-1\""
#define NAME     "\"name\":\"Bread\""
#define PRICE    "\"price\":5"
#define CATEGORY "\"category_id\":7"

static void a_body_has_the_fields_of_the_table_or_all_its_errors_are_told(void **state) {
    static const struct {
        const char *json;
        const char *errors; /* "pointer detail" lines */
    } cases[] = {
        {"{" SKU "," NAME "," PRICE "," CATEGORY "}", ""},
        {"{" SKU "," NAME "," PRICE "," CATEGORY ",\"stock\":-5}", ""},
        {"{" CATEGORY "," PRICE "," NAME "," SKU ",\"stock\":5}", ""},
        /* tokens */
        {"{\"sku\":\"aZ09._-x\"," NAME "," PRICE "," CATEGORY "}", ""},
        {"{\"sku\":\"\"," NAME "," PRICE "," CATEGORY "}", "/sku must be 1 to 8 characters long\n"},
        {"{\"sku\":\"123456789\"," NAME "," PRICE "," CATEGORY "}",
         "/sku must be 1 to 8 characters long\n"},
        {"{\"sku\":\"a b\"," NAME "," PRICE "," CATEGORY "}",
         "/sku may hold only A-Z a-z 0-9 . _ -\n"},
        {"{\"sku\":\"\xC3\xA4\"," NAME "," PRICE "," CATEGORY "}",
         "/sku may hold only A-Z a-z 0-9 . _ -\n"},
        {"{\"sku\":1," NAME "," PRICE "," CATEGORY "}", "/sku must be a string\n"},
        {"{\"sku\":null," NAME "," PRICE "," CATEGORY "}", "/sku must be a string\n"},
        {"{\"sku\":[\"a\"]," NAME "," PRICE "," CATEGORY "}", "/sku must be a string\n"},
        /* text: code points are counted */
        {"{" SKU ",\"name\":\"ab\"," PRICE "," CATEGORY "}", ""},
        {"{" SKU
         ",\"name\":\"\xF0\x9F\x8D\x9E\xF0\x9F\x8D\x9E\xF0\x9F\x8D\x9E\xF0\x9F\x8D\x9E\xF0\x9F\x8D\x9E\"," PRICE
         "," CATEGORY "}",
         ""},
        {"{" SKU ",\"name\":\"\\ud83c\\udf5e\\u00e4\"," PRICE "," CATEGORY "}", ""},
        {"{" SKU ",\"name\":\"\xF0\x9F\x8D\x9E\"," PRICE "," CATEGORY "}",
         "/name must be 2 to 5 characters long\n"},
        {"{" SKU ",\"name\":\"a\"," PRICE "," CATEGORY "}",
         "/name must be 2 to 5 characters long\n"},
        {"{" SKU ",\"name\":\"abcdef\"," PRICE "," CATEGORY "}",
         "/name must be 2 to 5 characters long\n"},
        {"{" SKU ",\"name\":\"   \"," PRICE "," CATEGORY "}", "/name must not be blank\n"},
        {"{" SKU ",\"name\":\"\\u3000\\u00a0\\t\"," PRICE "," CATEGORY "}",
         "/name must not be blank\n"},
        {"{" SKU ",\"name\":{}," PRICE "," CATEGORY "}", "/name must be a string\n"},
        /* integers */
        {"{" SKU "," NAME ",\"price\":0," CATEGORY "}", ""},
        {"{" SKU "," NAME ",\"price\":1000000000000," CATEGORY "}", ""},
        {"{" SKU "," NAME ",\"price\":1000000000001," CATEGORY "}",
         "/price must be a whole number from 0 to 1000000000000\n"},
        {"{" SKU "," NAME ",\"price\":-1," CATEGORY "}",
         "/price must be a whole number from 0 to 1000000000000\n"},
        {"{" SKU "," NAME ",\"price\":9223372036854775808," CATEGORY "}",
         "/price must be a whole number from 0 to 1000000000000\n"},
        {"{" SKU "," NAME ",\"price\":18446744073709551617," CATEGORY "}",
         "/price must be a whole number from 0 to 1000000000000\n"},
        {"{" SKU "," NAME ",\"price\":-9223372036854775809," CATEGORY "}",
         "/price must be a whole number from 0 to 1000000000000\n"},
        {"{" SKU "," NAME ",\"price\":1.0," CATEGORY "}",
         "/price must be a whole number, without fraction or exponent\n"},
        {"{" SKU "," NAME ",\"price\":1e2," CATEGORY "}",
         "/price must be a whole number, without fraction or exponent\n"},
        {"{" SKU "," NAME ",\"price\":\"1\"," CATEGORY "}",
         "/price must be a whole number, without fraction or exponent\n"},
        {"{" SKU "," NAME ",\"price\":true," CATEGORY "}",
         "/price must be a whole number, without fraction or exponent\n"},
        {"{" SKU "," NAME ",\"price\":null," CATEGORY "}",
         "/price must be a whole number, without fraction or exponent\n"},
        {"{" SKU "," NAME "," PRICE "," CATEGORY ",\"stock\":6}",
         "/stock must be a whole number from -5 to 5\n"},
        {"{" SKU "," NAME "," PRICE "," CATEGORY ",\"stock\":-6}",
         "/stock must be a whole number from -5 to 5\n"},
        {"{" SKU "," NAME "," PRICE "," CATEGORY ",\"stock\":null}",
         "/stock must be a whole number, without fraction or exponent\n"},
        /* references */
        {"{" SKU "," NAME "," PRICE ",\"category_id\":8}",
         "/category_id refers to nothing that exists\n"},
        {"{" SKU "," NAME "," PRICE ",\"category_id\":9223372036854775807}",
         "/category_id refers to nothing that exists\n"},
        {"{" SKU "," NAME "," PRICE ",\"category_id\":0}",
         "/category_id must be a whole number from 1 to 9223372036854775807\n"},
        {"{" SKU "," NAME "," PRICE ",\"category_id\":9223372036854775808}",
         "/category_id must be a whole number from 1 to 9223372036854775807\n"},
        {"{" SKU "," NAME "," PRICE ",\"category_id\":7.0}",
         "/category_id must be a whole number, without fraction or exponent\n"},
        /* several at once, and members that are not in the table */
        {"{}",
         "/sku is required\n/name is required\n/price is required\n/category_id is required\n"},
        {"{" SKU "," NAME "," PRICE "," CATEGORY ",\"id\":1}", "/id is not known here\n"},
        {"{" SKU "," NAME "," PRICE "," CATEGORY ",\"\":1,\"a/b\":1,\"m~n\":1,\"~1\":1,\"SKU\":1}",
         "/ is not known here\n/a~1b is not known here\n/m~0n is not known here\n"
         "/~01 is not known here\n/SKU is not known here\n"},
        {"{" SKU "," NAME "," PRICE "," CATEGORY ",\"\\\"\\n\":1}", "/\"\n is not known here\n"},
        {"{\"sku\":\"\",\"name\":\" \",\"price\":-1,\"stock\":9,\"category_id\":8,\"x\":1,\"y\":2}",
         "/sku must be 1 to 8 characters long\n/name must be 2 to 5 characters long\n"
         "/price must be a whole number from 0 to 1000000000000\n"
         "/stock must be a whole number from -5 to 5\n"
         "/category_id refers to nothing that exists\n/x is not known here\n/y is not known here\n"},
        /* not objects */
        {"[]", " must be an object\n"},
        {"null", " must be an object\n"},
        {"1", " must be an object\n"},
        {"\"{}\"", " must be an object\n"},
        {"true", " must be an object\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request request = request_of(cases[i].json);
        struct body body;
        int status = 0;
        open_body(&body, &request);
        bool good = body_read(&body, BODY_ROOT, fields, FIELD_COUNT, BODY_FULL);
        if (good != (cases[i].errors[0] == '\0')) {
            print_error("%s\n", cases[i].json);
        }
        assert_text(errors_of(&body, &status), text_from(cases[i].errors));
        assert_int_equal(good, cases[i].errors[0] == '\0');
        assert_int_equal(status, 422);
    }
}

static void a_reference_out_of_range_is_not_looked_up(void **state) {
    (void)state;
    struct request request = request_of("{\"category_id\":-7}");
    struct body body;
    only_seven_looked_up = 0;
    open_body(&body, &request);
    assert_false(body_read(&body, BODY_ROOT, fields, FIELD_COUNT, BODY_FULL));
    assert_int_equal(only_seven_looked_up, 0);
}

static void the_bounds_of_a_field_may_be_those_of_the_type(void **state) {
    static const struct field widest[] = {{":n", FIELD_INTEGER, INT64_MIN + 1, INT64_MAX}};
    static const struct {
        const char *json;
        bool good;
    } cases[] = {
        {"{\"n\":9223372036854775807}", true},
        {"{\"n\":-9223372036854775807}", true},
        {"{\"n\":-9223372036854775808}", false},
        {"{\"n\":-9223372036854775809}", false},
        {"{\"n\":9223372036854775808}", false},
        {"{\"n\":18446744073709551615}", false},
        {"{\"n\":18446744073709551616}", false},
        {"{\"n\":99999999999999999999999999999999999999}", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request request = request_of(cases[i].json);
        struct body body;
        open_body(&body, &request);
        if (body_read(&body, BODY_ROOT, widest, 1, BODY_FULL) != cases[i].good) {
            fail_msg("%s", cases[i].json);
        }
    }
}

static void each_element_is_read_on_its_own_and_errors_name_its_index(void **state) {
    (void)state;
    struct request request =
        request_of("[{" SKU "," NAME "," PRICE "," CATEGORY "},{\"x/y\":1," NAME "," PRICE
                   "," CATEGORY "},null,{" SKU "," NAME "," PRICE "," CATEGORY "}]");
    struct body body;
    int status = 0;
    open_body(&body, &request);
    assert_int_equal(body_elements(&body), 4);
    assert_true(body_read(&body, 0, fields, FIELD_COUNT, BODY_FULL));
    assert_false(body_read(&body, 1, fields, FIELD_COUNT, BODY_FULL));
    assert_false(body_read(&body, 2, fields, FIELD_COUNT, BODY_FULL));
    assert_true(body_read(&body, 3, fields, FIELD_COUNT, BODY_FULL));
    body_error(&body, "sku", "is taken");
    assert_text(errors_of(&body, &status), TEXT("/1/sku is required\n/1/x~1y is not known here\n"
                                                "/2 must be an object\n/3/sku is taken\n"));
    body_error(&body, NULL, "is of no use");
    struct text errors = errors_of(&body, &status);
    struct text last = TEXT("\n is of no use\n");
    assert_true(errors.length > last.length);
    assert_memory_equal(errors.data + errors.length - last.length, last.data, last.length);
}

static void all_errors_are_told_however_many(void **state) {
    static const int counts[] = {1, 2, 1000, 19000};
    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct buffer json = {.arena = &arena};
        struct body body;
        struct response response;
        char expected[128];
        buffer_append(&json, TEXT("{"));
        for (int k = 0; k < counts[i]; k++) {
            buffer_append(&json, k == 0 ? TEXT("\"x") : TEXT(",\"x"));
            buffer_append_integer(&json, k);
            buffer_append(&json, TEXT("\":1"));
        }
        buffer_append(&json, TEXT("}\0"));
        struct request request = request_of(json.data);
        open_body(&body, &request);
        assert_false(body_read(&body, BODY_ROOT, fields, 0, BODY_FULL));
        assert_int_equal(body.error_count, counts[i]);

        response_start(&response, &arena);
        body_refuse(&body, &response, 422);
        buffer_append(&response.body, TEXT("\0"));
        struct json_object *problem = json_tokener_parse(response.body.data);
        struct json_object *errors = NULL;
        struct json_object *detail = NULL;
        assert_true(json_object_object_get_ex(problem, "errors", &errors));
        assert_true(json_object_object_get_ex(problem, "detail", &detail));
        assert_int_equal(json_object_array_length(errors), counts[i]);
        snprintf(expected, sizeof expected, "the body has %d error", counts[i]);
        assert_memory_equal(json_object_get_string(detail), expected, strlen(expected));
        json_object_put(problem);
    }
}

/* ---- values --------------------------------------------------------------------------------- */

#define ECHO                                                                                       \
    "SELECT :sku AS sku, :name AS name, :price AS price, :stock AS stock, :category_id AS category"

/* What the statement was given, "-" for NULL. */
static struct text bound(struct db *db, const struct body *body) {
    struct buffer values = {.arena = &arena};
    struct db_statement *statement = db_statement(db, ECHO);
    body_bind(body, statement);
    assert_true(db_row(statement));
    for (int i = 0; i < db_columns(statement); i++) {
        bool null = db_value(statement, i).type == DB_NULL;
        buffer_append(&values, i == 0 ? TEXT("") : TEXT(" "));
        buffer_append(&values, null ? TEXT("-") : db_text(statement, i));
    }
    db_reset_statements(db);
    return buffer_text(&values);
}

static void the_values_are_bound_to_the_parameters_of_the_same_names(void **state) {
    static const struct {
        const char *json, *values;
        enum body_mode mode;
        bool gives_any;
    } cases[] = {
        {"{" SKU ",\"name\":\"\xC3\xA4\\n\"," PRICE "," CATEGORY ",\"stock\":-2}",
         "A-1 \xC3\xA4\n 5 -2 7", BODY_FULL, true},
        {"{" SKU "," NAME "," PRICE "," CATEGORY "}", "A-1 Bread 5 3 7", BODY_FULL, true},
        {"{}", "- - - - -", BODY_PARTIAL, false},
        {"{\"price\":0}", "- - 0 - -", BODY_PARTIAL, true},
        {"{" NAME ",\"stock\":-1}", "- Bread - -1 -", BODY_PARTIAL, true},
        {"{\"stock\":null}", "- - - 3 -", BODY_PARTIAL, true},
    };
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request request = request_of(cases[i].json);
        struct body body;
        open_body(&body, &request);
        assert_true(body_read(&body, BODY_ROOT, fields, FIELD_COUNT, cases[i].mode));
        assert_text(bound(db, &body), text_from(cases[i].values));
        assert_int_equal(body_gives_any(&body), cases[i].gives_any);
    }
    db_close(db);
}

static void a_statement_need_not_have_a_parameter_for_every_field(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    struct request request = request_of("{" SKU "," NAME "," PRICE "," CATEGORY "}");
    struct body body;
    open_body(&body, &request);
    assert_true(body_read(&body, BODY_ROOT, fields, FIELD_COUNT, BODY_FULL));
    struct db_statement *statement = db_statement(db, "SELECT :price, :other");
    body_bind(&body, statement);
    assert_true(db_row(statement));
    assert_int_equal(db_integer(statement, 0), 5);
    assert_int_equal(db_value(statement, 1).type, DB_NULL);
    db_reset_statements(db);
    db_close(db);
}

static void a_patch_cannot_remove_what_is_required(void **state) {
    (void)state;
    struct request request = request_of("{\"sku\":null,\"price\":null,\"stock\":null,\"x\":null}");
    struct body body;
    int status = 0;
    open_body(&body, &request);
    assert_false(body_read(&body, BODY_ROOT, fields, FIELD_COUNT, BODY_PARTIAL));
    assert_text(
        errors_of(&body, &status),
        TEXT("/sku is required and cannot be removed\n/price is required and cannot be removed\n"
             "/x is not known here\n"));
}

static void a_patch_is_held_to_the_same_rules_as_a_whole_body(void **state) {
    (void)state;
    struct request request = request_of("{\"sku\":\"\",\"price\":\"1\",\"category_id\":8}");
    struct body body;
    int status = 0;
    open_body(&body, &request);
    assert_false(body_read(&body, BODY_ROOT, fields, FIELD_COUNT, BODY_PARTIAL));
    assert_text(errors_of(&body, &status),
                TEXT("/sku must be 1 to 8 characters long\n"
                     "/price must be a whole number, without fraction or exponent\n"
                     "/category_id refers to nothing that exists\n"));
}

static void values_live_until_the_arena_is_reset(void **state) {
    (void)state;
    for (int use = 0; use < 3;
         use++) { /* the sanitizer sees a value used after the tree is gone, or a leak */
        char json[] = "{" SKU "," NAME "," PRICE "," CATEGORY "}";
        struct request request = request_of(json);
        struct body body;
        open_body(&body, &request);
        memset(json, 'x', sizeof json - 1);
        assert_true(body_read(&body, BODY_ROOT, fields, FIELD_COUNT, BODY_FULL));
        assert_text(body.values[0].text, TEXT("A-1"));
        assert_text(body.values[1].text, TEXT("Bread"));
        arena_reset(&arena);
    }
}

#define TEST(test)         cmocka_unit_test_teardown(test, arena_teardown)
#define TEST_WITH_DB(test) cmocka_unit_test_setup_teardown(test, scratch_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(only_json_is_opened),
        TEST(the_elements_of_an_array_are_counted_and_nothing_else_has_any),
        TEST(a_body_has_the_fields_of_the_table_or_all_its_errors_are_told),
        TEST(a_reference_out_of_range_is_not_looked_up),
        TEST(the_bounds_of_a_field_may_be_those_of_the_type),
        TEST(each_element_is_read_on_its_own_and_errors_name_its_index),
        TEST(all_errors_are_told_however_many),
        TEST_WITH_DB(the_values_are_bound_to_the_parameters_of_the_same_names),
        TEST_WITH_DB(a_statement_need_not_have_a_parameter_for_every_field),
        TEST(a_patch_cannot_remove_what_is_required),
        TEST(a_patch_is_held_to_the_same_rules_as_a_whole_body),
        TEST(values_live_until_the_arena_is_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
