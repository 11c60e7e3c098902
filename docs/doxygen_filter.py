"""Doxygen input filter: the headers' plain comments in Doxygen's words.

Headers are written to be read as they are. Here a comment behind a field or enumerator becomes
that member's documentation, a line "x  in  f32[n]" of a block becomes a parameter, and a struct
and its typedef, which share a name, become one thing.
"""

import re
import sys

MEMBER = re.compile(r"([;,]\s*|TESS_\w+ = \d+\s+)/\* ")
PARAMETER = re.compile(r"^ \* (\w+) +(in|out|in/out) +(?=\S)")
DIRECTION = {"in": "in", "out": "out", "in/out": "in,out"}


def convert(line):
    line = MEMBER.sub(r"\1/**< ", line)
    line = PARAMETER.sub(lambda m: f" * @param[{DIRECTION[m[2]]}] {m[1]} ", line)
    line = re.sub(r"^typedef (struct|enum) (\w+) {", r"\1 \2 {", line)
    line = re.sub(r"^} tess_\w+;", "};", line)
    return re.sub(r"<([a-z]+)>", r"&lt;\1&gt;", line)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        text = header.read()
    text = re.sub(r"/\*\*", "/** @file\n *", text, count=1)  # the first comment is the header's
    for name in re.findall(r"^struct (\w+) {", text, re.MULTILINE):
        text = re.sub(rf"^typedef struct {name} {name};.*$", "", text, flags=re.MULTILINE)
    sys.stdout.writelines(convert(line) for line in text.splitlines(keepends=True))
