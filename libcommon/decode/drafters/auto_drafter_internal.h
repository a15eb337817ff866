/* Parts of the scheduler: auto_drafter.c is the drafter (rows, asks, proposals), auto_drafter_trials.c decides which
 * arm is active and which is tried. */
#ifndef GEODEC_DRAFTERS_AUTO_DRAFTER_INTERNAL_H
#define GEODEC_DRAFTERS_AUTO_DRAFTER_INTERNAL_H

#include "decode/adapt.h"
#include "decode/replay.h"
#include "drafters/auto_drafter.h"

enum { AUTO_TRIAL = 4 };      /* rounds of a trial: a standard error needs some pairs */
enum { AUTO_NAME_ROOM = 32 }; /* length of a source's name: "ngram:store-1" */

/* State learned of an arm. */
typedef struct auto_standing {
    double accepted, claimed; /* decaying sums over the drafts that the text confirmed or rejected */
    geodec_pace_asking asking;
    double tokens, time; /* expected tokens and time of a round, asking included: moving averages */
    double lead, spread; /* lead over the active arm in passes per round: moving average over pairs, and its variance */
    int64_t pairs;       /* rounds in which it was asked together with the active arm */
    int64_t due;         /* round of the next trial */
    double interval;     /* factor on the rounds between trials: doubles with each lost trial */
    double trial_cost;   /* passes that a trial takes; 0 = not known */
} auto_standing;

typedef struct auto_arm {
    geodec_drafter *drafter;
    bool trees_only;
    int32_t source; /* index of its first source among the scheduler's; `one`: all its drafts have this source */
    bool one;
    double price;      /* approximate seconds of an ask, before it is known */
    auto_standing *is; /* in the scheduler's memory */
    int32_t trial;     /* remaining rounds of the current trial */
    double spent;      /* passes in this trial */
    bool resumed;      /* the current ask includes missed rows, so its time is not comparable */
    geodec_replay_place at;
    /* The last proposal, until the text has confirmed or rejected it. */
    int64_t from; /* text length when it was made; 0 = none */
    int32_t n;
    double tokens, time; /* expected tokens and time of a round that sends its best prefix, without asking */
    geodec_draft draft[GEODEC_DRAFT_MAX];
} auto_arm;

/* State that continues from text to text. */
typedef struct auto_memory {
    int32_t active; /* the active arm */
    int64_t round;
    double budget; /* passes that trials may take */
    auto_standing arm[GEODEC_AUTO_MAX];
} auto_memory;

typedef struct auto_scheduler {
    geodec_drafter base;
    geodec_drafter_ops ops; /* its own, as the arms differ */
    int32_t n;              /* arms */
    auto_arm arm[GEODEC_AUTO_MAX];
    auto_memory now, with_times; /* current; state learned with times, saved while texts without times are drafted */
    int64_t restart;             /* rows with which an arm that reads states starts again */
    int64_t paid;                /* text length up to which the budget was increased */
    bool begun;                  /* asked since `begin` */
    bool timed;                  /* `now` was learned with times */
    geodec_replay replay;
    const char *source_name[GEODEC_DRAFT_SOURCES_MAX];
    char name[GEODEC_DRAFT_SOURCES_MAX][AUTO_NAME_ROOM];
} auto_scheduler;

/* The loop's times; NULL = none. */
static inline const geodec_pace *geodec__auto_drafter_pace(const geodec_draft_request *q)
{
    return q->adapt ? &q->adapt->pace : NULL;
}

/* The state of a new scheduler. */
void geodec__auto_drafter_forget(auto_scheduler *s);
/* Called at the first ask of a text. Without times, the choices depend only on this text; with times, the state learned
 * with times continues. */
void geodec__auto_drafter_recall(auto_scheduler *s, bool timed);
/* Increases the budget for the emitted tokens. */
void geodec__auto_drafter_earn(auto_scheduler *s, const geodec_draft_request *q);
/* Compares the last proposal with the text. */
void geodec__auto_drafter_learn(auto_arm *x, const geodec_draft_request *q);
/* Expected tokens and time of the best prefix of the proposal. */
void geodec__auto_drafter_foresee(auto_arm *x, const geodec_pace *pace);
/* Updates the averages of an arm that was asked. */
void geodec__auto_drafter_count(auto_arm *x);
/* Tokens per pass of the active arm, and not less than those of plain decoding: the value of a pass. */
double geodec__auto_drafter_rate(const auto_scheduler *s, const geodec_pace *pace);
/* The arm whose trial is current or due, -1 = none. */
int32_t geodec__auto_drafter_on_trial(const auto_scheduler *s, const geodec_draft_request *q);
/* After a round in which both were asked: decides which arm is active, and when arm a is tried again. */
void geodec__auto_drafter_compare(auto_scheduler *s, int32_t a, const geodec_pace *pace);

#endif
