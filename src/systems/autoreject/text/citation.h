// The paper that pages ask to cite.
#ifndef TESS_AUTOREJECT_TEXT_CITATION_H
#define TESS_AUTOREJECT_TEXT_CITATION_H

#define TESS_AR_CITATION                                                                           \
    "Jas M, Engemann DA, Bekhti Y, Raimondo F, Gramfort A. Autoreject: Automated artifact "        \
    "rejection for MEG and EEG data. NeuroImage 159 (2017) 417-429."

#endif
