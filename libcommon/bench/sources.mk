bench_SRCS := shape.c shape_blocks.c read_limit.c speed.c
