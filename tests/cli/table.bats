#!/usr/bin/env bats
# geodec-table: selection, long form, computed columns, filters, groups, joins. Artifacts are those of tests/bad/make_bad_h5. The expected
# tables are written here or computed by awk.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    "${B:-build/release}/tests/bad/make_bad_h5" "$BATS_FILE_TMPDIR"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    table=${B:-build/release}/bin/geodec-table
    good=$BATS_FILE_TMPDIR/good.h5
    cd "$BATS_TEST_TMPDIR" || return 1
    table=$OLDPWD/$table
    printf 'kind\tsize\ttime\n0\t10\t1.5\n1\t10\t2.5\n0\t20\t3\n1\t20\tauto\n' > t.tsv
}

# refused STATUS WORD ARGUMENT..: one line with WORD, and the status
refused() {
    run --separate-stderr "$table" "${@:3}"
    echo "$status: $stderr"
    [ "$status" -eq "$1" ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ "$stderr" == *"$2"* ]]
}

@test "a text table: columns in the requested order, all columns, and new names" {
    [ "$("$table" t.tsv time s=size)" = $'time\ts\n1.5\t10\n2.5\t10\n3\t20\nauto\t20' ]
    [ "$("$table" t.tsv '*')" = "$(cat t.tsv)" ]
    [ "$("$table" - '*' < t.tsv)" = "$(cat t.tsv)" ]
    printf 'a b\tx=y\n1\t2\n' > odd.tsv
    [ "$("$table" odd.tsv '*' 'two words={a b}')" = $'a b\tx=y\ttwo words\n1\t2\t1' ]
}

@test "computed columns: arithmetic, ranks of operators, functions" {
    run "$table" --rows 0:1 t.tsv 'a=1 + 2 * 3' 'b=-2 - 1 - 1' 'c=7 % 4' 'd=size / 4' 'e=if(kind == 0, "x", "y")' 'f=fixed(2 / 3, 3)' 'g=pow(2, 10)' \
        'h=min(3, size) + max(1, 2)' 'i=sqrt(16) + abs(-1)' 'j=exp(log(8))' 'k=1 < 2 && !(2 < 1) || 0' 'l=concat(kind, "-", size)' 'm=words("a_b")' 'n=1 / 3'
    [ "${lines[1]}" = $'7\t-4\t3\t2.5\tx\t0.667\t1024\t5\t5\t7.999999999999998\t1\t0-10\ta b\t0.3333333333333333' ]
    [ "$("$table" --no-header --digits 3 --rows 0:1 t.tsv 'n=1 / 3' 'big=1000000 / 2' time)" = $'0.333\t500000\t1.5' ]
}

@test "text in arithmetic is an error, in a comparison with a text a text, with a number not a number" {
    refused 2 "'auto' is not a number" t.tsv 'x=time + 1'
    [ "$("$table" --no-header --where 'time == "auto"' t.tsv kind size)" = $'1\t20' ]
    [ "$("$table" --no-header --where 'time != 3' t.tsv time | tr '\n' ' ')" = "1.5 2.5 auto " ]
    [ "$("$table" --no-header t.tsv 'k=known(time)' | tr '\n' ' ')" = "1 1 1 0 " ]
}

@test "filters: NaN excludes a row, and arithmetic propagates it" {
    printf 'x\n1\nnan\n-inf\n3\n' > n.tsv
    [ "$("$table" --no-header --where 'x > 0' n.tsv x | tr '\n' ' ')" = "1 3 " ]
    [ "$("$table" --no-header --where 'x * 0 == 0 || x' n.tsv x | tr '\n' ' ')" = "1 -inf 3 " ]
    [ "$("$table" --no-header n.tsv 'y=x + 1' | tr '\n' ' ')" = "2 nan -inf 4 " ]
    [ "$("$table" --no-header --where 'x > 100' n.tsv x | wc -l)" -eq 0 ]
    refused 5 "0 rows, 1 needed" --at-least 1 --where 'x > 100' n.tsv x
}

@test "groups: sums by key in the order of first rows, each function against its definition" {
    printf 'g\tx\nb\t1\na\t4\nb\t2\nb\t6\na\t8\n' > g.tsv
    run "$table" g.tsv g 's=sum(x)' 'n=count()' 'm=mean(x)' 'e=fixed(sem(x), 6)' 'md=median(x)' 'q=quantile(x, 0.7)' 'f=first(x)' 'big=count(x > 3)' 'sb=sum(x, x > 1)'
    # sem of 1, 2, 6: sqrt((4 + 1 + 9) / 2 / 3); of 4, 8: sqrt(8 / 1 / 2)
    [ "${lines[1]}" = $'b\t9\t3\t3\t1.527525\t2\t2\t1\t1\t8' ]
    [ "${lines[2]}" = $'a\t12\t2\t6\t2.000000\t4\t4\t4\t2\t12' ]
    [ "$("$table" --no-header g.tsv 'r=sum(x, g == "a") / sum(x)' | head -c 8)" = 0.571428 ]
    [ "$("$table" --no-header --where 'x > 100' g.tsv 's=sum(x)' 'n=count()' 'm=mean(x)')" = $'0\t0\tnan' ]
    [ "$("$table" --no-header --where 'x > 100' g.tsv g 's=sum(x)' | wc -l)" -eq 0 ]
    refused 2 "next to a sum" g.tsv 'y=sum(x) + x'
    refused 2 "a sum within a sum" g.tsv 'y=sum(mean(x))'
    refused 2 "single rows" --where 'sum(x) > 1' g.tsv x
    refused 2 "is not between 0 and 1" g.tsv 'q=quantile(x, 2)'
    # as many groups as rows: the same sums as awk's
    awk 'BEGIN {print "k\tv"; for (i = 0; i < 20000; i++) print i % 7919 "\t" i}' > many.tsv
    cmp <("$table" --no-header many.tsv k 's=sum(v)') <(awk 'NR > 1 {s[$1] += $2} END {for (i = 0; i < 7919; i++) print i "\t" s[i]}' many.tsv)
}

@test "rows into columns: only() returns the single value, nan if there is none, and refuses two" {
    [ "$("$table" t.tsv size 'zero=only(time, kind == 0)' 'one=only(time, kind == 1)')" = $'size\tzero\tone\n10\t1.5\t2.5\n20\t3\tauto' ]
    [ "$("$table" --no-header --where 'kind == 0' t.tsv size 'one=only(time, kind == 1)')" = $'10\tnan\n20\tnan' ]
    refused 2 "2 rows instead of one" t.tsv size 'x=only(time)'
}

@test "running and total sums" {
    printf 'x\n1\n2\n5\n' > r.tsv
    [ "$("$table" --no-header r.tsv 'c=running(x) / total(x)' 's=running(x)' | tr '\n' ' ')" = $'0.125\t1 0.375\t3 1\t8 ' ]
    [ "$("$table" --no-header --where 'x > 1' r.tsv 'c=total(x)' | tr '\n' ' ')" = "7 7 " ]
    refused 2 "groups" r.tsv 'c=running(x)' 's=sum(x)'
}

@test "join: by key in any order; a missing key, a duplicate key and a common column are errors" {
    printf 'size\tkind\twatt\n20\t1\tw21\n10\t1\tw11\n20\t0\tw20\n10\t0\tw10\n99\t9\tw99\n' > w.tsv
    [ "$("$table" --join w.tsv --by kind,size t.tsv kind size | cut -f 3 | tr '\n' ' ')" = "watt w10 w11 w20 w21 " ]
    head -n 4 w.tsv > short.tsv
    refused 1 "no row has the key '0' of row 1" --join short.tsv --by kind,size t.tsv kind size
    [ "$("$table" --join short.tsv --by kind,size --fill - t.tsv kind size | cut -f 3 | tr '\n' ' ')" = "watt - w11 w20 w21 " ]
    { cat w.tsv; printf '10\t0\tagain\n'; } > twice.tsv
    refused 2 "lines 5 and 7 have the same key" --join twice.tsv --by kind,size t.tsv kind size
    printf 'kind\tsize\n0\t1\n1\t2\n' > k.tsv
    refused 2 "both tables have a column 'size'" --join k.tsv --by kind t.tsv kind size
    refused 2 "there is no column 'nothing'" --join w.tsv --by nothing t.tsv kind size
    refused 2 "go together" --join w.tsv t.tsv kind
}

@test "append: the same columns in the same order, otherwise an error" {
    printf 'kind\tsize\n7\t70\n' > more.tsv
    [ "$("$table" --append more.tsv t.tsv kind size | tail -n 1)" = $'7\t70' ]
    refused 2 "column 1 is 'kind', not 'size'" --append more.tsv t.tsv size kind
    refused 2 "2 columns behind 1" --append more.tsv t.tsv size
}

@test "sort: numbers by value, then texts; equal rows keep their order" {
    printf 'a\tb\n10\t1\nx\t2\n9\t3\n-1e3\t4\n9\t5\n' > s.tsv
    [ "$("$table" --no-header --sort a s.tsv a b | cut -f 2 | tr '\n' ' ')" = "4 3 5 1 2 " ]
    [ "$("$table" --sort a --where 'b > 9' s.tsv a b)" = $'a\tb' ]
}

@test "blocks, gaps and Markdown" {
    [ "$("$table" --blocks kind t.tsv kind size; echo .)" = $'0\n10\n20\n\n\n1\n10\n20\n.' ]
    refused 2 "no attribute" --blocks kind=names t.tsv kind size
    [ "$("$table" --markdown --rows 0:1 t.tsv kind size)" = $'| kind | size |\n|---|---|\n| 0 | 10 |' ]
    [ "$("$table" --no-header --over R,M --gap R --rows 100:102 "$good" top_index; echo .)" = "$("$table" --no-header --rows 100:102 "$good" top_index |
        awk '{for (j = 1; j <= 4; j++) print $j; print ""} END {print "."}')" ]
}

@test "long form: rows over named dimensions, the other axes by index, each value in its place" {
    cmp <("$table" --no-header --over R,M "$good" 'i=index(R)' 'j=index(M)' top_index top_logit) \
        <(paste <("$table" --no-header "$good" top_index) <("$table" --no-header "$good" top_logit) |
            awk '{for (j = 0; j < 4; j++) print NR - 1 "\t" j "\t" $(j + 1) "\t" $(j + 5)}')
    # the dimensions in the other order
    cmp <("$table" --no-header --over M,R "$good" 'i=index(R)' 'j=index(M)' top_logit) \
        <("$table" --no-header --over R,M "$good" 'i=index(R)' 'j=index(M)' top_logit | sort -k 2,2n -k 1,1n)
    [ "$("$table" --over M "$good" 'x=top_index[-1]' | head -n 1)" = x ]
    cmp <("$table" --no-header "$good" 'top_logit[2]') <("$table" --no-header "$good" top_logit | cut -f 3)
    [ "$("$table" --no-header --over none "$good" 'token[3]' 'n=size(R)')" = "$("$table" --no-header "$good" token | sed -n 4p)"$'\t600' ]
    refused 2 "there is no place 4" "$good" 'top_logit[4]'
    refused 2 "needs an index" --over R "$good" 'x=top_logit + 1'
    refused 2 "fewer axes" --over R "$good" 'token[0]'
    refused 2 "no column has dimension Q" --over R,Q "$good" token
    refused 2 "occurs twice" --over R,R "$good" token
    refused 2 "has no dimensions" --over R t.tsv kind
}

@test "attributes: alone, as a column, and missing ones" {
    [ "$("$table" --attr n_vocab "$good")" = 8 ]
    [ "$("$table" --attr model_fingerprint "$good")" = "$("$table" --over none --no-header "$good" 'x=size(R)' > /dev/null; "${table%table}info" "$good" | sed -n 's/^  model  *//p')" ]
    [ "$("$table" --no-header --rows 0:2 "$good" 'share=token * 0 + 1 / @n_vocab' | tr '\n' ' ')" = "0.125 0.125 " ]
    [ "$("$table" --no-header "$good" 'one=1 / @n_vocab')" = 0.125 ]
    refused 2 "no attribute 'nonsense'" --attr nonsense "$good"
    refused 2 "no attribute 'nonsense'" "$good" 'x=@nonsense'
    refused 2 "no attribute" t.tsv 'x=@n_vocab'
    refused 2 "not a list" "$good" 'x=@n_vocab[R]' token
}

@test "a second artifact: fields by its name; lengths must agree" {
    cmp <("$table" --also "b=$good" "$good" token b:token | sed 1d) <("$table" "$good" token token | sed 1d)
    [ "$("$table" --also "b=$good" "$good" b:token | head -n 1)" = b_token ]
    refused 2 "no file is called 'c'" --also "b=$good" "$good" c:token
    refused 2 "NAME=FILE" --also "$good" "$good" token
}

@test "hostile expressions and tables end in one line" {
    for bad in 'x=' 'x=1 +' 'x=(1' 'x=1)' 'x=foo(1)' 'x=abs()' 'x=abs(1, 2)' 'x="open' 'x={open' 'x=kind kind' 'x=@' 'x=1e999' 'x=size[' 'x=if(1, 2)' 'nothing' 'x=$'; do
        refused 2 'geodec-table: t.tsv: ' t.tsv "$bad"
    done
    refused 3 "nested deeper" t.tsv "x=$(printf '(%.0s' {1..100})1"
    refused 3 "nested deeper" t.tsv "x=$(printf -- '-%.0s' {1..100})1"
    refused 2 "'auto' is not a number" t.tsv 's=((((((((sum(((((time)))))))))))))'
    printf 'a\ta\n1\t2\n' > double.tsv
    refused 2 "two columns are called 'a'" double.tsv a
    printf 'a\tb\n1\t2\t3\n' > long.tsv
    refused 3 "more cells" long.tsv a
    printf 'a\tb\n1\n' > short.tsv
    [ "$("$table" --no-header short.tsv a b)" = $'1\t' ]
    refused 2 "is not a number" short.tsv 'x=b + 1'
    : > empty.tsv
    refused 3 "empty" empty.tsv a
    refused 1 "" missing.tsv a
    printf 'a\n' > none.tsv
    [ "$("$table" none.tsv a)" = a ]
}
