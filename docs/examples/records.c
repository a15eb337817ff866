/* records METRIC.h5 PROPAGATORS.h5: compressed records of the paths, and the record nearest to a point. */
#include "opened.h"

#include <geodec/records.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    opened in = {0};
    geodec_artifact *file = NULL;
    geodec_propagators phi = {0};
    geodec_records r = {0};
    geodec_lookup *lookup = NULL;
    geodec_lookup_hit hit;
    char line[1024];
    int status = 1;
    if (argc != 3) return 2;
    const geodec_records_options o = geodec_records_defaults();
    if (opened_metric(argv[1], &in, &err) != GEODEC_OK) goto done;
    if (geodec_artifact_open(geodec_kinds_find("propagators"), argv[2], &file, &err) != GEODEC_OK) goto done;
    if (geodec_propagators_read(file, &phi, &err) != GEODEC_OK) goto done;
    if (geodec_records_compute(&phi, in.space.space, NULL, &o, NULL, NULL, &r, &err) != GEODEC_OK) goto done;
    if (geodec_lookup_create(r.records, r.n, r.q, r.g, &lookup, &err) != GEODEC_OK) goto done;
    if (geodec_lookup_nearest(lookup, r.q, NULL, &hit, &err) != GEODEC_OK) goto done;
    printf("%lld records; the nearest to the first anchor is record %lld, at distance %g\n", (long long)r.records,
           (long long)hit.index, hit.distance);
    status = 0;
done:
    if (status) fprintf(stderr, "records: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_lookup_destroy(lookup);
    geodec_records_clear(&r);
    geodec_propagators_clear(&phi);
    geodec_artifact_close(file);
    opened_close(&in);
    return status;
}
