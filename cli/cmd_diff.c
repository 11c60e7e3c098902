// tessera diff: what two results have in common, and what not.

#include "diff.h"
#include "job.h"

static int print_json(const diff *d)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(d->c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.diff/1");
    diff_write_json(d, json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

int cmd_diff(cli *c)
{
    diff d = {.c = c};

    CLI_TRY(settings_resolve(&c->system[0], NULL, &d.config));
    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    int code = diff_paths(&d, c->operands[0], c->operands[1]);
    if (code == 0 && c->values.json) {
        code = print_json(&d);
    } else if (code == 0) {
        diff_print(&d);
    }
    code = code ? code : diff_exit_code(&d);
    diff_free(&d);
    return code;
}
