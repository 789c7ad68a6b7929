/* Convolution, ReLU and 2 x 2 max-pool of one sample: forward, and backward with a gradient of its own.
 *
 * Images are channels-last and already padded with zeros: in[(y * width + x) * channels + c]. One row of a filter then
 * meets `run` = kernel columns * channels consecutive numbers. Forward, the filters lie in the lanes of a vector and
 * eight output pixels in its accumulators, so that every weight that is loaded is used eight times; few filters on one
 * channel would leave lanes empty, and there pixels lie in the lanes. Backward, after max-pool only one of four pixels
 * has a gradient, and after ReLU about half of those: they are collected in lists, and each adds its part of the image
 * to the filter's gradient, and the filter to the image's gradient.
 */
#define FORWARD(NAME, V, I, L) FORWARD_(NAME, V, I, L)
#define FORWARD_(NAME, V, I, L)                                                                                         \
    INLINE void NAME##_tile(const float *in, const int *at, const float *w, int kernel, int row, int run, int lanes,    \
                            V *acc) {                                                                                   \
        const float *pixel[TILE];                                                                                       \
        for (int p = 0; p < TILE; p++) pixel[p] = in + at[p];                                                           \
        for (int ky = 0; ky < kernel; ky++) {                                                                           \
            for (int64_t k = 0; k < run; k++, w += lanes) {                                                             \
                V weight = *(const V *)w;                                                                               \
                for (int p = 0; p < TILE; p++) acc[p] += pixel[p][k] * weight;                                          \
            }                                                                                                           \
            for (int p = 0; p < TILE; p++) pixel[p] += row;                                                             \
        }                                                                                                               \
    }                                                                                                                   \
    static void NAME(const ConvStage *s, const float *in, float *out, int32_t *where) {                                 \
        const Conv *c = &s->conv;                                                                                       \
        int window = c->pool * c->pool, per = TILE / window;                                                            \
        for (int py = 0; py < s->rows; py++)                                                                            \
            for (int px = 0; px < s->columns; px += per) {                                                              \
                int first = py * s->down + px * s->across, cell = py * s->columns + px;                                 \
                const int *at = px + per <= s->columns ? s->tile : s->last_tile;                                        \
                int cells = px + per <= s->columns ? per : s->columns - px;                                             \
                for (int f = 0; f < c->filters; f += L) {                                                               \
                    V acc[TILE];                                                                                        \
                    for (int p = 0; p < TILE; p++) acc[p] = *(const V *)(s->biases + f);                                \
                    NAME##_tile(in + first, at, s->packed + f, c->kernel_rows, s->row, s->run, s->lanes, acc);          \
                    int here = c->filters - f < L ? c->filters - f : L;                                                 \
                    for (int q = 0; q < cells; q++) {                                                                   \
                        V best = acc[q * window];                                                                       \
                        I code = (I){0} + CODE(first + at[q * window], 0);                                              \
                        for (int a = 1; a < window; a++) {                                                              \
                            V value = acc[q * window + a];                                                              \
                            I take = (value > best) | (value != value);                                                 \
                            best = (V)((take & (I)value) | (~take & (I)best));                                          \
                            code = (take & CODE(first + at[q * window + a], a)) | (~take & code);                       \
                        }                                                                                               \
                        if (c->relu) {                                                                                  \
                            I dead = best <= 0;                                                                         \
                            best = (V)(~dead & (I)best);                                                                \
                            code |= dead;                                                                               \
                        }                                                                                               \
                        float *o = out + py * s->out_row + (px + q) * s->out_cell + f * s->out_filter;                  \
                        if (here == L && s->out_filter == 1)                                                            \
                            *(V *)o = best;                                                                             \
                        else                                                                                            \
                            for (int l = 0; l < here; l++) o[l * s->out_filter] = best[l];                              \
                        for (int l = 0; l < here; l++) where[(f + l) * s->cells + cell + q] = code[l];                  \
                    }                                                                                                   \
                }                                                                                                       \
            }                                                                                                           \
    }
FORWARD(SUFFIX(forward8), v8, i8, 8)
#if MACHINE_LEVEL == 2
FORWARD(SUFFIX(forward16), v16, i16, 16)
#define ACROSS 2 /* vectors of pixels, beside and below each other: four times FILTERS accumulators */
#define EVEN (INTEGERS){0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}
#define COUNT (INTEGERS){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
#else
#define ACROSS 1
#define EVEN (INTEGERS){0, 2, 4, 6, 0, 2, 4, 6}
#define COUNT (INTEGERS){0, 1, 2, 3, 4, 5, 6, 7}
#endif
#define FILTERS 6

/* One channel, stride 1, max-pool: FILTERS filters, and two rows of ACROSS vectors of pixels. */
INLINE void SUFFIX(few)(const ConvStage *s, const float *in, int py, int px, int f, float *out, int32_t *where) {
    const Conv *c = &s->conv;
    int first = py * s->down + px * s->across, cell = py * s->columns + px;
    int size = c->kernel_rows * c->kernel_columns, here = c->filters - f < FILTERS ? c->filters - f : FILTERS;
    VECTOR sum[FILTERS][2][ACROSS];
    for (int k = 0; k < FILTERS; k++)
        for (int v = 0; v < 2 * ACROSS; v++) sum[k][v / ACROSS][v % ACROSS] = (VECTOR){0} + s->biases[f + k];
    const float *pixel = in + first, *w = s->weight + (size_t)f * size;
    for (int ky = 0; ky < c->kernel_rows; ky++, pixel += s->row)
        for (int kx = 0; kx < c->kernel_columns; kx++, w++) {
            VECTOR image[2][ACROSS];
            for (int v = 0; v < 2 * ACROSS; v++)
                image[v / ACROSS][v % ACROSS] = *(const VECTOR *)(pixel + v / ACROSS * s->row + v % ACROSS * LANES + kx);
            for (int k = 0; k < FILTERS; k++) {
                float weight = w[(k < here ? k : 0) * size];
                for (int v = 0; v < 2 * ACROSS; v++)
                    sum[k][v / ACROSS][v % ACROSS] += weight * image[v / ACROSS][v % ACROSS];
            }
        }
    int cells = s->columns - px < LANES / 2 * ACROSS ? s->columns - px : LANES / 2 * ACROSS;
    INTEGERS start = CODE(first, 0) + COUNT * CODE(s->across, 0);
    for (int k = 0; k < here; k++) {
        VECTOR best = __builtin_shuffle(sum[k][0][0], sum[k][0][ACROSS - 1], EVEN);
        INTEGERS code = start;
        for (int a = 1; a < 4; a++) {
            VECTOR value = __builtin_shuffle(sum[k][a / 2][0], sum[k][a / 2][ACROSS - 1], EVEN + a % 2);
            INTEGERS take = (value > best) | (value != value);
            best = (VECTOR)((take & (INTEGERS)value) | (~take & (INTEGERS)best));
            code = (take & (start + CODE(s->within[a], a))) | (~take & code);
        }
        if (c->relu) {
            INTEGERS dead = best <= 0;
            best = (VECTOR)(~dead & (INTEGERS)best);
            code |= dead;
        }
        *(INTEGERS *)(where + (f + k) * s->cells + cell) = code; /* what is too much, the next row writes again */
        float *o = out + py * s->out_row + px * s->out_cell + (f + k) * s->out_filter;
        for (int q = 0; q < cells; q++) o[q * s->out_cell] = best[q];
    }
}

static void SUFFIX(forward)(const ConvStage *s, const float *in, float *out, int32_t *where) {
    if (s->few) {
        for (int py = 0; py < s->rows; py++)
            for (int px = 0; px < s->columns; px += LANES / 2 * ACROSS)
                for (int f = 0; f < s->conv.filters; f += FILTERS) SUFFIX(few)(s, in, py, px, f, out, where);
        return;
    }
#if MACHINE_LEVEL == 2
    if (s->lanes > 8) {
        SUFFIX(forward16)(s, in, out, where);
        return;
    }
#endif
    SUFFIX(forward8)(s, in, out, where);
}

/* out = the sum over i of g[i] times the R vectors at in + from[i] + at[...]; two i at once if there is room. */
#define GATHER(R)                                                                                                       \
    case R: {                                                                                                           \
        V sum[R], more[R];                                                                                              \
        for (int j = 0; j < R; j++) sum[j] = more[j] = (V){0};                                                          \
        int i = 0;                                                                                                      \
        for (; R <= 6 && i + 1 < n; i += 2) {                                                                           \
            const float *p = in + from[i], *q = in + from[i + 1];                                                       \
            for (int j = 0; j < R; j++) {                                                                               \
                sum[j] += g[i] * *(const V *)(p + at[j]);                                                               \
                more[j] += g[i + 1] * *(const V *)(q + at[j]);                                                          \
            }                                                                                                           \
        }                                                                                                               \
        for (; i < n; i++) {                                                                                            \
            const float *p = in + from[i];                                                                              \
            for (int j = 0; j < R; j++) sum[j] += g[i] * *(const V *)(p + at[j]);                                       \
        }                                                                                                               \
        for (int j = 0; j < R; j++) *(V *)(out + L * j) = sum[j] + more[j];                                             \
    } break;
/* To the R vectors at image + at[...], add the sum over i of g[i] times those at weight + from[i]. */
#define SCATTER(R)                                                                                                      \
    case R: {                                                                                                           \
        V sum[R];                                                                                                       \
        for (int j = 0; j < R; j++) sum[j] = *(const V *)(image + at[j]);                                               \
        for (int i = 0; i < n; i++) {                                                                                   \
            const float *p = weight + from[i];                                                                          \
            for (int j = 0; j < R; j++) sum[j] += g[i] * *(const V *)(p + L * j);                                       \
        }                                                                                                               \
        for (int j = 0; j < R; j++) *(V *)(image + at[j]) = sum[j];                                                     \
    } break;
#define CASES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10)
#define MOST 10 /* vectors that fit into registers beside the rest */

#define V v8
#define L 8
static void SUFFIX(gather8)(int r, int n, const float *in, const int *from, const float *g, const int *at, float *out) {
    switch (r) { CASES(GATHER) }
}
static void SUFFIX(scatter8)(int r, int n, float *image, const int *from, const float *g, const int *at,
                             const float *weight) {
    switch (r) { CASES(SCATTER) }
}
#undef V
#undef L
#if MACHINE_LEVEL == 2
#define V v16
#define L 16
static void SUFFIX(gather16)(int r, int n, const float *in, const int *from, const float *g, const int *at, float *out) {
    switch (r) { CASES(GATHER) }
}
static void SUFFIX(scatter16)(int r, int n, float *image, const int *from, const float *g, const int *at,
                              const float *weight) {
    switch (r) { CASES(SCATTER) }
}
#undef V
#undef L
#define PICK(s, name) ((s)->step == 16 ? SUFFIX(name##16) : SUFFIX(name##8))
#else
#define PICK(s, name) SUFFIX(name##8)
#endif

/* The gradient of the image: window by window, pixel by pixel, the filters whose output there was the winner. */
static void SUFFIX(to_image)(const ConvStage *s, const float *dout, const int32_t *where, float *din, Room *room) {
    int filters = s->conv.filters, size = s->conv.kernel_rows * s->span, most = UP(filters, 4);
    for (int y = 0; y < s->rows; y++)
        for (int x = 0; x < s->columns; x++, where++) {
            const float *values = dout + y * s->out_row + x * s->out_cell;
            int count[4] = {0};
            for (int f = 0; f < filters; f++) {
                int code = where[f * s->cells], pixel = code & 3, k = pixel * most + count[pixel];
                room->from[k] = f * size;
                room->g[k] = values[f * s->out_filter];
                count[pixel] += code >= 0;
            }
            for (int pixel = 0; pixel < 4; pixel++) {
                float *image = din + y * s->down + x * s->across + s->within[pixel], *g = room->g + pixel * most;
                int *from = room->from + pixel * most, n = count[pixel];
                while (n % 4) from[n] = 0, g[n++] = 0; /* lists of few lengths: the processor foresees their ends */
                for (int j = 0; n && j < s->vectors; j += MOST)
                    PICK(s, scatter)(s->vectors - j < MOST ? s->vectors - j : MOST, n, image, from, g, s->at + j,
                                     s->filters + s->step * j);
            }
        }
}

/* gw: the gradient, [filter][kernel row][span], then [filter] biases; its squared length is returned.
   din: the gradient of the image, or NULL. */
static float SUFFIX(backward)(const ConvStage *s, const float *in, const float *dout, const int32_t *where, float *gw,
                              float *din, Room *room) {
    int size = s->conv.kernel_rows * s->span;
    float *out = gw, *biases = gw + (size_t)s->conv.filters * size, square = 0;
    for (int f = 0; f < s->conv.filters; f++, out += size) {
        const int32_t *code = where + f * s->cells;
        const float *values = dout + f * s->out_filter;
        int n = 0;
        for (int y = 0; y < s->rows; y++)
            for (int x = 0; x < s->columns; x++, code++) {
                room->from[n] = *code >> 2;
                room->g[n] = values[y * s->out_row + x * s->out_cell];
                n += *code >= 0;
            }
        float total = biases[f] = SUFFIX(total_of)(room->g, n);
        square += s->conv.bias * total * total;
        for (int j = 0; j < s->vectors; j += MOST)
            PICK(s, gather)(s->vectors - j < MOST ? s->vectors - j : MOST, n, in, room->from, room->g, s->at + j,
                            out + s->step * j);
        for (int ky = 0; ky < s->conv.kernel_rows; ky++) /* what lies beyond the run may be anything */
            for (int k = s->run; k < s->span; k++) out[ky * s->span + k] = 0;
        square += SUFFIX(square_of)(out, size);
    }
    if (din) {
        memset(din, 0, sizeof(float) * s->in_sample);
        SUFFIX(to_image)(s, dout, where, din, room);
    }
    return square;
}

#undef FORWARD
#undef FORWARD_
#undef GATHER
#undef SCATTER
#undef CASES
#undef MOST
#undef PICK
#undef ACROSS
#undef EVEN
#undef COUNT
#undef FILTERS
