export_SRCS := \
  export.c \
  export_folder.c \
  export_plan.c \
  export_rows.c \
  export_shards.c \
  export_sources.c
