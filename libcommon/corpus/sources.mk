corpus_SRCS := \
  control.c \
  corpus.c \
  lexicon.c \
  plots_people.c \
  plots_play.c \
  plots_things.c \
  plots_world.c \
  scenes.c \
  story.c \
  template.c \
  write.c
