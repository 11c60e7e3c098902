/**
 * A YAML or JSON file as a tree of mappings, lists and scalars, each with its place in the file.
 *
 * For parts that read other programs' configurations. tess_config_load() judges the same tree by
 * the parameter tables. Limits keep hostile files harmless: size, depth, keys of a mapping, and
 * what aliases may stand for.
 */
#ifndef TESSERA_SYS_DOCUMENT_H
#define TESSERA_SYS_DOCUMENT_H

#include "tessera/context.h"

TESS_BEGIN_DECLS

typedef enum tess_document_kind {
    TESS_DOCUMENT_SCALAR = 1,
    TESS_DOCUMENT_MAPPING = 2,
    TESS_DOCUMENT_LIST = 3
} tess_document_kind;

/** 1-based; line 0 where the parser does not tell. */
typedef struct tess_document_place {
    int64_t line;
    int64_t column;
} tess_document_place;

typedef struct tess_document_node tess_document_node;

/** A child of a mapping (with its key) or of a list (key NULL). */
typedef struct tess_document_entry {
    const char *key;
    tess_document_place key_place;
    tess_document_node *value; /* may be shared: aliases point to what they stand for */
    struct tess_document_entry *next;
} tess_document_entry;

struct tess_document_node {
    int32_t kind;      /* tess_document_kind */
    int32_t is_quoted; /* scalars: written in quotes */
    tess_document_place place;
    int64_t n_child;
    int64_t n_node;   /* itself and all below, aliases expanded */
    const char *text; /* of a scalar, else "" */
    tess_document_entry *first;
    tess_document_entry *last;
};

/** What PyYAML, which follows YAML 1.1, makes of a scalar. */
typedef enum tess_document_type {
    TESS_DOCUMENT_TEXT = 1,
    TESS_DOCUMENT_INT = 2,
    TESS_DOCUMENT_OCTAL = 3, /* an integer in base 8, which looks like one in base 10 */
    TESS_DOCUMENT_FLOAT = 4,
    TESS_DOCUMENT_BOOL = 5,
    TESS_DOCUMENT_NULL = 6
} tess_document_type;

typedef struct tess_document tess_document;

/** Syntax errors and duplicate keys are TESS_E_CONFIG with file, line and column; a missing file is
 *  TESS_E_NOT_FOUND. */
TESS_API TESS_MUST_CHECK tess_status tess_document_load(tess_context *ctx, const char *path,
                                                        tess_document **out);
/** The same for text; name stands for the file in messages. Text that opens no bracket is one plain
 *  scalar, whatever it looks like. */
TESS_API TESS_MUST_CHECK tess_status tess_document_parse(tess_context *ctx, const char *name,
                                                         const char *text, tess_document **out);
TESS_API void tess_document_destroy(tess_document *document);

/** The tree, which lives with the document; NULL for an empty file. */
TESS_API const tess_document_node *tess_document_root(const tess_document *document);

TESS_API tess_document_type tess_document_scalar_type(const tess_document_node *scalar);

TESS_END_DECLS

#endif
