/* flowmap ACTIVATIONS.h5 OUT.h5: bakes the map from which the drafter "flowmap" drafts. */
#include <geodec/flowmap.h>
#include <geodec/geodec.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_artifact *in = NULL, *out = NULL;
    geodec_activations states;
    geodec_flowmap map = {0};
    geodec_flowmap_summary s;
    geodec_provenance p = {.tool = "flowmap", .command_line = "flowmap"};
    char line[1024];
    int status = 1;
    if (argc != 3) return 2;
    const geodec_flowmap_options o = geodec_flowmap_defaults();
    if (geodec_artifact_open(geodec_kinds_find("activations"), argv[1], &in, &err) != GEODEC_OK) goto done;
    if (geodec_provenance_add_artifact(&p, in, &err) != GEODEC_OK) goto done;
    if (geodec_activations_view(in, &states, &err) != GEODEC_OK) goto done;
    if (geodec_flowmap_bake(&states, &o, &map, &s, NULL, NULL, &err) != GEODEC_OK) goto done;
    if (geodec_artifact_create(geodec_kinds_find("flowmap"), argv[2], &p, &out, &err) != GEODEC_OK) goto done;
    if (geodec_flowmap_write(&map, out, &err) != GEODEC_OK) goto done;
    const geodec_status st = geodec_artifact_commit(out, &err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    printf("%lld nodes; first-token acceptance %.3f, with labels permuted in their buckets %.3f\n", (long long)s.nodes,
           s.first, s.shuffled);
    status = 0;
done:
    if (status) fprintf(stderr, "flowmap: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_flowmap_clear(&map);
    geodec_artifact_close(in);
    geodec_artifact_close(out);
    return status;
}
