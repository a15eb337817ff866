#!/usr/bin/env bats
# geodec-table: columns, long form, and SQL: computed columns, filters, groups, joins. Artifacts are those of tests/bad/make_bad_h5; the expected
# tables are written down here or computed by awk.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_h5" "$BATS_FILE_TMPDIR"
}

setup() {
    table=$bin/geodec-table
    good=$BATS_FILE_TMPDIR/good.h5
    cd "$BATS_TEST_TMPDIR" || return 1
    printf 'kind\tsize\ttime\n0\t10\t1.5\n1\t10\t2.5\n0\t20\t3\n1\t20\tauto\n' > t.tsv
}

# refused STATUS WORD ARGUMENT..: one line with WORD, and the status
refused() {
    run --separate-stderr "$table" "${@:3}"
    echo "$status: $stderr"
    [ "$status" -eq "$1" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$2"* ]]
}

# rows FILE QUERY: the rows of the query without a header, on one line
rows() { "$table" --no-header "$1" "$2" | tr '\n' ' '; }

@test "a text table: columns in the order asked for, all of them, and new names" {
    [ "$("$table" t.tsv time size)" = $'time\tsize\n1.5\t10\n2.5\t10\n3\t20\nauto\t20' ]
    [ "$("$table" t.tsv 'SELECT time, size AS s FROM t')" = $'time\ts\n1.5\t10\n2.5\t10\n3\t20\nauto\t20' ]
    [ "$("$table" t.tsv '*')" = "$(cat t.tsv)" ]
    [ "$("$table" - 'SELECT * FROM t' < t.tsv)" = "$(cat t.tsv)" ]
    printf 'a b\tx=y\n1.50\t2\n' > odd.tsv # cells are printed as they are
    [ "$("$table" odd.tsv 'SELECT *, "a b" AS "two words" FROM t')" = $'a b\tx=y\ttwo words\n1.50\t2\t1.50' ]
}

@test "computed columns: arithmetic, precedence of operators, functions" {
    [ "$(rows t.tsv "SELECT 1 + 2 * 3, -2 - 1 - 1, 7 % 4, size / 4.0, iif(kind = 0, 'x', 'y'), fixed(2 / 3.0, 3), pow(2, 10), min(3, number(size)) + max(1, 2),
        sqrt(16) + abs(-1), exp(ln(8)), 1 < 2 AND NOT (2 < 1) OR 0, kind || '-' || size, replace('a_b', '_', ' '), 1 / 3.0, exact(0.1),
        exact32(0.1), word('a,b, c', 2), word('p:q', 0, ':') FROM t LIMIT 1")" = \
        $'7\t-4\t3\t2.5\tx\t0.667\t1024\t5\t5\t7.999999999999998\t1\t0-10\ta b\t0.3333333333333333\t0.1\t0.1\tc\tp ' ]
    [ "$("$table" --no-header --digits 3 --rows 0:1 t.tsv 'SELECT 1 / 3.0, 1000000 / 2.0, time, exact(1 / 3.0) FROM t')" = $'0.333\t500000\t1.5\t0.3333333333333333' ]
    refused 2 "none of number 3" t.tsv "SELECT word('a,b,c', 3)"
    refused 2 "fixed(" t.tsv "SELECT fixed(1e10, 2)"
}

@test "texts: number() and the aggregates refuse them; comparison is by value where both are numbers" {
    refused 2 "'auto' is not a number" t.tsv 'SELECT number(time) + 1 FROM t WHERE kind = 1'
    refused 2 "'auto' is not a number" t.tsv 'SELECT sum(time) FROM t'
    [ "$(rows t.tsv "SELECT kind, size FROM t WHERE time = 'auto'")" = $'1\t20 ' ]
    [ "$(rows t.tsv 'SELECT time FROM t WHERE time <> 3.0')" = "1.5 2.5 auto " ]
    [ "$(rows t.tsv 'SELECT time FROM t WHERE time < 20')" = "1.5 2.5 3 " ]
    [ "$(rows t.tsv 'SELECT known(time) FROM t')" = "1 1 1 0 " ]
}

@test "NaN is NULL: it is printed as nan, fails every condition, and is carried by arithmetic" {
    printf 'x\n1\nnan\n-inf\n3\n' > n.tsv
    [ "$(rows n.tsv 'SELECT x FROM t WHERE x > 0')" = "1 3 " ]
    [ "$(rows n.tsv 'SELECT x FROM t WHERE x < 2')" = "1 " ]
    [ "$(rows n.tsv 'SELECT x FROM t')" = "1 nan nan 3 " ]
    [ "$(rows n.tsv 'SELECT number(x) + 1 FROM t')" = "2 nan nan 4 " ]
    [ "$(rows n.tsv 'SELECT sum(x), mean(x), median(x), count(x) FROM t WHERE x IS NULL OR x > 0')" = $'nan\tnan\tnan\t2 ' ]
    [ "$("$table" --no-header n.tsv 'SELECT x FROM t WHERE x > 100' | wc -l)" -eq 0 ]
    refused 5 "0 rows, 1 needed" --at-least 1 n.tsv 'SELECT x FROM t WHERE x > 100'
    [ -z "$output" ]
}

@test "missing values are one thing however they are spelt: never equal, never counted, never returned by a condition" {
    printf 'k\tx\na\t1\nb\tnan\nc\tNaN\nd\tNA\ne\tN/A\nf\tn/a\ng\tnull\nh\tNULL\ni\t\nj\tInf\nk\t-Inf\nl\t+inf\nm\t-nan\nn\nnanny\tnadir\n' > n.tsv
    [ "$(rows n.tsv 'SELECT count(*), count(x), count(DISTINCT x) FROM t')" = $'15\t2\t2 ' ]
    for condition in 'x > 0' 'x < 0' 'x = x' 'x <> 1' 'x >= 1' "x = ''" "x = 'NA'" "x = 'nan'"; do
        [ -z "$(rows n.tsv "SELECT k FROM t WHERE ($condition) AND k BETWEEN 'b' AND 'n'")" ]
    done
    [ "$(rows n.tsv 'SELECT k FROM t WHERE x IS NOT NULL')" = "a nanny " ] # a word that only begins so is a text
    [ "$("$table" --also u=n.tsv --no-header n.tsv 'SELECT t.k, u.k FROM t JOIN u USING (x)' | tr '\n' ' ')" = $'a\ta nanny\tnanny ' ]
    [ "$(rows n.tsv 'SELECT known(x) FROM t WHERE k < 2 OR 1' | tr -d ' ')" = 100000000000000 ]
}

@test "whole numbers of any size are grouped, joined, compared and sorted exactly, and printed as they are" {
    printf 'id\tv\n9007199254740992\t1\n9007199254740993\t2\n18446744073709551615\t3\n18446744073709551614\t4\n1180591620717411303424\t5\n1180591620717411303425\t6\n-9007199254740993\t7\n-9007199254740992\t8\n0018446744073709551615\t9\n5\t10\n' > i.tsv
    [ "$(rows i.tsv 'SELECT count(*), count(DISTINCT id) FROM t')" = $'10\t9 ' ]
    [ "$(rows i.tsv 'SELECT v FROM t ORDER BY id, v')" = "7 8 10 1 2 4 3 9 5 6 " ]
    [ "$("$table" --also b=i.tsv --no-header i.tsv 'SELECT t.v, b.v FROM t JOIN b ON t.id = b.id ORDER BY t.rowid, b.rowid' | tr '\t\n' '= ')" = \
        "1=1 2=2 3=3 3=9 4=4 5=5 6=6 7=7 8=8 9=3 9=9 10=10 " ]
    [ "$(rows i.tsv 'SELECT v FROM t WHERE id = 18446744073709551615')" = "3 9 " ]
    [ "$(rows i.tsv "SELECT v FROM t WHERE id = '1180591620717411303425' OR id = 9007199254740993")" = "2 6 " ]
    [ "$(rows i.tsv 'SELECT v FROM t WHERE id > 18446744073709551614')" = "3 5 6 9 " ]
    [ "$(rows i.tsv 'SELECT v FROM t WHERE id < 18446744073709551615')" = "1 2 4 7 8 10 " ]
    [ "$(rows i.tsv 'SELECT id FROM t')" = "$(sed 1d i.tsv | cut -f 1 | tr '\n' ' ')" ]
    [ "$(rows i.tsv 'SELECT number(id) FROM t WHERE v = 3')" = "1.8446744073709552e+19 " ]
    big=${GEODEC_SHARED:-$OLDPWD/../shared}/cases/points/big.tsv
    [ -r "$big" ] || skip "no shared folder: $big"
    [ "$(rows "$big" 'SELECT id, count(*) FROM t GROUP BY id' | wc -w)" -eq 10 ]
    [ "$("$table" --also b="$big" --no-header "$big" 'SELECT t.id FROM t JOIN b ON t.id = b.id' | wc -l)" -eq 5 ]
}

@test "median and quantile interpolate as numpy: values of numpy.quantile" {
    printf 'x\n7\n1\n2\n4\n' > q.tsv
    [ "$(rows q.tsv 'SELECT median(x), quantile(x, 0), quantile(x, 1), quantile(x, 0.25), quantile(x, 0.5), exact32(quantile(x, 0.9)) FROM t')" = $'3\t1\t7\t1.75\t3\t6.1 ' ]
    [ "$(rows q.tsv 'SELECT median(x), quantile(x, 0.9) FROM t WHERE x = 7')" = $'7\t7 ' ]
}

@test "groups: in the order of first rows, each aggregate against its definition" {
    printf 'g\tx\nb\t1\na\t4\nb\t2\nb\t6\na\t8\n' > g.tsv
    run "$table" --no-header g.tsv 'SELECT g, sum(x), count(*), mean(x), fixed(sem(x), 6), median(x), quantile(x, 0.7), first(x), count(*) FILTER (WHERE x > 3),
        sum(x) FILTER (WHERE x > 1) FROM t GROUP BY g ORDER BY min(rowid)'
    # sem of 1, 2, 6: sqrt((4 + 1 + 9) / 2 / 3); of 4, 8: sqrt(8 / 1 / 2)
    # quantile 0.7 of 1, 2, 6: 2 + 0.4 * 4; of 4, 8: 4 + 0.7 * 4
    [ "${lines[0]}" = $'b\t9\t3\t3\t1.527525\t2\t3.5999999999999996\t1\t1\t8' ]
    [ "${lines[1]}" = $'a\t12\t2\t6\t2.000000\t6\t6.8\t4\t2\t12' ]
    [ "$(rows g.tsv "SELECT sum(x) FILTER (WHERE g = 'a') / sum(x) FROM t" | head -c 8)" = 0.571428 ]
    [ "$(rows g.tsv 'SELECT sum(x), count(*), mean(x) FROM t WHERE x > 100')" = $'0\t0\tnan ' ]
    [ -z "$(rows g.tsv 'SELECT g, sum(x) FROM t WHERE x > 100 GROUP BY g')" ]
    refused 2 "misuse of aggregate" g.tsv 'SELECT sum(mean(x)) FROM t'
    refused 2 "misuse of aggregate" g.tsv 'SELECT x FROM t WHERE sum(x) > 1'
    refused 2 "is not between 0 and 1" g.tsv 'SELECT quantile(x, 2) FROM t'
    # as many groups as rows: the same sums as awk's
    awk 'BEGIN {print "k\tv"; for (i = 0; i < 20000; i++) print i % 7919 "\t" i}' > many.tsv
    cmp <("$table" --no-header many.tsv 'SELECT k, sum(v) FROM t GROUP BY k ORDER BY min(rowid)') \
        <(awk 'NR > 1 {s[$1] += $2} END {for (i = 0; i < 7919; i++) print i "\t" s[i]}' many.tsv)
    # the rows of a group keep their order
    cmp <("$table" --no-header many.tsv 'SELECT k, first(v) FROM t GROUP BY k ORDER BY min(rowid)') <(seq 0 7918 | awk '{print $1 "\t" $1}')
}

@test "rows into columns: only() takes the one value, says nan where there is none, and refuses two" {
    query='SELECT size, only(time) FILTER (WHERE kind = 0) AS zero, only(time) FILTER (WHERE kind = 1) AS one FROM t'
    [ "$("$table" t.tsv "$query GROUP BY size ORDER BY min(rowid)")" = $'size\tzero\tone\n10\t1.5\t2.5\n20\t3\tauto' ]
    [ "$(rows t.tsv "$query WHERE kind = 0 GROUP BY size ORDER BY min(rowid)")" = $'10\t1.5\tnan 20\t3\tnan ' ]
    refused 2 "2 rows instead of one" t.tsv 'SELECT size, only(time) FROM t GROUP BY size'
}

@test "running and total sums" {
    printf 'x\n1\n2\n5\n' > r.tsv
    [ "$(rows r.tsv 'SELECT total(x) OVER (ORDER BY rowid) / total(x) OVER (), total(x) OVER (ORDER BY rowid) FROM t')" = $'0.125\t1 0.375\t3 1\t8 ' ]
    [ "$(rows r.tsv 'SELECT total(x) OVER () FROM t WHERE x > 1')" = "7 7 " ]
}

@test "join: by key whatever the order; a missing key is nan, a double one refused by only()" {
    printf 'size\tkind\twatt\n20\t1\tw21\n10\t1\tw11\n20\t0\tw20\n10\t0\tw10\n99\t9\tw99\n' > w.tsv
    join='SELECT kind, size, watt FROM t LEFT JOIN w USING (kind, size) ORDER BY t.rowid'
    [ "$("$table" --also w=w.tsv t.tsv "$join" | cut -f 3 | tr '\n' ' ')" = "watt w10 w11 w20 w21 " ]
    head -n 4 w.tsv > short.tsv
    [ "$("$table" --also w=short.tsv t.tsv "$join" | cut -f 3 | tr '\n' ' ')" = "watt nan w11 w20 w21 " ]
    refused 5 "3 rows, 4 needed" --at-least 4 --also w=short.tsv t.tsv "${join/LEFT /}"
    { cat w.tsv; printf '10\t0\tagain\n'; } > twice.tsv
    refused 2 "2 rows instead of one" --also w=twice.tsv t.tsv 'SELECT (SELECT only(watt) FROM w WHERE w.kind = t.kind AND w.size = t.size) FROM t'
    refused 2 "ambiguous column name: size" --also w=w.tsv t.tsv 'SELECT size FROM t JOIN w ON w.kind = t.kind'
    refused 2 "cannot join using column other" --also w=w.tsv t.tsv 'SELECT watt FROM t JOIN w USING (other)'
    refused 2 "NAME=FILE" --also w.tsv t.tsv kind
    # a computed number and a cell, both in subqueries that are stored
    q='WITH s AS MATERIALIZED (SELECT sum(size) AS n FROM t GROUP BY size), u AS MATERIALIZED (SELECT size, watt FROM w) SELECT watt FROM'
    for order in 's JOIN u ON n = size' 's JOIN u ON size = n' 'u JOIN s ON size = n'; do
        [ "$("$table" --no-header --also w=short.tsv t.tsv "$q $order ORDER BY watt" | sort | tr '\n' ' ')" = "w20 w21 " ]
    done
    # by the number of the row
    [ "$("$table" --no-header --also w=w.tsv t.tsv 'SELECT watt FROM t JOIN w ON w.rowid = t.rowid' | tr '\n' ' ')" = "w21 w11 w20 w10 " ]
}

@test "append: the same number of columns, or nothing" {
    printf 'kind\tsize\n7\t70\n' > more.tsv
    [ "$("$table" --also more=more.tsv t.tsv 'SELECT kind, size FROM t UNION ALL SELECT * FROM more' | tail -n 1)" = $'7\t70' ]
    refused 2 "do not have the same number of result columns" --also more=more.tsv t.tsv 'SELECT size FROM t UNION ALL SELECT * FROM more'
}

@test "sort: numbers by value, then texts, equal rows as they were" {
    printf 'a\tb\n10\t1\nx\t2\n9\t3\n-1e3\t4\n9.0\t5\n' > s.tsv
    [ "$(rows s.tsv 'SELECT b FROM t ORDER BY a')" = "4 3 5 1 2 " ]
    [ "$("$table" s.tsv 'SELECT a, b FROM t WHERE b > 9 ORDER BY a')" = $'a\tb' ]
}

@test "blocks, gaps and Markdown" {
    [ "$("$table" --blocks kind t.tsv 'SELECT kind, size FROM t ORDER BY kind, rowid'; echo .)" = $'0\n10\n20\n\n\n1\n10\n20\n.' ]
    refused 2 "no attribute" --blocks kind=names t.tsv kind size
    refused 2 "has no column 'drafter'" --blocks drafter t.tsv kind size
    refused 2 "does not go together" --blocks kind --markdown t.tsv kind size
    [ "$("$table" --markdown --rows 0:1 t.tsv kind size)" = $'| kind | size |\n|---|---|\n| 0 | 10 |' ]
    [ "$("$table" --no-header --over R,M --gap R --rows 100:102 "$good" R top_index; echo .)" = "$("$table" --no-header --rows 100:102 "$good" top_index |
        awk '{for (j = 1; j <= 4; j++) print $j; print ""} END {print "."}')" ]
    [ "$("$table" --blocks kind --gap size t.tsv 'SELECT kind, size, time FROM t ORDER BY kind, rowid'; echo .)" = \
        $'0\n1.5\n\n3\n\n\n\n1\n2.5\n\nauto\n\n.' ]
}

@test "long form: rows over named dimensions, the other axes by index, each value where it belongs" {
    cmp <("$table" --no-header --over R,M "$good" R M top_index top_logit) \
        <(paste <("$table" --no-header "$good" top_index) <("$table" --no-header "$good" top_logit) |
            awk '{for (j = 0; j < 4; j++) print NR - 1 "\t" j "\t" $(j + 1) "\t" $(j + 5)}')
    # the dimensions in the other order
    cmp <("$table" --no-header --over M,R "$good" R M top_logit) \
        <("$table" --no-header --over R,M "$good" R M top_logit | sort -k 2,2n -k 1,1n)
    [ "$("$table" --over M "$good" 'SELECT at(top_index, -1) AS x FROM t' | head -n 1)" = x ]
    cmp <("$table" --no-header "$good" 'SELECT exact32(at(top_logit, 2)) FROM t') <("$table" --no-header "$good" top_logit | cut -f 3)
    cmp <("$table" --no-header --rows 3:5 "$good" 'SELECT at(state, -1) FROM t') <("$table" --no-header --rows 3:5 "$good" state)
    [ "$("$table" --no-header --over none "$good" 'SELECT at(token, 3), :R FROM t')" = "$("$table" --no-header "$good" token | sed -n 4p)"$'\t600' ]
    refused 2 "no index 4 along an axis of 4" "$good" 'SELECT at(top_logit, 4) FROM t'
    refused 2 "fewer axes" --over R "$good" 'SELECT at(token, 0) FROM t'
    refused 2 "there is no dimension Q" --over R,Q "$good" token
    refused 2 "occurs twice" --over R,R "$good" token
    refused 2 "has no dimensions" --over R t.tsv kind
    refused 2 "an array" "$good" 'SELECT sum(top_logit) FROM t'
}

@test "attributes: alone, as a column, and missing ones" {
    [ "$("$table" --attr n_vocab "$good")" = 8 ]
    [ "$("$table" --attr model_fingerprint "$good")" = "$("${table%table}info" "$good" | sed -n 's/^  model  *//p')" ]
    [ "$("$table" --no-header --rows 0:2 "$good" 'SELECT token * 0 + 1.0 / @n_vocab FROM t' | tr '\n' ' ')" = "0.125 0.125 " ]
    [ "$("$table" --no-header "$good" 'SELECT 1.0 / @n_vocab')" = 0.125 ]
    [ "$("$table" --no-header --also "b=$good" t.tsv 'SELECT @b_n_vocab')" = 8 ]
    refused 2 "no attribute 'nonsense'" --attr nonsense "$good"
    refused 2 "no attribute 'nonsense'" "$good" 'SELECT @nonsense'
    refused 2 "no attribute" t.tsv 'SELECT @n_vocab'
}

@test "a second artifact: fields by its name" {
    cmp <("$table" --also "b=$good" "$good" 'SELECT t.token, b.token FROM t JOIN b ON b.rowid = t.rowid' | sed 1d) <("$table" "$good" token token | sed 1d)
    [ "$("$table" --also "b=$good" "$good" 'SELECT token AS b_token FROM b' | head -n 1)" = b_token ]
    refused 2 "no such column: c.token" --also "b=$good" "$good" 'SELECT c.token FROM t'
    refused 2 "NAME=FILE" --also "$good" "$good" token
}

@test "hostile queries and tables end in one line" {
    for bad in 'SELECT' 'SELECT 1 +' 'SELECT (1' 'SELECT 1)' 'SELECT foo(1)' 'SELECT abs()' 'SELECT abs(1, 2)' "SELECT 'open" 'SELECT {open}' 'SELECT kind kind kind FROM t' \
        'SELECT @' 'SELECT size[' 'nothing' 'SELECT $x' 'SELECT ?' 'SELECT "nothing" FROM t' 'SELECT 1; SELECT 2' '' \
        'SELECT load_extension(1)' 'SELECT random()' 'SELECT * FROM sqlite_schema' 'SELECT * FROM pragma_database_list' "ATTACH 'x.db' AS x" \
        "VACUUM INTO 'x.db'" 'PRAGMA user_version = 1' 'DELETE FROM t' 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c' \
        "WITH c AS (SELECT 1) DELETE FROM t" "SELECT at(x'00', 0)" "SELECT x'00'" "SELECT at(zeroblob(56), 0)" "SELECT zeroblob(64)"; do
        refused 2 'geodec-table: t.tsv: ' t.tsv "$bad"
    done
    [ ! -e x.db ]
    refused 3 "too big" t.tsv 'SELECT zeroblob(1000000000)'
    refused 2 "" t.tsv "SELECT $(printf '(%.0s' {1..1000})1"
    refused 2 "maximum depth" t.tsv "SELECT $(printf '1 + %.0s' {1..150})1"
    printf 'a\ta\n1\t2\n' > double.tsv
    refused 2 "duplicate column name: a" double.tsv a
    printf 'a\tb\n1\t2\t3\n' > long.tsv
    refused 3 "more cells" long.tsv a
    seq -s $'\t' 3000 > wide.tsv
    refused 3 "more than 2000 columns" wide.tsv '*'
    printf 'a\tb\n1\n' > short.tsv
    [ "$("$table" --no-header short.tsv a b)" = $'1\tnan' ]
    [ "$("$table" --no-header short.tsv 'SELECT number(b) + 1, b IS NULL FROM t')" = $'nan\t1' ]
    : > empty.tsv
    refused 3 "empty" empty.tsv a
    refused 1 "" missing.tsv a
    printf 'a\n' > none.tsv
    [ "$("$table" none.tsv a)" = a ]
}
