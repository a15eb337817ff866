/* The SQL functions of artifact/select.h and the order of numbers and texts. */
#include "artifact/select_internal.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* A complete number that is not NaN. */
static bool read_number(const char *text, double *x)
{
    char *end = NULL;
    *x = strtod(text, &end);
    return end != text && end[strspn(end, " " GEODEC__SELECT_LARGE)] == 0 && !isnan(*x);
}

/* The value as a number, NULL as NaN. Any other text returns false and sets an error of the SQL function. */
static bool number_of(sqlite3_context *c, sqlite3_value *v, double *x)
{
    char message[80];
    *x = (double)NAN;
    if (sqlite3_value_type(v) == SQLITE_NULL) return true;
    if (sqlite3_value_type(v) == SQLITE_BLOB) {
        sqlite3_result_error(c, "an array where a number is needed; use at()", -1);
        return false;
    }
    const char *text = (const char *)sqlite3_value_text(v);
    if (sqlite3_value_type(v) == SQLITE_TEXT && !(text && read_number(text, x))) {
        (void)snprintf(message, sizeof message, "'%.40s' is not a number", text ? text : "");
        sqlite3_result_error(c, message, -1);
        return false;
    }
    if (sqlite3_value_type(v) != SQLITE_TEXT) *x = sqlite3_value_double(v);
    return true;
}

bool geodec__select_missing(const char *cell)
{
    static const char *const words[] = {"nan", "na", "n/a", "null", "inf", "infinity"};
    if (!*cell) return true;
    const char *word = cell + (*cell == '-' || *cell == '+');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(word, words[i]) == 0) return true;
    return false;
}

/* The digits of a whole number without leading zeros, and its sign; false for other texts. */
static bool whole_number(const char *text, const char **digits, size_t *n, bool *negative)
{
    *negative = *text == '-';
    *digits = text + (*text == '-' || *text == '+');
    *n = strspn(*digits, "0123456789");
    const char *rest = *digits + *n;
    if (*n == 0 || rest[strspn(rest, " " GEODEC__SELECT_LARGE)] != 0) return false;
    for (; *n > 1 && **digits == '0'; (*n)--) (*digits)++;
    *negative = *negative && **digits != '0';
    return true;
}

bool geodec__select_large(const char *cell)
{
    const char *digits;
    size_t n;
    bool negative;
    return whole_number(cell, &digits, &n, &negative) && digits[n] == 0 && !negative &&
           (n > 19 || (n == 19 && memcmp(digits, "9223372036854775807", 19) > 0));
}

/* Order of two numbers, of which one is no double perhaps: whole numbers by their digits. */
static int compare_numbers(const char *a, const char *b)
{
    const char *digits[2];
    size_t n[2];
    bool negative[2];
    if (whole_number(a, &digits[0], &n[0], &negative[0]) && whole_number(b, &digits[1], &n[1], &negative[1])) {
        if (negative[0] != negative[1]) return negative[0] ? -1 : 1;
        const int order = n[0] != n[1] ? (n[0] > n[1]) - (n[0] < n[1]) : memcmp(digits[0], digits[1], n[0]);
        return negative[0] ? -order : order;
    }
    const long double x = strtold(a, NULL), y = strtold(b, NULL); /* 64 bits: whole numbers up to 2^64 */
    return (x > y) - (x < y);
}

/* Order of cells: numbers by value, then texts by bytes. */
static int collate_number(void *unused, int n_a, const void *a, int n_b, const void *b)
{
    char text[2][GEODEC_FORMAT_ROOM * 2];
    double x = 0, y = 0;
    (void)unused;
    const bool short_a = (size_t)n_a < sizeof text[0], short_b = (size_t)n_b < sizeof text[1];
    if (short_a) (void)snprintf(text[0], sizeof text[0], "%.*s", n_a, (const char *)a);
    if (short_b) (void)snprintf(text[1], sizeof text[1], "%.*s", n_b, (const char *)b);
    const bool number_a = short_a && read_number(text[0], &x), number_b = short_b && read_number(text[1], &y);
    if (number_a != number_b) return number_a ? -1 : 1;
    if (number_a) return compare_numbers(text[0], text[1]);
    const int order = memcmp(a, b, (size_t)(n_a < n_b ? n_a : n_b));
    return order ? order : n_a - n_b;
}

static void function_number(sqlite3_context *c, int n, sqlite3_value **v)
{
    double x;
    (void)n;
    if (number_of(c, v[0], &x)) sqlite3_result_double(c, x);
}

static void function_known(sqlite3_context *c, int n, sqlite3_value **v)
{
    double x = sqlite3_value_double(v[0]);
    (void)n;
    if (sqlite3_value_type(v[0]) == SQLITE_TEXT && !read_number((const char *)sqlite3_value_text(v[0]), &x))
        x = (double)NAN;
    sqlite3_result_int(c, sqlite3_value_type(v[0]) != SQLITE_NULL && isfinite(x));
}

static void function_fixed(sqlite3_context *c, int n, sqlite3_value **v)
{
    char text[64];
    double x, decimals;
    (void)n;
    if (!number_of(c, v[0], &x) || !number_of(c, v[1], &decimals)) return;
    if (!(decimals >= 0 && decimals <= 17) || (isfinite(x) && !(fabs(x) < 1e9)))
        (void)snprintf(text, sizeof text, "fixed(%g, %g)", x, decimals);
    else
        (void)snprintf(text, sizeof text, "%.*f", (int)decimals, isnan(x) ? (double)NAN : x);
    if (text[0] == 'f')
        sqlite3_result_error(c, text, -1);
    else
        sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

/* exact(x), and exact32(x) if the user data is set. */
static void function_exact(sqlite3_context *c, int n, sqlite3_value **v)
{
    char text[GEODEC_FORMAT_ROOM];
    double x;
    (void)n;
    if (number_of(c, v[0], &x))
        sqlite3_result_text(c, sqlite3_user_data(c) ? geodec_format_f32((float)x, text) : geodec_format_f64(x, text),
                            -1, SQLITE_TRANSIENT);
}

/* ---- arrays and lists ------------------------------------------------------------------------------------------- */

const char *geodec__select_elements(const void *blob, int64_t bytes, geodec__select_array *array, int64_t *n)
{
    *n = 1;
    if (!blob || bytes < (int64_t)sizeof *array) return NULL;
    memcpy(array, blob, sizeof *array);
    if (array->type > GEODEC_U8 || array->rank < 1 || array->rank > GEODEC_RANK_MAX) return NULL;
    for (uint32_t d = 0; d < array->rank; d++)
        if (geodec_mem_mul(*n, array->shape[d], n) != 0) return NULL;
    if (*n > bytes || *n * (int64_t)geodec_type_size((geodec_type)array->type) != bytes - (int64_t)sizeof *array)
        return NULL;
    return (const char *)blob + sizeof *array;
}

const void *geodec__select_element(geodec_type type, const char *data, int64_t i, uint64_t *room)
{
    const size_t size = geodec_type_size(type);
    return memcpy(room, data + i * (int64_t)size, size);
}

void geodec__select_result(sqlite3_context *c, geodec_type type, const void *element)
{
    char text[GEODEC_FORMAT_ROOM];
    if (type == GEODEC_F64 || type == GEODEC_F32 || type == GEODEC_F16)
        sqlite3_result_double(c, geodec_format_element_f64(type, element, 0));
    else if (type == GEODEC_U64 && *(const uint64_t *)element > INT64_MAX)
        sqlite3_result_text(c, geodec_format_element(type, element, 0, text), -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_int64(c, type == GEODEC_I64 || type == GEODEC_U64
                                    ? *(const int64_t *)element
                                    : (int64_t)geodec_format_element_f64(type, element, 0));
}

static void function_at(sqlite3_context *c, int n, sqlite3_value **v)
{
    geodec__select_array array, part = {0};
    int64_t width, first = 0;
    uint64_t room;
    char message[80];
    if (n < 1 || sqlite3_value_type(v[0]) == SQLITE_NULL) return;
    const void *blob = sqlite3_value_blob(v[0]);
    const char *data = sqlite3_value_type(v[0]) == SQLITE_BLOB
                           ? geodec__select_elements(blob, sqlite3_value_bytes(v[0]), &array, &width)
                           : NULL;
    if (!data || n - 1 > (int)array.rank) {
        sqlite3_result_error(c, "at(): the value has fewer axes than there are indices", -1);
        return;
    }
    for (int d = 0; d < n - 1; d++) {
        const int64_t extent = array.shape[d], i = sqlite3_value_int64(v[d + 1]);
        if (i >= extent || i < -extent) {
            (void)snprintf(message, sizeof message, "there is no index %lld along an axis of %lld", (long long)i,
                           (long long)extent);
            sqlite3_result_error(c, message, -1);
            return;
        }
        width /= extent;
        first += (i < 0 ? i + extent : i) * width;
    }
    const geodec_type type = (geodec_type)array.type;
    const int64_t size = (int64_t)geodec_type_size(type);
    if (n - 1 == (int)array.rank) {
        geodec__select_result(c, type, geodec__select_element(type, data, first, &room));
        return;
    }
    part.type = array.type;
    part.rank = array.rank - (uint32_t)(n - 1);
    memcpy(part.shape, array.shape + (n - 1), part.rank * sizeof *part.shape);
    char *out = geodec_mem_new((int64_t)sizeof part + width * size, 1);
    if (!out) {
        sqlite3_result_error_nomem(c);
        return;
    }
    memcpy(out, &part, sizeof part);
    memcpy(out + sizeof part, data + first * size, (size_t)(width * size));
    sqlite3_result_blob64(c, out, (sqlite3_uint64)((int64_t)sizeof part + width * size), geodec_mem_free);
}

/* word(text, i) splits the text at ';' if it contains one, else at ','; or word(text, i, separator). */
static void function_word(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *text = (const char *)sqlite3_value_text(v[0]);
    const char *separator = n == 3 ? (const char *)sqlite3_value_text(v[2]) : text && strchr(text, ';') ? ";" : ",";
    char message[80];
    const int64_t k = sqlite3_value_int64(v[1]);
    int64_t words = 0;
    for (const char *at = text; at && *text && separator && *separator; words++) {
        size_t length = strcspn(at, separator);
        const char *next = at[length] ? at + length + 1 : NULL;
        if (words == k) {
            for (; length && *at == ' '; length--) at++;
            while (length && at[length - 1] == ' ') length--;
            sqlite3_result_text(c, at, (int)length, SQLITE_TRANSIENT);
            return;
        }
        at = next;
    }
    (void)snprintf(message, sizeof message, "word(): %lld words and none of number %lld", (long long)words,
                   (long long)k);
    sqlite3_result_error(c, message, -1);
}

/* ---- aggregates ------------------------------------------------------------------------------------------------- */

typedef enum aggregate { SUM, MEAN, SEM, MEDIAN, QUANTILE, FIRST, ONLY } aggregate;
static const aggregate aggregates[] = {SUM, MEAN, SEM, MEDIAN, QUANTILE, FIRST, ONLY};

typedef struct pile { /* the values of a group */
    double *x, share;
    int64_t n;
    bool nan;
    sqlite3_value *first;
} pile;

static void aggregate_step(sqlite3_context *c, int n, sqlite3_value **v)
{
    const aggregate op = *(const aggregate *)sqlite3_user_data(c);
    pile *p = sqlite3_aggregate_context(c, sizeof *p);
    double x = 0;
    if (!p) return;
    if (n == 2 && !(number_of(c, v[1], &p->share) && p->share >= 0 && p->share <= 1)) {
        sqlite3_result_error(c, "quantile(): the share is not between 0 and 1", -1);
        return;
    }
    if (op == FIRST || op == ONLY) {
        if (p->n++ == 0) p->first = sqlite3_value_dup(v[0]);
        return;
    }
    if (!number_of(c, v[0], &x)) return;
    if ((p->n & (p->n - 1)) == 0) { /* a power of two */
        double *grown = geodec_mem_grow(p->x, p->n, p->n ? 2 * p->n : 1, sizeof *grown);
        if (!grown) {
            sqlite3_result_error_nomem(c);
            return;
        }
        p->x = grown;
    }
    p->nan = p->nan || isnan(x);
    p->x[p->n++] = x;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Interpolated between the values at both sides of rank share (n - 1), from 0: geodec_stats_percentile, and numpy. */
static double quantile(pile *p, double share)
{
    if (p->n == 0 || p->nan) return (double)NAN;
    qsort(p->x, (size_t)p->n, sizeof *p->x, by_value);
    const double at = share * (double)(p->n - 1);
    const int64_t i = (int64_t)at;
    if (i >= p->n - 1) return p->x[p->n - 1];
    return p->x[i] == p->x[i + 1] ? p->x[i] : p->x[i] + (at - (double)i) * (p->x[i + 1] - p->x[i]);
}

static double aggregate_value(aggregate op, pile *p)
{
    double sum = 0, squares = 0;
    if (op == MEDIAN) return quantile(p, 0.5);
    if (op == QUANTILE) return quantile(p, p->share);
    for (int64_t i = 0; i < p->n; i++) sum += p->x[i];
    if (op == SUM) return sum;
    if (p->n < (op == SEM ? 2 : 1)) return (double)NAN;
    const double mean = sum / (double)p->n;
    for (int64_t i = 0; i < p->n; i++) squares += (p->x[i] - mean) * (p->x[i] - mean);
    return op == MEAN ? mean : sqrt(squares / (double)(p->n - 1) / (double)p->n);
}

static void aggregate_final(sqlite3_context *c)
{
    const aggregate op = *(const aggregate *)sqlite3_user_data(c);
    pile none = {0}, *p = sqlite3_aggregate_context(c, 0);
    char message[64];
    if (!p) p = &none;
    if (op == ONLY && p->n > 1) {
        (void)snprintf(message, sizeof message, "only(): %lld rows instead of one", (long long)p->n);
        sqlite3_result_error(c, message, -1);
    } else if (p->first) {
        sqlite3_result_value(c, p->first);
    } else if (op != FIRST && op != ONLY) {
        sqlite3_result_double(c, aggregate_value(op, p));
    }
    sqlite3_value_free(p->first);
    geodec_mem_free(p->x);
}

int geodec__select_functions(sqlite3 *db)
{
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
        const aggregate *op;
    } functions[] = {
        {"at", -1, function_at, NULL},          {"word", 2, function_word, NULL},
        {"word", 3, function_word, NULL},       {"fixed", 2, function_fixed, NULL},
        {"exact", 1, function_exact, NULL},     {"exact32", 1, function_exact, &aggregates[0]},
        {"number", 1, function_number, NULL},   {"known", 1, function_known, NULL},
        {"sum", 1, NULL, &aggregates[SUM]},     {"mean", 1, NULL, &aggregates[MEAN]},
        {"sem", 1, NULL, &aggregates[SEM]},     {"median", 1, NULL, &aggregates[MEDIAN]},
        {"first", 1, NULL, &aggregates[FIRST]}, {"quantile", 2, NULL, &aggregates[QUANTILE]},
        {"only", 1, NULL, &aggregates[ONLY]},
    };
    int rc = sqlite3_create_collation(db, "number", SQLITE_UTF8, NULL, collate_number);
    for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function(db, functions[i].name, functions[i].arguments, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                     (void *)(uintptr_t)functions[i].op, functions[i].call,
                                     functions[i].call ? NULL : aggregate_step,
                                     functions[i].call ? NULL : aggregate_final);
    return rc;
}
