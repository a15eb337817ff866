# The rooms and folders of mk/layers.mk, as tables of docs/manual/layers.md; with -v only=ROOM the table of one room, for its README.
/^# [a-z]+: / { room = $2; sub(/:$/, "", room); purpose = $0; sub(/^# [a-z]+: /, "", purpose); shown = only == "" || room == only }
!shown { next }
/^[a-z]+_USES :=/ {
    uses = $0; sub(/^[^=]*= */, "", uses); gsub(/ /, "`, `", uses)
    if (only == "")
        printf "\n## `%s`\n\n%s%s. It uses %s.\n\n", room, toupper(substr(purpose, 1, 1)), substr(purpose, 2), uses == "" ? "no other room" : "`" uses "`"
    print "| folder | content |\n|---|---|"
}
/^[a-z]+_FOLDERS +\+= / { content = $0; sub(/^[^#]*# /, "", content); printf "| `%s` | %s |\n", $3, content }
/^USES_/ { sub(/^USES_[a-z]*\//, ""); printf "| | `%s` may also use the room `%s` |\n", $1, $3 }
