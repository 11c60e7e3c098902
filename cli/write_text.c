// Text that is the whole result of a command.

#include "cli.h"

#include "job.h"

#include <tessera/io.h>

int cli_write_text(cli *c, const char *schema, const char *stage, const char *text)
{
    const char *path = c->values.output;
    tess_json *json = NULL;

    if (path) {
        CLI_CALL(tess_text_save(c->ctx, path, stage, text, c->values.overwrite));
    }
    if (!c->values.json) {
        fputs(path ? "" : text, stdout);
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", schema);
    tess_json_text(json, "path", path);
    tess_json_text(json, "text", text);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}
