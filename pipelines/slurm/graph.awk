# graph.awk: turns what make says about its goals (make -n -p --trace) into jobs. Variables: goals (names with blanks between), r (the result
# folder), b (the build folder), bin (the folder of the tools), shards, and the files to write: jobs, tasks and, if wanted, commands (target, first line of its command).
#
# A task is a file with a recipe, or a goal with a recipe. It is light if its recipe runs no tool of a stage and no program of an experiment:
# tables, figures, pages. A job is an array of the parts of a sweep, an array of the files that one pattern rule makes (in `shards` chunks), one
# heavy task, a merge, the light tasks that heavy ones need and that need the same heavy jobs, or light tasks at the end of the graph. No job depends
# on itself: heavy tasks of an array have the same depth in the graph.
#
# jobs:  name, chunks, names of the jobs that it needs (commas); in an order in which every job comes after those that it needs
# tasks: job, chunk, number in the job, target, kind, tool, any, targets that it needs (blanks), prerequisites that the rule must not make (blanks)
#   kind: stage (contents decide whether it runs), plain (times decide), goal (a recipe without a file)
#   any:  1 = runs with inputs that failed or were not measured (`needs := any`)
BEGIN {
    FS = "\n"
    part = "trace"
    n_goals = split(goals, goal, " ")
    for (i = 1; i <= n_goals; i++) is_goal[goal[i]] = 1
    light["merge"] = light["table"] = light["verdict"] = light["claims"] = 1
}
/^# Make data base/ { part = "base"; entry = ""; next }
part != "base" && match($0, /^[^ :]+:[0-9]+: (update )?target '[^']+'/) {
    split(substr($0, RSTART, RLENGTH), w, "'")
    current = w[2]
    next
}
part != "base" {
    if (!(current in command) && index($0, bin "/geodec-") || command[current] ~ /\\$/) { # with its continued lines
        line = command[current]
        sub(/\\$/, "", line)
        command[current] = line $0
    }
    line = $0
    while (at = index(line, bin "/geodec-")) {
        line = substr(line, at + length(bin) + 8)
        match(line, /^[a-z0-9-]+/)
        word = substr(line, 1, RLENGTH)
        if (!(word in light) || !(current in tool)) tool[current] = word
    }
    if ($0 ~ /pipelines\/lab\/[a-z0-9-]+\/[a-z0-9-]+( |$)/) program[current] = 1
    next
}
/^# Finished Make data base/ { part = "trace"; next }
/^# Not a target:/ { skip = 1; next }
/^$/ { entry = ""; next }
/^[^#\t ][^ =]*: [A-Za-z_.]+ [:+?!]?= / {
    split($0, w, ": needs := ")
    if (w[2] == "any") any[w[1]] = 1
    next
}
/^[^#\t ][^ =]*:( |$)/ {
    target = substr($0, 1, index($0, ":") - 1)
    entry = ""
    if (skip) { skip = 0; next }
    entry = target
    known[entry] = 1
    rest = substr($0, length(target) + 2)
    sub(/ \| /, " ", rest)
    sub(/^:? */, "", rest)
    prerequisites[entry] = rest
    delete recipe[entry]
    delete phony[entry]
    stem[entry] = ""
    next
}
entry != "" && /^#  Phony target/ { phony[entry] = 1 }
entry != "" && /^#  recipe to execute/ { recipe[entry] = 1 }
entry != "" && /^#  Implicit\/static pattern stem: '/ { split($0, w, "'"); stem[entry] = w[2] }

function under(name, folder) { return index(name, folder "/") == 1 }
function is_task(t) {
    if (!(t in known) || !(t in recipe)) return 0
    if (t in phony) return t in is_goal
    return !under(t, bin) && (under(t, r) || !under(t, b) && !under(t, "build"))
}
# visit: needs[t], the tasks before t, with blanks around each; the order of tasks
function visit(t,    w, n, i, p) {
    if (state[t] == 2) return
    if (state[t] == 1) die("a cycle at " t)
    state[t] = 1
    needs[t] = " "
    depth[t] = 0
    n = split(prerequisites[t], w, " ")
    for (i = 1; i <= n; i++) {
        p = w[i]
        if (!(p in known)) continue
        visit(p)
        if (is_task(p)) add(t, p)
        else add_all(t, needs[p])
    }
    state[t] = 2
    if (is_task(t)) {
        if (t !~ /^[A-Za-z0-9._\/+-]+$/) die("a target with other characters than letters, digits and . _ - + / is refused: " t)
        order[++n_tasks] = t
    }
}
function add(t, p) {
    if (index(needs[t], " " p " ")) return
    needs[t] = needs[t] p " "
    if (depth[p] + 1 > depth[t]) depth[t] = depth[p] + 1
}
function add_all(t, list,    w, n, i) {
    n = split(list, w, " ")
    for (i = 1; i <= n; i++) add(t, w[i])
}
function die(text) { print "submit: " text > "/dev/stderr"; failed = 1; exit 1 }
function base(t) { sub(/.*\//, "", t); sub(/\.[a-z0-9]+$/, "", t); return t }
function uses(t, word) { return (t in tool) && tool[t] == word }
function heavy(t) {
    if (t in phony) return 0
    return (t in program) || (t in tool) && !(tool[t] in light) || uses(t, "merge") || !under(t, r) && kind(t) == "plain"
}
function kind(t) {
    if (t in phony) return "goal"
    return (" " prerequisites[t] " ") ~ / FORCE / ? "stage" : "plain"
}
function group_of(key, label) {
    if (!(key in group)) {
        group[key] = ++n_groups
        name[n_groups] = label
        wants[n_groups] = " "
    }
    return group[key]
}
# union of two sorted lists of numbers with blanks around each
function union(a, c,    w, n, i) {
    n = split(c, w, " ")
    for (i = 1; i <= n; i++) if (!index(a, " " w[i] " ")) a = a w[i] " "
    return a
}
function sorted(a,    w, n, i, j, x, s) {
    n = split(a, w, " ")
    for (i = 2; i <= n; i++) {
        x = w[i]
        for (j = i - 1; j > 0 && w[j] + 0 > x + 0; j--) w[j + 1] = w[j]
        w[j + 1] = x
    }
    s = " "
    for (i = 1; i <= n; i++) s = s w[i] " "
    return s
}
END {
    if (failed) exit 1
    for (i = 1; i <= n_goals; i++) {
        if (!(goal[i] in known)) die("no rule makes " goal[i])
        visit(goal[i])
    }
    # which tasks a heavy task needs, directly or not
    for (i = n_tasks; i >= 1; i--) {
        t = order[i]
        n = split(needs[t], w, " ")
        for (j = 1; j <= n; j++) if (heavy(t) || feeds[t]) feeds[w[j]] = 1
    }
    for (i = 1; i <= n_tasks; i++) {
        t = order[i]
        sig = " "
        level = (t in any) ? 1 : 0
        n = split(needs[t], w, " ")
        for (j = 1; j <= n; j++) {
            u = w[j]
            sig = union(sig, above[u])
            if (heavy(u)) sig = union(sig, " " in_group[u] " ")
        }
        sig = sorted(sig)
        if (heavy(t)) {
            if (match(t, "\\.[0-9]+-" shards "\\.h5$")) {
                label = base(substr(t, 1, RSTART) "h5")
                key = "parts " substr(t, 1, RSTART) " " depth[t]
            } else if (stem[t] != "") {
                label = t
                at = index(t, stem[t])
                label = substr(t, 1, at - 1) "all" substr(t, at + length(stem[t]))
                key = "pattern " label " " depth[t]
                sub(/^results\//, "", label)
                if (under(label, r)) label = substr(label, length(r) + 2)
                sub(/\.[a-z0-9]+$/, "", label)
                gsub(/\//, "-", label)
            } else { label = (uses(t, "merge") ? "merge-" : "") base(t); key = "task " t }
            g = group_of(key, label)
        } else {
            for (j = 1; j <= n; j++) {
                u = w[j]
                if (heavy(u) || feeds[u] != feeds[t] || feeds[t] && above[u] != sig) continue
                k = turn[u] + (((u in any) ? 1 : 0) != ((t in any) ? 1 : 0))
                if (k > level) level = k
            }
            turn[t] = level
            g = group_of("light " (feeds[t] ? sig : "") " " level, base(t))
            if (group_size[g]) name[g] = "tables"
        }
        above[t] = sig
        in_group[t] = g
        group_size[g]++
        member[g, group_size[g]] = t
        for (j = 1; j <= n; j++) if (in_group[w[j]] != g) wants[g] = union(wants[g], " " in_group[w[j]] " ")
    }
    # names, each once
    for (g = 1; g <= n_groups; g++) {
        used[name[g]]++
        if (used[name[g]] > 1) { label = name[g] "-" used[name[g]]; used[label]++; name[g] = label }
    }
    # jobs in an order in which each comes after those that it needs
    for (printed = 0; printed < n_groups; printed += now) {
        now = 0
        for (g = 1; g <= n_groups; g++) {
            if (ready[g]) continue
            n = split(wants[g], w, " ")
            list = ""
            for (j = 1; j <= n && ready[w[j]]; j++) list = list (j > 1 ? "," : "") name[w[j]]
            if (j <= n) continue
            ready[g] = 1
            now++
            emit(g, list)
        }
        if (!now) die("jobs need each other")
    }
}
# chunks of a job: the parts of a sweep one by one; the files of a pattern rule in `shards` chunks; light tasks in one
function emit(g, list,    i, t, chunks, w, n, j, keep, p) {
    chunks = 1
    t = member[g, 1]
    if (heavy(t)) chunks = group_size[g] < shards || t ~ ("\\.[0-9]+-" shards "\\.h5$") ? group_size[g] : shards
    printf "%s\t%d\t%s\n", name[g], chunks, list == "" ? "-" : list > jobs
    for (i = 1; i <= group_size[g]; i++) {
        t = member[g, i]
        keep = ""
        n = split(prerequisites[t], w, " ")
        for (j = 1; j <= n; j++) {
            p = w[j]
            if (p == "FORCE" || p in phony || kind(t) == "plain" && (is_task(p) || !(p in recipe))) continue
            keep = keep (keep == "" ? "" : " ") p
        }
        if (commands != "" && (t in command)) { gsub(/\t/, " ", command[t]); print t "\t" command[t] > commands }
        n = needs[t]
        sub(/^ /, "", n)
        sub(/ $/, "", n)
        printf "%s\t%d\t%d\t%s\t%s\t%s\t%d\t%s\t%s\n", name[g], 1 + int((i - 1) * chunks / group_size[g]), i, t, kind(t), \
            (t in tool) ? tool[t] : "-", (t in any) ? 1 : 0, n == "" ? "-" : n, keep == "" ? "-" : keep > tasks
    }
}
