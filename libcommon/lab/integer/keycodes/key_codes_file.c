/* The artifact and the table of a measurement of codes. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "io/tsv.h"
#include "lab/integer/keycodes/key_codes.h"

#include <math.h>
#include <string.h>

#define IN(m) GEODEC_IN(geodec_key_codes_report, m)
#define OF(m) GEODEC_OF_ROW(geodec_key_codes_row, m)

static const geodec_field fields[] = {
    {"/k_bytes", GEODEC_F64, "C", 0, "byte", "bytes of a value of a key, all metadata of the vector included", 0,
     OF(k_bytes)},
    {"/v_bytes", GEODEC_F64, "C", 0, "byte", "the same of values", 0, OF(v_bytes)},
    {"/shared", GEODEC_F64, "C", 0, "byte", "tables that all vectors of the model share", 0, OF(shared)},
    {"/k_error", GEODEC_F64, "C,3", 0, "1",
     "|key - decoded| / |key| over all vectors, with its 95 % bootstrap interval over documents", 0, OF(k_error.value)},
    {"/v_error", GEODEC_F64, "C,3", 0, "1", "the same of values", 0, OF(v_error.value)},
    {"/kl", GEODEC_F64, "C,3", 0, "nat",
     "KL(p || q) of attention probabilities with the model's keys and with decoded ones, mean over layers, heads and "
     "positions, with its interval",
     0, OF(kl.value)},
    {"/perplexity", GEODEC_F64, "C", GEODEC_FIELD_NONFINITE, "1",
     "perplexity with the cache in the code; NaN: not measured", 0, OF(perplexity)},
    {"/nll_difference", GEODEC_F64, "C,2", GEODEC_FIELD_NONFINITE, "nat",
     "paired difference of the negative log-likelihood of a token to the float32 cache, and its standard error over "
     "windows",
     0, OF(nll[0])},
};

static const geodec_attr attrs[] = {
    {"codes", GEODEC_ATTR_STR, 0, "names along C, separated by commas", IN(names)},
    {"vector", GEODEC_ATTR_I64, 0, "values of a vector", IN(dim)},
    {"values", GEODEC_ATTR_I64, 0, "values of a token in the cache", IN(values)},
    {"calibration", GEODEC_ATTR_I64, 0, "rows of the calibration documents", IN(calibration)},
    {"rows", GEODEC_ATTR_I64, 0, "rows measured", IN(rows)},
    {"documents", GEODEC_ATTR_I64, 0, "documents measured", IN(documents)},
    {"scored", GEODEC_ATTR_I64, 0, "tokens of the perplexities", IN(scored)},
};

static const geodec_extent extents[] = {{"C", IN(cases)}};

const geodec_kind geodec_key_codes_kind = {
    GEODEC_ABOUT("keycodes", 1, 0, "geodec-integer-keycodes",
                 "codes of the key and value cache: bytes, errors, divergence of attention, perplexity"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_key_codes_row), offsetof(geodec_key_codes_report, row), false},
};

void geodec_key_codes_clear(geodec_key_codes_report *r)
{
    GEODEC_FREE(r->row, r->names);
    memset(r, 0, sizeof *r);
}

geodec_status geodec_key_codes_write(const geodec_key_codes_report *r, geodec_artifact *a, geodec_err *err)
{
    GEODEC_PASS(geodec_artifact_save(a, r, err));
    return GEODEC_OK;
}

static void put_estimate(geodec_tsv *t, const geodec_estimate *e)
{
    geodec_tsv_f64(t, e->value);
    geodec_tsv_f64(t, e->low);
    geodec_tsv_f64(t, e->high);
}

geodec_status geodec_key_codes_table(FILE *out, const geodec_key_codes_report *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    char *names = geodec_mem_strdup(r->names), *rest = names;
    if (!names) GEODEC_THROW(GEODEC_NOMEM, "no memory for a table");
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(
        geodec_tsv_names(t,
                         "code k_bytes v_bytes shared k_error k_low k_high v_error v_low v_high kl kl_low kl_high "
                         "perplexity ratio ratio_low ratio_high",
                         err));
    for (int64_t k = 0; k < r->cases; k++) {
        const geodec_key_codes_row *y = &r->row[k];
        geodec_tsv_str(t, strsep(&rest, ","));
        geodec_tsv_f64(t, y->k_bytes);
        geodec_tsv_f64(t, y->v_bytes);
        geodec_tsv_f64(t, y->shared);
        put_estimate(t, &y->k_error);
        put_estimate(t, &y->v_error);
        put_estimate(t, &y->kl);
        geodec_tsv_f64(t, y->perplexity);
        for (int i = 0; i < 3; i++)
            geodec_tsv_f64(t, exp(y->nll[0] + (i == 0 ? 0 : i == 1 ? -1.96 : 1.96) * y->nll[1]));
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    geodec_mem_free(names);
    return st;
}
