/* Sums of clipped per-sample gradients without the per-sample gradients of linear layers.
 *
 * A linear layer's gradient of one sample is g a', whose squared length is ||g||^2 (||a||^2 + 1) with the bias. So lengths
 * need no gradients, and the sum of the clipped ones is a single product of matrices. Convolutions have few weights:
 * their gradients are computed sample by sample, and added while they are still in the nearest cache.
 */
INLINE float SUFFIX(square_of)(const float *x, int n) {
    VECTOR sum = {0};
    int k = 0;
    for (; k + LANES <= n; k += LANES) sum += *(const VECTOR *)(x + k) * *(const VECTOR *)(x + k);
    float total = 0;
    for (int l = 0; l < LANES; l++) total += sum[l];
    for (; k < n; k++) total += x[k] * x[k];
    return total;
}

INLINE float SUFFIX(total_of)(const float *x, int n) {
    VECTOR sum = {0};
    int k = 0;
    for (; k + LANES <= n; k += LANES) sum += *(const VECTOR *)(x + k);
    float total = 0;
    for (int l = 0; l < LANES; l++) total += sum[l];
    for (; k < n; k++) total += x[k];
    return total;
}

#include "convolution.h"
#include "norm.h"
#include "product.h"

/* Put weights into the order that kernels want; remember where the others are. */
static void SUFFIX(load)(Network *net, const float *row) {
    for (int k = 0; k < net->convs; k++) {
        ConvStage *s = &net->conv[k];
        const Conv *c = &s->conv;
        int channels = c->channels, area = c->kernel_rows * c->kernel_columns;
        s->weight = row;
        for (int f = 0; f < c->filters; f++)
            for (int channel = 0; channel < channels; channel++)
                for (int y = 0; y < c->kernel_rows; y++)
                    for (int x = 0; x < c->kernel_columns; x++) {
                        float w = row[(f * channels + channel) * area + y * c->kernel_columns + x];
                        int at = x * channels + channel;
                        s->packed[(y * s->run + at) * s->lanes + f] = w;
                        s->filters[(f * c->kernel_rows + y) * s->span + at] = w;
                    }
        row += (size_t)c->filters * channels * area;
        if (c->bias) memcpy(s->biases, row, sizeof(float) * c->filters), row += c->filters;
        if (c->affine) s->scale = row, s->shift = row + c->filters, row += 2 * c->filters;
    }
    for (int k = 0; k < net->linears; k++) {
        LinearStage *s = &net->linear[k];
        int in = s->linear.inputs, out = s->linear.outputs;
        for (int o = 0; o < out; o++) memcpy(s->weight + (size_t)o * s->lanes_in, row + (size_t)o * in, sizeof(float) * in);
        for (int o = 0; o < out; o += 16)
            for (int i = 0; i < in; i++)
                for (int l = o; l < o + 16 && l < out; l++) s->turned[(size_t)i * s->lanes_out + l] = row[(size_t)l * in + i];
        row += (size_t)out * in;
        if (s->linear.bias) memcpy(s->biases, row, sizeof(float) * out), row += out;
    }
}

/* Where convolution k puts the result of a sample: inside the padding of the next image, or where the linear layers
   read. flat, images: the buffers of values, or of gradients. */
static float *SUFFIX(after)(const Network *net, int k, float *images, float *flat) {
    if (k + 1 == net->convs) return flat;
    const Conv *c = &net->conv[k + 1].conv;
    return images + ((size_t)c->padding_rows * (c->width + 2 * c->padding_columns) + c->padding_columns) * c->channels;
}

/* Convolutions of sample number k of a chunk: from x, [channel][row][column], to the first linear layer. */
static void SUFFIX(see)(Network *net, const float *x, int sample) {
    const Conv *first = &net->conv[0].conv;
    int channels = first->channels;
    float *image = net->conv[0].images + (size_t)sample * net->conv[0].in_sample;
    for (int y = 0; y < first->height; y++) {
        float *to = image + (y + first->padding_rows) * net->conv[0].row + first->padding_columns * channels;
        for (int channel = 0; channel < channels; channel++)
            for (int k = 0; k < first->width; k++)
                to[k * channels + channel] = x[(channel * first->height + y) * first->width + k];
    }
    for (int k = 0; k < net->convs; k++) {
        ConvStage *s = &net->conv[k];
        float *flat = net->linear[0].inputs + (size_t)sample * net->linear[0].lanes_in;
        float *next = k + 1 < net->convs ? net->conv[k + 1].images + (size_t)sample * net->conv[k + 1].in_sample : NULL;
        float *out = SUFFIX(after)(net, k, next, flat);
        const float *in = s->images + (size_t)sample * s->in_sample;
        int32_t *where = s->where + (size_t)sample * s->conv.filters * s->cells;
        if (!s->conv.groups) {
            SUFFIX(forward)(s, in, out, where);
            continue;
        }
        float *normal = s->normal + sample * pixels(s);
        SUFFIX(forward)(s, in, normal, where);
        SUFFIX(norm_forward)(s, normal, s->deviations + sample * s->conv.groups, out, s->chosen + sample * pixels(s));
    }
}

/* The gradients of all convolutions for one sample; their squared length. */
static float SUFFIX(look_back)(Network *net, int sample) {
    float square = 0;
    for (int k = net->convs - 1; k >= 0; k--) {
        ConvStage *s = &net->conv[k];
        float *flat = net->first_deltas + (size_t)sample * net->linear[0].lanes_in;
        const float *dout = SUFFIX(after)(net, k, k + 1 < net->convs ? net->conv[k + 1].image_gradient : NULL, flat);
        if (s->conv.groups) {
            float *dscale = s->gradient + gradient_size(s) - 2 * s->conv.filters;
            square += SUFFIX(norm_backward)(s, s->normal + sample * pixels(s), s->deviations + sample * s->conv.groups,
                                            dout, s->chosen + sample * pixels(s), dscale, dscale + s->conv.filters);
            dout = s->dense;
        }
        square += SUFFIX(backward)(s, s->images + (size_t)sample * s->in_sample, dout,
                                   s->where + (size_t)sample * s->conv.filters * s->cells, s->gradient,
                                   k ? s->image_gradient : NULL, &net->room);
    }
    return square;
}

/* Outputs of n samples into net->outputs. masks: of these samples, or NULL. */
static void SUFFIX(guess)(Network *net, const float *x, int n, const float *const *masks, long first) {
    LinearStage *linear = net->linear;
    size_t size = input_size(net);
    for (int i = 0; i < n; i++, x += size)
        if (net->convs)
            SUFFIX(see)(net, x, i);
        else
            memcpy(linear[0].inputs + (size_t)i * linear[0].lanes_in, x, sizeof(float) * size);
    for (int k = 0; k < net->linears; k++) {
        LinearStage *s = &linear[k];
        int lanes = s->lanes_out, units = s->linear.outputs;
        float *out = k + 1 < net->linears ? linear[k + 1].inputs : net->outputs;
        SUFFIX(product)(n, lanes, s->linear.inputs, s->inputs, s->lanes_in, 1, s->turned, lanes, out, lanes, 0);
        const float *mask = masks && masks[k] ? masks[k] + first * units : NULL;
        for (int i = 0; i < n; i++) {
            float *o = out + (size_t)i * lanes;
            for (int l = 0; l < lanes; l++) o[l] += s->biases[l];
            if (s->linear.relu)
                for (int l = 0; l < lanes; l++) o[l] = o[l] <= 0 ? 0 : o[l];
            if (mask)
                for (int l = 0; l < units; l++) o[l] *= mask[(size_t)i * units + l];
        }
    }
}

/* Gradients of the outputs; the sum of the losses that are numbers. */
static double SUFFIX(judge)(Network *net, const int64_t *y, int n) {
    LinearStage *last = &net->linear[net->linears - 1];
    double loss = 0;
    for (int i = 0; i < n; i++) {
        const float *o = net->outputs + (size_t)i * last->lanes_out;
        float *d = last->deltas + (size_t)i * last->lanes_out, most = o[0], total = 0;
        for (int l = 1; l < last->linear.outputs; l++) most = o[l] > most || o[l] != o[l] ? o[l] : most;
        for (int l = 0; l < last->linear.outputs; l++) total += d[l] = expf(o[l] - most);
        for (int l = 0; l < last->linear.outputs; l++) d[l] /= total;
        d[y[i]] -= 1;
        double one = (double)most - o[y[i]] + log(total);
        if (one == one) loss += one;
    }
    return loss;
}

/* From the gradients of the outputs to those of all linear layers' results; lengths[s] = their squared length. */
static void SUFFIX(explain)(Network *net, int n, const float *const *masks, long first) {
    memset(net->lengths, 0, sizeof(float) * n);
    for (int k = net->linears - 1; k >= 0; k--) {
        LinearStage *s = &net->linear[k], *before = s - 1;
        for (int i = 0; i < n; i++) {
            float a = SUFFIX(square_of)(s->inputs + (size_t)i * s->lanes_in, s->linear.inputs);
            float g = SUFFIX(square_of)(s->deltas + (size_t)i * s->lanes_out, s->linear.outputs);
            net->lengths[i] += g * (a + s->linear.bias);
        }
        if (!k && !net->convs) return;
        float *into = k ? before->deltas : net->first_deltas;
        SUFFIX(product)(n, s->lanes_in, s->linear.outputs, s->deltas, s->lanes_out, 1, s->weight, s->lanes_in, into,
                        s->lanes_in, 0);
        if (!k) return;
        int units = before->linear.outputs;
        const float *mask = masks && masks[k - 1] ? masks[k - 1] + first * units : NULL;
        for (int i = 0; i < n; i++) {
            const float *a = s->inputs + (size_t)i * s->lanes_in;
            float *d = into + (size_t)i * s->lanes_in;
            if (before->linear.relu)
                for (int l = 0; l < units; l++) d[l] = a[l] > 0 ? d[l] : 0;
            if (mask)
                for (int l = 0; l < units; l++) d[l] *= mask[(size_t)i * units + l];
        }
    }
}

/* Add the gradients of n samples, each times its factor. */
static void SUFFIX(add_linear)(Network *net, int n) {
    for (int k = 0; k < net->linears; k++) {
        LinearStage *s = &net->linear[k];
        for (int i = 0; i < n; i++) {
            float *d = s->deltas + (size_t)i * s->lanes_out, factor = net->scale[i];
            if (factor == 0) { /* perhaps not a number */
                memset(d, 0, sizeof(float) * s->lanes_out);
                memset(s->inputs + (size_t)i * s->lanes_in, 0, sizeof(float) * s->lanes_in);
            }
            for (int l = 0; l < s->lanes_out; l++) s->bias_sum[l] += d[l] *= factor;
        }
        SUFFIX(product)(s->linear.outputs, s->lanes_in, n, s->deltas, 1, s->lanes_out, s->inputs, s->lanes_in, s->sum,
                        s->lanes_in, 1);
    }
}

static void SUFFIX(unload)(const Network *net, float *out) {
    for (int k = 0; k < net->convs; k++) {
        const ConvStage *s = &net->conv[k];
        const Conv *c = &s->conv;
        const float *biases = s->sum + (size_t)c->filters * c->kernel_rows * s->span;
        for (int f = 0; f < c->filters; f++)
            for (int channel = 0; channel < c->channels; channel++)
                for (int y = 0; y < c->kernel_rows; y++)
                    for (int x = 0; x < c->kernel_columns; x++)
                        *out++ = s->sum[(f * c->kernel_rows + y) * s->span + x * c->channels + channel];
        if (c->bias) memcpy(out, biases, sizeof(float) * c->filters), out += c->filters;
        if (c->affine) memcpy(out, biases + c->filters, sizeof(float) * 2 * c->filters), out += 2 * c->filters;
    }
    for (int k = 0; k < net->linears; k++) {
        const LinearStage *s = &net->linear[k];
        for (int o = 0; o < s->linear.outputs; o++, out += s->linear.inputs)
            memcpy(out, s->sum + (size_t)o * s->lanes_in, sizeof(float) * s->linear.inputs);
        if (s->linear.bias) memcpy(out, s->bias_sum, sizeof(float) * s->linear.outputs), out += s->linear.outputs;
    }
}

static double SUFFIX(sum)(Network *net, const float *row, const float *x, const int64_t *y, const float *const *masks,
                          long samples, int clip, float clip_norm, float *out, int64_t *facts) {
    size_t per = input_size(net);
    double loss = 0;
    facts[0] = facts[1] = 0;
    SUFFIX(load)(net, row);
    for (int k = 0; k < net->convs; k++) memset(net->conv[k].sum, 0, sizeof(float) * gradient_size(&net->conv[k]));
    for (int k = 0; k < net->linears; k++) {
        LinearStage *s = &net->linear[k];
        memset(s->sum, 0, sizeof(float) * s->linear.outputs * s->lanes_in);
        memset(s->bias_sum, 0, sizeof(float) * s->lanes_out);
    }
    for (long first = 0; first < samples; first += net->samples) {
        int n = samples - first < net->samples ? (int)(samples - first) : net->samples;
        SUFFIX(guess)(net, x + first * per, n, masks, first);
        loss += SUFFIX(judge)(net, y + first, n);
        SUFFIX(explain)(net, n, masks, first);
        for (int i = 0; i < n; i++) {
            float length = sqrtf(net->lengths[i] + SUFFIX(look_back)(net, i)), factor = 1;
            if (clip && !(length < INFINITY)) factor = 0, facts[1]++;
            else if (clip && length > clip_norm) factor = clip_norm / length, facts[0]++;
            net->scale[i] = factor;
            for (int k = 0; factor != 0 && k < net->convs; k++) {
                ConvStage *s = &net->conv[k];
                int size = (int)gradient_size(s);
                for (int j = 0; j < size; j++) s->sum[j] += factor * s->gradient[j];
            }
        }
        SUFFIX(add_linear)(net, n);
    }
    SUFFIX(unload)(net, out);
    return loss;
}

static void SUFFIX(outputs)(Network *net, const float *row, const float *x, long samples, float *out) {
    const LinearStage *last = &net->linear[net->linears - 1];
    size_t per = input_size(net);
    SUFFIX(load)(net, row);
    for (long first = 0; first < samples; first += net->samples) {
        int n = samples - first < net->samples ? (int)(samples - first) : net->samples;
        SUFFIX(guess)(net, x + first * per, n, NULL, first);
        for (int i = 0; i < n; i++)
            memcpy(out + (first + i) * last->linear.outputs, net->outputs + (size_t)i * last->lanes_out,
                   sizeof(float) * last->linear.outputs);
    }
}
