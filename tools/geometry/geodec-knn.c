/* geodec-knn: the exact nearest neighbours of points that need not fit in memory, by one process or by ranks. */
#include "base/mem.h"
#include "chain/activations.h"
#include "chain/cloud.h"
#include "cli/kinds.h"
#include "cli/needs.h"
#include "cli/ranks.h"
#include "cli/stage.h"
#include "neighbours/neighbours.h"
#include "neighbours/neighbours_needs.h"
#include "neighbours/search.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char *output = "neighbours.h5";
static int64_t dim, layer = -1, memory = 1024, check = 16;
static bool mpi;
static geodec_neighbours_options opt;

enum { CHECK_MOST = 1000 };

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "neighbours.h5"),
    OPT_I64("k", 'k', &opt.k, 1, 100000, "N", "neighbours of each query"),
    OPT_I64("dim", 'n', &dim, 0, 1 << 20, "N", "use the first N coordinates (0: all)"),
    OPT_I64("layer", 'l', &layer, -1, 10000, "L", "layer of the activations (-1: the last of the file)"),
    OPT_I64("memory", 0, &memory, 1, 1 << 24, "MIB",
            "MiB that the slabs of a rank may take; larger sets are searched slab by slab", .flags = CLI_VOLATILE),
    OPT_I64("slabs", 0, &opt.slabs, 0, 1000000, "N", "least number of slabs (0: what --memory needs)",
            .flags = CLI_VOLATILE),
    OPT_I64("check", 0, &check, 0, CHECK_MOST, "N", "control: queries that are searched again by the definition"),
    CLI_MPI_OPTION(mpi, "slabs of points and queries"),
};

static const cli_tool tool = {
    .name = "geodec-knn",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "find the exact nearest neighbours of points, also of sets larger than memory",
    .usage = "[OPTIONS] POINTS.h5 [QUERIES.h5]",
    .description =
        "Inputs are clouds or activations: neighbours of a cloud are those in its kept coordinates, neighbours of\n"
        "activations are those of the whole states.\n"
        "With one input, each point is searched among the others. Neighbours are in\n"
        "ascending order of Euclidean distance, ties by row. A set larger than --memory is divided into slabs. In up\n"
        "to 32 dimensions slabs are compact, and a query skips those that are too far. Finished slabs are kept in\n"
        "OUTPUT.parts until the artifact is complete; the same command given again after an interruption continues\n"
        "from them. The result has the same bytes for any --memory, --slabs, --threads and number of ranks.",
    .examples = "geodec-knn -k 16 -o neighbours.h5 cloud.h5\n"
                "geodec-knn -k 4 --layer 2 -o near.h5 activations.h5 others.h5\n"
                "mpirun -n 4 geodec-knn --mpi -k 8 --memory 512 -o neighbours.h5 cloud.h5",
    CLI_TAKES(options, 1, 2),
    .plans = true,
};

/* An opened input as a source of rows. */
typedef struct input {
    geodec_artifact *file;
    bool states;
    geodec_activations view;
    int64_t index; /* of the layer */
    int64_t width; /* of a row of the file */
    void *row, *scratch;
    geodec_neighbours_source source;
} input;

enum { READ = 4096 };

static geodec_status read_rows(void *ctx, int64_t first, int64_t n, double *x, geodec_err *err)
{
    const input *in = ctx;
    const int64_t d = in->source.d, w = in->width;
    for (int64_t r = 0; r < n; r += READ) {
        const int64_t m = n - r < READ ? n - r : READ;
        if (in->states) {
            const float *from = in->row;
            GEODEC_PASS(geodec_activations_read(&in->view, in->index, first + r, m, in->row, in->scratch, err));
            for (int64_t i = 0; i < m; i++)
                for (int64_t c = 0; c < d; c++) x[(r + i) * d + c] = (double)from[i * w + c];
        } else if (d == w) {
            GEODEC_PASS(geodec_artifact_read_rows(in->file, "/coordinates", first + r, m, x + r * d, err));
        } else {
            const double *from = in->row;
            GEODEC_PASS(geodec_artifact_read_rows(in->file, "/coordinates", first + r, m, in->row, err));
            for (int64_t i = 0; i < m; i++) memcpy(x + (r + i) * d, from + i * w, (size_t)d * sizeof *x);
        }
    }
    return GEODEC_OK;
}

static geodec_status choose_layer(input *in, geodec_err *err)
{
    if (layer >= 0) return geodec_activations_find_layer(&in->view, layer, &in->index, err);
    in->index = in->view.layers - 1;
    return GEODEC_OK;
}

static geodec_status open_input(cli_stage *stage, const char *path, input *in, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    GEODEC_TRY(stage->c->needs ? cli_peek_any(path, &a, err) : cli_open_any(path, &a, err));
    const char *kind = geodec_artifact_kind(a)->name;
    stage->in[stage->n_in++] = a; /* stage_end closes it */
    stage->bytes += geodec_artifact_file_bytes(a);
    in->file = a;
    in->states = strcmp(kind, geodec_activations_kind.name) == 0;
    if (!in->states && strcmp(kind, geodec_cloud_kind.name) != 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: kind '%s'; geodec-knn takes clouds and activations", path, kind);
    GEODEC_TRY(stage_add(stage, a, err));
    if (in->states) {
        GEODEC_TRY(geodec_activations_view(a, &in->view, err));
        GEODEC_TRY(choose_layer(in, err));
        in->source.rows = in->view.rows;
        in->width = in->view.d;
        in->scratch = geodec_mem_new((int64_t)geodec_activations_scratch(&in->view, READ), 1);
        in->row = geodec_mem_new(READ * in->width, sizeof(float));
    } else {
        GEODEC_TRY(geodec_artifact_dim(a, "N", &in->source.rows, err));
        GEODEC_TRY(geodec_artifact_dim(a, "K", &in->width, err));
        in->scratch = geodec_mem_new(1, 1);
        in->row = geodec_mem_new(READ * in->width, sizeof(double));
    }
    if (!in->row || !in->scratch) GEODEC_THROW(GEODEC_NOMEM, "no memory for rows of %s", path);
    if (dim > in->width)
        GEODEC_THROW(GEODEC_RANGE, "--dim %lld: %s has %lld coordinates", (long long)dim, path, (long long)in->width);
    in->source.d = dim ? dim : in->width;
    in->source.read = read_rows;
    in->source.ctx = in;
done:
    return st;
}

static void close_input(input *in) { GEODEC_FREE(in->row, in->scratch); }

/* Writes results, sums distances, and keeps the rows of the control. */
typedef struct writer {
    geodec_artifact *out;
    geodec_neighbours n;
    int64_t room; /* rows of distance */
    double *distance;
    int64_t *row; /* [n.checked] */
    int32_t *index;
    double *dist2; /* [n.checked][k] */
    int64_t next;  /* of the control */
} writer;

static geodec_status write_rows(void *ctx, int64_t first, int64_t n, const int32_t *index, const double *dist2,
                                geodec_err *err)
{
    writer *w = ctx;
    const int64_t k = w->n.k;
    for (; w->next < w->n.checked && w->row[w->next] < first + n; w->next++) {
        const int64_t at = w->row[w->next] - first;
        memcpy(w->index + w->next * k, index + at * k, (size_t)k * sizeof *index);
        memcpy(w->dist2 + w->next * k, dist2 + at * k, (size_t)k * sizeof *dist2);
    }
    for (int64_t r = 0; r < n; r += READ) {
        const int64_t m = n - r < READ ? n - r : READ;
        for (int64_t i = 0; i < m * k; i++) w->distance[i] = sqrt(dist2[r * k + i]);
        for (int64_t i = 0; i < m; i++) {
            w->n.mean_nearest += w->distance[i * k];
            w->n.mean_kth += w->distance[i * k + k - 1];
        }
        GEODEC_PASS(geodec_neighbours_append(w->out, m, index + r * k, w->distance, err));
    }
    return GEODEC_OK;
}

static geodec_status prepare(cli_stage *stage, writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    w->n.checked = check < w->n.queries ? check : w->n.queries;
    GEODEC_NEW(w->distance, READ * w->n.k);
    GEODEC_NEW(w->row, w->n.checked);
    GEODEC_NEW(w->index, w->n.checked * w->n.k);
    GEODEC_NEW(w->dist2, w->n.checked * w->n.k);
    for (int64_t i = 0; i < w->n.checked; i++) w->row[i] = i * w->n.queries / w->n.checked;
    GEODEC_TRY(stage_create(stage, &geodec_neighbours_kind, err));
    w->out = stage->out;
    GEODEC_TRY(geodec_neighbours_begin(&w->n, w->out, err));
done:
    return st;
}

static geodec_status finish(cli_stage *stage, writer *w, const geodec_neighbours_source *p,
                            const geodec_neighbours_source *q, geodec_err *err)
{
    w->n.mean_nearest /= (double)w->n.queries;
    w->n.mean_kth /= (double)w->n.queries;
    GEODEC_PASS(geodec_neighbours_check(p, q, w->n.k, w->n.checked, w->row, w->index, w->dist2, &stage->c->hooks,
                                        &w->n.differ, err));
    if (w->n.differ)
        GEODEC_FAIL(GEODEC_CHECK, "%lld of %lld rows differ from a search by the definition", (long long)w->n.differ,
                    (long long)w->n.checked);
    GEODEC_PASS(geodec_neighbours_finish(&w->n, w->out, err));
    GEODEC_PASS(stage_commit(stage, err));
    return GEODEC_OK;
}

/* The text that identifies the parts. */
static void key_of(const cli_stage *stage, char key[GEODEC_SHA256_HEX])
{
    geodec_sha256 h;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, stage->p.command_line, strlen(stage->p.command_line) + 1);
    for (int i = 0; i < stage->p.n_inputs; i++)
        geodec_sha256_update(&h, stage->p.input[i].sha256, strlen(stage->p.input[i].sha256));
    geodec_sha256_hex(&h, key);
}

/* --plan */
static geodec_status plan(const cli_stage *stage, const input *p, const input *q, geodec_err *err)
{
    const cli *c = stage->c;
    const geodec_neighbours_source *queries = c->n_args > 1 ? &q->source : NULL;
    const int64_t rows = queries ? queries->rows : p->source.rows, checked = check < rows ? check : rows;
    geodec_size size;
    const geodec_size_dim dims[] = {{"Q", rows}, {"k", opt.k}, {"C", checked}};
    needs_program(c->needs);
    needs_inputs(c->needs, stage);
    GEODEC_PASS(
        geodec_neighbours_needs(&p->source, queries, &opt, checked, NEEDS_BUDGET, c->pool, &c->hooks, c->needs, err));
    GEODEC_PASS(geodec_size_of(&geodec_neighbours_kind, 3, dims, NULL, &size, err));
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

static void say(const cli *c, const writer *w, const geodec_neighbours_summary *s)
{
    const double n = (double)w->n.queries;
    if (s->resumed) cli_say(c, "%lld of %lld slabs were there", (long long)s->resumed, (long long)s->query_slabs);
    if (s->slabs > 1)
        cli_say(c, "%lld slabs%s; %.2f searched for a query; %.1f MB from rank to rank", (long long)s->slabs,
                s->ordered ? ", compact" : "", (double)s->pairs / n, 1e-6 * (double)s->received);
    cli_say(c,
            "%lld queries among %lld points, %lld coordinates, k %lld: mean distance %.4g to the nearest, %.4g to the "
            "last (%lld of %lld rows differ from a search by the definition)",
            (long long)w->n.queries, (long long)w->n.points, (long long)w->n.d, (long long)w->n.k, w->n.mean_nearest,
            w->n.mean_kth, (long long)w->n.differ, (long long)w->n.checked);
}

typedef struct inputs {
    cli_stage *stage;
    const cli *c;
    input *points, *queries;
} inputs;

static geodec_status open_all(void *ctx, geodec_err *err)
{
    const inputs *in = ctx;
    GEODEC_PASS(stage_begin(in->stage, in->c, output, err));
    GEODEC_PASS(open_input(in->stage, in->c->args[0], in->points, err));
    if (in->c->n_args > 1) GEODEC_PASS(open_input(in->stage, in->c->args[1], in->queries, err));
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    input p = {0}, q = {0};
    writer w = {0};
    geodec_comm *comm = NULL;
    geodec_neighbours_summary s;
    char *parts = NULL, *folder = NULL, key[GEODEC_SHA256_HEX];
    GEODEC_TRY(ranks_begin(c, mpi, &comm, err));
    inputs in = {&stage, c, &p, &q};
    GEODEC_TRY(ranks_inputs(comm, open_all, &in, err));
    const geodec_neighbours_source *queries = c->n_args > 1 ? &q.source : NULL;
    w.n = (geodec_neighbours){.queries = queries ? queries->rows : p.source.rows,
                              .k = opt.k,
                              .points = p.source.rows,
                              .d = p.source.d,
                              .of_others = queries != NULL};
    GEODEC_TRY(geodec_mem_print(&parts, err, "%s.parts", output));
    GEODEC_STRDUP(folder, output);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    else
        (void)strcpy(folder, ".");
    key_of(&stage, key);
    opt.comm = comm;
    opt.key = key;
    opt.memory = memory << 20;
    opt.scratch = folder;
    opt.replace = c->force;
    if (geodec_neighbours_divided(&p.source, queries, &opt) || access(parts, F_OK) == 0) opt.parts = parts;
    if (c->needs) {
        GEODEC_TRY(plan(&stage, &p, &q, err));
        goto done;
    }
    if (geodec_comm_rank(comm) == 0) st = prepare(&stage, &w, err);
    GEODEC_TRY(geodec_comm_agree(comm, st, err));
    GEODEC_TRY(geodec_neighbours_search(&p.source, queries, &opt, write_rows, &w, c->pool, &c->hooks, &s, err));
    if (geodec_comm_rank(comm) > 0) goto done;
    GEODEC_TRY(finish(&stage, &w, &p.source, queries, err));
    if (opt.parts) geodec_neighbours_parts_remove(parts, s.query_slabs);
    say(c, &w, &s);
done:
    stage_end(&stage);
    close_input(&p);
    close_input(&q);
    GEODEC_FREE(w.distance, w.row, w.index, w.dist2, parts, folder);
    return st;
}

CLI_MAIN(opt = geodec_neighbours_defaults())
