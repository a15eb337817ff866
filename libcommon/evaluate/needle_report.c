#include "evaluate/needle_report.h"

#include "io/tsv.h"

static geodec_status put_row(geodec_tsv *t, const char *depth, const geodec_estimate *hits,
                             const geodec_estimate *control, geodec_err *err)
{
    geodec_tsv_str(t, depth);
    geodec_tsv_f64(t, hits->value);
    geodec_tsv_f64(t, hits->low);
    geodec_tsv_f64(t, hits->high);
    geodec_tsv_f64(t, control->value);
    geodec_tsv_f64(t, control->low);
    geodec_tsv_f64(t, control->high);
    return geodec_tsv_end_row(t, err);
}

geodec_status geodec_needle_report_table(FILE *out, const geodec_needle_result *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "depth hits hits_low hits_high control control_low control_high", err));
    for (int32_t d = 0; d < r->depths; d++) {
        char depth[32];
        (void)snprintf(depth, sizeof depth, "%.3g", r->depth[d].depth);
        GEODEC_TRY(put_row(t, depth, &r->depth[d].hits, &r->depth[d].control, err));
    }
    GEODEC_TRY(put_row(t, "all", &r->hits, &r->control, err));
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
