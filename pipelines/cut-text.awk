# Cuts text at blank lines into documents of at least `least` characters, one a line: key, source, number, text with \001 for a line break.
# Paragraphs of at least 60 characters that have already occurred are left out. Of the documents, only `share` is written. All numbers
# stay below 2^53, so that every awk gives the same keys.
function hash(x, i) {
    for (i = 0; i < 6; i++) x = (x * x % P + x * 31337 % P + 12345) % P
    return x
}
function flush_document(key) {
    if (text == "") return
    number++
    key = hash((number * 40503 + part * 7919 + seed * 104729) % P)
    if (hash((key + number) % P) < share * P) printf "%08d\t%s\t%d\t%s\n", key, source, number, text
    text = ""
}
BEGIN {
    P = 67108859
    RS = ""
    if (!least) least = 1500
}
{
    gsub(/\n/, "\001")
    key = $0
    gsub(/[ \001]+/, " ", key)
    if (length(key) >= 60) {
        if (key in seen) next
        seen[key]
    }
    text = text == "" ? $0 : text "\001\001" $0
    if (length(text) >= least) flush_document()
}
END { flush_document() }
