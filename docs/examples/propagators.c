/* propagators METRIC.h5 GEODESICS.h5 OUT.h5: how the end of each path moves with its start. */
#include "opened.h"

#include <geodec/propagators.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    opened in = {0};
    geodec_artifact *paths_file = NULL, *out = NULL;
    geodec_geodesics paths = {0};
    geodec_propagators phi = {0};
    geodec_provenance p = {.tool = "propagators", .command_line = "propagators"};
    char line[1024];
    int status = 1;
    if (argc != 4) return 2;
    const geodec_propagators_options o = geodec_propagators_defaults();
    if (opened_metric(argv[1], &in, &err) != GEODEC_OK) goto done;
    if (geodec_artifact_open(geodec_kinds_find("geodesics"), argv[2], &paths_file, &err) != GEODEC_OK) goto done;
    if (geodec_geodesics_read(paths_file, &paths, &err) != GEODEC_OK) goto done;
    if (geodec_propagators_compute(in.space.space, &paths, &o, NULL, NULL, &phi, &err) != GEODEC_OK) goto done;
    if (geodec_provenance_add_artifact(&p, in.file, &err) != GEODEC_OK) goto done;
    if (geodec_provenance_add_artifact(&p, paths_file, &err) != GEODEC_OK) goto done;
    if (geodec_artifact_create(geodec_kinds_find("propagators"), argv[3], &p, &out, &err) != GEODEC_OK) goto done;
    if (geodec_propagators_write(&phi, out, &err) != GEODEC_OK) goto done;
    const geodec_status st = geodec_artifact_commit(out, &err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    double gap = 0;
    for (int64_t i = 0; i < phi.controls; i++)
        if (phi.control_gap[i] > gap) gap = phi.control_gap[i];
    printf("%lld propagators; largest gap to central differences %.1e\n", (long long)phi.paths.paths, gap);
    status = 0;
done:
    if (status) fprintf(stderr, "propagators: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_propagators_clear(&phi);
    geodec_geodesics_clear(&paths);
    geodec_artifact_close(paths_file);
    geodec_artifact_close(out);
    opened_close(&in);
    return status;
}
