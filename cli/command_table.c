// The table of commands as JSON: what there is to type, and what is done with every path.

#include "cli.h"
#include "job.h"

#include <string.h>

static void write_list(tess_json *json, const char *key, const char *joined)
{
    tess_json_array_begin(json, key);
    while (joined && *joined) {
        char item[96];
        const size_t n = strcspn(joined, "|");
        snprintf(item, sizeof item, "%.*s", (int)n, joined);
        tess_json_text(json, NULL, item);
        joined += n + (joined[n] == '|');
    }
    tess_json_array_end(json);
}

static void write_option(tess_json *json, const opt_item *item)
{
    static const char *const kinds[] = {[OPT_FLAG] = "flag",
                                        [OPT_COUNT] = "count",
                                        [OPT_TEXT] = "text",
                                        [OPT_MAYBE_TEXT] = "maybe"};
    const char letter[2] = {item->letter, '\0'};

    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", item->name);
    tess_json_text(json, "letter", letter[0] ? letter : NULL);
    tess_json_text(json, "kind", kinds[item->kind]);
    tess_json_text(json, "value", item->metavar[0] ? item->metavar : NULL);
    write_list(json, "choices", item->choices);
    write_list(json, "hints", item->hints);
    tess_json_text(json, "path", opt_role_name(item->role));
    write_list(json, "endings", item->endings);
    tess_json_text(json, "help", item->help);
    tess_json_object_end(json);
}

static void write_operands(tess_json *json, const cli_command *command)
{
    tess_json_array_begin(json, "operands");
    for (int i = 0; i < command->max_operand && cli_operand_place(command, i) == i; i++) {
        char word[CLI_WORD_BYTES];
        cli_operand_word(command, i, word);
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", word);
        tess_json_bool(json, "needed", i < command->min_operand);
        tess_json_bool(json, "is_said", command->operand_roles[i] != PATH_UNSAID);
        tess_json_text(json, "path", opt_role_name(command->operand_roles[i]));
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static void write_command(tess_json *json, cli *scratch, const cli_command *command)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", command->name);
    tess_json_text(json, "summary", command->summary);
    tess_json_bool(json, "is_present", command->run != NULL);
    tess_json_bool(json, "is_long", (command->groups & CLI_RUN) != 0);
    tess_json_bool(json, "passes_words", command->passes_words);
    write_operands(json, command);
    tess_json_array_begin(json, "options");
    cli_build_options(scratch, command);
    for (int64_t i = 0; i < scratch->options.n_item && command->run; i++) {
        write_option(json, &scratch->options.items[i]);
    }
    tess_json_array_end(json);
    write_list(json, "output_names", command->output_names);
    tess_json_object_end(json);
}

int cli_print_table(cli *c)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);
    tess_json *json = NULL;

    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.help/1");
    tess_json_text(json, "version", tess_version());
    tess_json_array_begin(json, "commands");
    for (int64_t i = 0; i < n_command; i++) {
        write_command(json, c, &commands[i]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}
