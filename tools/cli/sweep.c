#include "cli/sweep.h"

geodec_status stage_sweep(cli_stage *stage, const char *shard, const char *joined, geodec_sweep **out, geodec_err *err)
{
    geodec_shard slice;
    if (shard && joined)
        GEODEC_FAIL(GEODEC_INVAL,
                    "give --shard, which makes a part, or --joined, which reads the joined parts, not both");
    GEODEC_PASS(geodec_shard_parse(shard, &slice, err));
    if (shard) GEODEC_PASS(geodec_sweep_slice(slice, &stage->sweep, err));
    if (joined) GEODEC_PASS(geodec_sweep_open(joined, &stage->p, &stage->sweep, err));
    *out = stage->sweep;
    return GEODEC_OK;
}

geodec_status stage_sweep_ranks(cli_stage *stage, const char *shard, const char *joined, geodec_comm *comm,
                                geodec_sweep **out, geodec_err *err)
{
    if (!comm) return stage_sweep(stage, shard, joined, out, err);
    if (shard || joined) GEODEC_FAIL(GEODEC_INVAL, "give --mpi, --shard or --joined, not several");
    GEODEC_PASS(geodec_sweep_ranks(comm, &stage->sweep, err));
    *out = stage->sweep;
    return GEODEC_OK;
}

geodec_status stage_part(cli_stage *stage, bool *written, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *written = geodec_sweep_partial(stage->sweep);
    if (!*written || geodec_sweep_comm(stage->sweep)) goto done; /* complete, or rank 0 writes it */
    STAGE_WRITE(stage, &geodec_sweep_kind, geodec_sweep_write(stage->sweep, stage->out, err));
    cli_say(stage->c, "this is a part: join all parts with geodec-merge, then run this command again with --joined "
                      "instead of --shard");
done:
    return st;
}
