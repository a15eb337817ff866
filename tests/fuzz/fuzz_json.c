/* The JSON reader: an accepted value is unchanged after writing and reading. */
#include "fuzz/fuzz.h"
#include "io/json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 16 };

static void put(geodec_json_writer *w, const char *key, const geodec_json *v)
{
    const char *name, *text;
    json_t *member;
    int64_t i;
    double d;
    if (json_is_object(v)) {
        geodec_json_begin_object(w, key);
        json_object_foreach((json_t *)(uintptr_t)v, name, member) put(w, name, member);
        geodec_json_end(w);
    } else if (geodec_json_length(v) >= 0) {
        geodec_json_begin_array(w, key);
        for (i = 0; i < geodec_json_length(v); i++) put(w, NULL, geodec_json_at(v, i));
        fuzz_must(!geodec_json_at(v, i) && !geodec_json_at(v, -1), "an element behind the last");
        geodec_json_end(w);
    } else if (geodec_json_get_str(v, NULL, &text, NULL) == GEODEC_OK) {
        geodec_json_put_str(w, key, text);
    } else if (geodec_json_get_i64(v, NULL, &i, NULL) == GEODEC_OK) {
        geodec_json_put_i64(w, key, i);
    } else if (geodec_json_get_f64(v, NULL, &d, NULL) == GEODEC_OK) {
        fuzz_must(isfinite(d), "a number that is not finite");
        geodec_json_put_f64(w, key, d);
    } else if (json_is_boolean(v)) {
        geodec_json_put_bool(w, key, json_is_true(v));
    } else {
        fuzz_must(json_is_null(v), "a value without a type");
        geodec_json_put_null(w, key);
    }
}

static void same(const geodec_json *a, const geodec_json *b)
{
    const char *name;
    json_t *member;
    double x, y;
    if (json_is_object(a)) {
        fuzz_must(json_object_size(a) == json_object_size(b), "another number of members");
        json_object_foreach((json_t *)(uintptr_t)a, name, member) same(member, geodec_json_member(b, name));
    } else if (geodec_json_length(a) >= 0) {
        fuzz_must(geodec_json_length(a) == geodec_json_length(b), "another number of elements");
        for (int64_t i = 0; i < geodec_json_length(a); i++) same(geodec_json_at(a, i), geodec_json_at(b, i));
    } else if (geodec_json_get_f64(a, NULL, &x, NULL) == GEODEC_OK) { /* a real number may be written as an integer */
        fuzz_must(geodec_json_get_f64(b, NULL, &y, NULL) == GEODEC_OK && x == y, "another number");
    } else {
        fuzz_must(json_equal(a, b), "another value");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    geodec_err err = {0};
    geodec_json *root = NULL, *again = NULL;
    geodec_json_writer *w = NULL;
    char *text = NULL;
    size_t n = 0;
    if (size > MAX_INPUT) return 0;
    char *exact = malloc(size ? size : 1); /* its end at the end of an allocation */
    if (!exact) return 0;
    memcpy(exact, data, size);
    const geodec_status st = geodec_json_parse(exact, size, "fuzz.json", &root, &err);
    free(exact);
    if (st != GEODEC_OK) {
        char line[1024];
        fuzz_must(!root, "an output of a failure");
        fuzz_use(geodec_err_line(&err, line, sizeof line), strlen(line));
        return 0;
    }
    FILE *memory = open_memstream(&text, &n);
    if (memory && geodec_json_on(memory, &w, &err) == GEODEC_OK) {
        put(w, "value", root);
        fuzz_must(geodec_json_commit(w, &err) == GEODEC_OK && fflush(memory) == 0, "what was read cannot be written");
        /* one object more than the reader's depth is refused; all other values are restored */
        const geodec_status back = geodec_json_parse(text, n, "again.json", &again, &err);
        fuzz_must(back == GEODEC_OK || back == GEODEC_LIMIT || back == GEODEC_FORMAT, "another failure");
        if (back == GEODEC_OK) same(root, geodec_json_member(again, "value"));
        geodec_json_free(again);
    }
    if (memory) (void)fclose(memory);
    free(text);
    geodec_json_free(root);
    return 0;
}
