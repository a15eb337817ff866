"""Logits of a GGUF model in float64, computed directly from the definitions: no cache, no batching, every position separately.

Transformer with RMS norms (Zhang & Sennrich 2019), rotary positions (Su et al. 2021; position interpolation, Chen et
al. 2023; divisors per pair as in Llama 3.1 and LongRoPE), grouped-query attention (Ainslie et al. 2023), gated feed
forward (Shazeer 2020), mixtures of experts (Jiang et al. 2024; OLMoE, Muennighoff et al. 2024), norms of queries and
keys (Qwen3, Gemma 3, OLMoE), shared experts (DeepSeek-MoE, Dai et al. 2024; Qwen1.5-MoE), groups of experts and
biases of their choice (DeepSeek-V3), scales (Granite), soft caps, sliding windows and norms after a half layer (Gemma 2, 3)."""
import numpy as np

from gguf import Reader


def norm(x, w, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Model:
    def __init__(self, path, n_ctx=None):
        g = Reader(path)
        self.t, self.arch = g.tensors, g.keys["general.architecture"]
        self.tokenizer = g.keys
        self.key = lambda name, otherwise=None: g.keys.get(self.arch + "." + name, otherwise)
        self.heads = self.key("attention.head_count")
        self.kv_heads = self.key("attention.head_count_kv", self.heads)
        self.width = self.key("embedding_length")
        self.layers = self.key("block_count")
        self.eps = self.key("attention.layer_norm_rms_epsilon")
        self.head_dim = self.key("attention.key_length", self.width // self.heads)
        self.rope_dim = self.key("rope.dimension_count", self.head_dim)
        self.n_ctx = n_ctx or self.key("context_length")
        self.gemma = self.arch in ("gemma2", "gemma3")

    def w(self, name, layer=None):
        return self.t.get(name if layer is None else "blk.%d.%s" % (layer, name))

    def window(self, layer):
        """Number of positions that a query of this layer attends to, including its own; None = all before it."""
        if not self.gemma:
            return None
        every = self.key("attention.sliding_window_pattern", 2 if self.arch == "gemma2" else 6)
        return None if layer % every == every - 1 else self.key("attention.sliding_window")

    def rotate(self, x, layer):
        """x [positions, heads, head_dim]."""
        n, pairs = len(x), self.rope_dim // 2
        base, scale, magnitude, divisor = self.key("rope.freq_base", 10000.0), 1.0, 1.0, 1.0
        if self.key("rope.scaling.type") == "linear":
            scale = 1 / self.key("rope.scaling.factor")
        if self.arch == "gemma3" and self.window(layer):
            base, scale = self.key("rope.freq_base_swa", 10000.0), 1.0
        if self.arch == "phi3":
            long = self.n_ctx > self.key("rope.scaling.original_context_length", self.n_ctx)
            divisor = self.w("rope_factors_long.weight" if long else "rope_factors_short.weight")
            divisor = 1.0 if divisor is None else divisor
            magnitude = self.key("rope.scaling.attn_factor", 1.0)
        elif self.w("rope_freqs.weight") is not None:
            divisor = self.w("rope_freqs.weight")
        angle = np.arange(n)[:, None] * scale * base ** (-2 * np.arange(pairs) / self.rope_dim) / divisor
        c, s = magnitude * np.cos(angle)[:, None], magnitude * np.sin(angle)[:, None]
        y = x.copy()
        if self.arch in ("llama", "granitemoe"):  # pairs of neighbours
            first, second = slice(0, self.rope_dim, 2), slice(1, self.rope_dim, 2)
        else:  # halves
            first, second = slice(0, pairs), slice(pairs, self.rope_dim)
        a, b = x[..., first], x[..., second]
        y[..., first], y[..., second] = a * c - b * s, a * s + b * c
        return y

    def qkv(self, x, layer):
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        fused = self.w("attn_qkv.weight", layer)
        parts = np.split(x @ fused.T, [q, q + kv], axis=1) if fused is not None else [
            x @ self.w("attn_%s.weight" % c, layer).T for c in "qkv"]
        for i, c in enumerate("qkv"):
            bias, gain = self.w("attn_%s.bias" % c, layer), self.w("attn_%s_norm.weight" % c, layer)
            if bias is not None:
                parts[i] = parts[i] + bias
            if gain is not None and self.arch == "olmoe":
                parts[i] = norm(parts[i], gain, self.eps)
            parts[i] = parts[i].reshape(len(x), -1, self.head_dim)
            if gain is not None and self.arch != "olmoe":
                parts[i] = norm(parts[i], gain, self.eps)
        return self.rotate(parts[0], layer), self.rotate(parts[1], layer), parts[2]

    def attention(self, x, layer):
        n, (q, k, v) = len(x), self.qkv(x, layer)
        k, v = (np.repeat(a, self.heads // self.kv_heads, axis=1) for a in (k, v))
        score = np.einsum("thd,shd->hts", q, k) * self.key("attention.scale", 1 / np.sqrt(self.head_dim))
        if self.arch == "gemma2":
            cap = self.key("attn_logit_softcapping", 50.0)
            score = cap * np.tanh(score / cap)
        back = np.arange(n)[:, None] - np.arange(n)
        seen = (back >= 0) & (back < (self.window(layer) or n))
        mixed = np.einsum("hts,shd->thd", softmax(np.where(seen, score, -np.inf)), v)
        out, bias = mixed.reshape(n, -1) @ self.w("attn_output.weight", layer).T, self.w("attn_output.bias", layer)
        return out if bias is None else out + bias

    def gate(self, x):
        if self.gemma:
            return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        return x / (1 + np.exp(-x))

    def feed_forward(self, x, layer, routing):
        router = self.w("ffn_gate_inp.weight", layer)
        if router is None:
            gate, up = self.w("ffn_gate.weight", layer), self.w("ffn_up.weight", layer)
            if gate is None:
                gate, up = np.split(up, 2)
            return (self.gate(x @ gate.T) * (x @ up.T)) @ self.w("ffn_down.weight", layer).T
        p, out, chosen = self.scores(x @ router.T), np.zeros_like(x), []
        rank = self.ranks(p, self.w("exp_probs_b.bias", layer))
        gate, up, down = (self.w("ffn_%s_exps.weight" % c, layer) for c in ("gate", "up", "down"))
        for t in range(len(x)):
            best = np.argsort(-rank[t], kind="stable")[: self.key("expert_used_count")]
            norm = self.key("expert_weights_norm", self.arch not in ("olmoe", "qwen2moe", "bailingmoe2"))
            weight = p[t, best] / p[t, best].sum() if norm else p[t, best]
            chosen.append([[int(e), round(float(a), 6)] for e, a in zip(best, weight)])
            for e, a in zip(best, weight):
                out[t] += a * ((self.gate(x[t] @ gate[e].T) * (x[t] @ up[e].T)) @ down[e].T)
        routing.append(chosen)
        gate, up, down, factor = (self.w("ffn_%s_shexp.weight" % c, layer) for c in ("gate", "up", "down", "gate_inp"))
        if gate is not None:
            shared = (self.gate(x @ gate.T) * (x @ up.T)) @ down.T
            out = out + (shared if factor is None else sigmoid(x @ factor)[:, None] * shared)
        return out

    def scores(self, logits):
        return sigmoid(logits) if self.key("expert_gating_func", 1) == 2 else softmax(logits)

    def ranks(self, p, bias):
        """By which experts are chosen: with the bias, -inf outside of the open groups."""
        rank = p if bias is None else p + bias
        groups = self.key("expert_group_count", 1)
        if groups < 2:
            return rank
        parts = rank.reshape(len(rank), groups, -1)
        sums = np.sort(parts, axis=2)[:, :, -2:].sum(axis=2)
        order = np.argsort(-sums, axis=1, kind="stable")[:, : self.key("expert_group_used_count")]
        is_open = np.zeros(sums.shape, bool)
        np.put_along_axis(is_open, order, True, axis=1)
        return np.where(is_open[:, :, None], parts, -np.inf).reshape(rank.shape)

    def logits(self, ids, routing=None):
        """[positions, vocabulary]; routing, a list, receives [layer][position] of [expert, weight], the best first."""
        routing = [] if routing is None else routing
        embedding = self.w("token_embd.weight")
        # Gemma's factor is by its definition a number of the type of its activations, float32 here
        x = embedding[np.array(ids)] * (
            float(np.float32(np.sqrt(self.width))) if self.gemma else self.key("embedding_scale", 1))
        part = self.key("residual_scale", 1)
        after = lambda y, name, i: y if self.w(name, i) is None else norm(y, self.w(name, i), self.eps)
        for i in range(self.layers):
            y = self.attention(norm(x, self.w("attn_norm.weight", i), self.eps), i)
            x = x + part * after(y, "post_attention_norm.weight", i)
            y = self.feed_forward(norm(x, self.w("ffn_norm.weight", i), self.eps), i, routing)
            x = x + part * after(y, "post_ffw_norm.weight", i)
        head = self.w("output.weight")
        y = norm(x, self.w("output_norm.weight"), self.eps) @ (embedding if head is None else head).T / self.key("logit_scale", 1)
        cap = self.key("final_logit_softcapping", 30.0 if self.arch == "gemma2" else 0)
        return cap * np.tanh(y / cap) if cap else y
