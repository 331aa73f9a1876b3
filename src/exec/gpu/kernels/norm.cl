/* Norms, by the host's formulas (exec/kernels/norm.c): a work-group a row, or columns of all
 * rows. Sums are f64, rounded once. */

enum { NORM_ITEMS = 64, NORM_BYTES = NORM_ITEMS * 8 };

DEVICE float norm_weight(struct tensor weight, gpu_u64 column)
{
    return weight.present ? load(weight, column) : 1;
}

KERNEL(norm, 64, NORM_BYTES)
{
    TENSOR(src, 0);
    TENSOR(weight, 1);
    TENSOR(dst, 2);
    TENSOR(factors, 3);
    double n = (double)src.width;
    for (gpu_u64 row = GROUP; row < src.rows; row += GROUPS) {
        double squares = 0;
        for (gpu_u64 c = ITEM; c < src.width; c += ITEMS) {
            double x = (double)load(src, row * src.width + c);
            squares += x * x;
        }
        squares = sum_of_items(squares, (LOCAL double *)scratch);
        double exact = 1 / SQRT(squares / n + NORM_EPSILON);
        float factor = (float)(call->args.norm.root ? exact / SQRT(n) : exact);
        if (call->whole)
            factor = 1;
        for (gpu_u64 c = ITEM; c < src.width; c += ITEMS) {
            float by = factor * norm_weight(weight, c);
            store(dst, row * src.width + c, load(src, row * src.width + c) * by);
        }
        if (ITEM == 0 && factors.present)
            F32(factors)[row] = factor;
    }
}

KERNEL(norm_grad, 64, NORM_BYTES)
{
    TENSOR(src, 0);
    TENSOR(weight, 1);
    TENSOR(factors, 2);
    TENSOR(d_dst, 3);
    TENSOR(dst, 4);
    double n = (double)src.width;
    for (gpu_u64 row = GROUP; row < src.rows; row += GROUPS) {
        float factor = F32(factors)[row];
        double sum = 0, square = (double)factor * (double)factor;
        for (gpu_u64 c = ITEM; c < src.width; c += ITEMS)
            sum += (double)norm_weight(weight, c) * (double)load(d_dst, row * src.width + c) *
                   (double)load(src, row * src.width + c);
        sum = sum_of_items(sum, (LOCAL double *)scratch);
        float along = (float)(sum * (call->args.norm.root ? square : square / n));
        if (call->whole)
            along = 0;
        for (gpu_u64 c = ITEM; c < src.width; c += ITEMS) {
            float across =
                PRODUCT(norm_weight(weight, c), load(d_dst, row * src.width + c)) -
                PRODUCT(along, load(src, row * src.width + c));
            store(dst, row * src.width + c, factor * across);
        }
    }
}

/* An item a column. */
KERNEL(norm_wgrad, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(factors, 1);
    TENSOR(d_dst, 2);
    TENSOR(d_weight, 3);
    for (gpu_u64 c = GROUP * ITEMS + ITEM; c < src.width; c += GROUPS * ITEMS) {
        double sum = 0;
        for (gpu_u64 row = 0; row < src.rows; row++)
            sum += (double)F32(factors)[row] * (double)load(src, row * src.width + c) *
                   (double)load(d_dst, row * src.width + c);
        store(d_weight, c, (float)sum);
    }
}
