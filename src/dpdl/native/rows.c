/* Products and weighted sums of rows. One call is one thread, and adds in one order wherever a row starts.
 *
 * Scalar products of float32 rows are taken in float64, where the product of two float32 numbers is exact. So it makes
 * no difference whether a machine rounds product and sum together or one by one: all variants give equal bits.
 */
#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define STRIP 2048 /* entries of a sum that stay in the first cache while all rows are added */

#define KERNELS "rows.h"
#include "machines.h"

/* For `pairs` of rows, a[k] and b[at[k]], and every one of their `pieces`: <a, b> and <a, a>.
 * Rows lie `a_row` and `b_row` entries apart; `ends` are the ends of the pieces, and the results (pairs, pieces, 2). */
void dpdl_row_products(int64_t pairs, const float *a, int64_t a_row, const float *b, int64_t b_row, const int64_t *at,
                       int64_t pieces, const int64_t *ends, double *out) {
    for (int64_t k = 0; k < pairs; k++)
        for (int64_t p = 0, start = 0; p < pieces; start = ends[p++])
            CHOOSE(product)(ends[p] - start, a + k * a_row + start, b + at[k] * b_row + start,
                            out + 2 * (k * pieces + p));
}

/* out[g] = sum of weight[k] rows[at[k]] over k from bounds[g] to bounds[g + 1], in that order, for every group g.
 * Rows of `width` entries lie `row` and `out_row` entries apart. */
void dpdl_row_sums_float(int64_t groups, const int64_t *bounds, const int64_t *at, const double *weight,
                         const float *rows, int64_t row, int64_t width, float *out, int64_t out_row) {
    CHOOSE(sums_float)(groups, bounds, at, weight, rows, row, width, out, out_row);
}

void dpdl_row_sums_double(int64_t groups, const int64_t *bounds, const int64_t *at, const double *weight,
                          const double *rows, int64_t row, int64_t width, double *out, int64_t out_row) {
    CHOOSE(sums_double)(groups, bounds, at, weight, rows, row, width, out, out_row);
}
