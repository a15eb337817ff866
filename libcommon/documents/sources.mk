documents_SRCS := \
  cut.c \
  documents.c \
  jsonl.c \
  plan.c \
  tokenize.c
