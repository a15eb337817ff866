#include "lab/corpus/corpus_internal.h"

/* Plots of play, counting and wandering. */

/* Hide and seek: where each hides is told to the reader, not to the seeker. */
static void hide(geodec__gen *g)
{
    E(g, "\n{@oneday}, {A} played hide and seek with {B+}{@with} and {C+}{@with} {in+ p:any}. {A} [closed {his A} "
         "eyes|turned to the wall] and counted to [ten|twenty|thirty|a hundred].");
    E(g, "{B} [hid|crept|lay down] {spot+ s:p}, and {C} [ran to hide|hid|sat down] {spot+ r:p}. [they were very "
         "quiet|{C} had to laugh|{B} held {his B} breath|nobody made a sound].");
    SAY(g, 'A', "[ready or not, here I come|I am coming|I will find you]!");
    STEP(g, "[first|at first] {~A} looked {spot+ k:p}, but [there was only {a+ t:nature}|nobody was there|there sat "
            "{a} {kind+ D:wild}|{~A} found {a+ t:tool} and no one else].");
    switch (geodec__template_pick(g, 3)) {
    case 0:
        E(g, "then {~A} heard {a} [laugh|cough|sneeze|small noise|whisper|giggle|yawn]. it came from {C}, who was "
             "{spot r}. \"I found you, {C}!\" [said|cried|called] {A}. \"Now where is {B}?\"");
        E(g, "{C} [knew it|had seen {him B}], but [said nothing|did not tell]. {A} [looked|searched] {spot+ l:p}, [and "
             "then|and at last] {spot s}. there was {B}!");
        break;
    case 1:
        E(g, "then {~A} saw {a} [shoe|foot|hand|bit of {@color} cloth] {spot s}. it was {B}! \"[You are too clever|How "
             "did you see me|Oh no]!\" {@cried} {B}. together they [looked for|went to find] {C}, and they found {him "
             "C} {spot r}.");
        break;
    default:
        E(g, "{~A} found {B} {spot s} [quickly|at once|after a while]. but {C} was hard to find. [an hour went by|it "
             "grew dark|\"Come out, you have won!\" they called]. {C} had fallen asleep {spot r}! they [woke {him C} "
             "up|laughed and carried {him C} home].");
    }
    E(g, "[next|then|after that] it was {B}'s turn to [count|look]. [{A} hid {spot s}|{A} hid {spot r}|{A} hid {spot+ "
         "m:p}|{A} already knew {a} [good|better|secret] place].");
}

/* Food is counted, shared, counted again. */
static void share(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} [had|found|picked|got] {num+ n:5-9} {plural+ t:food}[ in {a+ u:box}|]. {~A} "
            "[went|walked] {to+ p:any} [to eat them|to sit in the sun|to show them to {his A} friends].");
    E(g, "there {~A} met {B+}{@with}, who was [hungry|sad|tired|bored|on the way home|feeding {@animals}]. \"[May I "
         "have some|Can I have {a} {noun t}|Are those good|What do you have there|Are those all yours]?\" asked {B}. "
         "{A} gave {him B} {num+ m:1-3}.");
    NUM('k') = NUM('n') - NUM('m');
    STEP(g, "[now {A} had {count k t}|that left {count k t}|so {~A} still had {count k t}].");
    E(g, "[then|next|a little later], {C+}{@with} came [along|by|running]. {C} had [no {plural t}|nothing to eat|only "
         "{a+ v:nature}], so {A} gave {him C} {num+ j:1-2}.");
    NUM('k') -= NUM('j');
    E(g, "[now there {was k} {count k t} left|{A} counted again: {num k}|{A} had {count k t} now].");
    if (NUM('k') > 0) switch (geodec__template_pick(g, 3)) {
        case 0:
            E(g, "{A} ate [one|one of them] and [took|kept] the rest for {G+:kin}.");
            NUM('k') -= 1;
            E(g, "so {G} got {num k}.");
            break;
        case 1:
            E(g, "{@suddenly}, {a} {kind+ D} [jumped up|came] and [ate|took] {num+ i:1-k}!");
            NUM('k') -= NUM('i');
            E(g, "now {A} had {num k} left. everyone [laughed|was {@surprised}].");
            break;
        default:
            E(g, "they sat down {spot+ s:p} and ate together. {A} ate {num k}, {B} ate {num m}, and {C} ate {num j}.");
        }
    E(g, "[\"It is more fun to share,\" {@said} {A}|\"You are a good friend,\" {@said} {B}|next time {B} brought "
         "{plural+ w:food} for all of them|{C} gave {A} {a} [hug|kiss|{@color} stone] in return].");
}

/* A walk with a basket: what is found is told again in order at the end. */
static void ramble(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} went for a walk with {a+ u:box}. {~A} wanted to [find nice things|collect something for "
            "{G+:kin}|make a picture out of leaves|fill it].");
    E(g, "{in+ p:out}, {spot+ s:p}, {~A} found {a+ t:nature} [and picked it up|and put it in {the u}].");
    geodec__scene_sight(g);
    STEP(g, "[then|next|after that] {~A} came {to+ q:wild}. there {~A} {@saw} {a+ v:nature} {spot+ r:q}. [\"How "
            "pretty!\" {~A} said|it was just what {~A} wanted|{~A} put it with {the t}].");
    ONE_OF("on the way home {~A} met {B+}. \"What do you have in {the u}?\" asked {B}. \"{a t} and {a v},\" {@said} "
           "{A}. {B} [looked at them|had {a+ w:toy}] [and wanted to trade|for a long time]. {A} [gave {him B} {the v} "
           "and kept {the t}|gave {him B} {the t} and kept {the v}|would not give them away].",
           "but there was {a} [small|big|round] hole in {the u}! [when {A} came home|at the next corner|a little "
           "later], {the t} was gone, and only {the v} was left. {~A} went back and {@looked} [along the "
           "path|everywhere], and {spot+ k:p} {~A} [found|saw] {the t} again. {~A} [picked it up|held it tight|put it "
           "into {his A} pocket]{@manner}.",
           "at home, {~A} showed everything to {G+:kin}. \"I found {the t} {in p} and {the v} {in q},\" {@said} {A}. "
           "^{G} [put {the t} on the shelf|put {the v} on the window sill|said that they were beautiful|told {him A} a "
           "story about {a} {noun v}].");
}

/* Something flies into a tree: three ways to get it down. */
static void stuck(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} and {B+} played {in+ p:play} with {B}'s {desc+ t:fly}. {@suddenly}, {the t} [landed|got "
            "stuck|came down] [in a tall tree|on the roof|on top of a wall|on a high branch].");
    STEP(g, "{A} [jumped|climbed on {a} {@adj} box|threw {a} {@adj} stick|stretched {his A} arms|ran up a wall], but "
            "{~A} could not reach it. {B} [threw {a+ u:nature} at it|shook the tree|tried {a+ u:tool}], but {the t} "
            "[did not move|only went higher|stayed there|shook a little|turned around once].");
    ONE_OF("{@soon} {C+:adult} came by with {a} {@adj} ladder. \"[Let me try|Step back|Hold the ladder],\" {@said} "
           "{C}. {he C} climbed up and [threw down|came back with] {the t}.",
           "then {A} had an idea. {~A} [sat|stood] on {his B} shoulders, and with {a+ v:tool} {~A} could "
           "[touch|reach|pull] {the t}. down it came {@loudly}!",
           "they waited. {@suddenly}, [a strong wind blew|{a} {@animaladj} {kind+ D:wild} pushed it|it began to rain], "
           "and {the t} fell down right {spot+ s:p}.",
           "{A}'s {kind+ D} [ran up|looked up] and [climbed after it|made a great noise]. {the t} [shook|moved] and "
           "fell. \"[Good|Clever] {kind D}!\" they [cried|shouted].");
    E(g, "{B} [danced with joy|held {the t} tight|looked at {the t}: it was not broken|said, \"[{@thanks}]!\"|was "
         "{@happy}]. [they played on, but far away from there|they went {to+ q:any} to play there|\"No more high "
         "throws,\" {@said} {A}].");
}

/* Animals are fed: who eats what, asked again at the end. */
static void feed(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} helped {F+:kin} to feed the animals. there was {a} {@animaladj} {word+ "
            "x:pig,cow,horse,bull}, {a} {@animaladj} {word+ y:sheep,donkey,goose,hen} and {a} {@animaladj} {word+ "
            "z:goat,calf,pony,duck}.");
    E(g, "the {word x} [ate|got] {plural+ t:food}, the {word y} [ate|wanted|liked] {plural+ u:food}, and the {word z} "
         "[ate|got] {plural+ v:food} from {a+ w:box}.");
    SAY(g, 'F', "[do not forget|be careful with|please close|remember] the [{@adj} |]{word+ i:gate,door}.");
    switch (geodec__template_pick(g, 3)) {
    case 0:
        E(g, "but {A} [forgot to close it|left the {word i} open|thought of {@animals} and left it open]. [in the "
             "night|when {~A} looked again|{num+ o:2-9} hours later], one animal was gone.");
        static const char which[] = {'x', 'y', 'z'};
        g->word['j' - 'a'] = g->word[which[geodec__template_pick(g, 3)] - 'a'];
        E(g, "it was the {word j}!");
        E(g, "[they|{A} and {F}] {@looked} [everywhere|behind {@thescene}|on the road|high and low]. {A} had [an "
             "idea|a plan]: {~A} put [some|{num+ k:2-9}] {plural+ m:food} {@where} and waited. {@soon} the {word j} "
             "came and ate them all. {A} [led|brought|took] it home{@manner}.");
        break;
    case 1:
        E(g, "{A} closed the {word i} [well|with a rope]. {~A} gave the {word x} [one more|the last] {noun t} and "
             "[patted its nose|talked to it]. \"What does the {word y} eat?\" asked {F}. \"It eats {plural u},\" "
             "{@said} {A}. \"[Right|Very good|You have a good head]!\" {@cried} {F}.");
        break;
    default:
        E(g, "the next day {F} was [ill|away], and {A} had to [feed them|do it] alone. {~A} remembered everything: "
             "{plural t} for the {word x}, {plural u} for the {word y} and {plural v} for the {word z}. [all of them "
             "ate well|\"{@praise}!\" {@cried} {F} later|the animals [were quiet|knew {him A} now]].");
        break;
    }
}

/* A trip by boat, cart or train; the way back is the way out. */
static void trip(geodec__gen *g)
{
    E(g, "\n{@oneday}, {A} and {F+:kin} made a trip [by|on a] {word+ x:boat,train,bus,bike,cart}. they packed {a+ "
         "t:wear}, {a+ u:tool} and {num+ n:2-8} {plural+ v:food}.");
    geodec__scene_weather(g);
    E(g, "first they [came|went] {to+ p:wild}, where they {@saw} {a} {@animaladj} {kind+ D:wild} {spot+ s:p}. then "
         "they [came|went] {to+ q:out}. there they [ate|shared] {num+ m:1-n} of the {plural v} and [slept in the "
         "sun|played ball|swam|told stories|met {C+}].");
    NUM('k') = NUM('n') - NUM('m');
    STEP(g, "{@suddenly}, it [became [cold|very cold]|began to [rain|snow|hail]|got windy|grew dark|got foggy], so {A} "
            "put on {the t}[ and hid [under a tree|behind a wall|in a hut]| and felt better| and [laughed|sneezed]|].");
    STEP(g, "[on the way back|later|at last] they came {to p} again, and the {kind D} was still {spot s}. {A} "
            "[gave|threw|showed] it [a bit of [dry|white|fresh|brown] bread|some water|{a} {@adjfood} {@food}|{a} "
            "{@adj} leaf]. [it ate from {his A} hand|it was not afraid|it made {a} [funny|happy|small|strange] "
            "sound|it came [closer|very close]|{F} took a picture].");
    E(g, "[at home|at the end of the day|when they unpacked] they counted: {count k v} {was k} left in the "
         "[bag|basket|red bag|old bag].");
}

const geodec__plot geodec__plots_play[] = {hide, share, ramble, stuck, feed, trip, NULL};
