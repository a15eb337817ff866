#include "lab/corpus/corpus_internal.h"

/* Plots about what people know, feel and do for each other. */

/* A present is made in secret and hidden; the other does not know until the end. */
static void present(geodec__gen *g)
{
    STEP(g, "\n[soon|tomorrow|the next day|in two days|on Sunday] it would be {B+}'s birthday. {A} wanted to give {him "
            "B} {a+ t:wear}, but it had to be a [secret|surprise].");
    STEP(g, "{~A} [made|bought|found] it and [wrapped it in {@color} paper|tied {a} {@color} ribbon around it|put it "
            "in a box]. then {~A} hid it {in+ p:in}, {spot+ s:p}.");
    switch (geodec__template_pick(g, 3)) {
    case 0:
        E(g, "{B} [came to visit|knocked at the door|stood in the door] [that day|in the evening|too early].");
        SAY(g, 'B', "[what are you doing|why are you smiling|what is that {spot s}]?");
        SAY(g, 'A', "[oh, nothing|nothing at all|I am only cleaning|it is only {a+ u:tool}].");
        E(g, "{B} [believed it|went home again|knew nothing], and {A} [was glad|laughed softly|let out a breath].");
        break;
    case 1:
        E(g, "{a} {@animaladj} {kind+ D} [found|smelled] the present and [pulled at the paper|ran away with it|began "
             "to chew on it]. {A} [ran after it|shouted \"Stop!\"|was just in time] and hid the present again, this "
             "time {spot+ r:p}.");
        g->spot['s' - 'a'] = g->spot['r' - 'a'];
        break;
    default:
        E(g, "{A} told {F+:kin} about it, but nobody else. \"[I will not tell anyone|Your secret is safe|My lips are "
             "closed],\" {@said} {F}. [^both laughed|^{B} did not know a thing].");
    }
    E(g, "[at last|then] the day came. there was {a} {@adjcolor} cake with [{num+ o:3-9} candles|{plural+ w:food}|a "
         "star on it], [hot chocolate|{@adjfood} {@foods}|music], and [{E+}, {E+} and {E+}|{E+} and {E+}|{E+}] had "
         "come too. {A} [went|ran] {to p} and took the present from its place {spot s}.");
    SAY(g, 'A', "[happy birthday|this is for you|surprise|open it], {B}!");
    E(g, "{B} [opened it|tore off the paper|untied it|shook it first|held it to {his B} ear|guessed {num+ o:2-5} "
         "times] and saw {the t}. {~B} was {@surprised}, because {~B} had not known [about it|anything]. \"[It is "
         "beautiful|I love it|How did you know]!\" {@cried} {B}. {~B} [wore it all day|put it on at once|showed it to "
         "[everyone|{E+}]|danced with it|did not take it off until {@weekday}].");
}

/* A plot: two characters want one thing. */
static void quarrel(geodec__gen *g)
{
    E(g, "\n{@oneday}, {A} and {B+}{@with} [played|were playing] {in+ p:play}. [they found|there was|{spot+ k:p} they "
         "saw] {a+ t:toy}, and both of them wanted it.");
    E(g, "\"[It is mine|I saw it first|Give it to me|I want it|I need it]!\" [cried|said|shouted|yelled] {A}[ and "
         "[took it|stamped {his A} foot|pulled at it|grew red in the face]|].");
    E(g, "\"[No, it is mine|No, I want it|That is not fair|I saw it too|You always get everything]!\" "
         "[shouted|said|cried|answered] {B}[ [angrily|loudly|with a frown]|].");
    STEP(g, "[they pulled and pulled|{A} pushed {B}|{B} pulled {the t} out of {his A} hands|they shouted at each "
            "other], [and {the t} fell {spot+ s:p}|until {B} fell down|and {B} began to cry|and then they [did not "
            "speak|sat far apart]].");
    switch (geodec__template_pick(g, 4)) {
    case 0:
        E(g, "{@soon}, {A} felt {@sad}. it was no fun to play alone. {~A} [went|walked] to {B} and [looked down|held "
             "out a hand|sat down beside {him B}].");
        SAY(g, 'A',
            "I am sorry. [You can have it first|Let us share it|I was not nice to you|I missed you|We can take "
            "turns].");
        E(g, "{B} [nodded|smiled|wiped {his B} eyes]. [\"I am sorry too,\" {@said} {B}|\"All right,\" {@said} "
             "{B}|\"Friends again?\" asked {B}]. then they took turns with {the t}.");
        break;
    case 1:
        E(g, "{G+:kin} [heard the noise|came to see|saw it all]. \"[Stop that|Now, now|What is going on], you two,\" "
             "{@said} {G}. \"[First {A}, then {B}|First {B}, then {A}|Each of you may have it for an hour|You must "
             "share it].\"");
        E(g, "[they thought about it|that was fair|at first they were still angry], and {@soon} they [were friends "
             "again|were laughing|played together|had forgotten the quarrel].");
        break;
    case 2:
        E(g,
          "[then|{@suddenly}], {a} {@kid} {boy+ C} came. {he C} [was crying|looked for something|looked sad]. \"That "
          "is my {noun t},\" said the {boy C}. \"[I lost it|I left it here] [this morning|yesterday|a week ago].\"");
        E(g, "{A} and {B} looked at each other. they gave {the t} back and [felt silly|laughed|said sorry to each "
             "other]. then all three played together.");
        break;
    default:
        E(g, "{A} had an idea. [\"Let us make a second one,\" {~A} said|\"We could play a game with it,\" {~A} "
             "said|\"The one who [runs faster|throws farther|finds the first {noun+ v:nature}] may have it first,\" "
             "{~A} said]. {B} liked the idea, and {@soon} they were laughing again.");
    }
}

/* A new child is alone; somebody is kind. */
static void new_child(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {a} [new|shy|quiet] {boy+ B} came [to the school|to the village|to live next door]. {his B} "
            "name was {B+}. {B} [did not know anyone|had no friends yet|came from a far land] and [sat alone|stood "
            "alone|was all by {himself B}] {in+ p:play}, {spot+ s:p}.");
    E(g, "{A} [saw this|saw {him B} there|noticed it] and [felt sorry for {B}|remembered how it felt to be "
         "alone|wanted to be kind]. {~A} took {a+ t:toy} and went to {B}.");
    SAY(g, 'A',
        "[hello|hi]! [My name is {A}|I am {A}]. [Do you want to play with me|Would you like to play with my {noun "
        "t}|Is this place free|What is your name]?");
    STEP(g, "{B} [looked up|turned red|smiled a little|did not say a word]. [then|after a moment] {~B} [nodded|took "
            "{the t}|whispered {his B} name].");
    ONE_OF("{B} could [draw|sing|whistle|run|swim|climb|tell stories|dance] better than [anyone|{E+}|all of them]. "
           "{~B} taught {A} how to do it, [and|and soon] other children came to [look|learn] too.",
           "they played with {the t} {@time}. {B} told {A} about [the sea|the big city|the snow|the mountains] where "
           "{~B} had lived before. {A} [listened with wide eyes|asked many questions|wanted to go there too].",
           "the next day, {A} brought {num+ n:2-6} {plural+ u:food}, and {B} brought {a+ v:food}. they shared [it "
           "all|everything] {spot s}.");
    E(g, "[now|from then on] {B} was not alone[ any more|]. [\"I am glad that you [came|asked|were there],\" {@said} "
         "{B}|the two [became|were] [best|good|true] friends|every [day|{@weekday}|week] they met {spot s}|{@soon} "
         "{E+} and {E+} played with them too].");
}

/* A message has to be carried; somebody does not know. */
static void message(geodec__gen *g)
{
    STEP(g, "\n\"[Please tell|Go and tell|Can you tell] {B+:adult} that [the [{@adj} |][bridge|gate|pump|boat|stove] "
            "is broken|the [cow|goat|horse|pig] is [sick|lost|loose]|[dinner|lunch|the meeting|the party] is at {num+ "
            "o:2-9}|the [shop|school|mill] is closed on {@weekday}|a storm is coming|the baby is born|the {@foods} are "
            "ready]!\" {@cried} {F+:kin} to {A}.");
    STEP(g, "{A} {@went} {to+ p:any}. [on the way|but on the way], {~A} [met|saw] {C+}{@with}, who was [playing "
            "with|holding|carrying] {a+ t:toy}. they [talked|played|laughed|sang] [for a while|a little|too long|about "
            "{@animals}], and {A} [almost forgot|forgot] the message.");
    STEP(g, "{@suddenly}, {A} [remembered|heard a bell|saw that it was late|jumped up|looked at the clock: it was "
            "{num+ o:2-9} already|thought of {F}]. \"Oh no! [{B} does not know|I must go|I must tell {B}]!\" {~A} "
            "[cried|said] and ran on.");
    ONE_OF("{~A} [found|met] {B} {in p}, {spot+ s:p}, and told {him B} everything. \"[I did not know that|Nobody told "
           "me|That is big news]!\" {@cried} {B}. \"[Thank you for coming|You are a good messenger].\"",
           "but {B} was not {in p}. {C} helped to look. they found {B} {in+ q:out} at last and told {him B} the news. "
           "{B} was {@surprised}, because nobody had told {him B} before.",
           "{B} [already knew|had heard it already|only laughed]. \"[{G+} told me|A little bird told me|I saw it "
           "myself] this morning,\" {@said} {B}. ^{A} [laughed too|was glad|sat down to rest]. {B} gave {A} {a+ "
           "u:food} for the [long way|trouble].");
}

/* Heavy bags, fallen things, counted back. */
static void help(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} {@saw} {B+:adult} {in+ p:out}. {~B} [was carrying|had] {a} [heavy|full|big] "
            "[bag|basket|box|sack] with {num+ n:4-9} {plural+ t:food}[ and {a+ u:tool}|].");
    E(g, "{@suddenly}, [the bottom broke|{~B} tripped over a stone|a dog ran into {him B}|the handle came off], and "
         "all {num n} {plural t} [rolled away|fell on the ground|rolled down the road].");
    SAY(g, 'A', "[let me help you|don't worry|wait, I will help]!");
    NUM('l') = NUM('n') - 2;
    E(g, "{A} [found|picked up] {count+ m t:1-l} {spot+ s:p}.");
    NUM('k') = NUM('n') - NUM('m');
    E(g, "[now {count k t} {was k} still missing|\"Only {count k t} to go,\" {@said} {B}|that left {count k t}].");
    if (NUM('k') > 1) {
        E(g, "one was [in a puddle|under a cart|in the grass].");
        NUM('k') -= 1;
    }
    if (NUM('k') > 0)
        E(g, "{B} {@saw} {count k t} {spot+ r:p}[, and then they had all {num n} again|. ^now all {num n} were back].");
    E(g, "{A} [carried everything to {his B} {@adj} door|put it all into {a} {@adjcolor} bag|walked home with {him "
         "B}|helped {him B} over the road]. \"[{@praise}]!\" {@cried} {B}. [^{~B} gave {A} {count+ j t:1-2}|^{A} got "
         "{a+ v:wear} as a [gift|thank-you]|\"It was nothing,\" {@said} {A}].");
}

/* A race: who leads, who falls, who helps. */
static void race(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A}, {B+} and {C+}{@with} had a race {in+ p:out}. they wanted to run [from the "
            "[gate|bridge|church] to the [tree|river|mill]|three times around the [pond|house|field]|up the hill and "
            "down again]. the [winner|first one] would get {a+ t:food}.");
    STEP(g, "\"[One, two, three|Ready, steady], go!\" [cried|shouted|called] {G+:kin}. [at first|in the beginning], "
            "{B} was [ahead|in front|the fastest|first|flying], and {C} was [last|far behind|slow|out of breath|still "
            "tying {his C} shoes].");
    switch (geodec__template_pick(g, 3)) {
    case 0:
        E(g, "then {B} [fell over a [root|stone|stick]|slipped in the mud|stepped into a hole] and hurt {his B} "
             "[knee|foot|hand|arm]. {C} ran past, but {A} stopped [to help|and went back].");
        SAY(g, 'A', "[are you all right|does it hurt|can you walk|shall I help you]?");
        E(g, "{B} [cried a little|nodded|held on to {A}]. [slowly|side by side|hand in hand], {A} and {B} walked to "
             "the end. {C} had won, but {~C} broke {the t} into three pieces, [so that everyone had one|one for each "
             "of them].");
        break;
    case 1:
        E(g, "but {B} [stopped to [rest|drink|look at a bird]|thought that it was easy|laughed too soon]. {A} ran [on "
             "and on|faster and faster|as fast as {~A} could] and [passed|overtook] {him B}. {A} won, {B} was second "
             "and {C} was third. {A} ate {the t}[ and gave each of the others a bite|].");
        break;
    default:
        E(g, "{C} did not give up. {~C} ran [past {A}|slowly but well], and [then|at the end] past {B} too. {C} was "
             "the winner! {B} was second, and {A} was third. [\"You are a good runner,\" {@said} {A}|^{A} clapped {his "
             "A} hands|\"Next time I will win,\" {@said} {B}]. {C} [ate|got|held up] {the t} and was {@happy}.");
    }
}

const geodec__plot geodec__plots_people[] = {present, quarrel, new_child, message, help, race, NULL};
