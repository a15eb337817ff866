base_SRCS := \
  choose.c \
  clock.c \
  err.c \
  f16.c \
  f16_avx2.c \
  finite.c \
  hooks.c \
  mapped.c \
  mem.c \
  numbers.c \
  pool.c \
  rng.c \
  sha256.c \
  shard.c \
  split.c \
  status.c \
  tasks.c \
  topology.c \
  version.c
