/* Sums of clipped per-sample gradients, for networks of convolutions and linear layers: see `learn.h`.
 *
 * A Network is the memory of one thread. One call is one thread, and adds in one order: its bits do not depend on how
 * many threads there are. Every buffer has some slack behind it, as kernels read and write in whole vectors.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TILE 8 /* output pixels in accumulators */
#define SLACK 64
#define MOST_VECTORS 2048
#define CODE(offset, pixel) ((offset) * 4 + (pixel)) /* where a window has its maximum; -1: ReLU is zero there */
#define UP(n, to) (((n) + (to) - 1) / (to) * (to))

/* What Python says about a layer; sizes are those of one sample. */
typedef struct {
    int32_t channels, height, width, padding_rows, padding_columns; /* of the image before padding */
    int32_t kernel_rows, kernel_columns, stride_rows, stride_columns;
    int32_t filters, bias, relu, pool; /* pool: 1 or 2 */
    int32_t groups, affine;            /* group norm, before ReLU and max-pool; groups = 0: none */
    float eps;
} Conv;

typedef struct {
    int32_t inputs, outputs, bias, relu;
} Linear;

typedef struct {
    Conv conv;
    int in_sample, row, run, span, step, vectors; /* span: the run in whole vectors of `step` */
    int lanes, few;                               /* lanes: filters rounded up; few: pixels lie in lanes instead */
    int rows, columns, cells;                     /* of the result; cells: from one filter's codes to the next's */
    int down, across, within[4];                  /* from window to window, and to the pixels of one */
    int tile[TILE], last_tile[TILE];              /* where the pixels of a tile lie; the last in a row may be narrower */
    int at[MOST_VECTORS];                         /* where in the image every vector of a filter lies */
    int out_row, out_cell, out_filter;
    const float *weight, *scale, *shift;          /* in the row of parameters; scale and shift: of group norm */
    float *packed, *biases, *filters;             /* [kernel row][run][lanes]; [lanes]; [filter][kernel row][span] */
    float *images;                                /* its inputs, padded, channels-last */
    float *image_gradient;                        /* of one sample */
    int32_t *where;                               /* codes, [sample][filter][cells] */
    float *gradient, *sum;                        /* [filter][kernel row][span], biases, scales, shifts */
    /* Group norm stands between the convolution, which is dense then, and what comes after. */
    int pool, relu, dense_rows, dense_columns, norm_row, norm_cell, norm_filter;
    float *normal, *deviations, *dense; /* normalised values; [sample][group]; gradient of one sample */
    int32_t *chosen;                    /* pixels that the pooled values come from, or -1 */
} ConvStage;

typedef struct {
    Linear linear;
    int lanes_in, lanes_out;
    float *weight, *turned, *biases; /* [output][lanes in], [input][lanes out], [lanes out] */
    float *inputs, *deltas;          /* [sample][lanes in], and the gradient of its result, [sample][lanes out] */
    float *sum, *bias_sum;
} LinearStage;

typedef struct {
    int *from;
    float *g;
} Room;

typedef struct {
    int level, convs, linears, samples, parts;
    ConvStage *conv;
    LinearStage *linear;
    float *outputs, *first_deltas, *lengths, *scale;
    Room room;
    void *part[512];
} Network;

static size_t gradient_size(const ConvStage *s) {
    return (size_t)s->conv.filters * (s->conv.kernel_rows * s->span + 3);
}

static size_t pixels(const ConvStage *s) { return (size_t)s->dense_rows * s->dense_columns * s->conv.filters; }

/* Numbers of one input. */
static size_t input_size(const Network *net) {
    const Conv *c = &net->conv[0].conv;
    return net->convs ? (size_t)c->channels * c->height * c->width : (size_t)net->linear[0].linear.inputs;
}

#define KERNELS "learn.h"
#include "machines.h"

static void *zeros(Network *net, size_t numbers) {
    size_t bytes = UP((numbers + SLACK) * sizeof(float), 64);
    void *found = aligned_alloc(64, bytes);
    if (found) memset(found, 0, bytes);
    net->part[net->parts++] = found;
    return found;
}

static int whole(const Network *net) {
    for (int k = 0; k < net->parts; k++)
        if (!net->part[k]) return 0;
    return 1;
}

void dpdl_network_free(Network *net) {
    for (int k = 0; k < net->parts; k++) free(net->part[k]);
    free(net->conv);
    free(net->linear);
    free(net);
}

/* Where things lie; `after` is the next convolution or NULL. */
static void lay_out(ConvStage *s, int level, const Conv *c, const Conv *after) {
    memset(s, 0, sizeof *s);
    s->conv = *c;
    s->pool = c->pool;
    s->relu = c->relu;
    if (c->groups) s->conv.pool = 1, s->conv.relu = 0;
    int pool = s->conv.pool, width = c->width + 2 * c->padding_columns, height = c->height + 2 * c->padding_rows;
    s->in_sample = height * width * c->channels;
    s->row = width * c->channels;
    s->run = c->kernel_columns * c->channels;
    s->span = s->run <= 8 ? 8 : UP(s->run, 16);
    s->step = level == 2 && s->span > 8 ? 16 : 8;
    s->vectors = c->kernel_rows * (s->span / s->step);
    s->lanes = c->filters <= 8 ? 8 : UP(c->filters, 16);
    s->few = c->channels == 1 && s->lanes == 8 && c->stride_columns == 1 && pool == 2;
    s->dense_rows = (height - c->kernel_rows) / c->stride_rows + 1;
    s->dense_columns = (width - c->kernel_columns) / c->stride_columns + 1;
    s->rows = s->dense_rows / pool;
    s->columns = s->dense_columns / pool;
    s->cells = s->rows * s->columns + 16;
    s->down = pool * c->stride_rows * s->row;
    s->across = pool * c->stride_columns * c->channels;
    for (int p = 0; p < 4; p++)
        s->within[p] = p / 2 * c->stride_rows * s->row + p % 2 * c->stride_columns * c->channels;
    int window = pool * pool, per = TILE / window, left = s->columns % per ? s->columns % per : per;
    for (int p = 0; p < TILE; p++) {
        int q = p / window, inside = pool == 1 ? 0 : s->within[p % window];
        s->tile[p] = q * s->across + inside;
        s->last_tile[p] = (q < left ? q : left - 1) * s->across + inside;
    }
    for (int j = 0; j < s->vectors; j++) {
        int per_row = s->span / s->step;
        s->at[j] = j / per_row * s->row + j % per_row * s->step;
    }
    int rows = s->dense_rows / c->pool, columns = s->dense_columns / c->pool;
    int row = columns, cell = 1, filter = rows * columns; /* as Flatten wants it */
    if (after)                                            /* inside the padding of the next image */
        row = (after->width + 2 * after->padding_columns) * c->filters, cell = c->filters, filter = 1;
    if (c->groups) {
        s->norm_row = row, s->norm_cell = cell, s->norm_filter = filter;
        row = s->dense_columns * c->filters, cell = c->filters, filter = 1;
    }
    s->out_row = row, s->out_cell = cell, s->out_filter = filter;
}

/* Floats that one more sample needs. */
static size_t per_sample(const Network *net) {
    size_t floats = 0;
    for (int k = 0; k < net->convs; k++) {
        const ConvStage *s = &net->conv[k];
        floats += s->in_sample + s->conv.filters * (size_t)s->cells + (s->conv.groups ? 2 * pixels(s) : 0);
    }
    for (int k = 0; k < net->linears; k++) floats += 2 * (net->linear[k].lanes_in + net->linear[k].lanes_out);
    return floats;
}

/* The memory of one thread for at most `floats` floats and `most` samples at once; NULL if there is not enough. */
Network *dpdl_network_new(int convs, const Conv *conv, int linears, const Linear *linear, long floats, int most) {
    Network *net = calloc(1, sizeof *net);
    if (!net) return NULL;
    net->level = dpdl_machine();
    net->convs = convs;
    net->linears = linears;
    net->conv = malloc(sizeof(ConvStage) * (convs + 1));
    net->linear = calloc(linears, sizeof(LinearStage));
    if (!net->conv || !net->linear) {
        dpdl_network_free(net);
        return NULL;
    }
    for (int k = 0; k < convs; k++) lay_out(&net->conv[k], net->level, &conv[k], k + 1 < convs ? &conv[k + 1] : NULL);
    for (int k = 0; k < linears; k++) {
        LinearStage *s = &net->linear[k];
        s->linear = linear[k];
        s->lanes_in = UP(linear[k].inputs, 16);
        s->lanes_out = UP(linear[k].outputs, 16);
    }
    size_t fit = floats / per_sample(net);
    int n = net->samples = fit < 1 ? 1 : fit < (size_t)most ? (int)fit : most, room = 0;
    for (int k = 0; k < convs; k++) {
        ConvStage *s = &net->conv[k];
        const Conv *c = &s->conv;
        s->packed = zeros(net, (size_t)c->kernel_rows * s->run * s->lanes);
        s->biases = zeros(net, s->lanes);
        s->filters = zeros(net, (size_t)c->filters * c->kernel_rows * s->span);
        s->images = zeros(net, (size_t)n * s->in_sample);
        s->image_gradient = zeros(net, s->in_sample);
        s->where = zeros(net, (size_t)n * c->filters * s->cells);
        s->gradient = zeros(net, gradient_size(s));
        s->sum = zeros(net, gradient_size(s));
        if (c->groups) {
            s->normal = zeros(net, n * pixels(s));
            s->dense = zeros(net, pixels(s));
            s->deviations = zeros(net, (size_t)n * c->groups);
            s->chosen = zeros(net, n * pixels(s));
        }
        if (room < s->cells) room = s->cells;
        if (room < 4 * UP(c->filters, 4)) room = 4 * UP(c->filters, 4);
    }
    for (int k = 0; k < linears; k++) {
        LinearStage *s = &net->linear[k];
        s->weight = zeros(net, (size_t)s->linear.outputs * s->lanes_in);
        s->turned = zeros(net, (size_t)s->linear.inputs * s->lanes_out);
        s->biases = zeros(net, s->lanes_out);
        s->inputs = zeros(net, (size_t)n * s->lanes_in);
        s->deltas = zeros(net, (size_t)n * s->lanes_out);
        s->sum = zeros(net, (size_t)s->linear.outputs * s->lanes_in);
        s->bias_sum = zeros(net, s->lanes_out);
    }
    net->outputs = zeros(net, (size_t)n * net->linear[linears - 1].lanes_out);
    net->first_deltas = zeros(net, (size_t)n * net->linear[0].lanes_in);
    net->lengths = zeros(net, n);
    net->scale = zeros(net, n);
    net->room = (Room){zeros(net, room), zeros(net, room)};
    if (whole(net)) return net;
    dpdl_network_free(net);
    return NULL;
}

/* The sum over `samples` of their gradients into `out`, each shortened to clip_norm (if `clip`); facts: samples that
   were shortened, and that were not finite and count as zero (if `clip`). masks: what dropout multiplies the result of
   every linear layer with, or NULL. The sum of the losses is returned, or -1 if a label is not a class. */
double dpdl_network_sum(Network *net, const float *row, const float *x, const int64_t *y, const float *const *masks,
                        long samples, int clip, float clip_norm, float *out, int64_t *facts) {
    const Linear *last = &net->linear[net->linears - 1].linear;
    for (long i = 0; i < samples; i++)
        if (y[i] < 0 || y[i] >= last->outputs) return -1;
    return CHOOSE_AT(net->level, sum)(net, row, x, y, masks, samples, clip, clip_norm, out, facts);
}

/* Outputs without dropout. */
void dpdl_network_outputs(Network *net, const float *row, const float *x, long samples, float *out) {
    CHOOSE_AT(net->level, outputs)(net, row, x, samples, out);
}
