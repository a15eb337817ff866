verdict_SRCS := \
  claims.c \
  expr.c \
  headline.c \
  reach.c \
  reference.c \
  reference_cell.c \
  reference_member.c \
  reference_parse.c \
  reference_summary.c \
  rule.c \
  values.c
