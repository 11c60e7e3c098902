// Known answers: xxHash 0.8 (XXH3_128bits, seed 0) and the check value of CRC-32C.
#include "base/hash.h"
#include "base/sha256.h"
#include "unit.h"

#include <string.h>

static void crc32c_known_answers(void **state)
{
    (void)state;
    assert_true(tess_hash_supported(TESS_HASH_CRC32C));
    tess_hash hash = tess_hash_bytes(TESS_HASH_CRC32C, "123456789", 9);
    assert_int_equal(hash.low, 0xe3069283u);
    assert_int_equal(hash.high, 0);
    assert_int_equal(tess_hash_bytes(TESS_HASH_CRC32C, "", 0).low, 0);
    // RFC 3720, B.4: 32 bytes of zeros.
    static const unsigned char zeros[32];
    assert_int_equal(tess_hash_bytes(TESS_HASH_CRC32C, zeros, sizeof zeros).low, 0x8a9136aau);
}

static void xxh3_known_answers(void **state)
{
    (void)state;
    if (!tess_hash_supported(TESS_HASH_XXH3_128)) {
        skip();
    }
    unsigned char bytes[4096];
    static const struct {
        size_t n;
        const char *digest;
    } rising[] = {{0, "99aa06d3014798d86001c324468d497f"},
                  {256, "f1f8a93f50849ac39408a4433b952d71"}};
    char text[33];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    for (size_t i = 0; i < ARRAY_LEN(rising); i++) {
        tess_hash_text(tess_hash_bytes(TESS_HASH_XXH3_128, bytes, rising[i].n), text);
        assert_string_equal(text, rising[i].digest);
    }
    tess_hash_text(tess_hash_bytes(TESS_HASH_XXH3_128, "a", 1), text);
    assert_string_equal(text, "a96faf705af16834e6c632b61e964e1f");
    tess_hash_text(tess_hash_bytes(TESS_HASH_XXH3_128, "abc", 3), text);
    assert_string_equal(text, "06b05ab6733a618578af5f94892f3950");
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i % 251);
    }
    tess_hash_text(tess_hash_bytes(TESS_HASH_XXH3_128, bytes, sizeof bytes), text);
    assert_string_equal(text, "e12cd72144990fe57135ffa504f1bc71");
}

static void every_bit_counts(void **state)
{
    (void)state;
    unsigned char bytes[40] = {0};
    const tess_hash_kind kinds[] = {TESS_HASH_CRC32C, tess_hash_default()};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        assert_true(tess_hash_supported(kinds[k]));
        const tess_hash clean = tess_hash_bytes(kinds[k], bytes, sizeof bytes);
        for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            const tess_hash hash = tess_hash_bytes(kinds[k], bytes, sizeof bytes);
            assert_false(tess_hash_equal(hash, clean));
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        assert_true(tess_hash_equal(tess_hash_bytes(kinds[k], bytes, sizeof bytes), clean));
    }
    assert_false(tess_hash_supported((tess_hash_kind)99));
}

static void equal_looks_at_both_halves(void **state)
{
    (void)state;
    assert_true(tess_hash_equal((tess_hash){1, 2}, (tess_hash){1, 2}));
    assert_false(tess_hash_equal((tess_hash){1, 2}, (tess_hash){1, 3}));
    assert_false(tess_hash_equal((tess_hash){1, 2}, (tess_hash){0, 2}));
}

static void sha256_known_answers(void **state)
{
    (void)state;
    char text[65];
    tess_sha256 hash;
    tess_sha256_init(&hash);
    tess_sha256_text(&hash, text);
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    tess_sha256_init(&hash);
    tess_sha256_add(&hash, "abc", 3);
    tess_sha256_text(&hash, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    // A million letters, in pieces that meet every position of a block.
    static char letters[1000];
    memset(letters, 'a', sizeof letters);
    tess_sha256_init(&hash);
    for (size_t done = 0, n = 1; done < 1000000; done += n, n = n % 999 + 1) {
        n = n < 1000000 - done ? n : 1000000 - done;
        tess_sha256_add(&hash, letters, n);
    }
    tess_sha256_text(&hash, text);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    // The length does not fit behind the data any more.
    tess_sha256_init(&hash);
    tess_sha256_add(&hash, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    tess_sha256_text(&hash, text);
    assert_string_equal(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_known_answers), cmocka_unit_test(xxh3_known_answers),
        cmocka_unit_test(every_bit_counts),     cmocka_unit_test(equal_looks_at_both_halves),
        cmocka_unit_test(sha256_known_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
