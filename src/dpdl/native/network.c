/* Convolution, ReLU and 2 x 2 max-pool of many samples: forward, and backward with a gradient per sample.
 *
 * Images are channels-last and already padded with zeros: in[(y * width + x) * channels + c]. One row of a filter then
 * meets `run` = kernel columns * channels consecutive numbers. Forward, the filters lie in the lanes of a vector and
 * eight output pixels in its accumulators, so that every weight that is loaded is used eight times. Backward, after
 * max-pool only one of four pixels has a gradient, and after ReLU about half of those: they are collected in a list,
 * and each adds its part of the image to the filter's gradient, and the filter to the image's gradient.
 *
 * Every buffer that is read in whole vectors has 16 floats of slack behind it. One call is one thread.
 */
#define TILE 8 /* output pixels in accumulators */
#define MOST 10 /* vectors that fit into registers beside the rest */
#define MOST_VECTORS 1024

#include <stdint.h>

typedef struct {
    int32_t width, channels;                                     /* of the padded image */
    int32_t kernel_rows, kernel_columns, stride_rows, stride_columns;
    int32_t filters, lanes, bias;                                /* lanes: filters rounded up to 8, or to 16s */
    int32_t relu, pool, rows, columns;                           /* pool: 1 or 2; rows, columns: before pooling */
    int32_t in_sample, out_sample, out_row, out_cell, out_filter; /* strides in floats */
} Conv;

typedef struct {
    int run, span, vectors, rows, columns; /* span: the run in whole vectors; rows, columns: after pooling */
    int down, across, within[4];           /* from window to window, and to the pixels of one */
    int at[MOST_VECTORS];                  /* where in the image every vector of a filter lies */
    int32_t kept[16];                      /* -1 where the last vector of a run still belongs to it, else 0 */
} Shape;

static Shape shape_of(const Conv *c) {
    Shape z;
    int row = c->width * c->channels;
    z.run = c->kernel_columns * c->channels;
    z.span = (z.run + 15) / 16 * 16;
    z.vectors = c->kernel_rows * (z.span / 16);
    z.rows = c->rows / c->pool;
    z.columns = c->columns / c->pool;
    z.down = c->pool * c->stride_rows * row;
    z.across = c->pool * c->stride_columns * c->channels;
    for (int p = 0; p < 4; p++) z.within[p] = p / 2 * c->stride_rows * row + p % 2 * c->stride_columns * c->channels;
    for (int j = 0; j < z.vectors; j++) z.at[j] = j / (z.span / 16) * row + j % (z.span / 16) * 16;
    for (int l = 0; l < 16; l++) z.kept[l] = z.span - 16 + l < z.run ? -1 : 0;
    return z;
}

#define KERNELS "convolution.h"
#include "machines.h"

void conv_forward(const Conv *c, int samples, const float *in, const float *w, const float *bias, float *out,
                  int8_t *winner) {
    CHOOSE(forward)(c, samples, in, w, bias, out, winner);
}

void conv_backward(const Conv *c, int samples, const float *in, const float *dout, const int8_t *winner,
                   const float *weight, float *gw, float *norms, float *din, int *from, float *g) {
    CHOOSE(backward)(c, samples, in, dout, winner, weight, gw, norms, din, from, g);
}
