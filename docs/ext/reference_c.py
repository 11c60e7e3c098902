"""A page for every public header, and their index, from include/tessera.

The text is Doxygen's (docs/Doxyfile), brought in by breathe. The first sentence of a header's first
comment is its title; a new header has its page without anybody writing one.
"""

import re
from pathlib import Path

from generated import Pages

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/tessera"

# In the order in which a reader meets them; what is in no list comes at the end.
GROUPS = [
    ("Everything", ["tessera.h"]),
    ("The engine", ["base.h", "array.h", "context.h", "io.h", "run.h", "param.h", "config.h",
                    "warning.h", "device.h", "device_array.h"]),
    ("autoreject", "autoreject"),
    ("decode", "decode"),
    ("xpcs", "xpcs"),
    ("clifford", "clifford"),
    ("For extenders", "sys"),
]  # fmt: skip

SECTIONS = "briefdescription detaileddescription define enum innerclass public-attrib typedef func"
EXTENDERS = (
    "These headers have a weaker promise: they may change between minor releases, and "
    "`TESS_MODULE_ABI` is raised when they do.\n\n"
)


def headers():
    return sorted(str(path.relative_to(HEADERS)) for path in HEADERS.rglob("*.h"))


def title(header):
    """Return the first sentence of the header's first comment."""
    text = (HEADERS / header).read_text(encoding="utf-8")
    comment = re.search(r"/\*\*(.*?)\*/", text, re.DOTALL)[1]
    words = re.sub(r"\n \* ?", "\n", comment).strip().split("\n\n")[0]
    sentence = re.match(r"(.*?\.)(\s|$)", " ".join(words.split()))[1]
    return re.sub(r"^(autoreject|decode|xpcs|clifford): ", "", sentence)


def includes(header):
    text = (HEADERS / header).read_text(encoding="utf-8")
    return re.findall(r'^#include ["<]tessera/(.*?)[">]', text, re.MULTILINE)


def page_name(header):
    return header.removesuffix(".h").replace("/", "-")


def doxygen_name(header):
    """Return what Doxygen's index calls a header: its folder only where two share a name."""
    base = Path(header).name
    return header if [Path(h).name for h in headers()].count(base) > 1 else base


def page(header):
    lines = [f"# {header}\n", f"{title(header)}\n", f"`#include <tessera/{header}>`\n"]
    others = includes(header)
    if others:
        links = ", ".join(f"[{other}]({page_name(other)}.md)" for other in others)
        lines.append(f"Includes {links}.\n")
    # A header that only includes others has nothing else to say.
    if re.search(r"^(TESS_API|typedef|enum|struct|#define TESS_(?!ERA))",
                 (HEADERS / header).read_text(encoding="utf-8"), re.MULTILINE):
        lines.append(f"```{{doxygenfile}} {doxygen_name(header)}\n:sections: {SECTIONS}\n```\n")
    return "\n".join(lines)


def in_groups():
    left = headers()
    for name, group in GROUPS:
        if isinstance(group, str):
            group = [h for h in left if h == f"{group}.h" or h.startswith(f"{group}/")]
        yield name, [header for header in group if header in left]
        left = [header for header in left if header not in group]
    if left:
        yield "Others", left


def index():
    text = ["# Headers\n", "```{toctree}\n:hidden:\n"]
    text += [page_name(header) for header in headers()]
    text.append("```\n")
    for name, group in in_groups():
        text.append(f"\n## {name}\n")
        if name == "For extenders":
            text.append(EXTENDERS)
        text.append("| header | what |\n|---|---|")
        text += [f"| [{h}]({page_name(h)}.md) | {title(h)} |" for h in group]
    return "\n".join(text) + "\n"


def generate(app):
    pages = Pages(Path(app.srcdir) / "reference/c")
    for header in headers():
        pages.write(f"{page_name(header)}.md", page(header))
    pages.write("index.md", index())
    pages.finish()


def setup(app):
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
