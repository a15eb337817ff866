lab/density_SRCS := \
  correct.c \
  file.c \
  published.c \
  telemetry.c
