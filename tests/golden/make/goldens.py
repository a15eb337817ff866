"""goldens.py PEER MODELS... OUT: for every GGUF file OUT/<name>.json, .logits.npy, .dequant64.npy and, of mixtures,
.routing.json, in the form the README describes. PEER is the program of peer.c. Ends with an error when the peer and the
float64 program differ by more than the model's tolerance."""
import json
import os
import struct
import subprocess
import sys

import numpy as np

from float64 import Model

PROMPTS = ["", "The river", "Once upon a time", "She said: \"We're late", "the cat sat on the wall and", "12 sacks, then 345"]
FULL = "The miller opened the gate, and the bird sang."
STRINGS = ["", " ", "  ", "a", " a", "a ", "hello world", "The river rises in the hills.", "  two  spaces  ", "tab\tand\nline\r\n",
           "\n\n\n", "don't we'll I'm THEY'RE", "1234567890 12 345", "a1b22c333", "x=y+z; f(x){return 0;}", "</s><s><unk>",
           "<|endoftext|><|note|>", "caf\u00e9 na\u00efve \u00fcber", "\u4f60\u597d\u4e16\u754c", "\u043f\u0440\u0438\u0432\u0435\u0442",
           "\U0001f600\U0001f468\u200d\U0001f469", "\u00a0\u2003wide", "e\u0301 combining", "\u2581mark \u2581\u2581", "<0x41>", "ALL CAPS MixedCase",
           "a" * 40, "the the the the", "?!...---", "line one\nline two\n", "\u0660\u0661\u0662 digits", "\ufeffbom"]
STEPS, TOP = 16, 5
WINDOW, WINDOWS = 256, 6  # of data/model, on tests/golden/text/stories.txt
# largest difference between peer and float64 of a logit and of a routing weight: by rounding of float32; by the peer's GELU, a
# table of half-precision floats; by its products with half-precision and 8-bit matrices, which round activations too
TOLERANCE = {"tiny": 5e-5, "gelu": 4e-3, "f16": 2e-2, "q8_0": 1.0}


def peer(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout


def tokens(program, model, strings, bos, scratch):
    with open(scratch, "wb") as f:
        for s in strings:
            b = s if isinstance(s, bytes) else s.encode()
            f.write(struct.pack("<I", len(b)) + b)
    lines = peer(program, "tokens", model, scratch, int(bos)).decode().split("\n")[:-1]
    assert len(lines) == len(strings)
    return [list(map(int, line.split())) for line in lines]


def continued(program, model, text, ids):
    lines = peer(program, "greedy", model, STEPS, TOP, *ids).decode().splitlines()
    rows = [line.split() for line in lines]
    top = [{"ids": [int(p.split(":")[0]) for p in r[2:]], "logits": [float(p.split(":")[1]) for p in r[2:]],
            "lse": float(r[1])} for r in rows]
    greedy = [int(r[0]) for r in rows]
    return {"text": text, "ids": ids, "greedy_ids": greedy,
            "greedy_text": peer(program, "text", model, *greedy).decode("utf-8", "replace").replace("\0", "\ufffd"),
            "min_top1_top2_gap": min(t["logits"][0] - t["logits"][1] for t in top), "top": top}


def logits_by_peer(program, model, scratch, ids):
    peer(program, "logits", model, scratch, scratch + ".routing", *ids)
    return np.fromfile(scratch, "<f4").reshape(len(ids), -1)


def loss(logits, ids):
    """Negative log-likelihood of all ids but the first, summed."""
    x = logits[:-1].astype(np.float64)
    top = x.max(axis=1)
    return float((top + np.log(np.exp(x - top[:, None]).sum(axis=1)) - x[np.arange(len(x)), ids[1:]]).sum())


def windows(program, path, m, scratch):
    """The text is tokenised once without BOS; a window is BOS and the next WINDOW - 1 tokens, all of which are scored."""
    name = os.path.join(os.path.dirname(__file__), "../text/stories.txt")
    ids, bos = tokens(program, path, [open(name, "rb").read()], False, scratch)[0], m.tokenizer["tokenizer.ggml.bos_token_id"]
    parts = [[bos] + ids[i * (WINDOW - 1) : (i + 1) * (WINDOW - 1)] for i in range(WINDOWS)]
    theirs = [loss(logits_by_peer(program, path, scratch, p), p) for p in parts]
    own = [loss(m.logits(p), p) for p in parts]
    scored = WINDOWS * (WINDOW - 1)
    print("  nll of %d windows of %d: peer %.6f, float64 %.6f" % (WINDOWS, WINDOW, sum(theirs) / scored, sum(own) / scored))
    return [{"text": "tests/golden/text/stories.txt", "window": WINDOW, "windows": WINDOWS, "scored_tokens": scored,
             "mean_nll": sum(theirs) / scored, "per_window_nll": [round(x, 5) for x in theirs],
             "float64_mean_nll": sum(own) / scored, "float64_per_window_nll": own}]


def kind_of(name, m):
    return "gelu" if m.gemma else "f16" if name.endswith("f16") else "q8_0" if name.endswith("q8_0") else "tiny"


def routing_gap(path, routing):
    """Largest difference of a weight; infinite if the experts differ."""
    worst = 0.0
    rows = [line.split() for line in open(path)]
    ours = [pair for layer in routing for position in layer for pair in position]
    assert len(rows) == len(ours)
    for row, (expert, weight) in zip(rows, ours):
        worst = max(worst, abs(float(row[3]) - weight) if int(row[2]) == expert else np.inf)
    return worst


def make(program, path, out):
    name = os.path.basename(path)[: -len(".gguf")]
    m, scratch = Model(path), os.path.join(out, "scratch")
    base, kind = os.path.join(out, name), kind_of(name, m)
    # a peer without its table of GELU has the tolerance of the other models
    limit = TOLERANCE["tiny" if kind == "gelu" and os.environ.get("EXACT_GELU") else kind]
    ids = tokens(program, path, [FULL], True, scratch)[0]
    routing = []
    own = m.logits(ids, routing)
    theirs = logits_by_peer(program, path, scratch, ids)
    gap, rms = np.abs(theirs - own).max(), np.sqrt(np.mean((theirs - own) ** 2))
    weights = routing_gap(scratch + ".routing", routing) if routing else 0
    same = int((theirs.argmax(1) == own.argmax(1)).sum())
    print("| %s | %s | %.1e | %.1e | %d of %d | %s |" % (
        name, m.arch, gap, rms, same, len(own), "%.0e" % weights if routing else "-"))
    assert gap < limit and weights < max(limit, 2e-6), name
    np.save(base + ".logits.npy", theirs.astype("<f4"))
    np.save(base + ".dequant64.npy", own.astype("<f4"))
    with_bos = tokens(program, path, PROMPTS, True, scratch)
    record = {"full_logits": {"text": FULL, "ids": ids},
              "prompts": [continued(program, path, t, i) for t, i in zip(PROMPTS, with_bos) if i],
              "tokenization": [{"text": t, "ids": i, "round_trip": peer(program, "text", path, *i) == t.encode()}
                               for t, i in zip(STRINGS, tokens(program, path, STRINGS, False, scratch))]}
    if "geodec" in name:
        record["nll"] = windows(program, path, m, scratch)
    with open(base + ".json", "w") as f:
        json.dump(record, f, separators=(",", ":"))
        f.write("\n")
    if routing:  # as the peer's, checked above
        with open(base + ".routing.json", "w") as f:
            json.dump({"ids": ids, "layers": routing}, f, separators=(",", ":"))
            f.write("\n")
    os.remove(scratch)
    os.remove(scratch + ".routing")


if __name__ == "__main__":
    os.makedirs(sys.argv[-1], exist_ok=True)
    print("| model | architecture | largest | rms | same best token | routing |\n|---|---|---:|---:|---|---:|")
    for model in sys.argv[2:-1]:
        make(sys.argv[1], model, sys.argv[-1])
