/* The stream of ChaCha20 (RFC 8439), many blocks at once: a vector holds the same word of AT_ONCE blocks.
 *
 * A state is four constants, the key, the number of the block (words 12 and 13) and which stream of the key it is (words
 * 14 and 15). For fewer than 2^32 blocks this is RFC 8439 with that number as nonce.
 */
#ifndef CHACHA
#define CHACHA
static const uint32_t COUNT[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#define TURN(x, n) x = (x << n) | (x >> (32 - n))
#define QUARTER(a, b, c, d)                                                                                            \
    a += b; d ^= a; TURN(d, 16);                                                                                       \
    c += d; b ^= c; TURN(b, 12);                                                                                       \
    a += b; d ^= a; TURN(d, 8);                                                                                        \
    c += d; b ^= c; TURN(b, 7);
#define TWO_ROUNDS(x)                                                                                                  \
    QUARTER(x[0], x[4], x[8], x[12])                                                                                   \
    QUARTER(x[1], x[5], x[9], x[13])                                                                                   \
    QUARTER(x[2], x[6], x[10], x[14])                                                                                  \
    QUARTER(x[3], x[7], x[11], x[15])                                                                                  \
    QUARTER(x[0], x[5], x[10], x[15])                                                                                  \
    QUARTER(x[1], x[6], x[11], x[12])                                                                                  \
    QUARTER(x[2], x[7], x[8], x[13])                                                                                   \
    QUARTER(x[3], x[4], x[9], x[14])

/* Block 0 of stream 0 of a 32-byte key, as a state. */
static inline void begin(const uint8_t *key, uint32_t *start) {
    static const uint32_t words[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int w = 0; w < 16; w++) start[w] = w < 4 ? words[w] : 0;
    for (int w = 0; w < 8; w++)
        start[4 + w] = key[4 * w] | key[4 * w + 1] << 8 | key[4 * w + 2] << 16 | (uint32_t)key[4 * w + 3] << 24;
}
#endif

#define AT_ONCE (4 << MACHINE_LEVEL) /* 32-bit numbers in a register; the compiler handles longer vectors badly */
#define U SUFFIX(words)
typedef uint32_t U __attribute__((vector_size(4 * AT_ONCE), aligned(4), may_alias));

/* The blocks number `block`, `block + 1`, ... of the stream that `start` begins; x[w]: their words w. */
INLINE void SUFFIX(keystream)(const uint32_t *start, uint32_t block, U *x) {
    U first[16];
    for (int w = 0; w < 16; w++) first[w] = (U){0} + start[w];
    first[12] = block + *(const U *)COUNT;
    for (int w = 0; w < 16; w++) x[w] = first[w];
    for (int i = 0; i < 10; i++) {
        TWO_ROUNDS(x)
    }
    for (int w = 0; w < 16; w++) x[w] += first[w];
}
