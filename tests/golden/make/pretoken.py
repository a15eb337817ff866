"""pretoken.py PEER TABLE.c OUT: token vectors of every pre-tokenizer named in the library's table, by the peer.

OUT/pretoken.gguf is a seeded vocabulary of byte pairs, merged from the strings below as wholes, across every place where
a pre-tokenizer may cut: where one does cut, other tokens come out. OUT/pretoken.json: "strings", and "vectors", groups
of names with the same ids; null stands for the ids that the first group has for the string."""
import json
import os
import random
import re
import sys

from gguf import STRING, Writer
from goldens import tokens
from models import byte_alphabet, learn, put_bpe

STRINGS = [
    "", " ", "  ", "   a", "a   ", "a b  c   d", "\n", "\n\n", " \n \n", "\r\n\r\n", "a\n b", "a \nb", "a\n\n  b", "\t\tx\t y", "x \t\n ",
    "Hello world", "Hello, world! How's it?", "don't DON'T Don'T we'Ve I'LL you'd it'S 'sup '", "o'clock 'tis rock'n'roll l'eau",
    "\u2019s don\u2019t", "1", "12", "123", "1234", "12345678", "1,234,567.89", "3.14e-10", "a1b22c333d4444", "0x1F 007 1st 2nd", "\u0660\u0661\u0662\u0663\u0664",
    "\u00b2\u00b3\u00bc \u2160\u2161 \u3007\u4e00", "CamelCaseWords XMLHttpRequest iPhone eBay McDonald", "ABCdefGHI aBcD ABC", "snake_case __init__ a-b-c",
    "foo(bar[0], {baz: 1});", "if (x<=y && !z) { return a->b; } // done", "/* c */ # h\n\tdef f(x):\n\t\treturn x**2\n", "http://a.b/c?d=e&f=g#h",
    "e@mail.com ~/dir $HOME %d ^_^ `code` |pipe|", "!!! ??? ... --- ===  +++", "a!b?c.d,e;f:g", " !x ?y .z", "\u2026\u2014\u2013 \u00ab\u00bb \u201cq\u201d", "~~ ~a a~ $5 \u20ac5 +1 <b> =",
    "caf\u00e9 na\u00efve \u00fcber \u0152uvre stra\u00dfe \u0130\u0131", "e\u0301a\u0300 n\u0303 combining", "\u0301lone", "\u01c5\u01c8 \u02b0\u02b2 \u00aa\u00ba", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u043b\u043a\u0430",
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645\u060c \u06d4", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e\u0964 \u0967\u0968\u0969\u096a", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0e51\u0e52\u0e53",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002abc\u4e2d\u6587123", "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u30ab\u30bf\u30ab\u30ca\u30fc", "\uc548\ub155 \uc138\uc0c1 \ud55c\uad6d\uc5b4", "\u3400\u9fa5\u9fa6\u9fff", "\uff21\uff22\uff43 \uff11\uff12\uff13 \uff01\uff1f\uff5e", "\u30fb\u3001\u300c\u300d",
    "\U0001f600\U0001f680 a\U0001f468\u200d\U0001f469\u200d\U0001f467b", "\u2764\ufe0f \U0001f1e9\U0001f1ea", "\U0001d400\U0001d7d8 \U00010400\U00010428", "\U00020000\U0002a6df \U00016a60",
    "\u00a0a\u00a0\u00a0b", "\u2003wide\u3000space\u2028line\u2029par", "\u200bzero\u200cw\u2060j\ufeff", "\u0085next\u000bvt\u000cff", "\u001c\u001d\u001e\u001fseps\u180e", "\u00ad\u061csoft",
    "\u20ac\u00a3\u00a5 \u2211\u221a\u221e \u2192\u2190 \u2588\u2592 \u00a9\u00ae\u2122", "\u0903\u0b95\u0bcd \u1100\u1161\u11a8", "x\u0338= \u20ddA", "a\u0308\u0301b", "<|im_start|>user\n", "<s>[INST] hi [/INST]</s>", "\ufffd\ufffd a",
    "\u0378\ue000\U000f0000 x", "word\n   indented\n\t mixed\r\n  end   ", "A\u030aB", "1\u0301 2", "\u0967\u0300", "'\u017fx '\u212a", "I'\u017f", "a/b//c /d\n/e", "!\n?\r\n.\n\n", " \u00a0\t", "x\u3000\u3000 y", "12\u4e00\u4e8c34", "\u4e2d\u6587, English\u6df7\u5408 text\u3002",
    "<sentinel:12> <sentinel:a> IMGIMGABZ IMGIMGJZ IMGIMGABCDEZ x", "a     b      c   d", "x" + " " * 17 + "y" + " " * 40, " " * 9 + "\n" + " " * 7, "e\u0301 b\u0301c d  one two\u0301 three 4 five",
    "1234567 12 1234567890 x12345y  67\t8", "12\u00b23456\u00b27 1\u0661234 \u0661\u0662\u06631234\u0661 123\u00b2", "a  1 b   12  c    123   d     1234  ", "\u3105\u3106 \u3131\u318e \uff01\u2026\u2018\uff1b \u3001\u3008\ufe30 x",
    "\u0e01\u0e02a \u0e81b \u1780 \u1000c \ua9e0 \uaa60 \ua960 \uff71\uffa0 \u2f00 \uf900 \ue000z", "a\U0002f800b \U0002a700's \u3400\u3401 \u4e00'S x\ufa6e-\ufa6e \u3005\u3007", "\u0ece\u0e01 \U0002b739\u4e00a", "Merhaba'ya T\u00fcrk'\u00fc", "w\n x\n\n\ny \n\n z",
]
POOL = ("abcXYZ", "  \t\n\r", "0129", "'.,!?-_/~$+<=>^`|\"()", "\u00e9\u00df\u0416\u0436\u01c5\u02b0\u00aa", "\u4e2d\u3042\u30a2\ud55c\u3007", "\u0301\u0308\u093f\u20dd", "\u00b2\u0663\u2160\u09ea",
        "\u00a0\u2003\u3000\u2028\u0085", "\u2026\u20ac\u2211\u3002\uff0c\u060c\U0001f600", "\u200b\u200d\ufeff\u001c\ue000\u0378")
N_RANDOM, MERGES, LONGEST = 120, 2200, 20


def all_strings():
    r, out = random.Random(20260003), list(STRINGS)
    for _ in range(N_RANDOM):
        parts = []
        for _ in range(r.randint(2, 6)):
            pool = r.choice(POOL)
            parts += [r.choice(pool) for _ in range(r.randint(1, 4))]
        out.append("".join(parts))
    return out


def vocabulary(path, pre, merges):
    g = Writer()
    g.put("general.architecture", STRING, "llama")
    put_bpe(g, pre, merges, [("<|endoftext|>", 3)])
    g.write(path)


def whole_merges(strings):
    """Pairs merged in whole strings, so across every split; pieces stay short."""
    alphabet = byte_alphabet()
    words = [tuple(alphabet[b] for b in s.encode()) for s in strings]
    return [m for m in learn(words, MERGES) if len(m[0]) + len(m[1]) <= LONGEST]


def names_of(table):
    source = open(table).read()
    body = source[source.index("row table[] = {") : source.index("enum { N_ROWS")]
    rows = re.findall(r"\{\{((?:\s*\"[^\"]+\",?)+)\},", body)
    return [n for row in rows for n in re.findall(r"\"([^\"]+)\"", row)]


if __name__ == "__main__":
    peer, table, out = sys.argv[1:]
    strings = all_strings()
    merges = whole_merges(strings)
    scratch, groups, first = os.path.join(out, "scratch"), {}, None
    for name in names_of(table):
        vocabulary(scratch + ".gguf", name, merges)
        ids = tokens(peer, scratch + ".gguf", strings, False, scratch)
        first = first or ids
        ids = ids if ids == first else [None if a == b else a for a, b in zip(ids, first)]
        groups.setdefault(json.dumps(ids, separators=(",", ":")), []).append(name)
    vocabulary(os.path.join(out, "pretoken.gguf"), "gpt-2", merges)
    with open(os.path.join(out, "pretoken.json"), "w") as f:
        f.write('{"strings":%s,\n"vectors":[\n' % json.dumps(strings, separators=(",", ":")))
        f.write(",\n".join('{"names":%s,\n"ids":%s}' % (json.dumps(n), i) for i, n in groups.items()))
        f.write("]}\n")
    os.remove(scratch)
    os.remove(scratch + ".gguf")
    print("%d names, %d kinds, %d strings, %d merges" % (sum(map(len, groups.values())), len(groups), len(strings), len(merges)))
