#!/usr/bin/env bats
# The recipe for a new tensor type (docs/extending.md), performed on a scratch copy of the tree with two invented types:
#   Q8_B  32 values as a bfloat16 scale and 32 signed bytes; products decode it
#   Q4_E  32 values as 16 bytes of nibbles and then a binary16 scale; products take its codes as integers
# Both are read, written, decoded, multiplied on every instruction set and documented, with at most five files touched.
# full: compiles a copy of the tree
# bats file_tags=full

bats_require_minimum_version 1.5.0
load scratch

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    scratch_possible >/dev/null || return 0 # setup says it
    B=${B:-build/release}
    export B root=$PWD tree=$BATS_FILE_TMPDIR/tree
    mkdir -p "$tree/$B/lib" "$tree/$B/bin"
    git ls-files -z | tar -cf - --null -T - | tar -xf - -C "$tree"
    [ ! -e mk/config.mk ] || cp -p mk/config.mk "$tree/mk/"
    cp -p build/.packages-build "$tree/build/"
    cp -al "$B/obj" "$tree/$B/" 2>/dev/null || cp -a "$B/obj" "$tree/$B/"
    cp -p "$B/lib/libgeodeccli.a" "$tree/$B/lib/"
    table=$(git ls-files '*/tensor_types.h')
    decoders=$(git ls-files '*/types_decode.c')
    encoders=$(git ls-files '*/encode_legacy.c')
    export table
    cd "$tree"
    # the objects that use the rows; the other users of the header do not depend on these rows
    git -C "$root" grep -lE 'GEODEC_TENSOR_TYPES|GEODEC_QUANTIZE_CHOICES|GEODEC__(PANEL|EXACT)_FORMATS' -- '*.c' >users
    git -C "$root" grep -lE 'products_body\.h"' -- '*.c' >>users
    git -C "$root" grep -l 'geodec__panel_format formats' -- '*.c' >>users
    sort -u users | sed -n 's/\.c$//p' | while read -r f; do rm -f "$B/obj/$f.o" "$B/obj/$f.d"; done
    rm users

    # 1. the rows
    awk '/ROW\(X, TQ2_0,/ {
        print "    ROW(X, Q8_B, q8_b, 60, 32, 34, PLAIN, 0x1p120f, F16, 1060, DECODED, ()) \\"
        print "    ROW(X, Q4_E, q4_e, 61, 32, 18, PLAIN, 7 * 65504.0f, F16, 1061, INTEGERS, \\"
        print "        (4, 32, 8, 0, false, NONE, 16, -1, -1, 0, -1, 0)) \\"
    } {print}' "$table" >table.tmp && mv table.tmp "$table"
    # 2. the decoders
    cat >>"$decoders" <<'C'

void geodec__types_decode_q8_b(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_Q8_B, dst += Q_BLOCK) {
        const float d = geodec_bf16_to_f32(geodec__load16(p));
        for (int j = 0; j < Q_BLOCK; j++) dst[j] = d * (float)(int8_t)p[2 + j];
    }
}

void geodec__types_decode_q4_e(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_Q4_E, dst += Q_BLOCK) {
        const float d = geodec__load_half(p + 16);
        for (int j = 0; j < 16; j++) {
            dst[j] = d * (float)((p[j] & 15) - 8);
            dst[j + 16] = d * (float)((p[j] >> 4) - 8);
        }
    }
}
C
    # 3. the encoders
    cat >>"$encoders" <<'C'

void geodec__encode_q8_b(const float *src, void *dst, int64_t n)
{
    uint8_t *p = dst;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_Q8_B, src += Q_BLOCK) {
        float amax = 0;
        for (int j = 0; j < Q_BLOCK; j++) amax = fabsf(src[j]) > amax ? fabsf(src[j]) : amax;
        const uint16_t scale = geodec_f32_to_bf16(amax / 127.0f);
        const float inverse = geodec__inverse(geodec_bf16_to_f32(scale));
        geodec__store16(p, scale);
        for (int j = 0; j < Q_BLOCK; j++) p[2 + j] = (uint8_t)(int8_t)geodec__level(src[j] * inverse, -127, 127);
    }
}

void geodec__encode_q4_e(const float *src, void *dst, int64_t n)
{
    uint8_t *p = dst;
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_Q4_E, src += Q_BLOCK) {
        int8_t q[Q_BLOCK];
        geodec__store16(p + 16, fit_block(src, 8, false, q));
        for (int j = 0; j < 16; j++) p[j] = (uint8_t)((q[j] + 8) | (q[j + 16] + 8) << 4);
    }
}
C
    # 4. the documents
    make -s -o "$table" OPT_release=-O1 "$B/bin/geodec-info" "$B/bin/geodec-quantize" "$B/bin/geodec-perplexity" \
        "$B/bin/geodec-decode" >make.log 2>&1 || { cat make.log; return 1; }
    "$B/bin/geodec-info" --tensor-types >docs/manual/tensor-types.md
    rm make.log
    export bin=$tree/$B/bin f16=$root/data/model/geodec-stories-f16.gguf
    printf 'The cat and the dog went to the river. They were happy all day.' >"$BATS_FILE_TMPDIR/text"
}

setup() {
    skip_without_scratch
    cd "$BATS_TEST_TMPDIR"
}

# nll MODEL ARGUMENTS...: mean negative log-likelihood of the text.
nll() { "$bin/geodec-perplexity" --quiet --model "$@" "$BATS_FILE_TMPDIR/text" | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "nll") c = i} NR == 2 {print $c}'; }

# close A B MOST: A and B differ by at most MOST
close() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN {d = a - b; print a, b; exit !(a > 0 && d <= most && -d <= most)}'; }

@test "at most five files differ, including the page of the types" {
    changed >touched
    cat touched
    [ "$(wc -l <touched)" -le 5 ]
    [ "$(wc -l <touched)" -ge 4 ]
    grep -qx docs/manual/tensor-types.md touched
    grep -q '^| `Q8_B` | 60 | 32 | 34 | 8.5 | by rounding | F16 | decoded | decoded |$' "$tree/docs/manual/tensor-types.md"
    grep -q '^| `Q4_E` | 61 | 32 | 18 | 4.5 | by rounding | F16 | integers | integers |$' "$tree/docs/manual/tensor-types.md"
    "$bin/geodec-quantize" --help | tr -d '\n ' | grep -q '|q8_b|q4_e|'
}

@test "the original tree refuses them" {
    run ! "$root/$B/bin/geodec-quantize" --quiet --type q8_b -o x.gguf "$f16"
    "$bin/geodec-quantize" --quiet --type q8_b -o new.gguf "$f16" >/dev/null
    run --separate-stderr "$root/$B/bin/geodec-perplexity" --model new.gguf "$BATS_FILE_TMPDIR/text"
    [ "$status" -eq 3 ]
}

@test "written, read and multiplied: close to the original model, and equal to the reference arithmetic" {
    base=$(nll "$f16" --arithmetic exact)
    for case in q8_b:Q8_B:0.012:0.02 q4_e:Q4_E:0.12:0.3; do
        IFS=: read -r type name error most <<<"$case"
        "$bin/geodec-quantize" --quiet --type "$type" --pure -o "$type.gguf" "$f16" >"$type.tsv"
        awk -F'\t' -v name="$name" -v most="$error" '$3 == name {n++; if (!($8 > 0 && $8 < most)) bad = 1} END {exit !(n > 10 && !bad)}' "$type.tsv"
        exact=$(nll "$type.gguf" --arithmetic exact)
        close "$exact" "$base" "$most"
        close "$exact" "$(nll "$type.gguf" --arithmetic float64)" 1e-4
        close "$exact" "$(nll "$type.gguf" --arithmetic fast)" 0.05
    done
}

@test "another order of the nibbles gives the same numbers: Q4_E is as accurate as plain Q4_0" {
    "$bin/geodec-quantize" --quiet --type q4_e --pure -o a.gguf "$f16" >/dev/null
    "$bin/geodec-quantize" --quiet --type q4_0 --pure --nearest -o b.gguf "$f16" >/dev/null
    [ "$(nll a.gguf --arithmetic exact)" = "$(nll b.gguf --arithmetic exact)" ]
    [ "$(nll a.gguf --arithmetic fast)" = "$(nll b.gguf --arithmetic fast)" ]
}

@test "every instruction set gives the same sampled text" {
    for type in q8_b q4_e; do
        "$bin/geodec-quantize" --quiet --type "$type" --pure -o "$type.gguf" "$f16" >/dev/null
        for arithmetic in exact fast; do
            for isa in scalar avx2 avx512; do
                "$bin/geodec-decode" -q --model "$type.gguf" --prompt "One day" -n 40 --temperature 0.8 --seed 3 --arithmetic "$arithmetic" \
                    --threads 1 --isa "$isa" >"$isa.txt" 2>err || { grep -q "$isa" err && continue; cat err; return 1; }
                cmp scalar.txt "$isa.txt"
            done
            [ "$(wc -w <scalar.txt)" -gt 10 ]
        done
    done
}
