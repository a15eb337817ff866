/* geodesics METRIC.h5 OUT.h5: geodesics that begin at points of the cloud in the direction of the text. */
#include "opened.h"

#include <geodec/geodesics.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    opened in = {0};
    geodec_geodesics g = {0};
    geodec_artifact *out = NULL;
    geodec_provenance p = {.tool = "geodesics", .command_line = "geodesics"};
    char line[1024];
    int status = 1;
    if (argc != 3) return 2;
    geodec_geodesics_options o = geodec_geodesics_defaults();
    o.paths = 8;
    if (opened_metric(argv[1], &in, &err) != GEODEC_OK) goto done;
    if (geodec_geodesics_compute(&in.metric, in.space.space, in.file, &o, NULL, NULL, &g, &err) != GEODEC_OK) goto done;
    if (geodec_provenance_add_artifact(&p, in.file, &err) != GEODEC_OK) goto done;
    if (geodec_artifact_create(geodec_kinds_find("geodesics"), argv[2], &p, &out, &err) != GEODEC_OK) goto done;
    if (geodec_geodesics_write(&g, out, &err) != GEODEC_OK) goto done;
    const geodec_status st = geodec_artifact_commit(out, &err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    int64_t ok = 0;
    for (int64_t i = 0; i < g.paths; i++) ok += g.status[i] == GEODEC_PATH_OK;
    printf("%lld paths of %lld nodes, %lld ok; error against a refined path %.1e\n", (long long)g.paths,
           (long long)g.nodes, (long long)ok, g.refinement_error);
    status = 0;
done:
    if (status) fprintf(stderr, "geodesics: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_geodesics_clear(&g);
    geodec_artifact_close(out);
    opened_close(&in);
    return status;
}
