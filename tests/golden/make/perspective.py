"""PERSPECTIVE models: two tiny seeded ones, and their logits, states and experts in float64.

perspective.py GOLDENS writes GOLDENS/perspective/NAME.gguf, GOLDENS/perspective/NAME.logits.npy [positions, vocabulary],
NAME.ids.npy and NAME.experts.npy [positions, layers] (-1: the layer has none). The recurrence is computed as a sum over
all earlier positions, without a state:

    y_t = sum_(u <= t) (prod_(u < w <= t) g_w) * v_u (k_u . q_t) / sqrt(r)"""
import os
import sys

import numpy as np

from float64 import Model, norm, sigmoid
from gguf import F32, STRING, U32, Writer
from models import put_spm

MODELS = {
    "tiny-perspective": dict(layers=5, width=24, heads=3, kv=1, head_dim=8, ff=12, ff_dense=30, rank=10, period=4,
                             lattice=(2, 2, 2), route="mod", at="pre", window=6, scale=24.0**0.5, least=-0.5),
    "tiny-perspective-angle": dict(layers=4, width=32, heads=2, kv=2, head_dim=6, ff=16, ff_dense=40, rank=16, period=2,
                                   lattice=(3, 2, 1), route="angle", at="post", window=9, scale=2.0, least=None),
}
POSITIONS = 40


def write(path, name):
    o = MODELS[name]
    rng = np.random.Generator(np.random.PCG64(20262000 + list(MODELS).index(name)))
    uniform = lambda *shape: rng.random(shape) * 2 - 1
    matrix = lambda *shape: 1.7 / np.sqrt(shape[-1]) * uniform(*shape)
    gain, bias = lambda n: 1 + 0.3 * uniform(n), lambda n: 0.4 * uniform(n)
    g, d, r, experts = Writer(), o["width"], o["rank"], int(np.prod(o["lattice"]))
    key = lambda suffix, kind, v: v is None or g.put("perspective." + suffix, kind, v)
    g.put("general.architecture", STRING, "perspective")
    g.put("general.name", STRING, "seeded")
    for suffix, v in (("context_length", 256), ("embedding_length", d), ("block_count", o["layers"]),
                      ("feed_forward_length", o["ff_dense"]), ("expert_feed_forward_length", o["ff"]),
                      ("attention.head_count", o["heads"]), ("attention.head_count_kv", o["kv"]),
                      ("attention.key_length", o["head_dim"]), ("attention.value_length", o["head_dim"]),
                      ("attention.sliding_window", o["window"]), ("rope.dimension_count", o["head_dim"]),
                      ("expert_count", experts), ("expert_used_count", 1), ("recurrence.rank", r),
                      ("recurrence.period", o["period"])):
        key(suffix, U32, v)
    key("attention.layer_norm_rms_epsilon", F32, 1e-6)
    key("embedding_scale", F32, o["scale"])
    key("recurrence.log_decay_min", F32, o["least"])
    key("expert_route", STRING, o["route"])
    key("expert_route_at", STRING, o["at"])
    n = put_spm(g, True)
    g.put_tensor("token_embd.weight", matrix(n, d))
    g.put_tensor("output_norm.weight", gain(d))
    x, y, z = o["lattice"]
    place = [((i % x + 0.5) / x, (i // x % y + 0.5) / y, (i // x // y + 0.5) / z) for i in range(experts)]
    for i in range(o["layers"]):
        put = lambda what, t: g.put_tensor("blk.%d.%s" % (i, what), t)
        recurs = i % o["period"] < o["period"] - 1
        f = o["ff"] if recurs else o["ff_dense"]
        put("attn_norm.weight", gain(d))
        if recurs:
            put("recur_decay.weight", matrix(d, d))
            put("recur_decay.bias", 1.5 + bias(d))
            for c, rows in (("q", r), ("k", r), ("v", d)):
                put("recur_%s.weight" % c, matrix(rows, d))
            put("recur_norm.weight", gain(d))
            put("recur_output.weight", matrix(d, d))
        else:
            q, kv = o["heads"] * o["head_dim"], o["kv"] * o["head_dim"]
            for c, rows in (("q", q), ("k", kv), ("v", kv)):
                put("attn_%s.weight" % c, matrix(rows, d))
            put("attn_output.weight", matrix(d, q))
        put("ffn_norm.weight", gain(d))
        if recurs:
            rows = 6 if o["route"] == "angle" else 3
            put("ffn_gate_inp.weight", matrix(rows, d))
            put("ffn_gate_inp.bias", bias(rows))
            put("ffn_expert_place.weight", np.array(place))
        shape = (lambda *s: (experts,) + s) if recurs else (lambda *s: s)
        suffix = "_exps.weight" if recurs else ".weight"
        put("ffn_gate" + suffix, matrix(*shape(f, d)))
        put("ffn_up" + suffix, matrix(*shape(f, d)))
        put("ffn_down" + suffix, matrix(*shape(d, f)))
    g.write(path)


def recurrence(m, x, layer):
    d, r = m.width, m.key("recurrence.rank")
    least = m.key("recurrence.log_decay_min")
    decay = np.log(sigmoid(x @ m.w("recur_decay.weight", layer).T + m.w("recur_decay.bias", layer)))
    if least is not None:
        decay = np.maximum(decay, least)
    q, k, v = (x @ m.w("recur_%s.weight" % c, layer).T for c in "qkv")
    total = np.cumsum(decay, axis=0)
    scores = np.tril(q @ k.T) / np.sqrt(r)
    y = np.einsum("tu,tui,ui->ti", scores, np.exp(np.minimum(total[:, None] - total[None], 0)), v)
    return norm(y, m.w("recur_norm.weight", layer), m.eps) @ m.w("recur_output.weight", layer).T


def rotate(m, x):
    angle = np.arange(len(x))[:, None] * 10000.0 ** (-2 * np.arange(m.rope_dim // 2) / m.rope_dim)
    turn = np.exp(1j * angle)[:, None]
    pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


def attention(m, x, layer):
    n = len(x)
    q, k, v = ((x @ m.w("attn_%s.weight" % c, layer).T).reshape(n, -1, m.head_dim) for c in "qkv")
    q, k = rotate(m, q), rotate(m, k)
    k, v = (np.repeat(t, m.heads // m.kv_heads, axis=1) for t in (k, v))
    s = np.einsum("thd,uhd->htu", q, k) / np.sqrt(m.head_dim)
    t, u = np.indices((n, n))
    s = np.where((u <= t) & (t - u < m.key("attention.sliding_window")), s, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return np.einsum("htu,uhd->thd", p, v).reshape(n, -1) @ m.w("attn_output.weight", layer).T


def chosen(m, x, layer):
    """Experts of all rows, and the least difference of the two smallest squared distances."""
    u = x @ m.w("ffn_gate_inp.weight", layer).T + m.w("ffn_gate_inp.bias", layer)
    z = np.arctan2(u[:, :3], u[:, 3:]) / (2 * np.pi) if m.key("expert_route") == "angle" else u
    z = z - np.floor(z)
    far = np.abs(z[:, None] - m.w("ffn_expert_place.weight", layer)[None])
    d2 = (np.minimum(far, 1 - far) ** 2).sum(axis=-1)
    two = np.sort(d2, axis=1)[:, :2]
    return d2.argmin(axis=1), (two[:, 1] - two[:, 0]).min()


def feed(gate, up, down, x):
    h = x @ gate.T
    return (h * sigmoid(h) * (x @ up.T)) @ down.T


def evaluate(m, ids):
    x = m.w("token_embd.weight")[ids] * m.key("embedding_scale")
    experts, least = np.full((len(ids), m.layers), -1), np.inf
    for layer in range(m.layers):
        h = norm(x, m.w("attn_norm.weight", layer), m.eps)
        recurs = layer % m.key("recurrence.period") < m.key("recurrence.period") - 1
        x = x + (recurrence if recurs else attention)(m, h, layer)
        y = norm(x, m.w("ffn_norm.weight", layer), m.eps)
        parts = [m.w("ffn_%s%s.weight" % (c, "_exps" if recurs else ""), layer) for c in ("gate", "up", "down")]
        if not recurs:
            x = x + feed(*parts, y)
            continue
        experts[:, layer], gap = chosen(m, h if m.key("expert_route_at") == "pre" else y, layer)
        least = min(least, gap)
        x = x + np.concatenate([feed(*(p[e] for p in parts), y[t : t + 1]) for t, e in enumerate(experts[:, layer])])
    return norm(x, m.w("output_norm.weight"), m.eps) @ m.w("token_embd.weight").T, experts, least


def main(folder):
    os.makedirs(os.path.join(folder, "perspective"), exist_ok=True)
    for name in MODELS:
        path = os.path.join(folder, "perspective", name + ".gguf")
        write(path, name)
        m = Model(path)
        rng = np.random.Generator(np.random.PCG64(7))
        ids = rng.integers(0, len(m.w("token_embd.weight")), POSITIONS)
        logits, experts, gap = evaluate(m, ids)
        assert gap > 1e-5, "%s: a route that float32 may decide differently (%g)" % (name, gap)
        out = os.path.join(folder, "perspective", name)
        np.save(out + ".ids.npy", ids.astype("<i4"))
        np.save(out + ".experts.npy", experts.astype("<i4"))
        np.save(out + ".logits.npy", logits.astype("<f4"))
        print("%s\tlargest logit %.3f\tsmallest gap of two experts %.2g" % (name, np.abs(logits).max(), gap))


if __name__ == "__main__":
    main(sys.argv[1])
