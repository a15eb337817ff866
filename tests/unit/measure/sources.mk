measure_TESTS := \
  test_bench.c \
  test_bench_lists.c \
  test_drafts.c \
  test_faults.c \
  test_flowmap.c \
  test_margin.c \
  test_models.c \
  test_readiness.c
measure_FIXTURES := decode/tiny.c decode/toy.c
measure_TEST_DEPS := export
