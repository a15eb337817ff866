prepare_SRCS := \
  plan.c \
  record.c \
  store.c \
  trial.c
