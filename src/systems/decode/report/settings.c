// What the result was made from and with, as its provenance tells.
#include "base/status.h"
#include "systems/decode/report/page.h"
#include "systems/decode/report/tree.h"

#include <stdio.h>
#include <string.h>

// Text of a key, "" where there is none.
static const char *text_of(const tess_document_node *mapping, const char *key)
{
    const tess_document_node *found = tess_de_tree_child(mapping, key);
    return found && found->kind == TESS_DOCUMENT_SCALAR && found->text ? found->text : "";
}

static void write_fact(tess_de_page *p, const tess_document_node *settings, const char *key,
                       const char *name, const char *unit)
{
    const char *value = text_of(settings, key);
    char text[128];
    if (value[0]) {
        snprintf(text, sizeof text, "%.100s%s%s", value, unit[0] ? " " : "", unit);
        tess_html_fact(&p->html, name, text);
    }
}

static const tess_document_node *first_input(const tess_document_node *root)
{
    const tess_document_node *inputs = tess_de_tree_child(root, "inputs");
    const bool has_one = inputs && inputs->kind == TESS_DOCUMENT_LIST && inputs->first;
    return has_one ? inputs->first->value : NULL;
}

tess_status tess_de_page_origin(const tess_de_view *view, tess_document **origin)
{
    char *text = NULL;
    *origin = NULL;
    TESS_TRY(tess_de_view_provenance(view, &text));
    if (text && tess_document_parse(view->ctx, view->path, text, origin) != TESS_OK) {
        tess_error_clear(); // a result without provenance is a result all the same
        *origin = NULL;
    }
    tess_text_free(text);
    return TESS_OK;
}

void tess_de_page_title(const tess_de_page *p, char *title, size_t capacity)
{
    const char *slash = strrchr(p->view->path, '/');
    const char *own = slash ? slash + 1 : p->view->path;
    const char *name =
        p->origin_of ? text_of(first_input(tess_document_root(p->origin_of)), "name") : "";
    snprintf(title, capacity, "Decoded position: %s", name[0] ? name : own);
}

void tess_de_page_settings(tess_de_page *p)
{
    if (!p->origin_of) {
        return;
    }
    const tess_document_node *root = tess_document_root(p->origin_of);
    const tess_document_node *settings = tess_de_tree_child(root, "settings");
    write_fact(p, first_input(root), "name", "recording", "");
    write_fact(p, settings, "model", "model", "");
    write_fact(p, settings, "algorithm", "algorithm", "");
    if (strstr(text_of(settings, "algorithm"), "kde")) {
        write_fact(p, settings, "position_std", "position bandwidth", "cm");
    }
    if (strcmp(text_of(settings, "algorithm"), "clusterless_kde") == 0) {
        write_fact(p, settings, "waveform_std", "mark bandwidth", "\u00b5V");
    }
    write_fact(p, settings, "movement_variance", "movement variance", "cm\u00b2 per time bin");
    write_fact(p, settings, "place_bin_size", "place bins, at most", "cm wide");
}
