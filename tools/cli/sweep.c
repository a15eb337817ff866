#include "cli/sweep.h"

geodec_status stage_sweep(cli_stage *stage, const char *shard, const char *joined, geodec_sweep **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_shard slice;
    if (shard && joined) GEODEC_THROW(GEODEC_INVAL, "--shard makes a part, --joined takes the joined parts: not both");
    GEODEC_TRY(geodec_shard_parse(shard, &slice, err));
    if (shard) GEODEC_TRY(geodec_sweep_slice(slice, &stage->sweep, err));
    if (joined) GEODEC_TRY(geodec_sweep_open(joined, &stage->p, &stage->sweep, err));
    *out = stage->sweep;
done:
    return st;
}

geodec_status stage_part(cli_stage *stage, bool *written, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *written = geodec_sweep_partial(stage->sweep);
    if (!*written) goto done;
    STAGE_WRITE(stage, &geodec_sweep_kind, geodec_sweep_write(stage->sweep, stage->out, err));
    cli_say(stage->c, "a part: join all of them with geodec-merge, and run this command once more with --joined in "
                      "place of --shard");
done:
    return st;
}
