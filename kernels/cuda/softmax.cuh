// Softmax over a warp in one pass (Milakov and Gimelshein 2018, arXiv:1805.02867). For attention.cu and mla_attention.cu.

// Largest score so far, and the sum of the weights relative to it.
struct Softmax {
    float most, sum;
};

// Adds one score of each lane; `counts` is false for positions that the row doesn't see. Sets `weight` to the lane's weight.
// Returns the factor by which earlier results must be multiplied.
DEVICE float weigh(Softmax& all, float score, bool counts, float& weight) {
    float before = all.most;
    all.most = fmaxf(before, warp_max(score));
    weight = counts ? __expf(score - all.most) : 0.0f;
    float factor = __expf(before - all.most);
    all.sum = all.sum * factor + warp_sum(weight);
    return factor;
}
