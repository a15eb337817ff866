#include "neighbours/neighbours.h"

#include "artifact/binding.h"

#define AT(m) GEODEC_AT(geodec_neighbours, m)
#define IN(m) GEODEC_IN(geodec_neighbours, m)
static const geodec_field fields[] = {
    {"/index", GEODEC_I32, "Q,k", GEODEC_FIELD_STREAM, "1",
     "rows of the nearest points, in ascending order of distance, ties by row", 0, AT(index)},
    {"/distance", GEODEC_F64, "Q,k", GEODEC_FIELD_STREAM, "activation", "their Euclidean distances", 0, AT(distance)},
};

static const char *const origins[] = {"points", "file", NULL};
static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "number of points searched", IN(points)},
    {"dimension", GEODEC_ATTR_I64, 0, "number of coordinates used", IN(d)},
    {"queries", GEODEC_ATTR_STR, 0, "points: each point among the others; file: the rows of the second input",
     GEODEC_NAMED(geodec_neighbours, of_others, origins)},
    {"mean_nearest", GEODEC_ATTR_F64, 0, "mean distance to the nearest point", IN(mean_nearest)},
    {"mean_kth", GEODEC_ATTR_F64, 0, "mean distance to the k-th", IN(mean_kth)},
    {"checked", GEODEC_ATTR_I64, 0, "control: rows searched again by the definition", IN(checked)},
    {"differ", GEODEC_ATTR_I64, 0, "control: rows among these that were not the same", IN(differ)},
};

static const geodec_extent extents[] = {{"Q", IN(queries)}, {"k", IN(k)}};

const geodec_kind geodec_neighbours_kind = {
    GEODEC_ABOUT("neighbours", 1, 0, "geodec-knn", "the nearest points of each query, exactly"),
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_neighbours_begin(const geodec_neighbours *n, geodec_artifact *a, geodec_err *err)
{
    GEODEC_PASS(geodec_artifact_set_dim(a, "Q", n->queries, err));
    GEODEC_PASS(geodec_artifact_set_dim(a, "k", n->k, err));
    return GEODEC_OK;
}

geodec_status geodec_neighbours_append(geodec_artifact *a, int64_t rows, const int32_t *index, const double *distance,
                                       geodec_err *err)
{
    GEODEC_PASS(geodec_artifact_append(a, "/index", rows, index, err));
    GEODEC_PASS(geodec_artifact_append(a, "/distance", rows, distance, err));
    return GEODEC_OK;
}

geodec_status geodec_neighbours_finish(const geodec_neighbours *n, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, n, err);
}
