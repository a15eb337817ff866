#include "lab/perspective/parts.h"

#include "base/mem.h"
#include "lab/perspective/parts_internal.h"

#include <stdio.h>

static const geodec_parts_kind kinds[] = {
    {"scan", "combinations and depth of parallel scans", false, geodec__parts_scan},
    {"state", "a state after 10,000 steps", false, geodec__parts_state},
    {"changes", "differences between independent ternary experts", false, geodec__parts_changes},
    {"product", "time of an expert's product on one thread", true, geodec__parts_product},
    {"memory", "pairs that a hyperdimensional memory gives back", false, geodec__parts_memory},
    {"polytope", "Jacobian and fixed points of projections", false, geodec__parts_polytope},
    {"hull", "dimension of the hull of 1,000 points", false, geodec__parts_hull},
    {"gradient", "mean and spread of estimated gradients", false, geodec__parts_gradient},
    {"adapter", "derivatives at the start of an adapter", false, geodec__parts_adapter},
    {NULL, NULL, false, NULL},
};

const geodec_parts_kind *geodec_parts_kinds(void) { return kinds; }

geodec_status geodec_parts_measure(const geodec_parts_kind *kind, const geodec_parts_options *o, geodec_parts *out,
                                   geodec_err *err)
{
    GEODEC_PASS_MSG(kind->measure(o, out, err), "%s", kind->name);
    return GEODEC_OK;
}

void geodec_parts_free(geodec_parts *p)
{
    GEODEC_FREE(p->row);
    *p = (geodec_parts){0};
}

geodec_status geodec__parts_add(geodec_parts *p, const char *key, const char *quantity, double value,
                                const char *compared, double control, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_GROW(p->row, p->n, p->room, 1);
    geodec_parts_row *r = &p->row[p->n];
    *r = (geodec_parts_row){.value = value, .control = control};
    (void)snprintf(r->key, sizeof r->key, "%s", key);
    (void)snprintf(r->quantity, sizeof r->quantity, "%s", quantity);
    (void)snprintf(r->compared, sizeof r->compared, "%s", compared);
    p->n++;
done:
    return st;
}
