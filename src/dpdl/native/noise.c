/* Gaussian noise.
 *
 * In float32, noise that a key determines. Its stream is ChaCha20 (RFC 8439) with that key, nonce 0 and counter from 0.
 * Entries come in groups of 256, from 16 blocks of 16 words: words 2p and 2p + 1 of block 16 g + b, called w and v,
 * give entries 256 g + 32 p + b and 256 g + 32 p + 16 + b by Box and Muller,
 *
 *     sqrt(-2 log((w + 1/2) / 2^32)) times the cosine and the sine of 2 pi (v + 1/2) / 2^32.
 *
 * So 16 entries in a row need the same word of 16 blocks, and no vector has its numbers reordered. The float32 normals
 * are these up to 5e-7 of their size.
 *
 * In float64, noise from random words that were drawn elsewhere: 53 bits of each, and the formulas to the last digits.
 */
#ifdef __GNUC__
/* Product and sum rounded separately on every machine, although some could do both at once: so all give equal bits. */
#pragma GCC optimize("fp-contract=off")
#endif
#include <stdint.h>

#define KERNELS "noise.h"
#include "machines.h"

/* into = from + std * normal, n numbers; `into` may be `from`. */
void dpdl_perturb(const uint8_t *key, long n, const float *from, float std, float *into) {
    uint32_t start[16];
    begin(key, start);
    CHOOSE(perturb)(start, n, from, std, into);
}

/* Random words become float64 normals in their place: words k and pairs + k become those of Box and Muller. */
void dpdl_normals(uint64_t *words, long pairs) { CHOOSE(normals)(words, pairs); }
