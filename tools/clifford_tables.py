#!/usr/bin/env python3
"""Write the product tables of the Clifford algebras that have kernels of their own, as C.

usage: clifford_tables.py FOLDER

For each algebra NAME the file NAME.def lists the terms of its product as macro calls, for code that
is written once and expanded per algebra. For every pair of a path p and an output component k that
the product has, ordered by k and then p:

    CL_BEGIN(p, k)
    CL_FIRST_PLUS(i, j)  or  CL_FIRST_MINUS(i, j)     the pair's first term, +-x_i y_j
    CL_PLUS(i, j)  CL_MINUS(i, j)                     its further terms
    CL_END(p, k)

NAME_out.def, NAME_left.def and NAME_right.def list the same terms for code that computes the
outputs (from x and y), the gradients of x (from h and y) and those of y (from h and x), with h the
gradients of the outputs. The two numbers of a term are the components of those two factors; a sum
of terms is of a path p and a component c of the result:

    CL_OPEN(c)                                        c is begun
    CL_BEGIN(p, c)  terms as above  CL_END(p, c)
    CL_CLOSE(c, g)                                    c, of grade g, is complete

In NAME_left.def all sums of a path follow each other, and CL_PATH(p) stands behind them: the left
grade of a path and of a gradient of x are the same, so that few of these are open at a time.

NAME_paths.def lists the terms path by path for code that computes all of these at once. A path's
terms are gathered around components of one factor, where that takes the fewest instructions: mostly
a factor with a single component, to which the weight is applied instead of to many. Per component c
of the left factor x

    CL_LEFT(p, c)
    CL_LEFT_TERM(+, k, j)  CL_LEFT_TERM(-, k, j)      its terms, +-h_k x_c y_j
    CL_LEFT_END(p, c)

and likewise CL_RIGHT(p, c) with terms (k, i) of +-h_k x_i y_c, and CL_OUT(p, c) with terms (i, j)
of +-h_c x_i y_j. Paths are in order, so that those of a left grade follow each other.

algebras.h has the sizes, grades, signs and path grades as macros with the name as prefix. The rule
is the one of src/systems/clifford/algebra/tables.c, which serves every other algebra at run time;
tests/unit/test_clifford_tables.c holds the two together.
"""

import sys
from itertools import combinations
from pathlib import Path

# Name and metric of each symbol.
ALGEBRAS = {
    "cl20": (1, 1),
    "cl30": (1, 1, 1),
    "cl301": (0, 1, 1, 1),
    "cl13": (1, -1, -1, -1),
    "cl41": (1, 1, 1, 1, -1),
}


def blades(n):
    """Return the bit masks of all blades, by grade and then by index tuple."""
    return [
        sum(1 << i for i in symbols) for g in range(n + 1) for symbols in combinations(range(n), g)
    ]


def blade_product(a, b, metric):
    """Return the sign of the product of two blades; the blade is a ^ b."""
    swaps = sum((a >> s & b).bit_count() for s in range(1, len(metric)))
    sign = -1 if swaps % 2 else 1
    for i, square in enumerate(metric):
        if a & b & 1 << i:
            sign *= square
    return sign


class Table:
    """Components, paths and terms of one algebra."""

    def __init__(self, metric):
        """Build it from the squares of the symbols."""
        self.masks = blades(len(metric))
        self.grades = [m.bit_count() for m in self.masks]
        index = {m: i for i, m in enumerate(self.masks)}
        terms = []
        for i, a in enumerate(self.masks):
            for j, b in enumerate(self.masks):
                sign = blade_product(a, b, metric)
                if sign:
                    terms.append((index[a ^ b], i, j, sign))
        grade = self.grades
        self.paths = sorted({(grade[i], grade[k], grade[j]) for k, i, j, _ in terms})
        rank = {path: p for p, path in enumerate(self.paths)}
        self.pairs = {}
        for k, i, j, sign in sorted(terms):
            p = rank[grade[i], grade[k], grade[j]]
            self.pairs.setdefault((k, p), []).append((i, j, sign))
        # Square of the reverse of a blade with itself, 0 if it holds a null symbol.
        self.eta = [
            blade_product(m, m, metric) * (-1) ** (g * (g - 1) // 2)
            for m, g in zip(self.masks, self.grades, strict=True)
        ]


def pair_words(p, c, terms):
    """Return the macro calls of one sum of terms."""
    # A term without a minus first, where there is one: it needs no negation.
    first, *rest = sorted(terms, key=lambda term: -term[2])
    words = [f"CL_FIRST_{'PLUS' if first[2] > 0 else 'MINUS'}({first[0]}, {first[1]})"]
    words += [f"CL_{'PLUS' if s > 0 else 'MINUS'}({i}, {j})" for i, j, s in rest]
    return f"CL_BEGIN({p}, {c}) {' '.join(words)} CL_END({p}, {c})"


def term_lines(table):
    """Yield the macro calls of an algebra."""
    for (k, p), terms in sorted(table.pairs.items()):
        yield pair_words(p, k, terms)


def form_lines(table, form):
    """Yield the macro calls of a form: "out", "left" or "right"."""
    pairs = {}
    for (k, p), terms in sorted(table.pairs.items()):
        for i, j, sign in terms:
            c, a, b = {"out": (k, i, j), "left": (i, k, j), "right": (j, k, i)}[form]
            pairs.setdefault((c, p), []).append((a, b, sign))
    components = range(len(table.grades))
    if form != "left":
        for c in components:
            yield f"CL_OPEN({c})"
            yield from (pair_words(p, c, pairs[c, p]) for d, p in sorted(pairs) if d == c)
            yield f"CL_CLOSE({c}, {table.grades[c]})"
        return
    for grade in range(max(table.grades) + 1):
        inside = [c for c in components if table.grades[c] == grade]
        yield from (f"CL_OPEN({c})" for c in inside)
        for p, path in enumerate(table.paths):
            if path[0] == grade:
                yield from (pair_words(p, c, pairs[c, p]) for c in inside if (c, p) in pairs)
                yield f"CL_PATH({p})"
        yield from (f"CL_CLOSE({c}, {grade})" for c in inside)


def path_lines(table):
    """Yield the macro calls of NAME_paths.def."""
    for p in range(len(table.paths)):
        terms = [
            (k, i, j, sign)
            for (k, q), some in sorted(table.pairs.items())
            if q == p
            for i, j, sign in some
        ]
        # Products, sums and weights of forward and both gradients, for each factor in the middle.
        costs = {}
        for place, word, per_term in ((1, "LEFT", 3), (2, "RIGHT", 3), (0, "OUT", 4)):
            n = len({term[place] for term in terms})
            costs[word] = per_term * len(terms) + (7 - per_term) * n
        word = min(costs, key=costs.get)
        place = {"OUT": 0, "LEFT": 1, "RIGHT": 2}[word]
        for c in sorted({term[place] for term in terms}):
            words = [f"CL_{word}({p}, {c})"]
            for term in terms:
                if term[place] == c:
                    a, b = (term[n] for n in range(3) if n != place)
                    words.append(f"CL_{word}_TERM({'+' if term[3] > 0 else '-'}, {a}, {b})")
            words.append(f"CL_{word}_END({p}, {c})")
            yield " ".join(words)


def constants(name, metric):
    """Yield the macros of algebras.h for one algebra."""
    table = Table(metric)
    lists = {
        "METRIC": metric,
        "GRADE": table.grades,
        "ETA": table.eta,
        "PATH_LEFT": [path[0] for path in table.paths],
        "PATH_OUT": [path[1] for path in table.paths],
        "PATH_RIGHT": [path[2] for path in table.paths],
    }
    prefix = name.upper()
    yield f"#define {prefix}_SYMBOLS {len(metric)}"
    yield f"#define {prefix}_COMPONENTS {len(table.masks)}"
    yield f"#define {prefix}_GRADES {len(metric) + 1}"
    yield f"#define {prefix}_PATHS {len(table.paths)}"
    yield f"#define {prefix}_PAIRS {len(table.pairs)}"
    for word, values in lists.items():
        yield f"#define {prefix}_{word} {', '.join(map(str, values))}"


def write(path, lines):
    """Write a file unless it says the same already, so that nothing is built for nothing."""
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    """Write everything into the folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    header = ["#ifndef TESS_CLIFFORD_ALGEBRAS_H", "#define TESS_CLIFFORD_ALGEBRAS_H"]
    names = " ".join(f"X({name}, {name.upper()})" for name in ALGEBRAS)
    header += ["// X(name, NAME) for every algebra.", f"#define CL_ALGEBRAS(X) {names}"]
    for name, metric in ALGEBRAS.items():
        table = Table(metric)
        write(folder / f"{name}.def", term_lines(table))
        for form in ("out", "left", "right"):
            write(folder / f"{name}_{form}.def", form_lines(table, form))
        write(folder / f"{name}_paths.def", path_lines(table))
        header += constants(name, metric)
    write(folder / "algebras.h", [*header, "#endif"])


if __name__ == "__main__":
    main()
