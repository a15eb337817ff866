corpus_SRCS := corpus.c control.c write.c story.c scenes.c template.c lexicon.c plots_things.c plots_people.c plots_world.c plots_play.c
