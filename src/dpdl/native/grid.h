/* The kernels of `grid.c`, which says what every number is. A vector holds LONGS numbers of 64 bits. */
#include "chacha.h"
#define LONGS (AT_ONCE / 2)
#define W SUFFIX(long_words)
#define D SUFFIX(long_reals)
typedef uint64_t W __attribute__((vector_size(8 * LONGS), aligned(8), may_alias));
typedef double D __attribute__((vector_size(8 * LONGS), aligned(8), may_alias));

/* Whole numbers below 2^52 as reals: the bits are placed after those of 2^52. Not every machine converts 64 bits. */
#define AFTER_2_52(w) ((D)((w) | 0x4330000000000000u))
#define SIGN 0x8000000000000000u

/* The nearest whole number, of two the even one. */
INLINE D SUFFIX(whole)(D q) {
#if MACHINE_LEVEL > 0
    for (int l = 0; l < LONGS; l++) q[l] = __builtin_rint(q[l]);
    return q;
#else
    D shift = (D)(((W)q & SIGN) | 0x4330000000000000u);
    D near = (q + shift) - shift;
    W small = (W)((D)((W)q & ~SIGN) < 0x1p52); /* beyond, every double is whole */
    return (D)((small & (W)near) | (~small & (W)q));
#endif
}

/* sqrt(-2 log v), v = (w + 1/2) 2^-32 = 2^exponent (1 + f), to 2^-31 of it. */
INLINE D SUFFIX(rough_radius)(W w) {
    D v = (AFTER_2_52(w) - (0x1p52 - 0.5)) * 0x1p-32;
    W above = (W)v - (HALF_ROOT - 0x4000000000000000u);
    D exponent = AFTER_2_52(above >> 52) - (0x1p52 + 1024.0);
    D f = (D)((above & 0x000fffffffffffffu) + HALF_ROOT) - 1.0;
    D s = f / (2.0 + f), z = s * s; /* log(1 + f) = 2 artanh s */
    D p = (-1.3333355282962856 - 0.7995507404001092 * z) - 0.5974372258421979 * (z * z);
    D square = (-4.0 * s + s * z * p) - LOG_4 * exponent;
    for (int l = 0; l < LONGS; l++) square[l] = __builtin_sqrt(square[l]);
    return square;
}

/* cos and sin of 2 pi (a + 1/2) 2^-32, to 2^-27. */
INLINE void SUFFIX(rough_direction)(W a, D *cosine, D *sine) {
    W opposite = ((a << 32) + 0x4000000000000000u) & SIGN; /* nearer to half a turn than to none */
    W part = (a << 1 & 0xffffffffu) ^ 0x80000000u;         /* from there, 2^32 to half a turn */
    D x = (AFTER_2_52(part) - (0x1p52 + 0x1p31 - 1.0)) * 0x1.921fb54442d18p-31;
    D z = x * x, zz = z * z;
    D s = (-0.1666665709281438 + 0.008333017199682555 * z) +
          zz * (-0.00019806608489956695 + 2.600039793680751e-06 * z);
    D c = (-0.49999999549334734 + 0.04166664071781155 * z) +
          zz * ((-0.0013888403364069096 + 2.4761878395922184e-05 * z) - 2.6076959934683617e-07 * zz);
    *cosine = (D)((W)(1.0 + z * c) ^ opposite);
    *sine = (D)((W)(x + x * z * s) ^ opposite);
}

/* grid * rint(x / grid + z): the fraction of x / grid meets z before anything is rounded. What is not finite counts
 * as 0. `open`: where the sum is too close to an edge. */
INLINE D SUFFIX(on_grid)(D x, D z, double grid, W *open) {
    D q = x * (1.0 / grid);
    q = (D)((W)q & (W)(q - q == 0.0));
    D k = SUFFIX(whole)(q), sum = (q - k) + z, near = SUFFIX(whole)(sum);
    *open |= (W)((D)((W)(sum - near) & ~SIGN) > 0.5 - MARGIN);
    return (k + near) * grid;
}

/* x[0 ...] and x[16 ...] become y[0 ...] and y[16 ...]; which pairs are to be settled. */
INLINE W SUFFIX(rough_pairs)(W w, W a, double scale, double grid, const double *x, double *y) {
    W open = {0};
    D cosine, sine, r = scale * SUFFIX(rough_radius)(w);
    SUFFIX(rough_direction)(a, &cosine, &sine);
    *(D *)y = SUFFIX(on_grid)(*(const D *)x, r * cosine, grid, &open);
    *(D *)(y + 16) = SUFFIX(on_grid)(*(const D *)(x + 16), r * sine, grid, &open);
    return open;
}

/* Settles what is open among the entries from 32 p + b / 2, where words has the words of the blocks from b. */
static void SUFFIX(settle_open)(const uint32_t *start, uint64_t group, int b, const U *words, const W *open,
                                double scale, double grid, const double *x, double *y) {
    for (int p = 0; p < 8; p++)
        for (int l = 0; l < AT_ONCE; l++) {
            uint32_t w = words[2 * p][l], a = words[2 * p + 1][l];
            int i = 8 * (l & 1) + (b + l) / 2, at = 32 * p + i;
            if (open[2 * p + (l & 1)][l / 2] || TOO_ROUGH(w))
                settle(start, 128 * group + 16 * p + i, w, a, scale, grid, x + at, y + at);
        }
}

/* Entries 256 g to 256 g + 255 of a row. */
static void SUFFIX(perturb_256)(const uint32_t *start, uint64_t group, const double *x, double scale, double grid,
                                double *y) {
    for (int b = 0; b < 16; b += AT_ONCE) {
        U words[16], rough = {0};
        W open[16], any = {0};
        SUFFIX(keystream)(start, (uint32_t)(16 * group + b), words);
        for (int p = 0; p < 8; p++) {
            U w = words[2 * p], a = words[2 * p + 1];
            W *even = open + 2 * p, *odd = even + 1; /* blocks */
            int at = 32 * p + b / 2;
            *even = SUFFIX(rough_pairs)((W)w & 0xffffffffu, (W)a & 0xffffffffu, scale, grid, x + at, y + at);
            *odd = SUFFIX(rough_pairs)((W)w >> 32, (W)a >> 32, scale, grid, x + at + 8, y + at + 8);
            any |= *even | *odd;
            rough |= (U)TOO_ROUGH(w);
        }
        any |= (W)rough;
        uint64_t one = 0;
        for (int l = 0; l < LONGS; l++) one |= any[l];
        if (one) SUFFIX(settle_open)(start, group, b, words, open, scale, grid, x, y);
    }
}

#define PERTURB(name, number)                                                                                          \
    static void SUFFIX(name)(uint32_t *start, int64_t n, const number *from, double scale, double grid,                \
                             number *into) {                                                                           \
        double x[256] = {0}, y[256];                                                                                   \
        for (int64_t k = 0; k < n; k += 256) {                                                                         \
            int count = n - k < 256 ? (int)(n - k) : 256;                                                              \
            start[13] = (uint32_t)(k >> 36); /* 2^32 blocks are 2^36 entries */                                        \
            for (int i = 0; i < count; i++) x[i] = from[k + i];                                                        \
            SUFFIX(perturb_256)(start, k / 256, x, scale, grid, y);                                                    \
            for (int i = 0; i < count; i++) into[k + i] = (number)y[i];                                                \
        }                                                                                                              \
    }
PERTURB(perturb_float, float)
PERTURB(perturb_double, double)

static void SUFFIX(rough_normals)(int64_t pairs, const uint64_t *w, const uint64_t *a, double *first, double *second) {
    for (int64_t k = 0; k < pairs; k += LONGS) {
        D cosine, sine, r = SUFFIX(rough_radius)(*(const W *)(w + k));
        SUFFIX(rough_direction)(*(const W *)(a + k), &cosine, &sine);
        *(D *)(first + k) = r * cosine;
        *(D *)(second + k) = r * sine;
    }
}
