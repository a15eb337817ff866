# Completion of bash, zsh or fish (-v shell=NAME), and the stages of `geodec --help` (-v shell=stages), from the tables that
# the tools print with --options; -v shell=page: the same stages for docs/tools.md.
BEGIN { FS = "\t" }
function cut(text, n) { return length(text) > n ? substr(text, 1, n - 3) "..." : text }
function plain(text) { gsub(/\\/, "", text); gsub(/'/, "", text); return text }
function stage(name) { sub(/^geodec-/, "", name); return name }
$1 == "tool" {
    tool = $2
    tools[++n_tools] = tool
    topic[tool] = $3 + 0; heading[$3 + 0] = $4; purpose[tool] = $5; files[tool] = $6 == "files"
    if ($3 + 0 > last_topic) last_topic = $3 + 0
}
$1 == "option" {
    k = ++n_options[tool]
    name[tool, k] = $2; letter[tool, k] = $3 == "-" ? "" : $3; kind[tool, k] = $4
    choices[tool, k] = $5; metavar[tool, k] = $6 == "-" ? "VALUE" : $6; help[tool, k] = $7
}
END {
    if (shell == "bash") bash()
    else if (shell == "zsh") zsh()
    else if (shell == "fish") fish()
    else if (shell == "stages") stages()
    else if (shell == "page") page()
    else exit 2
}
function stages(   t, i) {
    for (t = 1; t <= last_topic; t++) {
        printf "\n%s:\n", heading[t]
        for (i = 1; i <= n_tools; i++)
            if (topic[tools[i]] == t) printf "  %-16s %s\n", stage(tools[i]), purpose[tools[i]]
    }
}
function page(   t, i) {
    for (t = 1; t <= last_topic; t++) {
        printf "\n## %s\n\n| tool | purpose |\n|---|---|\n", heading[t]
        for (i = 1; i <= n_tools; i++)
            if (topic[tools[i]] == t) printf "| `%s` | %s |\n", tools[i], purpose[tools[i]]
    }
    print ""
}
function bash(   i, k, t, words, c) {
    print "# bash completion of geodec. Made from the tables of options; do not edit."
    print "_geodec_table() {"
    print "    local IFS=$' \\t\\n'"
    print "    case $1 in"
    words = ""
    for (i = 1; i <= n_tools; i++) words = words " " stage(tools[i])
    printf "    geodec) words='%s pipeline --help --version' ;;\n", substr(words, 2)
    print "    geodec-pipeline) words='--quick --jobs= --help' ;;"
    for (i = 1; i <= n_tools; i++) {
        t = tools[i]
        words = ""
        for (k = 1; k <= n_options[t]; k++) words = words " --" name[t, k] (kind[t, k] == "flag" ? "" : "=")
        printf "    %s) words='%s' ;;\n", t, substr(words, 2)
    }
    print "    *) return 1 ;;"
    print "    esac"
    print "}"
    print "_geodec_values() {"
    print "    case $1:$2 in"
    for (i = 1; i <= n_tools; i++) {
        t = tools[i]
        for (k = 1; k <= n_options[t]; k++) {
            if (kind[t, k] == "flag") continue
            printf "    %s:--%s%s) ", t, name[t, k], letter[t, k] == "" ? "" : " | " t ":-" letter[t, k]
            if (kind[t, k] == "choice") { c = choices[t, k]; gsub(/\|/, " ", c); printf "values='%s' ;;\n", c }
            else if (kind[t, k] == "path") print "paths=1 ;;"
            else print ": ;;"
        }
    }
    print "    *) return 1 ;;"
    print "    esac"
    print "}"
    print "_geodec() {"
    print "    local cur=${COMP_WORDS[COMP_CWORD]} prev='' tool=${COMP_WORDS[0]##*/} words='' values='' paths=''"
    print "    [ \"$COMP_CWORD\" -gt 0 ] && prev=${COMP_WORDS[COMP_CWORD - 1]}"
    print "    COMPREPLY=()"
    print "    if [ \"$tool\" = geodec ] && [ \"$COMP_CWORD\" -gt 1 ]; then tool=geodec-${COMP_WORDS[1]}; fi"
    print "    # --option=value comes as three words."
    print "    if [ \"$cur\" = = ]; then cur=''; elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi"
    print "    if _geodec_values \"$tool\" \"$prev\"; then"
    print "        if [ -n \"$values\" ]; then mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")"
    print "        elif [ -n \"$paths\" ]; then compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); fi"
    print "        return"
    print "    fi"
    print "    _geodec_table \"$tool\" || return"
    print "    if [ \"$tool\" = geodec ] || [[ $cur == -* ]]; then"
    print "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")"
    print "        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null"
    print "        return 0"
    print "    fi"
    print "    compopt -o filenames 2>/dev/null"
    print "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
    print "}"
    words = ""
    for (i = 1; i <= n_tools; i++) words = words " " tools[i]
    printf "complete -F _geodec geodec%s\n", words
}
function zsh(   i, k, t, words, c, d) {
    words = ""
    for (i = 1; i <= n_tools; i++) words = words " " tools[i]
    printf "#compdef geodec%s\n", words
    print "# zsh completion of geodec. Made from the tables of options; do not edit."
    print "_geodec() {"
    print "    local tool=$service"
    print "    local -a stages"
    print "    if [[ $service == geodec ]]; then"
    print "        if (( CURRENT == 2 )); then"
    print "            stages=("
    for (i = 1; i <= n_tools; i++) { d = plain(purpose[tools[i]]); gsub(/:/, "\\:", d); printf "                '%s:%s'\n", stage(tools[i]), d }
    print "                'pipeline:run the whole job'"
    print "            )"
    print "            _describe stage stages"
    print "            return"
    print "        fi"
    print "        tool=geodec-$words[2]"
    print "        shift words"
    print "        (( CURRENT-- ))"
    print "    fi"
    print "    case $tool in"
    for (i = 1; i <= n_tools; i++) {
        t = tools[i]
        printf "    %s)\n        _arguments -s", t
        for (k = 1; k <= n_options[t]; k++) {
            d = plain(cut(help[t, k], 72)); gsub(/\[/, "(", d); gsub(/\]/, ")", d); gsub(/:/, "\\:", d)
            c = choices[t, k]; gsub(/\|/, " ", c)
            printf " \\\n            '--%s%s[%s]", name[t, k], kind[t, k] == "flag" ? "" : "=", d
            if (kind[t, k] == "choice") printf ":%s:(%s)", "value", c
            else if (kind[t, k] == "path") printf ":file:_files"
            else if (kind[t, k] == "value") printf ":%s: ", "value"
            printf "'"
        }
        if (files[t]) printf " \\\n            '*:file:_files'"
        printf "\n        ;;\n"
    }
    print "    esac"
    print "}"
    print "_geodec \"$@\""
}
function fish(   i, k, t, c, d, rest, where, w) {
    print "# fish completion of geodec. Made from the tables of options; do not edit."
    for (i = 1; i <= n_tools; i++)
        printf "complete -c geodec -n __fish_use_subcommand -f -a %s -d '%s'\n", stage(tools[i]), plain(purpose[tools[i]])
    print "complete -c geodec -n __fish_use_subcommand -f -a pipeline -d 'run the whole job'"
    for (i = 1; i <= n_tools; i++) {
        t = tools[i]
        for (w = 0; w < 2; w++) {
            where = w ? "-c " t : "-c geodec -n '__fish_seen_subcommand_from " stage(t) "'"
            for (k = 1; k <= n_options[t]; k++) {
                c = choices[t, k]; gsub(/\|/, " ", c)
                rest = kind[t, k] == "choice" ? " -x -a '" c "'" : kind[t, k] == "path" ? " -r -F" : kind[t, k] == "value" ? " -x" : ""
                printf "complete %s -l %s%s%s -d '%s'\n", where, name[t, k], letter[t, k] == "" ? "" : " -s " letter[t, k], rest, \
                    plain(cut(help[t, k], 72))
            }
        }
    }
}
