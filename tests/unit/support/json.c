#include "support/json.h"

#include "base/mem.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

json_t *test_json(const char *relative)
{
    json_error_t e;
    const char *path = test_shared(relative);
    json_t *j = json_load_file(path, 0, &e);
    cr_assert(j, "%s: %s", path, e.text);
    return j;
}

const json_t *test_json_get(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    cr_assert(v, "no member '%s'", key);
    return v;
}

int64_t test_json_length(const json_t *object, const char *key)
{
    return (int64_t)json_array_size(test_json_get(object, key));
}

uint64_t test_json_word(const json_t *value)
{
    if (json_is_integer(value)) return (uint64_t)json_integer_value(value);
    const char *s = json_string_value(value);
    cr_assert(s && *s, "a value is neither an integer nor a decimal string");
    const int negative = *s == '-';
    uint64_t v = 0;
    for (s += negative; *s; s++) {
        cr_assert(*s >= '0' && *s <= '9', "'%c' in an integer", *s);
        v = 10 * v + (uint64_t)(*s - '0');
    }
    return negative ? 0 - v : v;
}

uint64_t test_json_u64(const json_t *object, const char *key) { return test_json_word(test_json_get(object, key)); }
int64_t test_json_i64(const json_t *object, const char *key) { return (int64_t)test_json_u64(object, key); }

int64_t *test_json_i64s(const json_t *object, const char *key, int64_t *n)
{
    const json_t *a = test_json_get(object, key);
    const int64_t count = (int64_t)json_array_size(a);
    int64_t *v = geodec_mem_new(count, sizeof *v);
    cr_assert(v && json_is_array(a));
    for (int64_t i = 0; i < count; i++) v[i] = (int64_t)test_json_word(json_array_get(a, (size_t)i));
    if (n) *n = count;
    return v;
}

uint8_t *test_json_hex(const json_t *object, const char *key, int64_t *n)
{
    const char *s = json_string_value(test_json_get(object, key));
    cr_assert(s && strlen(s) % 2 == 0);
    const int64_t count = (int64_t)strlen(s) / 2;
    uint8_t *v = geodec_mem_new(count, 1);
    cr_assert(v);
    for (int64_t i = 0; i < count; i++) {
        const char digits[3] = {s[2 * i], s[2 * i + 1], 0};
        char *end;
        v[i] = (uint8_t)strtoul(digits, &end, 16);
        cr_assert(*end == 0);
    }
    *n = count;
    return v;
}
