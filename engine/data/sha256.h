/* SHA-256 (FIPS 180-4): tells whether files are the ones that were published. */
#ifndef SYN_ENGINE_DATA_SHA256_H
#define SYN_ENGINE_DATA_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* 64 hexadecimal digits and the final NUL. */
#define SYN_SHA256_TEXT 65

struct syn_sha256 {
    uint32_t state[8];
    uint64_t count;    /* bytes so far */
    uint8_t block[64]; /* the count % 64 bytes that do not fill a block yet */
};

void syn_sha256_begin(struct syn_sha256 *sha);
void syn_sha256_add(struct syn_sha256 *sha, const void *bytes, size_t count);

/* The hash of all that was added, in lower-case hexadecimal. */
void syn_sha256_end(struct syn_sha256 *sha, char text[SYN_SHA256_TEXT]);

#endif
