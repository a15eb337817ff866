model_SRCS := arch.c config.c weights.c model.c session.c jobs.c experts.c forward.c attention.c cache.c rope.c kernels.c kernels_scalar.c kernels_avx2.c kernels_avx512.c
