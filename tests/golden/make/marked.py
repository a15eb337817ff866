"""marked.py PEER OUT: token vectors by the peer of the vocabularies that are text in place of bytes.

OUT/gemma4.gguf merges by rank over lines, OUT/plamo2.gguf has pieces with scores. A part of the letters and of the
merged pieces is left out, so that bytes stand for them. OUT/marked.json: the ids of each file for the strings of
pretoken.json."""
import json
import os
import random
import re
import sys

from gguf import F32, I32, STRING, U32, Writer
from goldens import tokens
from models import learn
from pretoken import all_strings

MARK, MERGES, LONGEST = "\u2581", 500, 12


def put(g, model, special, pieces, types, scores):
    n = len(special)
    g.put("tokenizer.ggml.model", STRING, model)
    g.put_array("tokenizer.ggml.tokens", STRING, [p for p, _ in special] + ["<0x%02X>" % b for b in range(256)] + pieces)
    g.put_array("tokenizer.ggml.token_type", I32, [t for _, t in special] + [6] * 256 + types)
    g.put_array("tokenizer.ggml.scores", F32, [0.0] * (n + 256) + scores)
    for which, i in (("bos", 1), ("eos", 2), ("unknown", 0)):
        g.put("tokenizer.ggml.%s_token_id" % which, U32, i)


def pieces_of(words, seed, keep):
    """Merges, and the letters and merged pieces that are tokens."""
    r = random.Random(seed)
    merges = [m for m in learn([w for w in words if len(w) > 1], MERGES) if len(m[0]) + len(m[1]) <= LONGEST]
    letters = [c for c in sorted({c for w in words for c in w}) if keep(c) or r.random() < 0.6]
    merged = list(dict.fromkeys(a + b for a, b in merges))
    return r, merges, letters + [p for p in merged if keep(p) or r.random() < 0.8]


def gemma4(path, strings):
    words = [tuple(w) for s in strings for w in re.findall("[^\n]+|\n+", s.replace(" ", MARK))]
    _, merges, pieces = pieces_of(words, 20260301, lambda p: MARK in p)
    g = Writer()
    g.put("general.architecture", STRING, "gemma4")
    put(g, "gemma4", [("<unk>", 2), ("<bos>", 3), ("<eos>", 3)], pieces, [1] * len(pieces), [-1000.0] * len(pieces))
    g.put_array("tokenizer.ggml.merges", STRING, ["%s %s" % m for m in merges])
    g.write(path)


def plamo2(path, strings):
    r, _, pieces = pieces_of([tuple(s) for s in strings], 20260302, lambda p: False)
    # quarters: many sums are equal; a few scores near that of a character without a piece
    scores = [-1000.0 - r.randint(-2, 2) if r.random() < 0.02 else -r.randint(4, 60) / 4.0 for _ in pieces]
    g = Writer()
    g.put("general.architecture", STRING, "plamo2")
    put(g, "plamo2", [("<|plamo:unk|>", 2), ("<|plamo:bos|>", 3), ("<|plamo:eos|>", 3)], pieces, [1] * len(pieces),
        [s if s != -1000.0 else -999.5 for s in scores])
    g.write(path)


if __name__ == "__main__":
    peer, out = sys.argv[1:]
    strings = all_strings()
    scratch = os.path.join(out, "scratch")
    with open(os.path.join(out, "marked.json"), "w") as f:
        for make in (gemma4, plamo2):
            path = os.path.join(out, make.__name__ + ".gguf")
            make(path, strings)
            ids = tokens(peer, path, strings, False, scratch)
            f.write('%s"%s":%s' % ("{" if make is gemma4 else ",\n", make.__name__, json.dumps(ids, separators=(",", ":"))))
        f.write("}\n")
    os.remove(scratch)
