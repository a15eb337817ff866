#!/usr/bin/env bats
# The recipe for a new geometry stage (docs/extending.md), performed on a scratch copy of the tree: `radius`, the distances of
# a cloud's points from their mean, with a Gaussian cloud of the same variances as control.
# full: compiles a copy of the tree
# bats file_tags=full

bats_require_minimum_version 1.5.0

setup_file() {
    load scratch
    scratch_possible >/dev/null || return 0 # setup says it
    scratch_tree
    # 1. the header
    cat >libcommon/geometry/chain/radius.h <<'C'
/* The radius artifact: distances of the points of a cloud from their mean, compared with a Gaussian cloud of the same
 * variances. */
#ifndef GEODEC_CHAIN_RADIUS_H
#define GEODEC_CHAIN_RADIUS_H

#include "chain/cloud.h"

GEODEC_API extern const geodec_kind geodec_radius_kind;

typedef struct geodec_radius {
    int64_t points;
    double *length;  /* [N] |x|, in the unit of the states */
    double *control; /* [N] the same of Gaussian points */
    double median, control_median;
} geodec_radius;

/* A function of (cloud, seed); out is freed with geodec_radius_clear. */
GEODEC_API geodec_status geodec_radius_compute(const geodec_cloud *cloud, uint64_t seed, geodec_radius *out,
                                               geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_radius_clear(geodec_radius *r);

#endif
C
    # 2. the computation and the table of the artifact
    cat >libcommon/geometry/chain/radius.c <<'C'
#include "chain/radius.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/stats.h"

#include <math.h>

#define AT(m) GEODEC_AT(geodec_radius, m)
#define IN(m) GEODEC_IN(geodec_radius, m)
static const geodec_field fields[] = {
    {"/length", GEODEC_F64, "N", 0, "activation", "distance of the point from the mean", 0, AT(length)},
    {"/control", GEODEC_F64, "N", 0, "activation", "control: the same of a Gaussian cloud of these variances", 0,
     AT(control)},
};
static const geodec_attr attrs[] = {
    {"median", GEODEC_ATTR_F64, 0, "median distance", IN(median)},
    {"control_median", GEODEC_ATTR_F64, 0, "control: median distance in the Gaussian cloud", IN(control_median)},
};
static const geodec_extent extents[] = {{"N", IN(points)}};
const geodec_kind geodec_radius_kind = {
    .name = "radius",
    .major = 1,
    .minor = 0,
    .tool = "geodec-radius",
    .purpose = "distances of points from their mean",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_radius_compute(const geodec_cloud *cloud, uint64_t seed, geodec_radius *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_radius r = {.points = cloud->points};
    GEODEC_NEW(r.length, r.points);
    GEODEC_NEW(r.control, r.points);
    for (int64_t i = 0; i < r.points; i++) {
        geodec_rng random = geodec_rng_stream(seed, geodec_rng_id("radius", (uint64_t)i));
        double own = 0, noise = 0;
        for (int64_t j = 0; j < cloud->k; j++) {
            const double x = cloud->coordinate[i * cloud->k + j], z = geodec_rng_normal(&random);
            own += x * x;
            noise += cloud->eigenvalue[j] * z * z;
        }
        r.length[i] = sqrt(own);
        r.control[i] = sqrt(noise);
    }
    GEODEC_TRY(geodec_stats_median(r.points, r.length, &r.median, err));
    GEODEC_TRY(geodec_stats_median(r.points, r.control, &r.control_median, err));
    *out = r;
    r = (geodec_radius){0};
done:
    geodec_radius_clear(&r);
    return st;
}

void geodec_radius_clear(geodec_radius *r)
{
    geodec_artifact_clear(&geodec_radius_kind, r);
    *r = (geodec_radius){0};
}
C
    # 3. the tool
    cat >tools/geometry/geodec-radius.c <<'C'
/* geodec-radius: distances of the points of a cloud from their mean. */
#include "artifact/binding.h"
#include "chain/radius.h"
#include "cli/stage.h"

static const char *output = "radius.h5";
static const cli_option options[] = {CLI_OUTPUT_OPTION(output, "radius.h5")};
static const cli_tool tool = {
    .name = "geodec-radius",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "distances of the points of a cloud from their mean",
    .usage = "[OPTIONS] CLOUD.h5",
    .description = "The control is a Gaussian cloud of the same variances.",
    .examples = "geodec-radius -o radius.h5 cloud.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_cloud cloud = {0};
    geodec_radius r = {0};
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(geodec_radius_compute(&cloud, c->seed, &r, err));
    STAGE_WRITE(&stage, &geodec_radius_kind, geodec_artifact_save(stage.out, &r, err));
    cli_say(c, "%lld points: median distance %.3g, Gaussian control %.3g", (long long)r.points, r.median,
            r.control_median);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_radius_clear(&r);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
C
    # 4. the list of kinds
    insert_before '^#include "chain/riemann.h"' libcommon/decode/kinds/kinds.c '#include "chain/radius.h"'
    insert_before '^    &geodec_metric_kind,' libcommon/decode/kinds/kinds.c '    &geodec_radius_kind,'
    forget libcommon/decode/kinds/kinds.c
    rm "$B/lib/libgeodeccli.a"
    build "$B/bin/geodec-radius" "$B/bin/geodec-info" "$B/bin/geodec-check" "$B/bin/geodec-table"
    # made by make docs: the page of the artifact and the list of tools
    "$bin/geodec-info" --schema radius >docs/schema/radius.md
    "$bin/geodec-radius" --options >>"$B/tools.tsv"
    scripts/docs-tables "$bin" docs/tools.md >"$BATS_FILE_TMPDIR/tools.md"
    cp "$BATS_FILE_TMPDIR/tools.md" docs/tools.md
    cd "$BATS_FILE_TMPDIR" || return 1
    export old=$root/$B/bin
    "$old/geodec-corpus" -q --stories 30 -o text.txt
    "$old/geodec-export" -q --model "$root/data/model/geodec-stories-f16.gguf" --text text.txt --max-tokens 900 -o activations.h5
    "$old/geodec-cloud" -q --max-points 300 -o cloud.h5 activations.h5
    "$old/geodec-null" -q -o null.h5 cloud.h5
}

setup() {
    load scratch
    skip_without_scratch
    cd "$BATS_FILE_TMPDIR" || return 1
}

@test "four files by hand; make docs updates two more" {
    touched | sort >touched.txt
    cat touched.txt
    diff - touched.txt <<'END'
docs/schema/radius.md
docs/tools.md
libcommon/decode/kinds/kinds.c
libcommon/geometry/chain/radius.c
libcommon/geometry/chain/radius.h
tools/geometry/geodec-radius.c
END
    # shellcheck disable=SC2016
    grep -q '^| `geodec-radius` | distances of the points' "$tree/docs/tools.md"
}

@test "the stage writes an artifact that the common tools read, the same for any number of threads" {
    run --separate-stderr "$bin/geodec-radius" -o radius.h5 cloud.h5
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"300 points: median distance "*", Gaussian control "* ]]
    "$bin/geodec-check" radius.h5
    "$bin/geodec-info" radius.h5 | grep -q '^ *command .*geodec-radius'
    "$bin/geodec-radius" -q --threads 3 -o again.h5 cloud.h5
    cmp radius.h5 again.h5
    run "$old/geodec-check" radius.h5
    [ "$status" -eq 3 ]
    run "$bin/geodec-radius" -q -o none.h5 activations.h5
    [ "$status" -eq 3 ]
    [ ! -e none.h5 ]
}

@test "the values follow from the coordinates, and those of a Gaussian cloud agree with the control" {
    [ -f radius.h5 ] || "$bin/geodec-radius" -q -o radius.h5 cloud.h5
    "$bin/geodec-table" --no-header radius.h5 length >length.txt
    "$old/geodec-table" --no-header cloud.h5 coordinates | awk '{s = 0; for (i = 1; i <= NF; i++) s += $i * $i; printf "%.17g\n", sqrt(s)}' |
        paste - length.txt | awk '{n++; d = $1 - $2; if (d * d > 1e-18 * $1 * $1) bad = 1} END {exit !(n == 300 && !bad)}'
    "$bin/geodec-radius" -q -o of-null.h5 null.h5
    awk -v a="$("$bin/geodec-table" --attr median of-null.h5)" -v b="$("$bin/geodec-table" --attr control_median of-null.h5)" \
        'BEGIN {print a, b; exit !(a > 0 && a / b < 1.1 && b / a < 1.1)}'
}
