base_SRCS := status.c err.c mem.c rng.c sha256.c finite.c f16.c f16_avx2.c pool.c topology.c hooks.c clock.c shard.c split.c version.c
