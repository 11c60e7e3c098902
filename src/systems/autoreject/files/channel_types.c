// Types of channels by what files and names say of them.
#include "systems/autoreject/files/annotations.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

typedef struct word_type {
    const char *word;
    int32_t type;
} word_type;

// Words of EDF+ labels, EEGLAB and BIDS; case does not matter.
static const word_type words[] = {
    {"eeg", TESS_AUTOREJECT_EEG},          {"eog", TESS_AUTOREJECT_EOG},
    {"veog", TESS_AUTOREJECT_EOG},         {"heog", TESS_AUTOREJECT_EOG},
    {"ecg", TESS_AUTOREJECT_ECG},          {"ekg", TESS_AUTOREJECT_ECG},
    {"emg", TESS_AUTOREJECT_EMG},          {"stim", TESS_AUTOREJECT_STIM},
    {"trig", TESS_AUTOREJECT_STIM},        {"trigger", TESS_AUTOREJECT_STIM},
    {"misc", TESS_AUTOREJECT_MISC},        {"seeg", TESS_AUTOREJECT_SEEG},
    {"ecog", TESS_AUTOREJECT_ECOG},        {"dbs", TESS_AUTOREJECT_OTHER},
    {"megmag", TESS_AUTOREJECT_MAG},       {"mag", TESS_AUTOREJECT_MAG},
    {"meggradaxial", TESS_AUTOREJECT_MAG}, {"meggradplanar", TESS_AUTOREJECT_GRAD},
    {"grad", TESS_AUTOREJECT_GRAD},        {"megrefmag", TESS_AUTOREJECT_REF_MEG},
    {"ref_meg", TESS_AUTOREJECT_REF_MEG},  {"megrefgradaxial", TESS_AUTOREJECT_REF_MEG},
    {"nirscwhbo", TESS_AUTOREJECT_HBO},    {"hbo", TESS_AUTOREJECT_HBO},
    {"nirscwhbr", TESS_AUTOREJECT_HBR},    {"hbr", TESS_AUTOREJECT_HBR},
    {"bio", TESS_AUTOREJECT_MISC},         {"resp", TESS_AUTOREJECT_MISC},
    {"temp", TESS_AUTOREJECT_MISC},        {"sao2", TESS_AUTOREJECT_MISC},
    {"gsr", TESS_AUTOREJECT_MISC},         {"ppg", TESS_AUTOREJECT_MISC},
    {"audio", TESS_AUTOREJECT_MISC},       {"eyegaze", TESS_AUTOREJECT_MISC},
    {"pupil", TESS_AUTOREJECT_MISC},       {"sysclock", TESS_AUTOREJECT_MISC},
    {"adc", TESS_AUTOREJECT_MISC},         {"dac", TESS_AUTOREJECT_MISC},
    {"hlu", TESS_AUTOREJECT_MISC},         {"fiterr", TESS_AUTOREJECT_MISC},
    {"csd", TESS_AUTOREJECT_CSD},          {"other", TESS_AUTOREJECT_OTHER},
    {"ref", TESS_AUTOREJECT_MISC},         {"accel", TESS_AUTOREJECT_MISC},
    {"pd", TESS_AUTOREJECT_MISC},          {"megother", TESS_AUTOREJECT_MISC},
    {"nirscwmu", TESS_AUTOREJECT_MISC},    {"megrefgradplanar", TESS_AUTOREJECT_REF_MEG},
    {"latency", TESS_AUTOREJECT_MISC},     {"nirscwamplitude", TESS_AUTOREJECT_MISC},
    {"ornt", TESS_AUTOREJECT_MISC},        {"nirscwopticaldensity", TESS_AUTOREJECT_MISC},
    {"gyro", TESS_AUTOREJECT_MISC},        {"nirscwfluorescenseamplitude", TESS_AUTOREJECT_MISC},
    {"magn", TESS_AUTOREJECT_MISC},        {"angaccel", TESS_AUTOREJECT_MISC},
    {"jntang", TESS_AUTOREJECT_MISC},      {"pos", TESS_AUTOREJECT_MISC},
    {"vel", TESS_AUTOREJECT_MISC},         {"temperature", TESS_AUTOREJECT_MISC},
    {"chpi", TESS_AUTOREJECT_MISC},        {"syst", TESS_AUTOREJECT_MISC},
    {"ias", TESS_AUTOREJECT_MISC},         {"exci", TESS_AUTOREJECT_MISC},
};

static int32_t find_word(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == n && strncasecmp(words[i].word, word, n) == 0) {
            return words[i].type;
        }
    }
    return -1;
}

int32_t tess_ar_type_by_word(const char *word)
{
    return find_word(word, strlen(word));
}

int32_t tess_ar_type_by_prefix(const char **name)
{
    static const char *const prefixes[] = {"EEG", "SEEG", "ECOG", "DBS",  "EOG",  "ECG", "EMG",
                                           "BIO", "RESP", "TEMP", "MISC", "SAO2", "STIM"};
    const char *blank = strchr(*name, ' ');
    const size_t n = blank ? (size_t)(blank - *name) : 0;
    for (size_t i = 0; blank && i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strlen(prefixes[i]) == n && strncasecmp(prefixes[i], *name, n) == 0) {
            *name = blank + strspn(blank, " ");
            return find_word(prefixes[i], n);
        }
    }
    return -1;
}

int32_t tess_ar_type_by_name(const char *name)
{
    static const word_type parts[] = {
        {"EOG", TESS_AUTOREJECT_EOG},
        {"ECG", TESS_AUTOREJECT_ECG},
        {"EKG", TESS_AUTOREJECT_ECG},
        {"EMG", TESS_AUTOREJECT_EMG},
    };
    if (strcasecmp(name, "Status") == 0 || strcasecmp(name, "Trigger") == 0 ||
        strncasecmp(name, "STI ", 4) == 0 || strcasecmp(name, "STI014") == 0) {
        return TESS_AUTOREJECT_STIM;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcasestr(name, parts[i].word)) {
            return parts[i].type;
        }
    }
    return -1;
}
