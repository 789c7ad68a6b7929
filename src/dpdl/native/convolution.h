/* The kernels themselves; `kernels.c` includes this once for every kind of machine, with another SUFFIX. */
#define FORWARD(NAME, V, I, L) FORWARD_(NAME, V, I, L)
#define FORWARD_(NAME, V, I, L)                                                                                          \
    INLINE void NAME##_tile(const float *in, const int *off, const float *w, int kernel, int row, int run, int lanes,   \
                            V *acc) {                                                                                   \
        const float *pixel[TILE];                                                                                       \
        for (int p = 0; p < TILE; p++) pixel[p] = in + off[p];                                                          \
        for (int ky = 0; ky < kernel; ky++) {                                                                           \
            for (int64_t k = 0; k < run; k++, w += lanes) {                                                             \
                V weight = *(const V *)w;                                                                               \
                for (int p = 0; p < TILE; p++) acc[p] += pixel[p][k] * weight;                                          \
            }                                                                                                           \
            for (int p = 0; p < TILE; p++) pixel[p] += row;                                                             \
        }                                                                                                               \
    }                                                                                                                   \
    static void NAME(const Conv *c, int samples, const float *in, const float *w, const float *bias, float *out,          \
                   int8_t *winner) {                                                                                    \
        int row = c->width * c->channels, run = c->kernel_columns * c->channels, pool = c->pool;                                \
        int prows = c->rows / pool, pcolumns = c->columns / pool, window = pool * pool, per = TILE / window;            \
        for (int s = 0; s < samples; s++, in += c->in_sample, out += c->out_sample)                                     \
            for (int py = 0; py < prows; py++)                                                                          \
                for (int px = 0; px < pcolumns; px += per)                                                              \
                    for (int f = 0; f < c->filters; f += L) {                                                           \
                        int off[TILE];                                                                                  \
                        for (int q = 0; q < per; q++)                                                                   \
                            for (int a = 0; a < window; a++) {                                                          \
                                int x = px + q < pcolumns ? px + q : pcolumns - 1;                                      \
                                int y = (py * pool + a / pool) * c->stride_rows;                                        \
                                off[q * window + a] = y * row + (x * pool + a % pool) * c->stride_columns * c->channels;\
                            }                                                                                           \
                        V acc[TILE];                                                                                    \
                        for (int p = 0; p < TILE; p++) acc[p] = *(const V *)(bias + f);                                 \
                        NAME##_tile(in, off, w + f, c->kernel_rows, row, run, c->lanes, acc);                           \
                        int here = c->filters - f < L ? c->filters - f : L;                                             \
                        for (int q = 0; q < per && px + q < pcolumns; q++) {                                            \
                            V best = acc[q * window];                                                                   \
                            I which = {0};                                                                              \
                            for (int a = 1; a < window; a++) {                                                          \
                                V value = acc[q * window + a];                                                          \
                                I take = (value > best) | (value != value);                                             \
                                best = (V)((take & (I)value) | (~take & (I)best));                                      \
                                which = (take & a) | (~take & which);                                                   \
                            }                                                                                           \
                            if (c->relu) {                                                                              \
                                I dead = best <= 0;                                                                     \
                                best = (V)(~dead & (I)best);                                                            \
                                which |= dead;                                                                          \
                            }                                                                                           \
                            float *o = out + py * c->out_row + (px + q) * c->out_cell + f * c->out_filter;              \
                            if (here == L && c->out_filter == 1)                                                        \
                                *(V *)o = best;                                                                         \
                            else                                                                                        \
                                for (int l = 0; l < here; l++) o[l * c->out_filter] = best[l];                          \
                            int8_t *m = winner + ((size_t)(s * prows + py) * pcolumns + px + q) * c->filters + f;       \
                            for (int l = 0; l < here; l++) m[l] = (int8_t)which[l];                                     \
                        }                                                                                               \
                    }                                                                                                   \
    }
FORWARD(SUFFIX(forward8), v8, i8, 8)
FORWARD(SUFFIX(forward16), v16, i16, 16)

static void SUFFIX(forward)(const Conv *c, int samples, const float *in, const float *w, const float *bias, float *out,
                            int8_t *winner) {
    (c->lanes == 8 ? SUFFIX(forward8) : SUFFIX(forward16))(c, samples, in, w, bias, out, winner);
}

/* out = the sum over i of g[i] times the R vectors at in + from[i] + at[...]. */
#define GATHER(R)                                                                                                       \
    case R: {                                                                                                           \
        v16 acc[R];                                                                                                     \
        for (int j = 0; j < R; j++) acc[j] = (v16){0};                                                                  \
        for (int i = 0; i < n; i++) {                                                                                   \
            const float *p = in + from[i];                                                                              \
            for (int j = 0; j < R; j++) acc[j] += g[i] * *(const v16 *)(p + at[j]);                                     \
        }                                                                                                               \
        for (int j = 0; j < R; j++) *(v16 *)(out + 16 * j) = acc[j];                                                    \
    } break;
/* To the R vectors at image + at[...], add the sum over i of g[i] times those at weight + from[i]. */
#define SCATTER(R)                                                                                                      \
    case R: {                                                                                                           \
        v16 acc[R];                                                                                                     \
        for (int j = 0; j < R; j++) acc[j] = *(const v16 *)(image + at[j]);                                             \
        for (int i = 0; i < n; i++) {                                                                                   \
            const float *p = weight + from[i];                                                                          \
            for (int j = 0; j < R; j++) acc[j] += g[i] * *(const v16 *)(p + 16 * j);                                    \
        }                                                                                                               \
        for (int j = 0; j < R; j++) *(v16 *)(image + at[j]) = acc[j];                                                   \
    } break;
#define CASES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10)

INLINE void SUFFIX(gather)(int r, int n, const float *in, const int *from, const float *g, const int *at, float *out) {
    switch (r) { CASES(GATHER) }
}
INLINE void SUFFIX(scatter)(int r, int n, float *image, const int *from, const float *g, const int *at,
                            const float *weight) {
    switch (r) { CASES(SCATTER) }
}

/* The gradient of one image: pixel by pixel, the filters whose output there was the winner. */
static void SUFFIX(to_image)(const Conv *c, const Shape *z, const float *dout, const int8_t *winner,
                             const float *weight, float *din, int *from, float *g) {
    int size = c->kernel_rows * z->span;
    for (int y = 0; y < z->rows; y++)
        for (int x = 0; x < z->columns; x++, winner += c->filters)
            for (int pixel = 0; pixel < c->pool * c->pool; pixel++) {
                const float *values = dout + y * c->out_row + x * c->out_cell;
                int n = 0;
                for (int f = 0; f < c->filters; f++) {
                    from[n] = f * size;
                    g[n] = values[f * c->out_filter];
                    n += winner[f] == pixel;
                }
                float *image = din + y * z->down + x * z->across + z->within[pixel];
                for (int j = 0; n && j < z->vectors; j += MOST)
                    SUFFIX(scatter)(z->vectors - j < MOST ? z->vectors - j : MOST, n, image, from, g, z->at + j,
                                    weight + 16 * j);
            }
}

/* gw[s]: the gradient of sample s, [filter][kernel row][span], then [filter] biases; norms[s] += its squared length.
   din: the gradient of the image, or NULL. weight: [filter][kernel row][span], zero beyond the run. from and g: room
   for as many numbers as there are output cells, or filters. */
static void SUFFIX(backward)(const Conv *c, int samples, const float *in, const float *dout, const int8_t *winner,
                             const float *weight, float *gw, float *norms, float *din, int *from, float *g) {
    Shape z = shape_of(c);
    int size = c->kernel_rows * z.span, per = z.span / 16;
    for (int s = 0; s < samples; s++) {
        float *out = gw + (size_t)s * c->filters * (size + 1), *biases = out + (size_t)c->filters * size;
        float square = 0;
        for (int f = 0; f < c->filters; f++, out += size) {
            const int8_t *won = winner + f;
            float total = 0;
            int n = 0;
            for (int y = 0; y < z.rows; y++) {
                const float *values = dout + y * c->out_row + f * c->out_filter;
                for (int x = 0; x < z.columns; x++, won += c->filters, values += c->out_cell) {
                    from[n] = y * z.down + x * z.across + z.within[*won & 3];
                    g[n] = *values;
                    total += *won < 0 ? 0 : *values;
                    n += *won >= 0;
                }
            }
            biases[f] = total;
            square += c->bias * total * total;
            for (int j = 0; j < z.vectors; j += MOST)
                SUFFIX(gather)(z.vectors - j < MOST ? z.vectors - j : MOST, n, in, from, g, z.at + j, out + 16 * j);
            v16 squares = {0};
            for (int j = 0; j < z.vectors; j++) {
                v16 v = *(v16 *)(out + 16 * j);
                if ((j + 1) % per == 0) /* what lies beyond the run may be anything */
                    *(v16 *)(out + 16 * j) = v = (v16)((i16)v & *(const i16 *)z.kept);
                squares += v * v;
            }
            for (int l = 0; l < 16; l++) square += squares[l];
        }
        norms[s] += square;
        if (din) {
            /* Here and not for all samples at once: a vector of the sample before may have reached into this image. */
            memset(din, 0, sizeof(float) * c->in_sample);
            SUFFIX(to_image)(c, &z, dout, winner, weight, din, from, g);
            din += c->in_sample;
        }
        in += c->in_sample;
        dout += c->out_sample;
        winner += z.rows * z.columns * c->filters;
    }
}

#undef FORWARD
#undef FORWARD_
#undef GATHER
#undef SCATTER
#undef CASES
