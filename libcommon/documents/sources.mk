documents_SRCS := documents.c cut.c jsonl.c plan.c
