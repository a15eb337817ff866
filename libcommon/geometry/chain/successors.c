#include "chain/successors.h"

#include "base/mem.h"
#include "base/vec_internal.h"

#include <math.h>
#include <string.h>

enum { SLAB = 512 };

void geodec_successors_clear(geodec_successors *s)
{
    GEODEC_FREE(s->has, s->coordinate, s->argmax, s->row);
    *s = (geodec_successors){0};
}

/* Checks that the cloud's points are rows of these activations and that some of them have a next row. */
static geodec_status find(const geodec_cloud *c, const geodec_activations *v, geodec_successors *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *token = NULL, *sequence = NULL, *position = NULL, *argmax = NULL;
    const char *path = geodec_artifact_path(v->file);
    if (v->d != c->d)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: states of width %lld, the cloud's have %lld", path, (long long)v->d,
                     (long long)c->d);
    GEODEC_TRY(geodec_artifact_read(v->file, "/token", &token, err));
    GEODEC_TRY(geodec_artifact_read(v->file, "/sequence", &sequence, err));
    GEODEC_TRY(geodec_artifact_read(v->file, "/position", &position, err));
    if (geodec_artifact_has(v->file, "/argmax")) {
        GEODEC_TRY(geodec_artifact_read(v->file, "/argmax", &argmax, err));
        GEODEC_NEW(s->argmax, c->points);
    }
    if (geodec_artifact_has(v->file, "/logits")) {
        GEODEC_TRY(geodec_artifact_dim(v->file, "V", &s->vocabulary, err));
        GEODEC_NEW_COPY(s->row, c->row, c->points);
        s->logits = v->file;
    }
    for (int64_t i = 0; i < c->points; i++) {
        const int64_t row = c->row[i];
        if (row < 0 || row >= v->rows || token[row] != c->token[i] || sequence[row] != c->sequence[i] ||
            position[row] != c->position[i])
            GEODEC_THROW(GEODEC_CHECKSUM, "%s: point %lld of the cloud is not its row %lld", path, (long long)i,
                         (long long)row);
        s->has[i] = row + 1 < v->rows && sequence[row + 1] == sequence[row] && position[row + 1] == position[row] + 1;
        s->known += s->has[i];
        if (s->argmax) s->argmax[i] = argmax[row];
    }
done:
    GEODEC_FREE(token, sequence, position, argmax);
    return st;
}

geodec_status geodec_successors_log_p(const geodec_successors *s, int64_t i, float *row, double *log_p, geodec_err *err)
{
    double most = -INFINITY, sum = 0;
    GEODEC_PASS(geodec_artifact_read_rows(s->logits, "/logits", s->row[i], 1, row, err));
    for (int64_t v = 0; v < s->vocabulary; v++) {
        if (!isfinite(row[v]))
            GEODEC_FAIL(GEODEC_NUMERIC, "%s: logit %lld of row %lld is not finite", geodec_artifact_path(s->logits),
                        (long long)v, (long long)s->row[i]);
        log_p[v] = (double)row[v];
        most = fmax(most, log_p[v]);
    }
    for (int64_t v = 0; v < s->vocabulary; v++) sum += exp(log_p[v] - most);
    const double lse = most + log(sum);
    for (int64_t v = 0; v < s->vocabulary; v++) log_p[v] -= lse;
    return GEODEC_OK;
}

geodec_status geodec_successors_read(const geodec_cloud *cloud, const geodec_activations *states, geodec_pool *pool,
                                     geodec_successors *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = cloud->d, k = cloud->k;
    geodec_successors s = {.points = cloud->points, .k = k};
    double *x = NULL, *y = NULL, sum = 0;
    float *row = NULL;
    char *scratch = NULL;
    int64_t layer, at[SLAB];
    GEODEC_NEW(s.has, s.points);
    GEODEC_NEW(s.coordinate, s.points * k);
    GEODEC_TRY(find(cloud, states, &s, err));
    GEODEC_TRY(geodec_activations_find_layer(states, cloud->layer, &layer, err));
    GEODEC_NEW(x, SLAB * d);
    GEODEC_NEW(y, SLAB * k);
    GEODEC_NEW(row, d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(states, 1) + 1);
    for (int64_t i = 0, count = 0; i <= s.points; i++) {
        if (count == SLAB || (i == s.points && count > 0)) {
            GEODEC_TRY(geodec_pca_project(d, k, cloud->basis, cloud->mean, count, x, y, pool, err));
            for (int64_t j = 0; j < count; j++) {
                double *to = s.coordinate + at[j] * k;
                for (int64_t a = 0; a < k; a++) {
                    const double step = y[j * k + a] - cloud->coordinate[at[j] * k + a];
                    to[a] = y[j * k + a];
                    sum += step * step;
                }
            }
            count = 0;
        }
        if (i == s.points || !s.has[i]) continue;
        GEODEC_TRY(geodec_activations_read(states, layer, (int64_t)cloud->row[i] + 1, 1, row, scratch, err));
        for (int64_t a = 0; a < d; a++) x[count * d + a] = (double)row[a];
        if (!geodec__finite(d, x + count * d))
            GEODEC_THROW(GEODEC_NUMERIC, "%s: row %lld is not finite", geodec_artifact_path(states->file),
                         (long long)cloud->row[i] + 1);
        at[count++] = i;
    }
    s.rms_step = s.known ? sqrt(sum / (double)s.known) : 0;
    *out = s;
done:
    if (st != GEODEC_OK) geodec_successors_clear(&s);
    GEODEC_FREE(x, y, row, scratch);
    return st;
}
