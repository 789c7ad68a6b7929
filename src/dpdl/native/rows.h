/* The kernels of `rows.c`. */

#if MACHINE_LEVEL == 2
#define WIDE 8 /* float64 numbers in a register */
#elif MACHINE_LEVEL == 1
#define WIDE 4
#else
#define WIDE 2
#endif
typedef double SUFFIX(doubles) __attribute__((vector_size(8 * WIDE)));
typedef float SUFFIX(floats) __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));

#if MACHINE_LEVEL == 2 /* the compiler would take the long way, by halves */
#define LOAD(p) (SUFFIX(doubles))_mm512_cvtps_pd(_mm256_loadu_ps(p))
#else
#define LOAD(p) __builtin_convertvector(*(const SUFFIX(floats) *)(p), SUFFIX(doubles))
#endif

/* 16 sums side by side, whatever the width of a register is. */
INLINE void SUFFIX(add_16)(const float *a, const float *b, SUFFIX(doubles) *ab, SUFFIX(doubles) *aa) {
    for (int v = 0; v < 16 / WIDE; v++) {
        SUFFIX(doubles) x = LOAD(a + v * WIDE), y = LOAD(b + v * WIDE);
        ab[v] += x * y;
        aa[v] += x * x;
    }
}

static void SUFFIX(product)(int64_t n, const float *a, const float *b, double *out) {
    SUFFIX(doubles) ab[16 / WIDE], aa[16 / WIDE];
    memset(ab, 0, sizeof ab);
    memset(aa, 0, sizeof aa);
    int64_t k = 0;
    for (; k + 16 <= n; k += 16) SUFFIX(add_16)(a + k, b + k, ab, aa);
    if (k < n) {
        float rest_a[16] = {0}, rest_b[16] = {0};
        memcpy(rest_a, a + k, (n - k) * sizeof *a);
        memcpy(rest_b, b + k, (n - k) * sizeof *b);
        SUFFIX(add_16)(rest_a, rest_b, ab, aa);
    }
    out[0] = out[1] = 0;
    for (int l = 0; l < 16; l++) {
        out[0] += ab[l / WIDE][l % WIDE];
        out[1] += aa[l / WIDE][l % WIDE];
    }
}

/* Product and sum are rounded together where the machine can, as torch does it. */
#if MACHINE_LEVEL > 0
#define MULTIPLY_ADD_float(a, b, c) __builtin_fmaf(a, b, c)
#define MULTIPLY_ADD_double(a, b, c) __builtin_fma(a, b, c)
#else
#define MULTIPLY_ADD_float(a, b, c) ((a) * (b) + (c))
#define MULTIPLY_ADD_double(a, b, c) ((a) * (b) + (c))
#endif

#define SUMS(real)                                                                                                     \
    static void SUFFIX(sums_##real)(int64_t groups, const int64_t *bounds, const int64_t *at, const double *weight,    \
                                    const real *rows, int64_t row, int64_t width, real *out, int64_t out_row) {        \
        for (int64_t g = 0; g < groups; g++)                                                                           \
            for (int64_t start = 0; start < width; start += STRIP) {                                                   \
                int64_t n = width - start < STRIP ? width - start : STRIP;                                             \
                real *restrict sum = out + g * out_row + start;                                                        \
                memset(sum, 0, n * sizeof *sum);                                                                       \
                for (int64_t k = bounds[g]; k < bounds[g + 1]; k++) {                                                  \
                    const real *restrict x = rows + at[k] * row + start;                                               \
                    real w = (real)weight[k];                                                                          \
                    for (int64_t l = 0; l < n; l++) sum[l] = MULTIPLY_ADD_##real(w, x[l], sum[l]);                     \
                }                                                                                                      \
            }                                                                                                          \
    }

SUMS(float)
SUMS(double)

#undef WIDE
#undef LOAD
#undef SUMS
#undef MULTIPLY_ADD_float
#undef MULTIPLY_ADD_double
