#!/usr/bin/env bats
# The recipe for a new experiment with a computation of its own (docs/extending.md), performed on a scratch copy of the tree:
# `isotropy`, the mean squared cosine between pairs of points of a cloud. The published counterpart counts each point with itself.

bats_require_minimum_version 1.5.0

setup_file() {
    load scratch
    scratch_possible >/dev/null || return 0 # setup says it
    scratch_tree
    mkdir libcommon/lab/isotropy pipelines/lab/isotropy
    # 1. the header
    cat >libcommon/lab/isotropy/isotropy.h <<'C'
/* The isotropy artifact: the mean squared cosine between pairs of a cloud's points, 1/k for isotropic points in k
 * dimensions. The control is a Gaussian cloud of the same variances. */
#ifndef GEODEC_LAB_ISOTROPY_ISOTROPY_H
#define GEODEC_LAB_ISOTROPY_ISOTROPY_H

#include "chain/cloud.h"

GEODEC_API extern const geodec_kind geodec_isotropy_kind;

typedef struct geodec_isotropy {
    const char *pairs; /* "others", or "all": a point and itself are a pair; static */
    int64_t points;
    double *cosine2; /* [N] mean over the pairs of the point */
    double *control; /* [N] the same of Gaussian points */
    double mean, control_mean;
} geodec_isotropy;

/* itself: a point and itself are a pair. A function of (cloud, itself, seed); out is freed with geodec_isotropy_clear. GEODEC_SCARCE: fewer than two points. */
GEODEC_API geodec_status geodec_isotropy_run(const geodec_cloud *cloud, bool itself, uint64_t seed,
                                             geodec_isotropy *out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_isotropy_clear(geodec_isotropy *r);

#endif
C
    # 2. the computation and the table of the artifact
    cat >libcommon/lab/isotropy/isotropy.c <<'C'
#include "lab/isotropy/isotropy.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

#define AT(m) GEODEC_AT(geodec_isotropy, m)
#define IN(m) GEODEC_IN(geodec_isotropy, m)
static const geodec_field fields[] = {
    {"/cosine2", GEODEC_F64, "N", 0, "1", "squared cosine with another point, mean over the others", 0, AT(cosine2)},
    {"/control", GEODEC_F64, "N", 0, "1", "control: the same of Gaussian points of these variances", 0, AT(control)},
};
static const geodec_attr attrs[] = {
    {"pairs", GEODEC_ATTR_STR, 0, "others, or all: a point and itself are a pair", IN(pairs)},
    {"mean", GEODEC_ATTR_F64, 0, "mean squared cosine between two points", IN(mean)},
    {"control_mean", GEODEC_ATTR_F64, 0, "control: the same of a Gaussian cloud of these variances", IN(control_mean)},
};
static const geodec_extent extents[] = {{"N", IN(points)}};
const geodec_kind geodec_isotropy_kind = {
    .name = "isotropy",
    .major = 1,
    .tool = "geodec-isotropy",
    .purpose = "mean squared cosine between pairs of points",
    GEODEC_TABLES(fields, attrs, extents),
};

static double cosine2(int64_t k, const double *x, const double *y)
{
    double xy = 0, xx = 0, yy = 0;
    for (int64_t d = 0; d < k; d++) xy += x[d] * y[d], xx += x[d] * x[d], yy += y[d] * y[d];
    return xy * xy / (xx * yy);
}

/* The mean over the points; row[i] that of point i. */
static double over_pairs(int64_t n, int64_t k, const double *x, bool itself, double *row)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        row[i] = 0;
        for (int64_t j = 0; j < n; j++)
            if (itself || j != i) row[i] += cosine2(k, x + i * k, x + j * k) / (double)(itself ? n : n - 1);
        sum += row[i];
    }
    return sum / (double)n;
}

geodec_status geodec_isotropy_run(const geodec_cloud *cloud, bool itself, uint64_t seed, geodec_isotropy *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = cloud->points, k = cloud->k;
    double *noise = NULL;
    geodec_isotropy r = {.pairs = itself ? "all" : "others", .points = n};
    if (n < 2) GEODEC_THROW(GEODEC_SCARCE, "%lld points have no pair", (long long)n);
    GEODEC_NEW(noise, n * k);
    for (int64_t i = 0; i < n; i++) {
        geodec_rng random = geodec_rng_stream(seed, geodec_rng_id("isotropy", (uint64_t)i));
        for (int64_t d = 0; d < k; d++) noise[i * k + d] = sqrt(cloud->eigenvalue[d]) * geodec_rng_normal(&random);
    }
    GEODEC_NEW(r.cosine2, n);
    GEODEC_NEW(r.control, n);
    r.mean = over_pairs(n, k, cloud->coordinate, itself, r.cosine2);
    r.control_mean = over_pairs(n, k, noise, itself, r.control);
    *out = r;
    r = (geodec_isotropy){0};
done:
    geodec_mem_free(noise);
    geodec_isotropy_clear(&r);
    return st;
}

void geodec_isotropy_clear(geodec_isotropy *r)
{
    geodec_artifact_clear(&geodec_isotropy_kind, r);
    *r = (geodec_isotropy){0};
}
C
    # 3. the tool
    cat >tools/lab/geodec-isotropy.c <<'C'
/* geodec-isotropy: the mean squared cosine between pairs of a cloud's points. */
#include "artifact/binding.h"
#include "cli/stage.h"
#include "lab/isotropy/isotropy.h"

static const char *output = "isotropy.h5";
static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "isotropy.h5"),
};
static const cli_tool tool = {
    .name = "geodec-isotropy",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure the mean squared cosine between pairs of points",
    .usage = "[OPTIONS] CLOUD.h5",
    .description = "The control is a Gaussian cloud of the same variances.",
    .examples = "  geodec-isotropy -o isotropy.h5 cloud.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_cloud cloud = {0};
    geodec_isotropy r = {0};
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(geodec_isotropy_run(&cloud, false, c->seed, &r, err));
    STAGE_WRITE(&stage, &geodec_isotropy_kind, geodec_artifact_save(stage.out, &r, err));
    cli_say(c, "mean squared cosine %.4f, Gaussian control %.4f", r.mean, r.control_mean);
done:
    stage_end(&stage);
    geodec_isotropy_clear(&r);
    geodec_cloud_clear(&cloud);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
C
    # 4. the published counterpart
    insert_before '^#include "lab/published/blocks.h"' tools/lab/geodec-published.c '#include "lab/isotropy/isotropy.h"'
    cat >"$BATS_FILE_TMPDIR/stage.c" <<'C'
static geodec_status isotropy(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_cloud cloud = {0};
    geodec_isotropy r = {0};
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[1], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(geodec_isotropy_run(&cloud, true, c->seed, &r, err));
    STAGE_WRITE(&stage, &geodec_isotropy_kind, geodec_artifact_save(stage.out, &r, err));
done:
    stage_end(&stage);
    geodec_isotropy_clear(&r);
    geodec_cloud_clear(&cloud);
    return st;
}

C
    insert_before '^/[*] ---- stages' tools/lab/geodec-published.c "$(cat "$BATS_FILE_TMPDIR/stage.c")" ''
    insert_before '^    {"onedecode", ' tools/lab/geodec-published.c '    {"isotropy", isotropy, .inputs = "CLOUD.h5", .least = 1, .most = 1},'
    # 5. the list of kinds
    insert_before '^#include "lab/library/library.h"' tools/cli/lab/kinds.c '#include "lab/isotropy/isotropy.h"'
    insert_before '^    &geodec_library_kind,' tools/cli/lab/kinds.c '    &geodec_isotropy_kind,'
    # 6. the folder of the pipeline
    cat >pipelines/lab/isotropy/isotropy.mk <<'END'
LABORATORY += $(R)/isotropy.h5
$(R)/isotropy.h5: $(BIN)/geodec-isotropy $(R)/cloud.h5 FORCE
	@$(call tool,isotropy) --seed $(SEED) -o $(out) $(R)/cloud.h5
END
    printf '%s\t' id section claim published reproduced exports model control >pipelines/lab/isotropy/claims.tsv
    printf 'verdict\tpower\n' >>pipelines/lab/isotropy/claims.tsv
    printf '%s\t' isotropy 'Example' 'Mean squared cosine' 0.3 - - @MODEL/isotropy.h5#mean @MODEL/isotropy.h5#control_mean \
        >>pipelines/lab/isotropy/claims.tsv
    printf '%s\n' 'holds if M > 2 * C: {M}, Gaussian control {C}.;; refuted if M <= 2 * C: {M}, Gaussian control {C}.;; untestable: Not made.'$'\t''-: an example' \
        >>pipelines/lab/isotropy/claims.tsv
    forget tools/cli/lab/kinds.c tools/lab/geodec-published.c
    rm "$B/lib/libgeodeccli.a"
    build "$B/bin/geodec-isotropy" "$B/bin/geodec-published" "$B/bin/geodec-info" "$B/bin/geodec-check" "$B/bin/geodec-table" "$B/bin/geodec-claims"
    # made by make docs
    "$bin/geodec-info" --schema isotropy >docs/schema/isotropy.md
    "$bin/geodec-isotropy" --options >>"$B/tools.tsv"
    scripts/docs-tables "$bin" docs/tools.md >"$BATS_FILE_TMPDIR/tools.md"
    cp "$BATS_FILE_TMPDIR/tools.md" docs/tools.md
    cd "$BATS_FILE_TMPDIR" || return 1
    export old=$root/$B/bin
    "$old/geodec-corpus" -q --stories 30 -o text.txt
    "$old/geodec-export" -q --model "$root/data/model/geodec-stories-f16.gguf" --text text.txt --max-tokens 900 -o activations.h5
    "$old/geodec-cloud" -q --max-points 300 -o cloud.h5 activations.h5
}

setup() {
    load scratch
    skip_without_scratch
    cd "$BATS_FILE_TMPDIR" || return 1
}

@test "two existing files change; the others are new" {
    touched | sort >touched.txt
    cat touched.txt
    diff - touched.txt <<'END'
docs/schema/isotropy.md
docs/tools.md
libcommon/lab/isotropy/isotropy.c
libcommon/lab/isotropy/isotropy.h
pipelines/lab/isotropy/claims.tsv
pipelines/lab/isotropy/isotropy.mk
tools/cli/lab/kinds.c
tools/lab/geodec-isotropy.c
tools/lab/geodec-published.c
END
    (cd "$root" && git ls-files) | grep -Fx -f touched.txt | sort >changed.txt
    diff - changed.txt <<'END'
docs/tools.md
tools/cli/lab/kinds.c
tools/lab/geodec-published.c
END
}

@test "the layer table allows the folder, and make has its artifact and its claims" {
    cd "$tree"
    make -s check-layers
    grep -q '^lab/isotropy ' "$B/layers.txt"
    # shellcheck disable=SC2016
    run make -s --eval 'show: ; @echo $(LABORATORY) $(CLAIM_ROWS)' show
    [[ $output == */isotropy.h5* ]]
    [[ $output == *lab/isotropy/claims.tsv* ]]
    "$bin/geodec-claims" --check pipelines/lab/isotropy/claims.tsv
}

@test "the artifact has the value of its definition, and the published counterpart differs by the pairs of a point with itself" {
    "$bin/geodec-isotropy" -q -o correct.h5 cloud.h5
    "$bin/geodec-published" -q isotropy -o ref.h5 cloud.h5
    "$bin/geodec-check" correct.h5 ref.h5
    value() { "$bin/geodec-table" --attr "$2" "$1"; }
    [ "$(value correct.h5 pairs)" = others ]
    [ "$(value ref.h5 pairs)" = all ]
    n=$("$bin/geodec-table" --no-header correct.h5 'SELECT :N')
    # one pair in n has cosine 1 in the published counterpart
    awk -v n="$n" -v c="$(value correct.h5 mean)" -v r="$(value ref.h5 mean)" -v z="$(value correct.h5 control_mean)" 'BEGIN {
        expected = (c * (n - 1) + 1) / n
        exit !(n > 100 && c > 0 && c < 1 && z > 0 && z < 1 && (expected - r) ^ 2 < 1e-24) }'
    # the original tree does not have it
    run "$old/geodec-check" correct.h5
    [ "$status" -ne 0 ]
}
