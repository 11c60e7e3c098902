// tessera cite: BibTeX of Tessera and of the papers behind each system.

#include "cli.h"
#include "job.h"

#include <string.h>

typedef struct citation {
    const char *system; // "" belongs to every one
    const char *bibtex;
} citation;

static const citation citations[] = {
    {"", "@software{tessera,\n"
         "  title = {Tessera: scientific workloads on one native engine},\n"
         "  author = {{The Tessera developers}},\n"
         "  version = {" TESS_VERSION "}\n"
         "}\n"},
    {"autoreject",
     "@article{jas2017autoreject,\n"
     "  title = {Autoreject: Automated artifact rejection for {MEG} and {EEG} data},\n"
     "  author = {Jas, Mainak and Engemann, Denis A. and Bekhti, Yousra and Raimondo, Federico\n"
     "            and Gramfort, Alexandre},\n"
     "  journal = {NeuroImage},\n"
     "  volume = {159},\n"
     "  pages = {417--429},\n"
     "  year = {2017},\n"
     "  doi = {10.1016/j.neuroimage.2017.06.030}\n"
     "}\n"},
    {"autoreject",
     "@article{bigdely2015prep,\n"
     "  title = {The {PREP} pipeline: standardized preprocessing for large-scale {EEG} analysis},\n"
     "  author = {Bigdely-Shamlo, Nima and Mullen, Tim and Kothe, Christian and Su, Kyung-Min\n"
     "            and Robbins, Kay A.},\n"
     "  journal = {Frontiers in Neuroinformatics},\n"
     "  volume = {9},\n"
     "  pages = {16},\n"
     "  year = {2015},\n"
     "  doi = {10.3389/fninf.2015.00016}\n"
     "}\n"},
    {"autoreject",
     "@article{perrin1989splines,\n"
     "  title = {Spherical splines for scalp potential and current density mapping},\n"
     "  author = {Perrin, F. and Pernier, J. and Bertrand, O. and Echallier, J. F.},\n"
     "  journal = {Electroencephalography and Clinical Neurophysiology},\n"
     "  volume = {72},\n"
     "  pages = {184--187},\n"
     "  year = {1989},\n"
     "  doi = {10.1016/0013-4694(89)90180-6}\n"
     "}\n"},
    {"decode",
     "@article{denovellis2021replay,\n"
     "  title = {Hippocampal replay of experience at real-world speeds},\n"
     "  author = {Denovellis, Eric L. and Gillespie, Anna K. and Coulter, Michael E. and\n"
     "            Sosa, Marielena and Chung, Jason E. and Eden, Uri T. and Frank, Loren M.},\n"
     "  journal = {eLife},\n"
     "  volume = {10},\n"
     "  pages = {e64505},\n"
     "  year = {2021},\n"
     "  doi = {10.7554/eLife.64505}\n"
     "}\n"},
    {"xpcs",
     "@article{he2024transport,\n"
     "  title = {Transport coefficient approach for characterizing nonequilibrium dynamics in\n"
     "           soft matter},\n"
     "  author = {He, HongRui and Liang, Heyi and Chu, Miaoqi and Jiang, Zhang and\n"
     "            de Pablo, Juan J. and Tirrell, Matthew V. and Narayanan, Suresh and Chen, Wei},\n"
     "  journal = {Proceedings of the National Academy of Sciences},\n"
     "  volume = {121},\n"
     "  number = {31},\n"
     "  pages = {e2401162121},\n"
     "  year = {2024},\n"
     "  doi = {10.1073/pnas.2401162121}\n"
     "}\n"},
    {"xpcs",
     "@article{he2025bridging,\n"
     "  title = {Bridging microscopic dynamics and rheology in the yielding of charged colloidal\n"
     "           suspensions},\n"
     "  author = {He, HongRui and others},\n"
     "  journal = {Proceedings of the National Academy of Sciences},\n"
     "  volume = {122},\n"
     "  pages = {e2514216122},\n"
     "  year = {2025},\n"
     "  doi = {10.1073/pnas.2514216122}\n"
     "}\n"},
    {"clifford", "@inproceedings{ruhe2023clifford,\n"
                 "  title = {Clifford Group Equivariant Neural Networks},\n"
                 "  author = {Ruhe, David and Brandstetter, Johannes and Forr{\\'e}, Patrick},\n"
                 "  booktitle = {Advances in Neural Information Processing Systems},\n"
                 "  year = {2023},\n"
                 "  note = {arXiv:2305.11141}\n"
                 "}\n"},
};

enum { N_CITATION = sizeof citations / sizeof citations[0] };

static int is_cited(const char *system)
{
    for (int i = 0; i < N_CITATION; i++) {
        if (system[0] && strcmp(citations[i].system, system) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_wanted(const citation *entry, const char *system)
{
    return !system || !entry->system[0] || strcmp(entry->system, system) == 0;
}

// "jas2017autoreject" of "@article{jas2017autoreject,".
static void print_entry(tess_json *json, const citation *entry)
{
    const char *key = entry->bibtex + strcspn(entry->bibtex, "{") + 1;
    char text[64];

    snprintf(text, sizeof text, "%.*s", (int)strcspn(key, ","), key);
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "key", text);
    tess_json_text(json, "system", entry->system[0] ? entry->system : NULL);
    tess_json_text(json, "bibtex", entry->bibtex);
    tess_json_object_end(json);
}

static int print_json(cli *c, const char *system)
{
    tess_json *json = NULL;

    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.cite/1");
    tess_json_array_begin(json, "entries");
    for (int i = 0; i < N_CITATION; i++) {
        if (is_wanted(&citations[i], system)) {
            print_entry(json, &citations[i]);
        }
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

int cmd_cite(cli *c)
{
    const char *system = c->n_operand > 0 ? c->operands[0] : NULL;
    int n_printed = 0;

    if (system && !is_cited(system)) {
        return cli_usage_error(c,
                               "unknown system '%s'; there are autoreject, decode, xpcs and "
                               "clifford",
                               system);
    }
    if (c->values.json) {
        return print_json(c, system);
    }
    for (int i = 0; i < N_CITATION; i++) {
        if (is_wanted(&citations[i], system)) {
            printf("%s%s", n_printed++ > 0 ? "\n" : "", citations[i].bibtex);
        }
    }
    return 0;
}
