/* Internal: the story generator. One primitive, geodec__template_choose, adds -log2 p of every random choice to the
 * story's bits. The template interpreter, the vocabulary and the plots are built on it.
 *
 * Template language (geodec__template_emit):
 *   [x|y|z]        one alternative, weight (i+1)^-0.35 for the i-th (earlier ones are more frequent);
 *                  they nest and may be empty
 *   {@name}        a macro of geodec__lexicon_macro
 *   {a}            "a" or "an" by the next word
 *   {A} {~A}       a person's name; name or pronoun at random where the pronoun is clear
 *   {he A} {him A} {his A} {himself A}   pronouns; the name where the pronoun would not be clear
 *   {boy A} {kind A}                     "boy"/"girl"; the animal's kind
 *   {a t} {the t} {full t} {desc t} {noun t} {plural t}   a thing: with article and adjective, "the
 *                  ball", "the red ball", "red ball", "ball", "balls"
 *   {in p} {to p} {place p}              a place: "in the park", "to the park", "the park"
 *   {spot s}                             a spot: "under the bench"
 *   {num k} {count k t} {was k}          a number: "three", "three apples", "were"
 *   {word x}       a word chosen by {word+ x:knee,elbow,hand}
 *   a plus sign after the form chooses the entity here: {A+} {boy+ A} {a+ t:toy} {in+ p:out} {spot+ s:p} {num+ k:2-6}
 *   ^ makes the next letter a capital; starts of sentences and opening quotes do this automatically.
 * Every choice is printed where it is made, so a text determines its choices (checked by geodec_corpus_derivations). */
#ifndef GEODEC_CORPUS_CORPUS_INTERNAL_H
#define GEODEC_CORPUS_CORPUS_INTERNAL_H

#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEODEC__ALTS_MAX = 64, GEODEC__CHOICES_MAX = 4096, GEODEC__STORY_MAX = 1 << 15 };

enum { /* categories of things */
       T_TOY = 1,
       T_FOOD = 2, /* counted pieces */
       T_WEAR = 4,
       T_TOOL = 8,
       T_NATURE = 16,
       T_PAPER = 32,
       T_FRUIT = 64, /* grows on plants */
       T_BOX = 128,  /* holds things */
       T_FLY = 256,  /* may fly up into a tree */
};
enum { P_OUT = 1, P_IN = 2, P_PLAY = 4, P_WILD = 8, P_TRADE = 16, P_ANY = 31 };

typedef struct geodec__noun {
    const char *one, *many;
    unsigned kinds;
} geodec__noun;
typedef struct geodec__adjective {
    const char *word;
    unsigned kinds; /* things it may describe */
} geodec__adjective;
typedef struct geodec__place_name {
    const char *prep, *name; /* "in", "park" */
    unsigned kinds;
    const char *spot[5];
} geodec__place_name;
typedef struct geodec__name {
    const char *name;
    char gender; /* 'm', 'f' */
} geodec__name;
typedef struct geodec__macro_entry {
    const char *name, *body;
} geodec__macro_entry;

enum {
    N_GIRLS = 18,
    N_BOYS = 18,
    N_KIN = 8,
    N_ADULTS = 11,
    N_PETS = 14,
    N_SPECIES = 12,
    N_WILD = 14,
    N_NOUNS = 82,
    N_ADJ = 36,
    N_PLACES = 22
};
extern const geodec__name geodec__lexicon_girls[N_GIRLS], geodec__lexicon_boys[N_BOYS], geodec__lexicon_kin[N_KIN],
    geodec__lexicon_adults[N_ADULTS], geodec__lexicon_pets[N_PETS];
extern const char *const geodec__lexicon_species[N_SPECIES], *const geodec__lexicon_wild[N_WILD];
extern const geodec__noun geodec__lexicon_nouns[N_NOUNS];
extern const geodec__adjective geodec__lexicon_adjectives[N_ADJ];
extern const geodec__place_name geodec__lexicon_places[N_PLACES];
/* Body of a macro or NULL. */
const char *geodec__lexicon_macro(const char *name, size_t n);

typedef struct geodec__person {
    const geodec__name *who; /* NULL = not in the story */
    char gender;             /* 0 = not known yet */
    const char *kind;        /* animals */
} geodec__person;
typedef struct geodec__thing {
    const geodec__noun *noun;
    const char *size, *adjective; /* "" = none */
} geodec__thing;

typedef struct geodec__word {
    const char *text; /* inside a template */
    size_t n;
} geodec__word;

typedef struct geodec__gen {
    /* source of choices: the random stream, or a script of choices, followed by first alternatives */
    geodec_rng rng;
    bool scripted;
    int n_script;
    const int *script;
    /* in an enumeration only choices free_from .. free_to-1 are free (at most alts_max alternatives each). The others
     * are sampled from rng and have probability 1. free_to = 0: all are free */
    int free_from, free_to, alts_max;
    int chosen; /* choices so far, certain ones included */
    /* record of the free choices made */
    int n_choices;
    int *choice, *alternatives; /* [GEODEC__CHOICES_MAX] or NULL */
    size_t *offset;             /* length of the text when the choice was made; [GEODEC__CHOICES_MAX] or NULL */
    double bits;

    char *text; /* [GEODEC__STORY_MAX] */
    size_t n;
    const char *target; /* if set, generation stops at the first difference from this text */
    size_t n_target;
    bool dead, overflow;
    bool capital, ended, quoted, article; /* state of the emitter */

    /* the world, by slot letter */
    geodec__person person[8]; /* A..H */
    geodec__thing thing[26];  /* a..z */
    const geodec__place_name *place[26];
    const char *spot[26];
    int number[26];
    geodec__word word[26];
    char speaker;              /* the person that H denotes in the tags of a speech */
    bool night;                /* the story ends at night */
    unsigned scenes;           /* kinds of scenes already in the story, by bit */
    unsigned mentioned;        /* persons named in this sentence, by bit */
    char salient_m, salient_f; /* last named person of each gender in this paragraph: the referent of a pronoun */
    const void *used[64];      /* names and nouns already in the story */
    int n_used;
} geodec__gen;

/* Index of an alternative, sampled with probability weight[i] / sum. weights >= 0, at least one > 0; n <=
 * GEODEC__ALTS_MAX. */
int geodec__template_choose(geodec__gen *g, int n, const double *weight);
/* Alternative 0..n-1 with the descending weights of the template language. */
int geodec__template_pick(geodec__gen *g, int n);
/* True with probability p. */
bool geodec__template_bernoulli(geodec__gen *g, double p);
/* Emits one or more sentences, preceded by a space unless they begin the text or a line. */
void geodec__template_emit(geodec__gen *g, const char *tpl);
/* One of n templates, with the descending weights; "": nothing. */
void geodec__template_one_of(geodec__gen *g, size_t n, const char *const tpl[]);
/* Somebody says `tpl` (a template that ends in '.', '!' or '?'), with a varied tag. */
void geodec__template_say(geodec__gen *g, char who, const char *tpl);
/* The whole story into g (already set up). */
void geodec__story(geodec__gen *g);

/* Shorthands of the plot files. */
#define E geodec__template_emit
#define SAY geodec__template_say
#define TEMPLATES(...) ((const char *const[]){__VA_ARGS__})
#define ONE_OF(...) geodec__template_one_of(g, sizeof TEMPLATES(__VA_ARGS__) / sizeof(char *), TEMPLATES(__VA_ARGS__))
#define STEP geodec__scene_step
#define NUM(letter) g->number[(letter) - 'a']

typedef void (*geodec__plot)(geodec__gen *g);
/* Plots begin after the opening, which names A (a child), and end before the closing lines. NULL ends a list. */
extern const geodec__plot geodec__plots_things[], geodec__plots_people[], geodec__plots_world[], geodec__plots_play[];

/* Scenes shared by plots. */
void geodec__scene_friend(geodec__gen *g);  /* brings in B, a child, where A is */
void geodec__scene_weather(geodec__gen *g); /* weather of the day, one sentence */
void geodec__scene_sight(geodec__gen *g);   /* something seen on the way */
void geodec__scene_start(geodec__gen *g);   /* description of the scene at the beginning */
void geodec__scene(geodec__gen *g);         /* sometimes: something seen, heard, said or thought between two steps */
/* Emits a step of the plot, then sometimes such a scene. */
void geodec__scene_step(geodec__gen *g, const char *tpl);

/* Counts by 64-bit keys: a hash table with open addressing. */
typedef struct geodec__count {
    uint64_t key; /* 0 = empty */
    uint32_t count, distinct;
} geodec__count;
typedef struct geodec__counts {
    geodec__count *e; /* [room], a power of two */
    int64_t room, used;
} geodec__counts;
/* Makes room for `more` new keys. */
geodec_status geodec__control_reserve(geodec__counts *t, int64_t more, geodec_err *err) GEODEC_MUST_USE;
/* The entry of a nonzero key; it is empty if the table does not have the key. The table must not be full. */
geodec__count *geodec__control_find(const geodec__counts *t, uint64_t key);
/* The entry of a nonzero key, which is added if it is missing. */
geodec__count *geodec__control_add(geodec__counts *t, uint64_t key);

#endif
