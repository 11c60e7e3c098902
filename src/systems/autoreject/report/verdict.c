// Badges and warnings of a report, and the facts under them.
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/result/model.h"

#include <stdio.h>
#include <string.h>

// Shares of dropped epochs and of repaired cells from which on a reader should look twice; the
// original's authors call a recording with more than a third of its epochs gone unusual.
static const double CHECK_DROPPED = 0.2;
static const double BAD_DROPPED = 0.5;
static const double BAD_CHANNEL = 0.5;

static void fact(tess_ar_page *page, const char *name, const char *format, ...) TESS_PRINTF(3, 4);

static void fact(tess_ar_page *page, const char *name, const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_fact(&page->html, name, text);
}

static int64_t count_label(const tess_autoreject_log_info *log, int8_t label)
{
    int64_t n = 0;
    for (int64_t i = 0; i < log->n_epoch * log->n_chan; i++) {
        n += log->labels[i] == label;
    }
    return n;
}

// Channels in epochs that were looked at: those of EOG, triggers and the like are not.
static int64_t count_considered(const tess_autoreject_log_info *log)
{
    int64_t n = 0;
    for (int64_t i = 0; i < log->n_epoch * log->n_chan; i++) {
        n += log->labels[i] >= 0;
    }
    return n;
}

static int64_t count_bad(const tess_autoreject_log_info *log)
{
    int64_t n = 0;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        n += log->bad_epochs[e] != 0;
    }
    return n;
}

// Names of channels, as many as there is room for.
static void add_name(char *list, size_t room, const char *name)
{
    const size_t used = strlen(list);
    if (used + TESS_AR_NAME + 8 < room) {
        snprintf(list + used, room - used, "%s%s", used > 0 ? ", " : "", name);
    } else if (used > 3 && strcmp(list + used - 3, "...") != 0) {
        snprintf(list + used, room - used, ", ...");
    }
}

static void judge_epochs(tess_ar_page *page)
{
    const tess_autoreject_log_info *log = page->log;
    const int64_t n_bad = count_bad(log);
    const double share = log->n_epoch > 0 ? (double)n_bad / (double)log->n_epoch : 0;
    char text[160];
    snprintf(text, sizeof text, "%lld of %lld epochs kept", (long long)(log->n_epoch - n_bad),
             (long long)log->n_epoch);
    tess_html_badge(&page->html,
                    share >= BAD_DROPPED     ? TESS_HTML_BAD
                    : share >= CHECK_DROPPED ? TESS_HTML_CHECK
                                             : TESS_HTML_GOOD,
                    text);
    if (log->n_epoch > 0 && n_bad == log->n_epoch) {
        tess_html_warning(&page->html, "Every epoch is bad: raise consensus, pick other channels, "
                                       "or look for channels that are bad throughout.");
    } else if (share >= BAD_DROPPED) {
        tess_html_warning(&page->html, "More than half of the epochs are dropped: look at the "
                                       "epochs below before the averages are used.");
    }
}

static void judge_channels(tess_ar_page *page)
{
    const tess_autoreject_log_info *log = page->log;
    int64_t n = 0;
    for (int64_t c = 0; c < log->n_chan; c++) {
        n += page->type_of[c] >= 0 && tess_ar_label_share(log, c, 1, 2) > BAD_CHANNEL;
    }
    char text[640];
    if (n > 0) {
        snprintf(text, sizeof text, "%lld channel%s bad in most epochs", (long long)n,
                 n > 1 ? "s" : "");
        tess_html_badge(&page->html, TESS_HTML_CHECK, text);
    }
    if (page->n_missing > 0) {
        snprintf(text, sizeof text, "%lld channels of the model are not here: %.500s.",
                 (long long)page->n_missing, page->missing);
        tess_html_warning(&page->html, text);
    }
}

// Of a log that was read: one that was computed here says so itself.
static void warn_of_samples(tess_ar_page *page)
{
    char sentence[TESS_AR_SENTENCE];
    if (page->whole_log->path && page->epochs_info &&
        tess_ar_model_other_samples(page->model, page->epochs_info, sentence)) {
        tess_html_warning(&page->html, sentence);
    }
}

static void say_channels(tess_ar_page *page)
{
    const tess_autoreject_log_info *log = page->log;
    char names[1000] = "";
    for (int64_t t = 0; t < page->model->n_type; t++) {
        const tess_autoreject_type_fit *fit = &page->model->types[t];
        fact(page, tess_autoreject_type_name(fit->type),
             "%lld channels, consensus %g, n_interpolate %lld", (long long)fit->n_chan,
             fit->consensus, (long long)fit->n_interpolate);
    }
    int64_t n = 0;
    for (int64_t c = 0; c < log->n_chan; c++) {
        if (page->type_of[c] < 0) {
            add_name(names, sizeof names, page->names[c]);
            n++;
        }
    }
    if (n > 0) {
        fact(page, "not considered", "%lld channels: %s", (long long)n, names);
    }
}

static void write_facts(tess_ar_page *page)
{
    static const char *const searches[] = {"exact", "compat", "grid", "random"};
    static const char *const modes[] = {"independent", "cumulative"};
    const tess_autoreject_model_info *m = page->model;
    const tess_autoreject_log_info *log = page->log;
    const int64_t n_bad = count_bad(log);
    tess_html_fact_begin(&page->html);
    if (page->epochs_info) {
        const char *path = page->epochs_info->path;
        fact(page, "input", "%s (%s)", path[0] ? path : "array", page->epochs_info->format);
    }
    fact(page, "epochs", "%lld, of them %lld bad (%.1f %%)", (long long)log->n_epoch,
         (long long)n_bad, log->n_epoch ? 100.0 * (double)n_bad / (double)log->n_epoch : 0);
    fact(page, "channels in single epochs", "%lld repaired, %lld bad and left",
         (long long)count_label(log, 2), (long long)count_label(log, 1));
    say_channels(page);
    fact(page, "search", "%s, %lld splits, seed %lld; n_interpolate %s, %lld folds; %s",
         searches[m->search & 3], (long long)m->n_split, (long long)m->seed, modes[m->rho_mode & 1],
         (long long)m->n_fold,
         m->augment ? "with predicted channels" : "without predicted channels");
    fact(page, "fitted on", "%lld epochs of %lld samples at %g Hz", (long long)m->n_epoch,
         (long long)m->n_time, m->sampling_hz);
    if (m->seconds[3] > 0) {
        fact(page, "time", "%.3f s: reading %.3f, thresholds %.3f, local search %.3f",
             m->seconds[3], m->seconds[0], m->seconds[1], m->seconds[2]);
    }
    tess_html_fact_end(&page->html);
}

void tess_ar_page_verdict(tess_ar_page *page)
{
    const tess_autoreject_log_info *log = page->log;
    const int64_t n = count_considered(log);
    char text[120];
    judge_epochs(page);
    if (n > 0) {
        snprintf(text, sizeof text, "%.1f %% of channels in epochs repaired",
                 100 * (double)count_label(log, 2) / (double)n);
        tess_html_badge(&page->html, TESS_HTML_NEUTRAL, text);
    }
    judge_channels(page);
    tess_html_warnings(&page->html, page->model->notes);
    tess_html_warnings(&page->html, log->notes);
    warn_of_samples(page);
    write_facts(page);
}
