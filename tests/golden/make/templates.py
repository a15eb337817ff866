"""Renders the templates of tests/golden/templates by Jinja as transformers sets it up: python3 tests/golden/make/templates.py
(Debian package python3-jinja2). Writes tests/golden/templates/renderings.json."""
import json, os
from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "templates")


def raise_exception(message):
    raise TemplateError(message)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
env.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)
env.globals["raise_exception"] = raise_exception

talks = [
    ([["user", "Hi there"]], True),
    ([["system", "Be brief."], ["user", "Hi  \n"]], True),
    ([["user", "A"], ["assistant", " B "], ["user", "C\nD e"]], True),
    ([["system", " S\n"], ["user", "\u00dcn\u00ef"], ["assistant", "<think>hm</think>\n\nYes"], ["user", "ok?"], ["assistant", "done"], ["user", "end"]], True),
    ([["user", "<|im_start|> [Q] </s>"], ["assistant", "x"]], False),
    ([["developer", "D"], ["user", "u"], ["tool", "{\"a\": 1}"], ["assistant", "z"], ["user", "q"]], True),
]
out = []
for name in sorted(os.listdir(folder)):
    if not name.endswith(".jinja"):
        continue
    source = open(os.path.join(folder, name)).read()
    for messages, generation in talks:
        try:
            text = env.from_string(source).render(
                messages=[{"role": r, "content": c} for r, c in messages], add_generation_prompt=generation,
                bos_token="<s>", eos_token="</s>", tools=None, documents=None)
        except TemplateError as e:
            text = None
        out.append({"template": name, "messages": messages, "generation": generation, "text": text})
with open(os.path.join(folder, "renderings.json"), "w") as f:
    json.dump(out, f, ensure_ascii=False, indent=0)
    f.write("\n")
print(len(out), "renderings,", sum(x["text"] is None for x in out), "refused")
