#include "lab/corpus/corpus_internal.h"

/* Plots about who has what and where things lie. */

/* A lost thing: places are searched, each wrong one holds something else, a friend may know. */
static void lost(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} [could not find|lost|was looking for] {his A} [{desc+ t:toy}|{desc+ t:wear}|{desc+ "
            "t:tool}]. {~A} was {@sad} because [it was a present from {G+:kin}|it was {his A} favorite|{~A} needed it "
            "[for school|that day]|{~A} had [only just|just] gotten it].");
    E(g, "[{~A} had [last|just] played|{~A} remembered playing|the day before, {~A} had been] {in+ p:any}, so {~A} "
         "[{@went} back there|started there|began to look there].");
    int wrong = 1 + geodec__template_pick(g, 3);
    for (int i = 0; i < wrong; i++) {
        E(g, i == 0 ? "[first|at first], {~A} {@looked} {spot+ k:p}, but [there was only {a+ u:nature}|all {~A} found "
                      "was {a+ u:nature}|{the t} was not there|nothing was there]."
             : i == 1 ? "[then|next|after that], {~A} {@looked} {spot+ l:p}, [but {~A} {@saw} only {a+ v:tool}|and "
                        "there {~A} found {a+ v:tool}, but not {the t}|but there was nothing at all|but {a} "
                        "{@animaladj} {kind+ D:wild} was [sleeping|sitting] there]."
                      : "[{~A} even|at last {~A}] {@looked} {spot+ m:p}. [nothing|no {noun t}|it was empty]!");
    }
    if (geodec__template_bernoulli(g, 0.6)) {
        geodec__scene_friend(g);
        SAY(g, 'A', "[have you seen|did you see|do you know where I left] my {noun t}?");
        if (geodec__template_bernoulli(g, 0.5)) {
            SAY(g, 'B', "[yes, I saw it|I think I saw it|I found it and put it|I know! It is] {spot+ s:p}.");
            E(g, "{A} [{@went} there|looked there] {@quickly}, and [there it was|{B} was right|{the t} was really "
                 "{spot s}]!");
            E(g, "[\"[Thank you|Thanks], {B}!\" {@cried} {A}|{A} {@hug} {B}|{A} was so {@glad} that {~A} {@smiled}]. "
                 "[^they [went home|played] together|now {A} had {his A} {noun t} again].");
        } else {
            SAY(g, 'B',
                "[no, but I can help you|no, I have not|I don't know, but let's look together|let me help you].");
            E(g, "[together they|the two friends|{A} and {B}] {@looked} [everywhere|high and low|behind every "
                 "[tree|door|stone|box]]. {@soon}, {~B} {@saw} something {@color} {spot+ s:p}. it was {the t}!");
            E(g, "\"[{@thanks}]!\" {@cried} {A}. [^{~A} {@smiled}|^{~A} {@hug} {B}|^the friends were {@happy}].");
        }
    } else {
        E(g, "{~A} [sat down|wanted to give up|began to cry|thought hard]. {@suddenly}, {~A} [heard a sound|had an "
             "idea|remembered something|saw something move]. {~A} looked {spot+ s:p}, and there [was {the t}|it "
             "was|lay {his A} {noun t}]!");
        E(g, "{~A} [picked it up|held it tight|wiped it clean] and {@smiled}. [\"I will never lose you again,\" "
             "{@said} {A}|^{@feelings}|^{~A} [carried it|took it] home].");
    }
}

/* B moves A's thing while A is away: A looks where it was left and is surprised. */
static void moved(geodec__gen *g)
{
    STEP(g, "\n{@oneday}, {A} was {in+ p:any} with {his A} {@frd}friend {B+}. {A} had {a+ t:toy}, and {~A} put it "
            "{spot+ s:p}. [then|after that] {A} [went away|left] to [get [some [water|tea|bread|milk]|lunch|{a} "
            "{@adjcolor} coat|{num+ o:2-5} {@foods}]|wash {his A} hands|help {G+:kin}|feed the {@animals}].");
    STEP(g, "while {A} was away, [{B} [took|picked up] {the t} and [put|hid] it|{B} moved {the t}, and now it lay|it "
            "began to rain, so {B} put {the t}|{B} played with {the t} and then left it] {spot+ r:p}.");
    E(g, "{A} [did not see this|did not know about this|knew nothing about it|could not see it]. [when {~A} came back, "
         "{~A}|{@soon} {~A} came back and] [looked|searched|went to look|wanted to get it] {spot s}, but {the t} was "
         "[gone|not there]. {A} was {@surprised}.");
    SAY(g, 'A', "[where is my {noun t}|who took my {noun t}|did you see my {noun t}, {B}]?");
    switch (geodec__template_pick(g, 3)) {
    case 0:
        SAY(g, 'B', "[I am sorry|oh|don't worry|oh dear], [I put it|it is now|I left it] {spot r}.");
        E(g, "{A} [went|looked|ran] there and found {the t} {spot r}. [they both laughed|{~A} was {@happy} "
             "again|\"Next time, please tell me,\" {@said} {A}|{~A} was not angry at all].");
        break;
    case 1:
        E(g, "{B} [laughed|smiled|giggled] and [said nothing|kept the secret]. {A} {@looked} {spot+ k:p}, [and|but] it "
             "was not there. [at last|in the end], {~A} looked {spot r}, and there it was!");
        E(g,
          "\"[You are so funny|That was a good trick|You tricked me], {B}!\" {@cried} {A}. [^both of them "
          "laughed|^then {A} [hid|moved] the {noun t} too, and {B} had to look for it|^they played the game again].");
        break;
    default:
        E(g, "{B} [turned red|looked at the ground|felt bad|bit {his B} lip|went pale]. {~B} [showed {A} the "
             "place|pointed with {his B} finger]: {the t} was {spot r}. \"[I only wanted to keep it dry|I wanted to "
             "surprise you|I am sorry that I moved it],\" {@said} {B}.");
        E(g, "{A} [nodded|smiled|thought about it]. [\"It is all right,\" {@said} {A}|\"We are still friends,\" "
             "{@said} {A}|^then {~A} gave {B} a hug].");
    }
}

/* A chain of trades: A ends with what nobody expected. */
static void trade(geodec__gen *g)
{
    E(g, "\n{@oneday}, {A} went {to+ p:trade} with {a+ t:nature} in {his A} [pocket|hand|bag]. {~A} wanted to [trade "
         "it for something better|swap it|find out what people would give for it].");
    geodec__scene_sight(g);
    E(g, "[first|there] {~A} met {B+}{@with}, who had {a+ u:tool}.");
    SAY(g, 'B',
        "[I like your {noun t}|what {a} {@good} {noun t}|I need {a} {noun t}]! [Will you trade it for my {noun u}|I "
        "will give you my {noun u} for it|Do you want my {noun u}]?");
    STEP(g, "{A} [agreed|nodded|said yes|thought about it|counted to {num+ o:3-9} and agreed]. [now {A} had {the u}, "
            "and {B} had {the t}|so {B} took {the t}, and {A} took {the u}].");
    STEP(g, "[next|then|a little later], {A} met {C+:adult}, who [was looking for|needed|wanted] {a} {noun u}. [\"I "
            "can give you {a+ v:food} for it,\" {@said} {C}|in return, {C} offered {him A} {a+ v:food}|{C} had only "
            "{a+ v:food} to give for it].");
    ONE_OF("{A} was [hungry|very hungry], so {~A} gave {C} {the u} and ate {the v} [at once|on the way home|in one "
           "bite]. now {~A} had nothing left, but {~A} was {@happy}.",
           "{A} took {the v} and gave {C} {the u}. {@soon} {~A} saw a poor {@animaladj} {kind+ D} that had nothing to "
           "eat. {A} gave it {the v}. the {kind D} [followed {A} home|licked {his A} hand|was so thankful that it "
           "stayed with {A}], and that was the best trade of all.",
           "{A} [shook {his A} head|said no|did not want that]. {~A} [kept|liked] {the u} [too much|and went home with "
           "it]. at home, {~A} gave {the u} to {G+:kin}, who was {@surprised}. \"[How useful|Just what I needed|How "
           "nice of you]!\" {@cried} {G}.");
}

/* B lends a thing, A breaks it and tells the truth. */
static void borrowed(geodec__gen *g)
{
    STEP(g, "\n{his A} {@frd}friend {B+} had {a+ t:toy}. {@oneday}, {A} asked if {~A} could [borrow|have|play with] it "
            "for a day. \"[Yes|Of course|All right], but [be careful|take good care of it|please bring it back],\" "
            "{@said} {B}.");
    STEP(g, "{A} played with {the t} {in+ p:any}. [{~A} [forgot to be careful|ran too fast|was not looking]|a "
            "[dog|goat|big boy] ran past], and {the t} fell [on the ground|down the stairs|into the mud|on a stone] "
            "{@loudly}. [it broke in two|a piece came off|it was broken|now it had a big crack].");
    STEP(g, "{A} was {@scared}. [should {~A} hide it {spot+ s:p}?|what would {B} say?|was {B} going to be angry?|{~A} "
            "did not know what to do.|how could that happen?] {~A} thought about it [for a long time|all night|on the "
            "way home].");
    switch (geodec__template_pick(g, 3)) {
    case 0:
        E(g, "[in the end|at last], {A} went to {B} and told the truth.");
        SAY(g, 'A', "I [broke|dropped] your {noun t}. I am [so|very] sorry.");
        E(g, "{B} was {@sad}, but {~B} was [also ]glad that {A} had told the truth. [they fixed it together with "
             "[glue|tape|string|a nail]|\"We can fix it,\" {@said} {B}, and they did].");
        break;
    case 1:
        E(g, "{A} asked {G+:kin} for help. ^{G} [had some [glue|string|paint|nails]|knew how to fix it], and together "
             "they worked [all evening|for an hour|at the kitchen table]. {@soon} {the t} was [as good as new|almost "
             "like new|even better than before].");
        E(g, "when {B} came, {A} told {him B} everything. {B} [laughed|smiled|looked at {the t}]. \"[It is even better "
             "now|You were honest, and that is more important|I am not angry],\" {@said} {B}.");
        break;
    default:
        E(g, "{A} had {a+ u:toy} at home. {~A} took it to {B} and said, \"I broke your {noun t}. [Please take my {noun "
             "u}|You can have my {noun u}|My {noun u} is yours now].\" ^{B} [thought about it|was quiet for a "
             "moment|smiled]. \"[Let us share {the u}|Keep it, but let me play with it too|Thank you for telling "
             "me],\" {@said} {B}.");
    }
}

/* A map with two steps, followed exactly. */
static void treasure(geodec__gen *g)
{
    STEP(g,
         "\n{@oneday}, {A} found {a} [old|strange|torn|yellow|secret] map {in+ r:in}. [it said|on it was written|the "
         "map said]: \"Go {to+ p:wild} and look {spot+ s:p}. Then go {to+ q:out} and look {spot+ k:q}.\"");
    if (geodec__template_bernoulli(g, 0.6))
        E(g, "{A} showed the map to {B+}. \"[Let's go|A treasure|Maybe there is gold]!\" [cried|shouted|said] {B}.");
    else
        E(g, "{A} asked {B+:kin} to come along. \"[Why not|I love maps|Then let us go],\" {@said} {B}.");
    geodec__scene_weather(g);
    STEP(g, "[so|first] they {@went} {to p} and looked {spot s}. there [they found|lay|was] {a} {@adj} "
            "[key|note|box|rope|torch|bottle|whistle|card]. {A} put it in {his A} [bag|pocket].");
    STEP(g, "[then|after that] they went {to q}. {~A} looked {spot k}, and [there was|{~A} found|there stood] {a} "
            "[small|big|heavy|rusty|wooden|dusty|green|wet] [chest|box|pot|bag|trunk|barrel].");
    STEP(g, "inside [was|lay] {a+ t:toy} and {num+ n:2-9} {@adj} "
            "[coins|stones|beads|letters|stars|rings|keys|shells|cups].");
    ONE_OF(
        "{A} took {the t}, and {B} took the {num n} [little |]things that lay beside it. [both were {@happy}|that was "
        "fair].",
        "\"We should [give it back|find the owner|ask whose it is],\" {@said} {B}. they learned that it belonged to "
        "{C+:adult}. ^{C} was so {@glad} that {~C} gave {the t} to {A}.",
        "{A} gave {the t} to {B}, because [{B} had helped {him A}|it was soon {B}'s birthday|{B} liked it so much].");
}

/* Coins, a price, change. */
static void shop(geodec__gen *g)
{
    static const geodec__noun coin = {"coin", "coins", T_TOOL};
    g->thing['c' - 'a'].noun = &coin;
    E(g, "\n{A} had {num+ n:4-9} coins. {@oneday}, {~A} went {to+ p:trade} to buy something for [{G+:kin}|{himself "
         "A}|{his A} friend {G+}]. there {~A} {@saw} {a+ t:toy} and {a+ u:wear}.");
    SAY(g, 'A', "how much is the {noun t}?");
    E(g, "\"[It costs|You can have it for|That is] {num+ m:3-8} coins,\" said the seller, {a} {@adj2} [man|woman] with "
         "{@adjcolor} {@look}.");
    if (NUM('m') <= NUM('n')) {
        NUM('k') = NUM('n') - NUM('m');
        E(g, "{A} [counted {his A} coins|looked into {his A} purse|smiled|thought about it]. {~A} [gave the "
             "seller|paid] {num m} coins and took {the t}. now {~A} had {count k c} left.");
        E(g, "[that was not enough for {the u}|the seller wrapped {the t} in [paper|a cloth]|\"Thank you, and come "
             "again,\" said the seller|a [woman|man] behind {him A} bought {the u}].");
        E(g, "{A} [carried|took] {the t} home[ under {his A} arm| in {a} {@color} bag|]. [everyone [liked|loved] it|it "
             "was just right|it looked lovely {in+ r:in}].");
    } else {
        NUM('k') = NUM('m') - NUM('n');
        E(g, "{A} [counted {his A} coins|was {@sad}]. {~A} had only {num n}, so {~A} needed {num k} more. [\"What can "
             "I do?\" thought {A}|\"I will come back,\" {@said} {A}].");
        E(g, "[all week|the next day|that afternoon], {~A} [carried wood|swept the yard|washed cups|sold "
             "lemonade|picked {plural+ v:food}] for {C+:adult} and got {count k c}.");
        E(g, "then {~A} ran [back ]{to p} with {num m} coins in {his A} hand. the seller [smiled|nodded] and gave {him "
             "A} {the t}. {A} was {@happy}, [because|for] {~A} had earned it {himself A}.");
    }
}

const geodec__plot geodec__plots_things[] = {lost, moved, trade, borrowed, treasure, shop, NULL};
