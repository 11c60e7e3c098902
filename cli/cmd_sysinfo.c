// tessera sysinfo and --version.

#include "cli.h"
#include "outline.h"

#include <tessera/device.h>

static int print_sysinfo(cli *c, int json)
{
    char *text = NULL;

    CLI_CALL(tess_sysinfo_json(c->ctx, c->values.paths, &text));
    if (json) {
        puts(text);
    } else {
        outline_print(stdout, text);
    }
    tess_text_free(text);
    return 0;
}

int cmd_sysinfo(cli *c)
{
    CLI_TRY(session_open(c, NULL));
    return print_sysinfo(c, c->values.json);
}

int cmd_version(int json)
{
    char *text = NULL;
    tess_context *ctx = NULL;

    if (!json) {
        printf("tessera %s\n", tess_version());
        return 0;
    }
    CLI_CALL(tess_context_create(NULL, &ctx));
    const tess_status status = tess_sysinfo_json(ctx, 0, &text);
    if (status == TESS_OK) {
        puts(text);
    }
    tess_text_free(text);
    const int code = status == TESS_OK ? 0 : console_status(status);
    tess_context_destroy(ctx);
    return code;
}
