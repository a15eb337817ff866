lab/density_SRCS := \
  correct.c \
  published.c \
  telemetry.c
