/* The kernels of `noise.c`, which says what every number is. */
#include "chacha.h"
#define I SUFFIX(integers)
#define V SUFFIX(reals)
typedef int32_t I __attribute__((vector_size(4 * AT_ONCE), aligned(4), may_alias));
typedef float V __attribute__((vector_size(4 * AT_ONCE), aligned(4), may_alias));

/* ---- float32: a vector holds the same word of AT_ONCE blocks of the stream ---- */

/* sqrt(-2 log u), u = (w + 1/2) 2^-32. */
INLINE V SUFFIX(radius)(U w) {
    /* As a signed number, w is how far u is from 0 or, if negative, from 1: so no digit is lost at either end. */
    V from_end = (__builtin_convertvector((I)w, V) + 0.5f) * 0x1p-32f;
    I one = (I)((V){0} + 1.0f);
    V u = from_end + (V)(((I)w < 0) & one);
    I exponent = ((I)u - 0x3f2aaaab) >> 23; /* u = 2^exponent (1 + f), -1/3 <= f < 1/3 */
    V f = (V)((U)u - ((U)exponent << 23)) - 1.0f;
    I near_one = exponent == 0;
    f = (V)((near_one & (I)from_end) | (~near_one & (I)f));
    V p = -0.2805578f * f + 0.30779153f; /* minimax for (2 f - 2 log(1 + f)) / f^2, to 3e-8 of the logarithm */
    p = p * f - 0.27990925f;
    p = p * f + 0.3283149f;
    p = p * f - 0.40022385f;
    p = p * f + 0.50015664f;
    p = p * f - 0.66666394f;
    p = p * f + 0.9999987f;
    V square = (f * f * p - 2.0f * f) - 1.3862944f * __builtin_convertvector(exponent, V);
    for (int l = 0; l < AT_ONCE; l++) square[l] = __builtin_sqrtf(square[l]);
    return square;
}

/* cos and sin of 2 pi (w + 1/2) 2^-32. */
INLINE void SUFFIX(direction)(U w, V *cosine, V *sine) {
    U quarter = w + 0x20000000u; /* its two highest bits: which multiple of pi / 2 is nearest */
    V a = (__builtin_convertvector((I)(w << 2) >> 2, V) + 0.5f) * 1.4629181e-9f; /* the angle from there */
    V z = a * a;
    V s = (-0.00019517267f * z + 0.008332178f) * z - 0.16666655f;
    V c = (2.4438415e-05f * z - 0.0013887368f) * z + 0.041666646f;
    s = a * z * s + a;
    c = z * z * c - 0.5f * z + 1.0f;
    I swap = ((I)(quarter << 1) >> 31) & ((I)s ^ (I)c);
    *cosine = (V)((U)((I)c ^ swap) ^ ((quarter ^ quarter << 1) & 0x80000000u));
    *sine = (V)((U)((I)s ^ swap) ^ (quarter & 0x80000000u));
}

/* Entries 256 g to 256 g + 255, if block = 16 g. */
static void SUFFIX(perturb_256)(const uint32_t *start, uint32_t block, const float *from, float std, float *into) {
    for (int b = 0; b < 16; b += AT_ONCE) {
        U x[16];
        SUFFIX(keystream)(start, block + b, x);
        for (int p = 0; p < 8; p++) {
            V cosine, sine, radius = std * SUFFIX(radius)(x[2 * p]);
            SUFFIX(direction)(x[2 * p + 1], &cosine, &sine);
            const V *here = (const V *)(from + 32 * p + b), *there = (const V *)(from + 32 * p + 16 + b);
            cosine = *here + radius * cosine;
            sine = *there + radius * sine;
            *(V *)(into + 32 * p + b) = cosine;
            *(V *)(into + 32 * p + 16 + b) = sine;
        }
    }
}

static void SUFFIX(perturb)(const uint32_t *start, long n, const float *from, float std, float *into) {
    long k = 0;
    for (; k + 256 <= n; k += 256) SUFFIX(perturb_256)(start, (uint32_t)(k / 16), from + k, std, into + k);
    if (k < n) {
        float last[256] = {0};
        memcpy(last, from + k, (n - k) * sizeof *last);
        SUFFIX(perturb_256)(start, (uint32_t)(k / 16), last, std, last);
        memcpy(into + k, last, (n - k) * sizeof *last);
    }
}

/* ---- float64: a vector holds consecutive words ---- */
#define W SUFFIX(long_words)
#define D SUFFIX(long_reals)
typedef uint64_t W __attribute__((vector_size(4 * AT_ONCE), aligned(8), may_alias));
typedef double D __attribute__((vector_size(4 * AT_ONCE), aligned(8), may_alias));

/* The 53 high bits of w as a number in [0, 1). Not every machine converts 64-bit integers, so the bits are placed. */
INLINE D SUFFIX(uniform)(W w) {
    D high = (D)(w >> 12 | 0x3ff0000000000000u) - 1.0;
    return high + (D)(-(w >> 11 & 1) & 0x3ca0000000000000u);
}

/* sqrt(-2 log v), v in (0, 1], at least 2^-53. */
INLINE D SUFFIX(long_radius)(D v) {
    W above = (W)v - 0x3fe5555555555555u; /* v = 2^exponent (1 + f), -1/3 <= f < 1/3 */
    D exponent = (D)((above + 0x0400000000000000u) >> 52 | 0x4330000000000000u) - (0x1p52 + 64.0);
    D f = (D)((W)v - (above & 0xfff0000000000000u)) - 1.0;
    D s = f / (2.0 + f), z = s * s; /* log(1 + f) = 2 artanh s = 2 (s + s^3 / 3 + ...), |s| <= 1/5 */
    D p = {0};
    for (int k = 21; k >= 3; k -= 2) p = p * z + 1.0 / k;
    D square = -4.0 * (s + s * z * p) - 1.3862943611198906 * exponent;
    for (int l = 0; l < AT_ONCE / 2; l++) square[l] = __builtin_sqrt(square[l]);
    return square;
}

/* cos and sin of 2 pi turn, 0 <= turn < 1. */
INLINE void SUFFIX(long_direction)(D turn, D *cosine, D *sine) {
    D shifted = 4.0 * turn + 0x1.8p52; /* ends in the number of the nearest multiple of pi / 2 */
    W quarter = (W)shifted;
    D a = (4.0 * turn - (shifted - 0x1.8p52)) * 1.5707963267948966, z = a * a, s = {0}, c = {0};
    s += 1.0, c += 1.0;
    for (int k = 16; k >= 2; k -= 2) { /* the first terms of both series */
        s = 1.0 - s * z * (1.0 / (k * (k + 1)));
        c = 1.0 - c * z * (1.0 / (k * (k - 1)));
    }
    s *= a;
    W swap = -(quarter & 1) & ((W)s ^ (W)c);
    *cosine = (D)((W)c ^ swap ^ (quarter ^ quarter >> 1) << 63);
    *sine = (D)((W)s ^ swap ^ quarter >> 1 << 63);
}

INLINE void SUFFIX(long_pair)(uint64_t *first, uint64_t *second) {
    D cosine, sine, radius = SUFFIX(long_radius)(1.0 - SUFFIX(uniform)(*(const W *)first));
    SUFFIX(long_direction)(SUFFIX(uniform)(*(const W *)second), &cosine, &sine);
    *(D *)first = radius * cosine;
    *(D *)second = radius * sine;
}

static void SUFFIX(normals)(uint64_t *words, long pairs) {
    long k = 0, step = AT_ONCE / 2;
    for (; k + step <= pairs; k += step) SUFFIX(long_pair)(words + k, words + pairs + k);
    if (k < pairs) {
        uint64_t last[2][AT_ONCE / 2] = {{0}};
        memcpy(last[0], words + k, (pairs - k) * sizeof **last);
        memcpy(last[1], words + pairs + k, (pairs - k) * sizeof **last);
        SUFFIX(long_pair)(last[0], last[1]);
        memcpy(words + k, last[0], (pairs - k) * sizeof **last);
        memcpy(words + pairs + k, last[1], (pairs - k) * sizeof **last);
    }
}
