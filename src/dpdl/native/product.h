/* Products of matrices that are small in one direction: c[r][l] (+)= sum over k of a[r * rs + k * ks] b[k * ldb + l].
 *
 * Rows of b and c are whole vectors, and so are strides. A tile of c stays in registers, and b's columns under it in the
 * nearest cache: that is why k goes in blocks.
 */
#if MACHINE_LEVEL == 2
#define ROWS 12
#define VECTORS 2
#else
#define ROWS 6
#define VECTORS 2
#endif
#define WIDTH (LANES * VECTORS)
#define BLOCK 256

/* `rows` of the ROWS rows are wanted; the others repeat the last one. */
INLINE void SUFFIX(tile)(int rows, int vectors, int depth, const float *a, int64_t rs, int64_t ks, const float *b,
                         int64_t ldb, float *c, int64_t ldc, int add) {
    VECTOR sum[ROWS][VECTORS];
    int64_t at[ROWS];
    for (int r = 0; r < ROWS; r++) {
        at[r] = (r < rows ? r : rows - 1) * rs;
        for (int v = 0; v < vectors; v++) sum[r][v] = (VECTOR){0};
    }
    for (int k = 0; k < depth; k++, a += ks, b += ldb) {
        VECTOR right[VECTORS];
        for (int v = 0; v < vectors; v++) right[v] = *(const VECTOR *)(b + LANES * v);
        for (int r = 0; r < ROWS; r++) {
            float left = a[at[r]];
            for (int v = 0; v < vectors; v++) sum[r][v] += left * right[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            VECTOR *out = (VECTOR *)(c + r * ldc + LANES * v);
            if (add) sum[r][v] += *out;
            *out = sum[r][v];
        }
}

/* rows of a and c, `lanes` (a multiple of 16) columns of b and c. add: to what is in c. */
static void SUFFIX(product)(int rows, int lanes, int depth, const float *a, int64_t rs, int64_t ks, const float *b,
                            int64_t ldb, float *c, int64_t ldc, int add) {
    for (int k = 0; k < depth; k += BLOCK, add = 1) {
        int deep = depth - k < BLOCK ? depth - k : BLOCK;
        for (int l = 0; l < lanes; l += WIDTH)
            for (int r = 0; r < rows; r += ROWS) {
                const float *left = a + r * rs + k * ks, *right = b + k * ldb + l;
                float *out = c + r * ldc + l;
                int many = rows - r < ROWS ? rows - r : ROWS;
                if (lanes - l < WIDTH) /* only if a vector has all 16 lanes */
                    SUFFIX(tile)(many, 1, deep, left, rs, ks, right, ldb, out, ldc, add);
                else if (many == ROWS && rs == 1)
                    SUFFIX(tile)(ROWS, VECTORS, deep, left, 1, ks, right, ldb, out, ldc, add);
                else if (many == ROWS && ks == 1)
                    SUFFIX(tile)(ROWS, VECTORS, deep, left, rs, 1, right, ldb, out, ldc, add);
                else
                    SUFFIX(tile)(many, VECTORS, deep, left, rs, ks, right, ldb, out, ldc, add);
            }
    }
}

#undef ROWS
#undef VECTORS
#undef BLOCK
#undef WIDTH
