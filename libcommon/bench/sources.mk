bench_SRCS := shape.c shape_blocks.c
