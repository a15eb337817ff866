#!/usr/bin/env bats
# Damaged models: the right exit code, one line on stderr that names the file and the key or tensor, nothing on stdout, no file
# left, and no allocation of sizes that the damaged file states.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    dir=$BATS_FILE_TMPDIR
}

# says PATH CODE WORD COMMAND...: the command ends with CODE and prints one line with the path and WORD.
says() {
    local path=$1 code=$2 word=$3 before after
    shift 3
    shopt -s dotglob
    before=("$dir"/*)
    run --separate-stderr "$@"
    after=("$dir"/*)
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq "$code" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$path"* ]]
    [[ "$stderr" == *"$word"* ]]
    [ "${before[*]}" = "${after[*]}" ]
}

# in_little_memory COMMAND...: runs it with 1 GiB of address space, and one thread, because stacks count.
in_little_memory() {
    (
        case ${B:-} in *asan* | *tsan*) ;; *) ulimit -v 1048576 ;; esac
        exec "$@"
    )
}

# refused NAME WORD: the file is refused as a model.
refused() {
    says "$dir/$1.gguf" 3 "$2" in_little_memory "$bin/geodec-model-info" --threads 1 "$dir/$1.gguf"
}

# unreadable NAME WORD: the file itself is damaged; every reader of GGUF refuses it.
unreadable() {
    refused "$1" "$2"
    says "$dir/$1.gguf" 3 "$2" in_little_memory "$bin/geodec-tokenize" --threads 1 --model "$dir/$1.gguf" /dev/null
}

@test "control: the undamaged model is accepted" {
    run --separate-stderr in_little_memory "$bin/geodec-model-info" --threads 1 "$dir/good.gguf"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ "$output" == *"width"$'\t'"32"* ]]
    run --separate-stderr bash -c "printf 'abc a' | $bin/geodec-tokenize --model $dir/good.gguf --ids -"
    [ "$status" -eq 0 ]
    [ -n "$output" ]
    [ -z "$stderr" ]
}

@test "no such file: 1" { says "$dir/none.gguf" 1 "" "$bin/geodec-model-info" "$dir/none.gguf"; }
@test "a folder: 1" { says "$dir" 1 "" "$bin/geodec-model-info" "$dir"; }
@test "missing permission: 1" {
    cp "$dir/good.gguf" "$BATS_TEST_TMPDIR/secret.gguf"
    chmod 000 "$BATS_TEST_TMPDIR/secret.gguf"
    as=()
    if [ "$(id -u)" -eq 0 ]; then # who reads everything, so another tries
        as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" 2>/dev/null || true
        "${as[@]}" test -x "$bin/geodec-model-info" || skip "another user cannot reach the files of the test"
    fi
    says secret.gguf 1 "" "${as[@]}" "$bin/geodec-model-info" "$BATS_TEST_TMPDIR/secret.gguf"
}

@test "empty file" { unreadable empty "not a GGUF file"; }
@test "truncated within the magic number" { unreadable cut-in-magic "not a GGUF file"; }
@test "truncated within the header" { unreadable cut-in-header "ends inside its header"; }
@test "truncated within the name of a key" { unreadable cut-in-key-name "keys cannot be in this file"; }
@test "truncated within a value" { unreadable cut-in-value "keys cannot be in this file"; }
@test "truncated within an array" { unreadable cut-in-array "tokenizer.ggml.tokens"; }
@test "truncated within the tensor table" { unreadable cut-in-tensor-table "tensors cannot be in this file"; }
@test "truncated before the data" { unreadable cut-before-data "lies outside the file"; }
@test "truncated within the data" { unreadable cut-in-data "lies outside the file"; }
@test "truncated within the last tensor" { unreadable cut-in-last-tensor "'blk.1.ffn_down.weight'"; }
@test "wrong magic number" { unreadable bad-magic "not a GGUF file"; }
@test "version 0" { unreadable version-0 "version 0"; }
@test "version 1" { unreadable version-1 "version 1"; }
@test "version 4" { unreadable version-4 "version 4"; }
@test "big-endian" { unreadable big-endian "big-endian"; }
@test "2^60 tensors" { unreadable huge-tensor-count "tensors cannot be in this file"; }
@test "2^60 keys" { unreadable huge-key-count "keys cannot be in this file"; }
@test "more tensors than there are" { unreadable more-tensors-than-there-are "tensor 21"; }
@test "a key's name of 2^64-1 bytes" { unreadable huge-key-name "the name of key 0"; }
@test "a key without a name" { unreadable empty-key-name "key 0"; }
@test "a string of 2^64-4 bytes" { unreadable huge-string "'tokenizer.ggml.model'"; }
@test "an array of 2^61 strings" { unreadable huge-array "'tokenizer.ggml.tokens'"; }
@test "an array longer than the file" { unreadable long-array "'tokenizer.ggml.scores'"; }
@test "a string of 2^62 bytes in an array" { unreadable huge-string-in-array "'tokenizer.ggml.tokens': string 0"; }
@test "an array of arrays that is broken" { unreadable array-of-arrays "'tokenizer.ggml.tokens': an array in it is broken"; }
@test "unknown type of a value" { unreadable unknown-value-type "'llama.block_count': unknown value type 99"; }
@test "unknown type of an element" { unreadable unknown-element-type "unknown value type 99"; }
@test "a key twice" { unreadable twin-keys "'tokenizer.ggml.tokens' occurs twice"; }
@test "alignment 2" { unreadable small-alignment "'general.alignment': 2"; }
@test "a tensor twice" { unreadable twin-tensors "'blk.0.attn_q.weight' occurs twice"; }
@test "no dimensions, where the entry has some" { unreadable no-dims "tensor"; }
@test "five dimensions" { unreadable five-dims "'blk.0.attn_q.weight' has 5 dimensions"; }
@test "a dimension of 0 of a tensor that has values" { unreadable zero-dim "'blk.0.attn_q.weight'"; }
@test "a dimension of 2^64-1" { unreadable negative-dim "'blk.0.attn_q.weight': dimension 1"; }
@test "product of dimensions overflows" { unreadable dims-overflow "'blk.0.attn_q.weight': dimension 1"; }
@test "size in bytes overflows" { unreadable size-overflow "'blk.0.attn_q.weight': its size overflows"; }
@test "a tensor larger than the file" { unreadable tensor-too-large "'blk.0.attn_q.weight'"; }
@test "unknown tensor type" { refused unknown-tensor-type "has type unknown (12345)"; }
@test "the same piece twice is read: the last one matches text, and geodec-model-info counts it" {
    run --separate-stderr "$bin/geodec-model-info" "$dir/twin-pieces.gguf"
    [ "$status" -eq 0 ]
    [[ "$output" == *$'duplicated_tokens\t1'* ]]
    # token 260 is the piece 'a', and so is token 299
    [ "$(printf 'a' | "$bin/geodec-tokenize" --model "$dir/twin-pieces.gguf" --ids -)" = "$(printf 'a' | "$bin/geodec-tokenize" --model "$dir/good.gguf" --ids - | sed 's/260/299/')" ]
    [ "$(printf '260 299' | "$bin/geodec-tokenize" --model "$dir/twin-pieces.gguf" --decode - | od -An -c | tr -d ' \n')" = aa ]
}
@test "an unsupported tensor type is refused by name; the vocabulary of the file can be read" {
    refused q8-k-tensor "'blk.0.attn_q.weight' has type Q8_K"
    run --separate-stderr bash -c "printf 'abc a' | $bin/geodec-tokenize --model $dir/q8-k-tensor.gguf --ids -"
    [ "$status" -eq 0 ]
    [ -n "$output" ]
    [ -z "$stderr" ]
}
@test "another type with fewer bytes" {
    unreadable retyped-tensor "'blk.0.attn_q.weight'"
    unreadable q4-0-tensor "'blk.0.attn_q.weight'"
}
@test "rows that are not whole blocks" {
    unreadable q4-k-tensor "'blk.0.attn_q.weight': rows of 32 are not a multiple of the Q4_K block of 256"
    unreadable tq1-tensor "'blk.0.attn_q.weight': rows of 32 are not a multiple of the TQ1_0 block of 256"
}
@test "truncated within a block, for each type" {
    for t in q4-0 q4-k q6-k tq2-0; do
        run "$bin/geodec-model-info" "$dir/$t.gguf"
        [ "$status" -eq 0 ]
        unreadable "$t-cut" "'blk.1.ffn_down.weight'"
    done
}
@test "geodec-quantize refuses weights that are not numbers" {
    for t in q4-0 q4-k q6-k tq2-0; do
        says "$dir/$t-nan.gguf" 3 "'token_embd.weight': value 0 is not finite" in_little_memory \
            "$bin/geodec-quantize" --threads 1 --type f16 -o "$dir/out.gguf" "$dir/$t-nan.gguf"
    done
    says "$dir/q8-k-tensor.gguf" 3 "'blk.0.attn_q.weight' has type Q8_K" in_little_memory \
        "$bin/geodec-quantize" --threads 1 --type f16 -o "$dir/out.gguf" "$dir/q8-k-tensor.gguf"
}
@test "offset outside the file" { unreadable offset-outside "lies outside the file"; }
@test "offset near 2^64" { unreadable offset-wraps "lies outside the file"; }
@test "misaligned offset" { unreadable offset-misaligned "not a multiple of the alignment"; }
@test "overlapping tensors" { unreadable overlap "overlap"; }
@test "a zero byte in a tensor's name" { unreadable name-with-zero "tensor 4"; }

@test "no architecture" { refused missing-architecture "'general.architecture' is missing"; }
@test "unknown architecture, by name" { refused unknown-architecture "'rwkv7'"; }
@test "required keys, one by one" {
    refused missing-context "'llama.context_length' is missing"
    refused missing-blocks "'llama.block_count' is missing"
    refused missing-width "'llama.embedding_length' is missing"
    refused missing-feed-forward "'llama.feed_forward_length' is missing"
    refused missing-heads "'llama.attention.head_count' is missing"
    refused missing-epsilon "'llama.attention.layer_norm_rms_epsilon' is missing"
}
@test "vocabulary keys, one by one" {
    unreadable missing-tokens "'tokenizer.ggml.tokens' is missing"
    unreadable missing-scores "'tokenizer.ggml.scores' is missing"
    unreadable missing-types "'tokenizer.ggml.token_type' is missing"
}
@test "a text for a number" { refused text-for-number "'llama.block_count' is of type string"; }
@test "2^31-1 blocks" { refused absurd-blocks "'llama.block_count'"; }
@test "more blocks than tensors" { refused many-blocks "'llama.block_count': 1000"; }
@test "a width of 2^30" { refused absurd-width "'llama.embedding_length'"; }
@test "a context of 2^32-1" { refused absurd-context "'llama.context_length'"; }
@test "no heads" { refused zero-heads "'llama.attention.head_count': 0"; }
@test "heads that do not divide the width" { refused heads-do-not-divide "'llama.attention.head_count'"; }
@test "KV heads that do not divide the heads" { refused kv-heads-do-not-divide "'llama.attention.head_count_kv'"; }
@test "odd number of rotated dimensions" { refused odd-rope "'llama.rope.dimension_count': 7"; }
@test "more rotated dimensions than a head has" { refused wide-rope "'llama.rope.dimension_count': 10"; }
@test "negative epsilon" { refused negative-epsilon "epsilon"; }
@test "epsilon that is not a number" { refused nan-epsilon "epsilon': nan"; }
@test "more experts used than there are" { refused experts-used "'llama.expert_used_count': 4"; }
@test "no expert used" { refused no-experts-used "'llama.expert_used_count': 0"; }
@test "experts without a router" { refused dense-for-experts "'blk.0.ffn_gate_inp.weight' is missing"; }
@test "missing embedding" { refused missing-embedding "'token_embd.weight' is missing"; }
@test "missing matrix" { refused missing-tensor "'blk.1.ffn_up.weight' is missing"; }
@test "missing norm" { refused missing-norm "'blk.0.attn_norm.weight' is missing"; }
@test "wrong shape" { refused wrong-shape "'blk.1.attn_k.weight' is [32, 17"; }
@test "wrong shape of a norm" { refused wrong-norm-shape "'output_norm.weight'"; }
@test "embedding of another vocabulary" { refused wrong-vocab-shape "'token_embd.weight'"; }
@test "stated vocabulary size" { refused vocab-size "'llama.vocab_size' is 301"; }
@test "a tensor that the architecture does not have" { refused unexpected-tensor "'blk.0.attn_q_norm.weight' is not part of"; }
@test "a bias on the query alone" { refused lonely-bias "'blk.0.attn_k.bias' is missing"; }
@test "each required key of each architecture" {
    for arch in qwen2 qwen3 gemma2 gemma3 phi3 qwen3moe olmoe; do
        for path in "$dir"/without-$arch.*.gguf; do
            name=$(basename "$path" .gguf)
            refused "$name" "'${name#without-}' is missing"
        done
    done
}
@test "tensors that an architecture needs" {
    refused no-query-bias "'blk.1.attn_q.bias' is missing"
    refused no-key-norm "'blk.0.attn_k_norm.weight' is missing"
    refused long-norm "'blk.0.attn_q_norm.weight' is [24, 2"
    refused no-post-norm "'blk.3.post_ffw_norm.weight' is missing"
    refused no-head "'output.weight' is missing"
    refused no-gate-half "'blk.0.ffn_gate.weight' is missing"
    refused short-factors-alone "'rope_factors_long.weight' is missing"
    refused long-factors-alone "'rope_factors_short.weight' is missing"
    refused missing-expert "'blk.1.ffn_up.3.weight' is missing"
}
@test "features that are not supported, and keys that contradict each other" {
    refused longrope-of-others "'qwen3.rope.scaling.type': scaling 'longrope'"
    refused longrope-with-factor "'phi3.rope.scaling.factor': a factor of 32 contradicts"
    refused experts-of-a-dense "'blk.0.ffn_gate.weight' is missing"
    refused window-of-others "'qwen3.attention.sliding_window'"
    refused pattern-without-window "'gemma3.attention.sliding_window_pattern' without"
    refused cap-of-others "'gemma3.attn_logit_softcapping'"
    refused more-experts-than-there-are "'olmoe.expert_used_count': 17"
    refused no-shared-network "'blk.1.ffn_up_shexp.weight'"
    refused wrong-shared-network "'blk.2.ffn_gate_shexp.weight' is [48, 41, 1, 1], not [48, 40, 1, 1]"
    refused no-shared-factor "'blk.0.ffn_gate_inp_shexp.weight'"
    refused no-dense-width "'deepseek.feed_forward_length'"
    refused more-dense-layers-than-layers "'deepseek.leading_dense_block_count': 4 is outside 0 to 3"
    refused huge-shared-network "2097152 numbers of shared experts"
    refused no-expert-bias "'blk.1.exp_probs_b.bias'"
    refused other-gating "'dots1.expert_gating_func': gating function 4"
    refused unequal-groups "'bailingmoe2.expert_group_count': 12 experts are not 5 equal groups"
    refused groups-of-one "'bailingmoe2.expert_group_count': 12 experts are not 12 equal groups"
    refused no-open-groups "'bailingmoe2.expert_group_used_count'"
    refused too-few-open-groups "'bailingmoe2.expert_group_used_count': 1 groups have fewer than 4 experts"
    refused only-predicted-layers "'glm4moe.nextn_predict_layers': 3"
    refused sections-of-others "'qwen3moe.rope.dimension_sections': rotations by sections"
    refused no-logit-scale "'granitemoe.logit_scale'"
    refused predicted-layers "'qwen3.nextn_predict_layers': 1"
}
@test "parts that any architecture may have, and keys that the tensors decide" {
    for name in divisors-of-others yarn sigmoid shared-experts dense-layers-of-others interleaved-layers-of-others; do
        echo "$name"
        "$bin/geodec-model-info" "$dir/$name.gguf" >/dev/null
    done
}
@test "a norm that is not a number" { refused nan-norm "'blk.0.attn_norm.weight': value 0"; }
@test "unknown tokenizer, by name" { unreadable unknown-tokenizer "'bert'"; }
@test "too few scores" { unreadable few-scores "'tokenizer.ggml.scores' has 299"; }
@test "a score that is not a number" { unreadable nan-score "tokenizer.ggml.scores: the score of token 299"; }
@test "an invalid byte token" { unreadable bad-byte-token "byte token 10"; }
@test "begin token outside the vocabulary" { unreadable bos-outside "'tokenizer.ggml.bos_token_id': 300"; }
