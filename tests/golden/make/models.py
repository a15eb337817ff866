"""The tiny models: one of every architecture and both families of tokenizers, seeded, float32, with a vocabulary learnt
from the text below. models.py FOLDER writes FOLDER/<name>.gguf, the same bytes each time."""
import collections
import os
import sys

import numpy as np

from gguf import BOOL, F32, I32, STRING, U32, Writer

TEXT = """The river rises in the hills and runs to the sea. In spring the water is cold and clear, and the fish come back
to the upper pools. The miller opened the gate at seven, the wheel began to turn, and the stones were warm by eight. She
said: "We're late, aren't we?" He didn't answer; he'd counted 12 sacks, then 345, then 6789 grains. A cat sat on the wall
and watched the rain. The rain went on, the wheel went on, and the cat went in. Later they ate bread and soup, read the
letters, and slept. What the letters said was this: the bridge is down, the road is wet, wait until the week is out."""


def byte_alphabet():
    """Radford et al. 2019: bytes that print stand for themselves, the others follow from U+0100."""
    shown = [b for b in range(256) if 0x21 <= b <= 0x7E or (b >= 0xA1 and b != 0xAD)]
    other = iter(range(0x100, 0x200))
    return [chr(b) if b in shown else chr(next(other)) for b in range(256)]


def learn(words, n):
    """n merges of the most frequent adjacent pair, the least pair of equals. words: list of tuples of symbols."""
    count, merges = collections.Counter(words), []
    while len(merges) < n:
        pairs = collections.Counter()
        for w, c in count.items():
            for pair in zip(w, w[1:]):
                pairs[pair] += c
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        joined = collections.Counter()
        for w, c in count.items():
            out, i = [], 0
            while i < len(w):
                both = w[i : i + 2] == best
                out.append(best[0] + best[1] if both else w[i])
                i += 2 if both else 1
            joined[tuple(out)] += c
        count = joined
    return merges


def put_bpe(g, pre, merges, extra=()):
    """extra: (piece, type) after the merges; 3 is a control token."""
    pieces = byte_alphabet()
    pieces += list(dict.fromkeys(a + b for a, b in merges if a + b not in pieces))
    types = [1] * len(pieces) + [t for _, t in extra]
    pieces += [p for p, _ in extra]
    g.put("tokenizer.ggml.model", STRING, "gpt2")
    g.put("tokenizer.ggml.pre", STRING, pre)
    g.put_array("tokenizer.ggml.tokens", STRING, pieces)
    g.put_array("tokenizer.ggml.token_type", I32, types)
    g.put_array("tokenizer.ggml.merges", STRING, ["%s %s" % m for m in merges])
    for i, (p, _) in enumerate(extra):
        if p == "<|endoftext|>":
            for which in ("bos", "eos"):
                g.put("tokenizer.ggml.%s_token_id" % which, U32, len(pieces) - len(extra) + i)
    return len(pieces)


def put_spm(g, prefix, n_merges=90):
    words = [tuple("\u2581" + w) for w in TEXT.split()]
    merges = learn(words, n_merges)
    letters = sorted({c for w in words for c in w})
    pieces = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    types, scores = [2, 3, 3] + [6] * 256, [0.0] * 259
    for i, p in enumerate(dict.fromkeys([a + b for a, b in merges] + letters)):
        pieces.append(p)
        types.append(1)
        scores.append(-float(i))
    g.put("tokenizer.ggml.model", STRING, "llama")
    g.put_array("tokenizer.ggml.tokens", STRING, pieces)
    g.put_array("tokenizer.ggml.scores", F32, scores)
    g.put_array("tokenizer.ggml.token_type", I32, types)
    for which, i in (("bos", 1), ("eos", 2), ("unknown", 0)):
        g.put("tokenizer.ggml.%s_token_id" % which, U32, i)
    g.put("tokenizer.ggml.add_space_prefix", BOOL, prefix)
    return len(pieces)


# Unusual shapes: one key head, heads wider than the model, rotations of a part of a head.
MODELS = {
    "tiny-llama-experts": dict(arch="llama", experts=6, used=2, ff=16, tied=True),
    "tiny-llama-biases": dict(arch="llama", pre="llama-bpe", qkv_bias=True, o_bias=True, kv=3),
    "tiny-llama-divisors": dict(arch="llama", pre="llama-bpe", divisors=["rope_freqs.weight"], base=500000.0, tied=True),
    "tiny-llama-linear": dict(arch="llama", linear=4.0, kv=3, tied=True),
    "tiny-qwen2": dict(arch="qwen2", pre="qwen2", qkv_bias=True, base=1e6, tied=True),
    "tiny-qwen3": dict(arch="qwen3", pre="qwen2", head_dim=12, qk_norm="head", base=1e6, tied=True),
    "tiny-qwen3moe": dict(arch="qwen3moe", pre="qwen2", head_dim=10, qk_norm="head", base=1e6, experts=10, used=4, ff=8),
    "tiny-olmoe": dict(arch="olmoe", pre="olmo", qk_norm="all", kv=3, experts=8, used=3, ff=12),
    "tiny-gemma2": dict(arch="gemma2", layers=4, head_dim=10, window=6, caps=(1.5, 2.0), post=True, tied=True, prefix=False),
    "tiny-gemma3": dict(arch="gemma3", layers=4, head_dim=12, qk_norm="head", window=5, pattern=3, base=1e6, linear=8.0,
                        post=True, tied=True, prefix=False),
    "tiny-phi3-long": dict(arch="phi3", fused=True, divisors=["rope_factors_long.weight", "rope_factors_short.weight"],
                           original=64, magnitude=1.19, tied=True),
    "tiny-phi3-short": dict(arch="phi3", fused=True, divisors=["rope_factors_long.weight", "rope_factors_short.weight"],
                            original=256, magnitude=1.19, kv=3, rope_dim=6, tied=True),
    "tiny-qwen2moe": dict(arch="qwen2moe", pre="qwen2", qkv_bias=True, base=1e6, experts=7, used=3, ff=10, shared=22,
                          factor=True),
    "tiny-bailingmoe2": dict(arch="bailingmoe2", pre="bailingmoe2", fused_qkv=True, qk_norm="head", rope_dim=4, experts=8,
                             used=3, ff=12, shares=1, shared=18, groups=(4, 2), expert_bias=True, gating=2, norm=True),
    "tiny-granitemoe": dict(arch="granitemoe", pre="refact", kv=3, experts=6, used=2, ff=14, shared=16,
                            scales=(3.0, 0.25, 0.5), attn_scale=0.1, tied=True),
}
DEFAULTS = dict(pre=None, width=24, heads=3, kv=1, layers=2, ff=40, head_dim=8, n_ctx=256, experts=0, used=0, base=None,
                linear=None, window=None, pattern=None, caps=None, original=None, magnitude=None, rope_dim=None,
                qk_norm=None, qkv_bias=False, o_bias=False, post=False, fused=False, tied=False, prefix=True, divisors=(), fused_qkv=False,
                shared=None, shares=None, factor=False, groups=None, expert_bias=False, gating=None, norm=None, scales=None,
                attn_scale=None)


def put_keys(g, o):
    key = lambda name, kind, v: v is None or g.put(o["arch"] + "." + name, kind, v)
    key("context_length", U32, o["n_ctx"])
    key("embedding_length", U32, o["width"])
    key("block_count", U32, o["layers"])
    key("feed_forward_length", U32, o["ff"])
    key("attention.head_count", U32, o["heads"])
    key("attention.head_count_kv", U32, o["kv"])
    key("attention.key_length", U32, o["head_dim"])
    key("attention.value_length", U32, o["head_dim"])
    key("attention.layer_norm_rms_epsilon", F32, 1e-5)
    key("rope.dimension_count", U32, o["rope_dim"] or o["head_dim"])
    key("rope.freq_base", F32, o["base"])
    key("expert_count", U32, o["experts"] or None)
    key("expert_used_count", U32, o["used"] or None)
    key("expert_feed_forward_length", U32, o["ff"] if o["arch"] in ("qwen3moe", "qwen2moe", "bailingmoe2") else None)
    key("expert_shared_feed_forward_length", U32, o["shared"])
    key("expert_shared_count", U32, o["shares"])
    key("expert_group_count", U32, o["groups"] and o["groups"][0])
    key("expert_group_used_count", U32, o["groups"] and o["groups"][1])
    key("expert_gating_func", U32, o["gating"])
    key("expert_weights_norm", BOOL, o["norm"])
    key("embedding_scale", F32, o["scales"] and o["scales"][0])
    key("residual_scale", F32, o["scales"] and o["scales"][1])
    key("logit_scale", F32, o["scales"] and o["scales"][2])
    key("attention.scale", F32, o["attn_scale"])
    key("rope.scaling.type", STRING, "linear" if o["linear"] else None)
    key("rope.scaling.factor", F32, o["linear"])
    key("rope.scaling.original_context_length", U32, o["original"])
    key("rope.scaling.attn_factor", F32, o["magnitude"])
    key("attention.sliding_window", U32, o["window"])
    key("attention.sliding_window_pattern", U32, o["pattern"])
    key("attn_logit_softcapping", F32, o["caps"] and o["caps"][0])
    key("final_logit_softcapping", F32, o["caps"] and o["caps"][1])


def put_layer(g, i, o, matrix, gain, bias):
    name, d, f = "blk.%d." % i, o["width"], o["ff"]
    q, kv = o["heads"] * o["head_dim"], o["kv"] * o["head_dim"]
    put = lambda what, x: g.put_tensor(name + what, x)
    put("attn_norm.weight", gain(d))
    if o["fused"] or o["fused_qkv"]:
        put("attn_qkv.weight", matrix(q + 2 * kv, d))
    else:
        for c, n in (("q", q), ("k", kv), ("v", kv)):
            put("attn_%s.weight" % c, matrix(n, d))
            if o["qkv_bias"]:
                put("attn_%s.bias" % c, bias(n))
    if o["qk_norm"]:
        put("attn_q_norm.weight", gain(q if o["qk_norm"] == "all" else o["head_dim"]))
        put("attn_k_norm.weight", gain(kv if o["qk_norm"] == "all" else o["head_dim"]))
    put("attn_output.weight", matrix(d, q))
    if o["o_bias"]:
        put("attn_output.bias", bias(d))
    if o["post"]:
        put("post_attention_norm.weight", gain(d))
    put("ffn_norm.weight", gain(d))
    if o["experts"]:
        put("ffn_gate_inp.weight", matrix(o["experts"], d))
        put("ffn_gate_exps.weight", matrix(o["experts"], f, d))
        put("ffn_up_exps.weight", matrix(o["experts"], f, d))
        put("ffn_down_exps.weight", matrix(o["experts"], d, f))
        if o["expert_bias"]:
            put("exp_probs_b.bias", bias(o["experts"]))
        if o["shared"]:
            put("ffn_gate_shexp.weight", matrix(o["shared"], d))
            put("ffn_up_shexp.weight", matrix(o["shared"], d))
            put("ffn_down_shexp.weight", matrix(d, o["shared"]))
        if o["factor"]:
            put("ffn_gate_inp_shexp.weight", matrix(d))
    else:
        if not o["fused"]:
            put("ffn_gate.weight", matrix(f, d))
        put("ffn_up.weight", matrix(2 * f if o["fused"] else f, d))
        put("ffn_down.weight", matrix(d, f))
    if o["post"]:
        put("post_ffw_norm.weight", gain(d))


def write(path, name):
    o = {**DEFAULTS, **MODELS[name]}
    rng = np.random.Generator(np.random.PCG64(20260000 + list(MODELS).index(name)))
    uniform = lambda *shape: rng.random(shape) * 2 - 1
    matrix = lambda *shape: 1.7 / np.sqrt(shape[-1]) * uniform(*shape)
    gain, bias = lambda n: 1 + 0.3 * uniform(n), lambda n: 0.4 * uniform(n)
    g = Writer()
    g.put("general.architecture", STRING, o["arch"])
    g.put("general.name", STRING, "seeded")
    put_keys(g, o)
    if o["pre"]:
        alphabet = byte_alphabet()
        words = TEXT.replace("\n", " ").split(" ")
        merges = learn([tuple(alphabet[b] for b in (" " + w).encode()) for w in words], 110)
        n = put_bpe(g, o["pre"], merges, [("<|endoftext|>", 3), ("<|note|>", 3)])
    else:
        n = put_spm(g, o["prefix"])
    g.put_tensor("token_embd.weight", matrix(n, o["width"]))
    g.put_tensor("output_norm.weight", gain(o["width"]))
    if not o["tied"]:
        g.put_tensor("output.weight", matrix(n, o["width"]))
    for i in range(o["layers"]):
        put_layer(g, i, o, matrix, gain, bias)
    for d in o["divisors"]:
        g.put_tensor(d, 2.5 + 2.2 * uniform((o["rope_dim"] or o["head_dim"]) // 2))
    g.write(path)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for model in MODELS:
        write(os.path.join(sys.argv[1], model + ".gguf"), model)
