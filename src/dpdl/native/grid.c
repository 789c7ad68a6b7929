/* Gaussian noise on a public grid, from a key: what leaves in secure mode. `docs/noise.md` has the proof.
 *
 *     y = grid * rint(x / grid + scale * normal),    scale = std / grid, 512 <= |scale| < 1024, grid a power of two
 *
 * with one rounding of the sum: x is never rounded alone. The normals come in pairs, from ChaCha20 streams of the key.
 * Pair 128 g + 16 p + i, with p < 8 and i < 16, has
 *
 *     w, a      words 2p and 2p + 1 of block 16 g + 2 (i mod 8) + i div 8 of stream 0
 *     more[9]   the first words of block 128 g + 16 p + i of stream 1
 *
 * and perturbs entries 256 g + 32 p + i and 256 g + 32 p + 16 + i, by Box and Muller: sqrt(-2 log v) times the cosine and
 * the sine of 2 pi t, where in binary digits
 *
 *     v = 0. w more[0] ... more[7] 1        (288 digits and a last 1, so that no v is 0)
 *     t = 0. a more[8] 1                    (64 digits and a last 1)
 *
 * `normals` below says what they are to the last bit, `settle` what y is. Most of the time w and a alone decide y: a
 * kernel of `grid.h` computes the normals from them roughly, for many pairs at once. Where the digits that it did not
 * read, or its own errors, could matter, `settle` is called: for one pair in a thousand. So y has the same bits on every
 * machine, and without these kernels too (`privacy/grid.py`).
 */
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the kernels read two 32-bit words as one number of 64 bits, low word first; numpy does it on this machine"
#endif

#define MARGIN 0x1p-13 /* of a step of the grid: a rough sum that is so close to an edge decides nothing */
#define LEAST 0x200000u /* below this w, and less than 2^14 below 2^32, the radius depends too much on more */
#define TOO_ROUGH(w) ((w) - LEAST >= 0u - 0x4000u - LEAST)
#define HALF_ROOT 0x3fe6a09e667f3bcdu /* the bits of sqrt(1/2) */
#define LOG_4 1.3862943611198906

static void __attribute__((noinline)) settle(const uint32_t *start, uint64_t pair, uint32_t w, uint32_t a,
                                             double scale, double grid, const double *x, double *y);

#define KERNELS "grid.h"
#include "machines.h"

#ifdef __GNUC__
/* From here on, product and sum are rounded separately on every machine, although some could do both at once. */
#pragma GCC optimize("fp-contract=off")
#endif

/* Minimax, with z the square of the argument: artanh s = s (1 + z LOG), to 2^-58 of it where |s| <= 0.1716;
 * sin a = a (1 + z SIN) and cos a = 1 - z / 2 + z^2 COS, to 2^-57 where |a| <= pi / 4. */
static const double LOG[7] = {0x1.5555555555592p-2, 0x1.999999997fd7ap-3, 0x1.24924941f4e05p-3, 0x1.c71c520615de0p-4,
                              0x1.74663fa07a01fp-4, 0x1.39a1a70c4652ap-4, 0x1.2f0634596ccf8p-4};
static const double SIN[6] = {-0x1.5555555555549p-3, 0x1.111111110f87dp-7,  -0x1.a01a019c12010p-13,
                              0x1.71de357814d5dp-19, -0x1.ae5e668766e82p-26, 0x1.5d9318136495dp-33};
static const double COS[6] = {0x1.555555555554bp-5,   -0x1.6c16c16c14f8ep-10, 0x1.a01a019c83efdp-16,
                              -0x1.27e4f7ea7e127p-22, 0x1.1ee9d783bcbeap-29,  -0x1.8fa4800322be2p-37};

static double polynomial(const double *terms, int count, double z) {
    double p = terms[count - 1];
    for (int k = count - 2; k >= 0; k--) p = p * z + terms[k];
    return p;
}

/* sqrt(-2 log v), v = 2^exponent (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). */
static double radius(uint32_t w, const uint32_t *more) {
    uint32_t above_half = -(w >> 31); /* then the digits are those of 1 - v: none is lost at either end */
    double tail = 0.5;
    for (int k = 7; k >= 0; k--) tail = ((double)(more[k] ^ above_half) + tail) * 0x1p-32;
    double from_end = ((double)(w ^ above_half) + tail) * 0x1p-32;
    double v = above_half ? 1.0 - from_end : from_end, f;
    uint64_t bits, above;
    memcpy(&bits, &v, sizeof v);
    above = bits - HALF_ROOT;
    bits -= above & 0xfff0000000000000u;
    memcpy(&f, &bits, sizeof f);
    double exponent = (double)((int64_t)above >> 52);
    f = exponent == 0.0 ? -from_end : f - 1.0;
    double s = f / (2.0 + f), z = s * s;
    double square = -4.0 * (s + s * (z * polynomial(LOG, 7, z))) - LOG_4 * exponent;
    return __builtin_sqrt(square);
}

/* cos and sin of 2 pi t. */
static void direction(uint32_t a, uint32_t more, double *cosine, double *sine) {
    uint64_t t = (uint64_t)a << 32 | more;
    int quarter = (int)((t + 0x2000000000000000u) >> 62);                           /* the nearest multiple of pi / 2 */
    double angle = ((double)(int64_t)(t << 2) + 2.0) * 0x1.921fb54442d18p-64; /* from there: 2 pi 2^-66 = pi/2 2^-64 */
    double z = angle * angle;
    double s = angle + angle * (z * polynomial(SIN, 6, z));
    double c = 1.0 - (0.5 * z - z * z * polynomial(COS, 6, z));
    double turned[4] = {c, -s, -c, s};
    *cosine = turned[quarter];
    *sine = turned[(quarter + 3) & 3];
}

static void normals(uint32_t w, uint32_t a, const uint32_t *more, double scale, double *z) {
    double r = scale * radius(w, more);
    direction(a, more[8], z, z + 1);
    z[0] *= r;
    z[1] *= r;
}

/* The nearest whole number, of two the even one; beyond 2^52 every double is whole. */
static double whole(double q) {
    if (q >= 0x1p52 || q <= -0x1p52) return q;
    return q < 0.0 ? (q - 0x1p52) + 0x1p52 : (q + 0x1p52) - 0x1p52;
}

/* x[0] and x[16] become y[0] and y[16]. What is not finite counts as 0. */
static void settle(const uint32_t *start, uint64_t pair, uint32_t w, uint32_t a, double scale, double grid,
                   const double *x, double *y) {
    uint32_t first[16], more[16];
    memcpy(first, start, sizeof first);
    first[12] = (uint32_t)pair;
    first[13] = (uint32_t)(pair >> 32);
    first[14] = 1;
    memcpy(more, first, sizeof more);
    for (int i = 0; i < 10; i++) {
        TWO_ROUNDS(more)
    }
    for (int k = 0; k < 9; k++) more[k] += first[k];
    double z[2];
    normals(w, a, more, scale, z);
    for (int c = 0; c < 2; c++) {
        double q = x[16 * c] * (1.0 / grid);
        if (!(q - q == 0.0)) q = 0.0;
        double k = whole(q);
        y[16 * c] = (k + whole((q - k) + z[c])) * grid;
    }
}

/* into = from with noise of deviation `std` on `grid`, n numbers; `into` may be `from`. */
void dpdl_perturb_on_grid_float(const uint8_t *key, int64_t n, const float *from, double std, double grid,
                                float *into) {
    uint32_t start[16];
    begin(key, start);
    CHOOSE(perturb_float)(start, n, from, std / grid, grid, into);
}

void dpdl_perturb_on_grid_double(const uint8_t *key, int64_t n, const double *from, double std, double grid,
                                 double *into) {
    uint32_t start[16];
    begin(key, start);
    CHOOSE(perturb_double)(start, n, from, std / grid, grid, into);
}

/* For tests: the two normals of every pair, from its w, a and more, 11 words in a row. */
void dpdl_grid_normals(int64_t pairs, const uint32_t *words, double *out) {
    for (int64_t k = 0; k < pairs; k++) normals(words[11 * k], words[11 * k + 1], words + 11 * k + 2, 1.0, out + 2 * k);
}

/* For tests: what the kernel takes for them, from w and a alone; 0 where it does not use it. A multiple of 8 pairs. */
void dpdl_grid_rough(int64_t pairs, const uint64_t *w, const uint64_t *a, double *first, double *second) {
    CHOOSE(rough_normals)(pairs, w, a, first, second);
    for (int64_t k = 0; k < pairs; k++)
        if (TOO_ROUGH((uint32_t)w[k])) first[k] = second[k] = 0.0;
}
