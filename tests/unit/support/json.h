/* Golden files in JSON; integers beyond 2^53 are decimal strings. A missing member fails the running test. */
#ifndef GEODEC_TESTS_JSON_H
#define GEODEC_TESTS_JSON_H

#include <jansson.h>
#include <stdint.h>

/* The object in test_shared(relative), which skips the test where there is none. Released with json_decref. */
json_t *test_json(const char *relative);
const json_t *test_json_get(const json_t *object, const char *key);
int64_t test_json_length(const json_t *object, const char *key);
/* An integer or a decimal string of any length, modulo 2^64. */
uint64_t test_json_word(const json_t *value);
uint64_t test_json_u64(const json_t *object, const char *key);
int64_t test_json_i64(const json_t *object, const char *key);
/* The array `key` of such values; released with geodec_mem_free. n may be NULL. */
int64_t *test_json_i64s(const json_t *object, const char *key, int64_t *n);
/* Bytes of a string of hex digits; released with geodec_mem_free. */
uint8_t *test_json_hex(const json_t *object, const char *key, int64_t *n);

#endif
