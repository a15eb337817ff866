#include "io/json.h"

#include "base/mem.h"
#include "io/file.h"

#include <jansson.h>
#include <string.h>

/* Line of the first bracket nested too deeply, or 0. jansson's own limit is fixed when its package is compiled. */
static int too_deep(const char *text, size_t n)
{
    int depth = 0, line = 1;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (c == '\n') line++;
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > GEODEC_JSON_DEPTH_MAX) return line;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return 0;
}

geodec_status geodec_json_parse_line(const char *text, size_t n, const char *name, int64_t first_line,
                                     geodec_json **root, geodec_err *err)
{
    json_error_t why;
    const int line = too_deep(text, n);
    if (line)
        GEODEC_FAIL(GEODEC_LIMIT, "%s:%lld: nested more than %d deep", name, (long long)(first_line + line - 1),
                    GEODEC_JSON_DEPTH_MAX);
    json_t *v = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!v)
        GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: %s", name,
                    (long long)(why.line > 0 ? first_line + why.line - 1 : why.line), why.text);
    *root = v;
    return GEODEC_OK;
}

geodec_status geodec_json_parse(const char *text, size_t n, const char *name, geodec_json **root, geodec_err *err)
{
    return geodec_json_parse_line(text, n, name, 1, root, err);
}

geodec_status geodec_json_read(const char *path, size_t limit, geodec_json **root, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    size_t n = 0;
    GEODEC_TRY(geodec_file_read(path, limit, &text, &n, err));
    GEODEC_TRY(geodec_json_parse(text, n, path, root, err));
done:
    geodec_mem_free(text);
    return st;
}

void geodec_json_free(geodec_json *root) { json_decref(root); }

const geodec_json *geodec_json_member(const geodec_json *v, const char *key) { return json_object_get(v, key); }
int64_t geodec_json_length(const geodec_json *v) { return json_is_array(v) ? (int64_t)json_array_size(v) : -1; }

const geodec_json *geodec_json_at(const geodec_json *v, int64_t i)
{
    return i >= 0 && i < geodec_json_length(v) ? json_array_get(v, (size_t)i) : NULL;
}

static geodec_status pick(const geodec_json *v, const char *key, const geodec_json **out, geodec_err *err)
{
    const geodec_json *member = key ? geodec_json_member(v, key) : v;
    if (!member) GEODEC_FAIL(GEODEC_NOTFOUND, "'%s' is missing", key ? key : "value");
    *out = member;
    return GEODEC_OK;
}

geodec_status geodec_json_get_i64(const geodec_json *v, const char *key, int64_t *out, geodec_err *err)
{
    GEODEC_PASS(pick(v, key, &v, err));
    if (!json_is_integer(v)) GEODEC_FAIL(GEODEC_FORMAT, "'%s' is not a whole number", key ? key : "value");
    *out = json_integer_value(v);
    return GEODEC_OK;
}

geodec_status geodec_json_get_f64(const geodec_json *v, const char *key, double *out, geodec_err *err)
{
    GEODEC_PASS(pick(v, key, &v, err));
    if (!json_is_number(v)) GEODEC_FAIL(GEODEC_FORMAT, "'%s' is not a number", key ? key : "value");
    *out = json_number_value(v);
    return GEODEC_OK;
}

geodec_status geodec_json_get_str(const geodec_json *v, const char *key, const char **out, geodec_err *err)
{
    GEODEC_PASS(pick(v, key, &v, err));
    if (!json_is_string(v)) GEODEC_FAIL(GEODEC_FORMAT, "'%s' is not text", key ? key : "value");
    *out = json_string_value(v);
    return GEODEC_OK;
}
