/* geodec-records: compressed trajectory records. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/lookup.h"
#include "chain/records.h"
#include "cli/cli.h"
#include "cli/space.h"
#include "io/foreign.h"
#include "lab/records/published.h"

#include <string.h>

static const char *output = "records.h5", *mode = "correct", *draws;
static int64_t directions = 4, logits = 8, queries = 512;
static double phi_tolerance = 1e-2, x_tolerance = 2e-3, tau = 0.1;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "records.h5"),
    CLI_MODE_OPTION(mode),
    CLI_DRAWS_OPTION(draws),
    {.name = "tolerance",
     .letter = 'e',
     .type = CLI_F64,
     .target = &phi_tolerance,
     .min = 0,
     .max = 1,
     .metavar = "X",
     .help = "relative error of a propagator allowed in the choice of its rank"},
    {.name = "x-tolerance",
     .type = CLI_F64,
     .target = &x_tolerance,
     .min = 0,
     .max = 1e9,
     .metavar = "X",
     .help = "g-length by which interpolated waypoints may miss a path"},
    {.name = "tau",
     .type = CLI_F64,
     .target = &tau,
     .min = 1e-9,
     .max = 1e3,
     .metavar = "X",
     .help = "mean relative error that defines a record's radius rho"},
    {.name = "directions",
     .type = CLI_I64,
     .target = &directions,
     .min = 1,
     .max = 4096,
     .metavar = "N",
     .help = "directions in which rho is measured"},
    {.name = "logits",
     .letter = 'm',
     .type = CLI_I64,
     .target = &logits,
     .min = 0,
     .max = 1e6,
     .metavar = "N",
     .help = "best logits kept with a record, when ACTIVATIONS.h5 is given"},
    {.name = "queries",
     .type = CLI_I64,
     .target = &queries,
     .min = 1,
     .max = 1e7,
     .metavar = "N",
     .help = "points of the cloud looked up in a trial of the store"},
};

static const cli_tool tool = {
    .name = "geodec-records",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "compressed trajectory records with their validity radii",
    .usage = "[OPTIONS] PROPAGATORS.h5 METRIC.h5 [ACTIVATIONS.h5]\n       geodec-records --mode ref --draws FILE.h5 "
             "[OPTIONS]",
    .description =
        "Keeps the paths with status ok: few waypoints (float16, cubic Hermite), Phi - I by the smallest rank that "
        "meets\n"
        "the tolerance or in full where that is smaller, the radius rho measured for each record, and with "
        "ACTIVATIONS.h5\n"
        "the best logits at the state the path aims at. Then looks up points of the cloud and reports recall. --mode "
        "ref\n"
        "makes the published store (Phi cut to rank 5 at every node) and says what its figures hide.",
    .examples = "geodec-records -o records.h5 propagators.h5 metric.h5 activations.h5\n"
                "  geodec-records --mode ref --draws smollm2-135m_n8.h5 -o records-ref.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 0,
    .max_args = 3,
};

/* `queries` points of the metric that are no anchors, a random choice, into new memory; *count may be smaller. */
static geodec_status choose_queries(const geodec_metric *m, const geodec_propagators *p, uint64_t seed, double **out,
                                    int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    uint8_t *anchor = NULL;
    double *x = NULL;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("record queries", 0));
    int64_t free_points = m->points, got = 0;
    GEODEC_NEW(anchor, m->points);
    for (int64_t i = 0; i < p->paths.paths; i++) {
        const int32_t a = p->paths.point[i];
        if (a < 0 || a >= m->points)
            GEODEC_THROW(GEODEC_FORMAT, "a path begins at point %d of %lld", (int)a, (long long)m->points);
        free_points -= !anchor[a];
        anchor[a] = 1;
    }
    const int64_t want = queries < free_points ? queries : free_points;
    GEODEC_NEW(x, want * n);
    for (int64_t i = 0, left = free_points; i < m->points && got < want; i++) {
        if (anchor[i]) continue;
        if ((int64_t)geodec_rng_below(&r, (uint64_t)left--) < want - got)
            memcpy(x + got++ * n, m->point + i * n, (size_t)n * sizeof *x);
    }
    *out = x;
    *count = got;
    x = NULL;
done:
    geodec_mem_free(anchor);
    geodec_mem_free(x);
    return st;
}

static void summarise(const cli *c, const geodec_records *r, const geodec_lookup_trial *t, double seconds)
{
    double rank = 0, rho = 0;
    int64_t full = 0, censored = 0;
    const double each = 1 / (double)r->records;
    for (int64_t i = 0; i < r->records; i++) {
        rank += r->rank[i] * each;
        rho += (double)r->rho[i] * each;
        full += r->full[i];
        censored += r->rho_censored[i] != GEODEC_CENSORED_NONE;
    }
    cli_say(c,
            "%lld records: %.0f bytes each (%.0f uncompressed), every %lld nodes a waypoint, mean rank %.1f, %lld in "
            "full; mean rho %.3g "
            "(%lld at the end of the range)",
            (long long)r->records, (double)geodec_records_bytes(r) * each, (double)geodec_records_bytes_plain(r) * each,
            (long long)r->stride, rank, (long long)full, rho, (long long)censored);
    cli_say(c,
            "%lld lookups: recall %.3f (screen of 8: %.3f), %.1f exact distances each, %.1f %% inside rho; %.1f us "
            "each, control included",
            (long long)t->queries, t->recall, t->recall_screen, t->evaluations, 100 * t->inside,
            t->queries ? 1e6 * seconds / (double)t->queries : 0);
}

enum { PUBLISHED_ANCHORS = 24, PUBLISHED_RANK = 5, PUBLISHED_EPS = 3 };

static void summarise_ref(const cli *c, const geodec_records_published *r)
{
    double kept = 0, shift = 0;
    for (int64_t i = 0; i < r->records; i++) {
        kept += r->rank_error[i * r->n + r->rank - 1] / (double)r->records;
        shift += r->shift_error[i * r->n + r->rank - 1] / (double)r->records;
    }
    cli_say(c,
            "%lld records of %.0f bytes (%.0f with Phi itself); error of rank %lld: %g as published (factors against "
            "themselves), %.3g in truth (mean; %.2g had Phi - I been cut)",
            (long long)r->records, r->bytes, r->bytes_full, (long long)r->rank, r->round_trip, kept, shift);
    cli_say(
        c,
        "%lld queries, %lld anchors: %.1f %% nearer than %d (exact search %.1f %%; closed form of a cached neighbour "
        "%.1f %%), recall of the two stages %.3f",
        (long long)r->queries, (long long)r->anchors, 100 * r->hit, PUBLISHED_EPS, 100 * r->hit_exact,
        100 * r->closed_form, r->recall);
}

static geodec_status run_published(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    geodec_records_published r = {0};
    geodec_provenance p = cli_provenance(c);
    const geodec_harness_options o = geodec_harness_defaults();
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    double *point = NULL, *v0 = NULL, *query = NULL, steps;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    geodec_records_published_draws d = {.points = shape[0],
                                        .n = shape[1],
                                        .point = point,
                                        .rank = PUBLISHED_RANK,
                                        .anchors = shape[0] < PUBLISHED_ANCHORS ? shape[0] : PUBLISHED_ANCHORS,
                                        .eps = PUBLISHED_EPS};
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(draws, "/records/v0", 2, shape, NULL, &v0, err));
    d.records = shape[0], d.v0 = v0;
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(draws, "/lookup/queries", 2, shape, NULL, &query, err));
    d.queries = shape[0], d.query = query;
    GEODEC_TRY(geodec_foreign_attr(draws, "/geodesic", "T", &steps, err));
    GEODEC_TRY(geodec_foreign_attr(draws, "/geodesic", "dl", &d.dl, err));
    if (!(steps >= 1 && steps <= 1e5)) GEODEC_THROW(GEODEC_FORMAT, "%s: paths of %g steps", draws, steps);
    d.steps = (int64_t)steps;
    GEODEC_TRY(geodec_records_published_compute(&d, &o, c->pool, &c->hooks, &r, err));
    GEODEC_TRY(geodec_provenance_add_file(&p, draws, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_records_published_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_records_published_write(&r, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise_ref(c, &r);
done:
    geodec_artifact_close(out);
    geodec_records_published_clear(&r);
    geodec_mem_free(point);
    geodec_mem_free(v0);
    geodec_mem_free(query);
    return st;
}

static geodec_status run_correct(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *activations = NULL, *out = NULL;
    space_handle metric = {0};
    geodec_propagators g = {0};
    geodec_records r = {0};
    geodec_records_options o = geodec_records_defaults();
    geodec_lookup_trial trial = {0};
    geodec_provenance p = cli_provenance(c);
    double *x = NULL;
    int64_t count = 0;
    o.phi_tolerance = phi_tolerance;
    o.x_tolerance = x_tolerance;
    o.tau = tau;
    o.directions = directions;
    o.logits = logits;
    o.seed = c->seed;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_propagators_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_propagators_read(in, &g, err));
    GEODEC_TRY(space_open(c->args[1], &metric, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, metric.file, err));
    if (c->n_args > 2) {
        GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, c->args[2], &activations, err));
        GEODEC_TRY(geodec_provenance_add_artifact(&p, activations, err));
    }
    const geodec_space *s = metric.space;
    GEODEC_TRY(geodec_records_compute(&g, s, activations, &o, c->pool, &c->hooks, &r, err));
    GEODEC_TRY(choose_queries(&metric.metric, &g, c->seed, &x, &count, err));
    const double begin = geodec_clock_seconds();
    GEODEC_TRY(geodec_lookup_try(&r, s, count, x, c->pool, &c->hooks, &trial, err));
    const double seconds = geodec_clock_seconds() - begin;
    GEODEC_TRY(geodec_artifact_create(&geodec_records_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_records_write(&r, &trial, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, &r, &trial, seconds);
done:
    geodec_artifact_close(out);
    geodec_artifact_close(activations);
    geodec_artifact_close(in);
    space_close(&metric);
    geodec_propagators_clear(&g);
    geodec_records_clear(&r);
    geodec_mem_free(x);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool published = strcmp(mode, "ref") == 0;
    if (published != (draws != NULL)) GEODEC_THROW(GEODEC_INVAL, "--mode ref and --draws go together");
    if (published ? c->n_args > 0 : c->n_args < 2)
        GEODEC_THROW(GEODEC_INVAL, "%s",
                     published ? "--mode ref takes no artifacts" : "propagators and a metric are wanted");
    GEODEC_TRY(published ? run_published(c, err) : run_correct(c, err));
done:
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
