// What a study says of itself and its recordings.
#include "systems/autoreject/study/study.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *tess_ar_study_text(tess_autoreject_study *s, const char *text)
{
    return text ? tess_blocks_copy(&s->memory, text, (int64_t)strlen(text) + 1, 1, "a text") : NULL;
}

void tess_ar_study_note(tess_autoreject_study *s, const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_text_add(&s->notes, s->notes.used ? "\n" : "");
    tess_text_add(&s->notes, text);
}

void tess_ar_study_tell_record(tess_autoreject_study *s, tess_ar_study_item *item)
{
    const tess_ar_record *r = &item->record;
    tess_autoreject_study_recording *info = item->info;
    (void)s;
    item->is_record_read = true;
    info->n_epoch = r->n_epoch;
    info->n_chan = r->n_channel;
    info->n_time = r->n_time;
    info->n_kept = r->n_kept;
    info->message = r->notes;
    info->bad_epochs = (double)r->n_bad_epoch / (double)r->n_epoch;
    info->bad_channels = (double)r->n_bad / (double)r->n_considered;
    info->repaired = (double)r->n_repaired / (double)r->n_considered;
}
