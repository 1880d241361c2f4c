/* syncopate report: compares runs side by side on one page that needs only a browser.
 *
 * The page contains its data and draws the charts itself; here the data are only checked and
 * inserted. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "report/file.h"
#include "report/page.h"
#include "report/serve.h"

struct options {
    char output[SYN_TEXT_BYTES];
    bool follow;
    uint64_t port;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct options, TEXT, output, "report.html", 0, 0, NULL,
                    "write this file (-o is the same)"),
    SYN_SETTING_ROW(struct options, SWITCH, follow, "off", 0, 1, NULL,
                    "serve the page on 127.0.0.1 instead, updated while the runs continue"),
    SYN_SETTING_ROW(struct options, COUNT, port, "0", 0, 65535, NULL,
                    "listen on this port (--follow); 0: any free port"),
};
static const struct syn_settings_table table = {"Report", rows, sizeof rows / sizeof rows[0]};

static enum syn_status write_page(const struct text *data, const char *path)
{
    struct text page = {0};
    enum syn_status status = page_add(data, &page);
    if (status == SYN_OK)
        status = file_write(path, &page);
    text_free(&page);
    if (status == SYN_OK)
        printf("%s\n", path);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct flags flags;
    struct text data = {0};
    const struct flag_set sets[] = {{&table, &options}};
    static char out[] = "--output";
    flags_spell_out(argc, argv, out);
    enum syn_status status = flags_parse(self, sets, 1, argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    if (flags.word_count == 0)
        return usage_error("report needs the directory of a run, such as runs/lenet-mnist-1");
    if (options.output[0] == '\0')
        return usage_error("--output: expected a file name");
    status = page_add_data(flags.words, flags.word_count, options.follow, &data);
    if (status == SYN_OK && options.follow)
        status = serve(flags.words, flags.word_count, (uint16_t)options.port);
    else if (status == SYN_OK)
        status = write_page(&data, options.output);
    text_free(&data);
    return exit_code(status);
}

const struct command command_report = {"report",
                                       "compare runs side by side on one page for a browser",
                                       "RUN... [-o report.html] | --follow RUN...", run};
