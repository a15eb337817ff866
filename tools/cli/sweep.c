#include "cli/sweep.h"

geodec_status sweep_begin(const char *shard, const char *joined, const geodec_provenance *p, geodec_sweep **out,
                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_shard slice;
    if (shard && joined) GEODEC_THROW(GEODEC_INVAL, "--shard makes a part, --joined takes the joined parts: not both");
    GEODEC_TRY(geodec_shard_parse(shard, &slice, err));
    if (shard) GEODEC_TRY(geodec_sweep_slice(slice, out, err));
    if (joined) GEODEC_TRY(geodec_sweep_open(joined, p, out, err));
done:
    return st;
}

geodec_status sweep_end(const cli *c, const geodec_sweep *s, const geodec_provenance *p, const char *output,
                        bool *written, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    *written = geodec_sweep_partial(s);
    if (!*written) goto done;
    GEODEC_TRY(geodec_artifact_create(&geodec_sweep_kind, output, p, &out, err));
    GEODEC_TRY(geodec_sweep_write(s, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    cli_say(c, "a part: join all of them with geodec-merge, and run this command once more with --joined in place of "
               "--shard");
done:
    geodec_artifact_close(out);
    return st;
}
