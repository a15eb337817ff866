/* cloud ACTIVATIONS.h5 OUT.h5 LAYER: principal coordinates of the states, and the dimension they fill. */
#include <geodec/cloud.h>
#include <geodec/geodec.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_artifact *in = NULL, *out = NULL;
    geodec_activations states;
    geodec_cloud_summary s;
    geodec_provenance p = {.tool = "cloud", .command_line = "cloud"};
    char line[1024];
    int status = 1;
    if (argc != 4) return 2;
    geodec_cloud_options o = geodec_cloud_defaults();
    o.layer = atoi(argv[3]);
    if (geodec_artifact_open(geodec_kinds_find("activations"), argv[1], &in, &err) != GEODEC_OK) goto done;
    if (geodec_provenance_add_artifact(&p, in, &err) != GEODEC_OK) goto done;
    if (geodec_activations_view(in, &states, &err) != GEODEC_OK) goto done;
    if (geodec_artifact_create(geodec_kinds_find("cloud"), argv[2], &p, &out, &err) != GEODEC_OK) goto done;
    if (geodec_cloud_build(&states, &o, out, &s, NULL, NULL, &err) != GEODEC_OK) goto done;
    const geodec_status st = geodec_artifact_commit(out, &err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    const geodec_cloud_subset *all = &s.subset[GEODEC_CLOUD_SUBSETS - 1], *noise = &s.control[GEODEC_CLOUD_SUBSETS - 1];
    printf("%lld points, %lld duplicates; %lld components explain %.3f\n", (long long)s.points, (long long)s.duplicates,
           (long long)s.k, s.explained);
    printf("TwoNN dimension %.2f, of a Gaussian cloud with the same spectrum %.2f\n", all->twonn.fit, noise->twonn.fit);
    status = 0;
done:
    if (status) fprintf(stderr, "cloud: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_artifact_close(in);
    geodec_artifact_close(out);
    return status;
}
