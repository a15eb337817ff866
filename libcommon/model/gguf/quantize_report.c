#include "gguf/quantize_report.h"

#include <math.h>

#include "io/json.h"
#include "io/tsv.h"

static double relative(const geodec_quantize_row *r) { return r->size > 0 ? r->rms / r->size : 0; }

geodec_status geodec_quantize_report_table(FILE *out, const geodec_quantize_row *rows, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(
        geodec_tsv_names(t, "tensor from to values bytes size rms relative largest cosine nearest_rms q8_0_rms", err));
    for (int64_t i = 0; i < n; i++) {
        const geodec_quantize_row *r = &rows[i];
        geodec_tsv_str(t, r->name);
        geodec_tsv_str(t, geodec_ggml_type_name(r->from));
        geodec_tsv_str(t, geodec_ggml_type_name(r->to));
        geodec_tsv_i64(t, r->values);
        geodec_tsv_u64(t, r->bytes);
        const double v[] = {r->size, r->rms, relative(r), r->largest, r->cosine, r->nearest, r->q8_0};
        for (size_t k = 0; k < sizeof v / sizeof *v; k++) geodec_tsv_f64(t, v[k]);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_quantize_report_json(const char *path, const char *command_line, const geodec_quantize_row *rows,
                                          int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    GEODEC_TRY(geodec_json_create(path, &w, err));
    geodec_json_put_str(w, "command_line", command_line);
    geodec_json_begin_array(w, "tensors");
    for (int64_t i = 0; i < n; i++) {
        const geodec_quantize_row *r = &rows[i];
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "tensor", r->name);
        geodec_json_put_str(w, "from", geodec_ggml_type_name(r->from));
        geodec_json_put_str(w, "to", geodec_ggml_type_name(r->to));
        geodec_json_put_i64(w, "values", r->values);
        geodec_json_put_u64(w, "bytes", r->bytes);
        geodec_json_put_f64(w, "size", r->size);
        geodec_json_put_f64(w, "rms", r->rms);
        geodec_json_put_f64(w, "relative", relative(r));
        geodec_json_put_f64(w, "largest", r->largest);
        geodec_json_put_f64(w, "cosine", r->cosine);
        geodec_json_put_f64(w, "nearest_rms", r->nearest);
        geodec_json_put_f64(w, "q8_0_rms", r->q8_0);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_writer *finished = w;
    w = NULL;
    GEODEC_TRY(geodec_json_commit(finished, err));
done:
    geodec_json_abandon(w);
    return st;
}

/* Over all tensors that changed, weighted by their values. */
void geodec_quantize_report_say(const geodec_hooks *hooks, const char *output, const geodec_quantize_row *rows,
                                int64_t n)
{
    double values = 0, bytes = 0, size = 0, error = 0, nearest = 0, changed = 0;
    for (int64_t i = 0; i < n; i++) {
        const double k = (double)rows[i].values;
        values += k;
        bytes += (double)rows[i].bytes;
        if (rows[i].from == rows[i].to) continue;
        changed++;
        size += k * rows[i].size * rows[i].size;
        error += k * rows[i].rms * rows[i].rms;
        nearest += k * rows[i].nearest * rows[i].nearest;
    }
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "%s: %.0f of %lld tensors changed, %.3f bits a weight, relative error %.5g (plain rounding %.5g)",
                     output, changed, (long long)n, 8 * bytes / values, size > 0 ? sqrt(error / size) : 0.0,
                     size > 0 ? sqrt(nearest / size) : 0.0);
}
