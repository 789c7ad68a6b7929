/* Group norm of one sample with what follows it, ReLU and max-pool; values are [pixel][filter].
 *
 * x^ = (x - mean) / sqrt(variance + eps) over the pixels and filters of a group, then scale x^ + shift. Sums are taken
 * in double: a group may have many pixels.
 */
static void SUFFIX(norm_forward)(const ConvStage *s, float *x, float *deviations, float *out, int32_t *chosen) {
    int filters = s->conv.filters, wide = filters / s->conv.groups, count = s->dense_rows * s->dense_columns;
    for (int group = 0; group < s->conv.groups; group++) {
        double sum = 0, squares = 0;
        for (int p = 0; p < count; p++)
            for (int f = group * wide; f < (group + 1) * wide; f++) sum += x[p * filters + f];
        float mean = (float)(sum / ((double)count * wide));
        for (int p = 0; p < count; p++)
            for (int f = group * wide; f < (group + 1) * wide; f++) {
                float d = x[p * filters + f] -= mean;
                squares += (double)d * d;
            }
        float deviation = deviations[group] = (float)(1 / sqrt(squares / ((double)count * wide) + s->conv.eps));
        for (int p = 0; p < count; p++)
            for (int f = group * wide; f < (group + 1) * wide; f++) x[p * filters + f] *= deviation;
    }
    int rows = s->dense_rows / s->pool, columns = s->dense_columns / s->pool, window = s->pool * s->pool;
    for (int f = 0; f < filters; f++)
        for (int py = 0; py < rows; py++)
            for (int px = 0; px < columns; px++) {
                float best = 0;
                int32_t which = -1;
                for (int a = 0; a < window; a++) {
                    int p = (py * s->pool + a / 2) * s->dense_columns + px * s->pool + a % 2;
                    float value = s->conv.affine ? s->scale[f] * x[p * filters + f] + s->shift[f] : x[p * filters + f];
                    if (which < 0 || value > best || value != value) best = value, which = p;
                }
                if (s->relu && best <= 0) best = 0, which = -1;
                out[py * s->norm_row + px * s->norm_cell + f * s->norm_filter] = best;
                *chosen++ = which;
            }
}

/* dout: of the result; s->dense: of what was normalised. dscale, dshift: [filter]; their squared length is returned. */
static float SUFFIX(norm_backward)(const ConvStage *s, const float *x, const float *deviations, const float *dout,
                                   const int32_t *chosen, float *dscale, float *dshift) {
    int filters = s->conv.filters, wide = filters / s->conv.groups, count = s->dense_rows * s->dense_columns;
    int rows = s->dense_rows / s->pool, columns = s->dense_columns / s->pool;
    float *d = s->dense, square = 0;
    memset(d, 0, sizeof(float) * count * filters);
    for (int f = 0; f < filters; f++) {
        double shift = 0, scale = 0;
        for (int py = 0; py < rows; py++)
            for (int px = 0; px < columns; px++, chosen++) {
                if (*chosen < 0) continue;
                float value = dout[py * s->norm_row + px * s->norm_cell + f * s->norm_filter];
                shift += value;
                scale += (double)value * x[*chosen * filters + f];
                d[*chosen * filters + f] = s->conv.affine ? value * s->scale[f] : value;
            }
        dscale[f] = (float)scale;
        dshift[f] = (float)shift;
        if (s->conv.affine) square += dscale[f] * dscale[f] + dshift[f] * dshift[f];
    }
    for (int group = 0; group < s->conv.groups; group++) {
        double sum = 0, along = 0;
        for (int p = 0; p < count; p++)
            for (int k = p * filters + group * wide; k < p * filters + (group + 1) * wide; k++) {
                sum += d[k];
                along += (double)d[k] * x[k];
            }
        float mean = (float)(sum / ((double)count * wide)), slope = (float)(along / ((double)count * wide));
        for (int p = 0; p < count; p++)
            for (int k = p * filters + group * wide; k < p * filters + (group + 1) * wide; k++)
                d[k] = deviations[group] * (d[k] - mean - x[k] * slope);
    }
    return square;
}
