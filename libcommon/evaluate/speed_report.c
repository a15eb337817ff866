#include "evaluate/speed_report.h"

#include "base/numbers.h"
#include "io/json.h"
#include "io/tsv.h"
#include "model/arithmetic.h"

#include <math.h>
#include <string.h>

geodec_status geodec_speed_report_widths(const char *widths, geodec_speed_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double v[GEODEC_BENCH_WIDTHS_MAX];
    int64_t n;
    if (strcmp(widths, "none") == 0) goto done;
    GEODEC_TRY(geodec_numbers_parse(widths, "--widths", 1, 64, GEODEC_BENCH_WIDTHS_MAX, v, &n, err));
    for (int64_t i = 0; i < n; i++) {
        if (v[i] != (double)(int32_t)v[i]) GEODEC_THROW(GEODEC_INVAL, "--widths: %g is not whole", v[i]);
        o->width[o->n_widths++] = (int32_t)v[i];
    }
done:
    return st;
}

geodec_status geodec_speed_report_table(FILE *out, const geodec_speed_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "measure n unit median min max control_name control", err));
    for (int i = 0; i < r->n_rows; i++) {
        const geodec_speed_row *row = &r->row[i];
        geodec_tsv_str(t, row->name);
        geodec_tsv_i64(t, row->n);
        geodec_tsv_str(t, row->unit);
        geodec_tsv_f64(t, row->median);
        geodec_tsv_f64(t, row->min);
        geodec_tsv_f64(t, row->max);
        geodec_tsv_str(t, row->control_name[0] ? row->control_name : "-");
        geodec_tsv_f64(t, row->control_name[0] ? row->control : (double)NAN);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_speed_report_json(FILE *out, const char *file, const geodec_speed_options *o,
                                       const geodec_speed_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    GEODEC_TRY(geodec_json_on(out, &w, err));
    geodec_json_put_str(w, "model", file);
    geodec_json_put_str(w, "arithmetic", geodec_arithmetic_name(o->arithmetic));
    geodec_json_put_str(w, "isa", geodec_kernels_isa_name(r->isa));
    geodec_json_put_str(w, "kv", geodec_cache_kv_name(o->kv));
    geodec_json_put_i64(w, "threads", r->threads);
    geodec_json_put_i64(w, "depth", o->depth);
    geodec_json_put_i64(w, "batch", o->batch);
    geodec_json_put_i64(w, "repeats", o->repeats);
    geodec_json_put_i64(w, "file_bytes", r->file_bytes);
    geodec_json_put_i64(w, "kv_bytes", r->kv_bytes);
    geodec_json_put_i64(w, "token_bytes", r->token_bytes);
    geodec_json_begin_array(w, "rows");
    for (int i = 0; i < r->n_rows; i++) {
        const geodec_speed_row *row = &r->row[i];
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "measure", row->name);
        geodec_json_put_i64(w, "n", row->n);
        geodec_json_put_str(w, "unit", row->unit);
        geodec_json_put_f64(w, "median", row->median);
        geodec_json_put_f64(w, "min", row->min);
        geodec_json_put_f64(w, "max", row->max);
        if (row->control_name[0]) {
            geodec_json_put_str(w, "control_name", row->control_name);
            geodec_json_put_f64(w, "control", row->control);
        }
        geodec_json_end(w);
    }
    geodec_json_end(w);
    st = geodec_json_commit(w, err);
    w = NULL;
done:
    geodec_json_abandon(w);
    return st;
}
