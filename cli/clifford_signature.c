#include "clifford.h"

#include <string.h>

int clifford_read_algebra(cli *c, int operand, const char *fallback, tess_clifford_algebra *algebra)
{
    const char *text = c->values.clifford.signature;
    tess_clifford_metric metric;

    if (!text) {
        text = c->n_operand > operand ? c->operands[operand] : fallback;
    }
    if (!text) {
        return cli_usage_error(c, "no signature: give one such as +++, 3,0,1 or pga, or with "
                                  "--signature=-++ where it starts with a minus");
    }
    CLI_CALL(tess_clifford_metric_parse(text, &metric));
    CLI_CALL(tess_clifford_algebra_init(algebra, sizeof *algebra, &metric));
    return 0;
}

void clifford_blade_name(const tess_clifford_algebra *algebra, int component, char name[16])
{
    const tess_clifford_metric *metric = &algebra->metric;
    // Spacetime and projective algebras count their symbols from 0.
    const int counts_from_0 =
        metric->square[0] == 0 ||
        (metric->n_symbol == 4 && metric->square[0] > 0 && metric->square[1] < 0);
    size_t at = 0;

    strcpy(name, component == 0 ? "1" : "e");
    for (int i = 0; i < metric->n_symbol && component > 0; i++) {
        if (algebra->mask[component] >> i & 1) {
            name[++at] = (char)('0' + i + !counts_from_0);
        }
    }
    name[at + 1] = '\0';
}
