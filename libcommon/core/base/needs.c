#include "base/needs.h"

#include <stdio.h>

static void add(geodec_needs *n, const char *prefix, const char *name, double value)
{
    if (n->n == GEODEC_NEEDS_ROWS) return;
    geodec_needs_row *const r = &n->row[n->n++];
    (void)snprintf(r->name, sizeof r->name, "%s%s", prefix, name);
    r->value = value;
}

void geodec_needs_size(geodec_needs *n, const char *name, double value) { add(n, "", name, value); }

void geodec_needs_memory(geodec_needs *n, const char *name, double bytes)
{
    n->memory += bytes;
    add(n, "memory.", name, bytes);
}

void geodec_needs_time(geodec_needs *n, const char *name, double serial, double parallel)
{
    const double elapsed = serial + parallel / (double)(n->threads > 1 ? n->threads : 1);
    n->seconds += elapsed;
    n->processor += serial + parallel;
    add(n, "seconds.", name, elapsed);
}
