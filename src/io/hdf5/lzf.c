#include "lzf.h"

#include <string.h>

// A control byte below 32 announces that many literals plus one. Others are a copy of earlier
// output: three bits of length (7: another byte adds to it) and thirteen of distance.
size_t tess_lzf_unpack(const uint8_t *src, size_t src_bytes, uint8_t *dst, size_t capacity)
{
    size_t in = 0;
    size_t out = 0;
    const size_t limit = dst != NULL ? capacity : SIZE_MAX / 2;
    while (in < src_bytes) {
        const size_t control = src[in++];
        if (control < 32) {
            const size_t length = control + 1;
            if (length > src_bytes - in || length > limit - out) {
                return 0;
            }
            if (dst != NULL) {
                memcpy(dst + out, src + in, length);
            }
            in += length;
            out += length;
            continue;
        }
        size_t length = control >> 5;
        if (length == 7) {
            if (in == src_bytes) {
                return 0;
            }
            length += src[in++];
        }
        length += 2;
        if (in == src_bytes) {
            return 0;
        }
        const size_t distance = ((control & 31) << 8 | src[in++]) + 1;
        if (distance > out || length > limit - out) {
            return 0;
        }
        // Byte by byte: the copy may overlap what it writes.
        for (size_t i = 0; dst != NULL && i < length; i++) {
            dst[out + i] = dst[out + i - distance];
        }
        out += length;
    }
    return out;
}

enum {
    MAX_LITERALS = 32,
    MIN_MATCH = 3,
    MAX_MATCH = 264,
    MAX_DISTANCE = 8192,
    HASH_FACTOR = 0x9E5F // odd; spreads three bytes over the table
};

// What has been written, and where the control byte of the open run of literals is.
typedef struct packed {
    uint8_t *dst;
    size_t capacity;
    size_t used;
    size_t n_literal;
    int is_full;
} packed;

static void put_byte(packed *p, size_t byte)
{
    if (p->used < p->capacity) {
        p->dst[p->used++] = (uint8_t)byte;
    } else {
        p->is_full = 1;
    }
}

static void put_literal(packed *p, uint8_t byte)
{
    if (p->n_literal == 0) {
        put_byte(p, 0);
    }
    put_byte(p, byte);
    if (p->is_full) {
        return;
    }
    p->n_literal++;
    p->dst[p->used - p->n_literal - 1] = (uint8_t)(p->n_literal - 1);
    p->n_literal = p->n_literal == MAX_LITERALS ? 0 : p->n_literal;
}

static void put_match(packed *p, size_t distance, size_t length)
{
    const size_t back = distance - 1;
    const size_t beyond = length - 2;
    p->n_literal = 0;
    put_byte(p, (beyond < 7 ? beyond : 7) << 5 | back >> 8);
    if (beyond >= 7) {
        put_byte(p, beyond - 7);
    }
    put_byte(p, back & 255);
}

static size_t slot_of(const uint8_t *src)
{
    const uint32_t three = (uint32_t)src[0] << 16 | (uint32_t)src[1] << 8 | src[2];
    return (three * (uint32_t)HASH_FACTOR >> 8) & ((1U << TESS_LZF_TABLE_BITS) - 1);
}

size_t tess_lzf_pack(const uint8_t *src, size_t src_bytes, uint8_t *dst, size_t capacity,
                     uint32_t *table)
{
    packed p = {.dst = dst, .capacity = capacity};
    size_t at = 0;
    memset(table, 0, sizeof *table << TESS_LZF_TABLE_BITS);
    while (at + MIN_MATCH <= src_bytes && !p.is_full) {
        // What the slot holds is a guess: it is taken only if it lies behind and matches.
        uint32_t *slot = &table[slot_of(src + at)];
        const size_t found = *slot;
        *slot = (uint32_t)at;
        if (found >= at || at - found > MAX_DISTANCE ||
            memcmp(src + found, src + at, MIN_MATCH) != 0) {
            put_literal(&p, src[at++]);
            continue;
        }
        const size_t left = src_bytes - at;
        const size_t limit = left < MAX_MATCH ? left : MAX_MATCH;
        size_t length = MIN_MATCH;
        while (length < limit && src[found + length] == src[at + length]) {
            length++;
        }
        put_match(&p, at - found, length);
        at += length;
    }
    while (at < src_bytes && !p.is_full) {
        put_literal(&p, src[at++]);
    }
    return p.is_full ? 0 : p.used;
}
