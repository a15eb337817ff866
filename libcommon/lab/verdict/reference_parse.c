#include "lab/verdict/reference_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool geodec__reference_number(const char *s, double *x)
{
    char *end = NULL;
    if (!*s || *s == ' ') return false;
    *x = strtod(s, &end);
    return end != s && !*end;
}

bool geodec__reference_same(const char *a, const char *b)
{
    double x, y;
    if (strcmp(a, b) == 0) return true;
    if (!geodec__reference_number(a, &x) || !geodec__reference_number(b, &y)) return false;
    return fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
}

/* KEY=WORD or KEY~WORD, in place. */
static bool cut_key(char *text, reference_key *k)
{
    char *sign = strpbrk(text, "=~");
    if (!sign || sign == text || !sign[1]) return false;
    *k = (reference_key){.key = text, .word = sign + 1, .nearest = *sign == '~'};
    *sign = 0;
    return true;
}

static geodec_status parse_select(const char *text, char *inside, reference *r, geodec_err *err)
{
    int nearest = 0;
    for (char *next; inside; inside = next) {
        next = strchr(inside, ',');
        if (next) *next++ = 0;
        if (r->n_select == REFERENCE_KEYS)
            GEODEC_FAIL(GEODEC_INVAL, "'%.200s': more than %d keys", text, REFERENCE_KEYS);
        if (!cut_key(inside, &r->select[r->n_select]))
            GEODEC_FAIL(GEODEC_INVAL, "'%.200s': a row is chosen by {KEY=WORD,..}", text);
        nearest += r->select[r->n_select++].nearest;
    }
    if (nearest > 1) GEODEC_FAIL(GEODEC_INVAL, "'%.200s': more than one KEY~NUMBER", text);
    return GEODEC_OK;
}

static geodec_status parse_axis(const char *text, char *inside, reference *r, geodec_err *err)
{
    char *end = NULL;
    if (r->n_axis == GEODEC_RANK_MAX) GEODEC_FAIL(GEODEC_INVAL, "'%.200s': too many indices", text);
    reference_key *k = &r->axis[r->n_axis++];
    if (cut_key(inside, k)) return GEODEC_OK;
    *k = (reference_key){.index = -1};
    if (strcmp(inside, "-1") == 0) return GEODEC_OK;
    const bool digits = *inside >= '0' && *inside <= '9' && strlen(inside) < 18;
    if (digits) k->index = strtoll(inside, &end, 10);
    if (!digits || *end) GEODEC_FAIL(GEODEC_INVAL, "'%.200s': an index is [NUMBER] or [KEY=WORD]", text);
    return GEODEC_OK;
}

geodec_status geodec__reference_parse(const char *text, reference *r, geodec_err *err)
{
    if (strlen(text) >= sizeof r->text)
        GEODEC_FAIL(GEODEC_LIMIT, "'%.60s..': a reference is shorter than %zu bytes", text, sizeof r->text);
    memcpy(r->text, text, strlen(text) + 1);
    r->n_select = r->n_axis = 0;
    char *hash = strrchr(r->text, '#');
    if (!hash || hash == r->text || !hash[1]) GEODEC_FAIL(GEODEC_INVAL, "'%.200s' is not FILE#NAME", text);
    r->file = r->text;
    *hash = 0;
    r->name = hash + 1;
    r->summary = strrchr(r->name, '|');
    if (r->summary) *r->summary++ = 0;
    char *at = r->name + strcspn(r->name, "{[");
    if (at == r->name) GEODEC_FAIL(GEODEC_INVAL, "'%.200s' is not FILE#NAME", text);
    while (*at) {
        const bool select = *at == '{';
        *at++ = 0;
        char *end = strchr(at, select ? '}' : ']');
        if (!end || end == at || (select && (r->n_select || r->n_axis)))
            GEODEC_FAIL(GEODEC_INVAL, "'%.200s' is not FILE#NAME{KEY=WORD}[INDEX]", text);
        *end = 0;
        if (select)
            GEODEC_PASS(parse_select(text, at, r, err));
        else
            GEODEC_PASS(parse_axis(text, at, r, err));
        at = end + 1;
        if (*at && *at != '[' && *at != '{') GEODEC_FAIL(GEODEC_INVAL, "'%.200s': syntax error at '%.40s'", text, at);
    }
    return GEODEC_OK;
}
