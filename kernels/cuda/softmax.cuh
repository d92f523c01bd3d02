// The softmax of a warp in one pass (Milakov and Gimelshein 2018, arXiv:1805.02867). For attention.cu and mla_attention.cu.

// The largest score so far, and the sum of weights, which are relative to it.
struct Softmax {
    float most, sum;
};

// Takes in a score of each lane, of which those of hidden positions don't count; `weight` is the lane's. Returns what has to be multiplied with
// results so far.
DEVICE float weigh(Softmax& all, float score, bool counts, float& weight) {
    float before = all.most;
    all.most = fmaxf(before, warp_max(score));
    weight = counts ? __expf(score - all.most) : 0.0f;
    float factor = __expf(before - all.most);
    all.sum = all.sum * factor + warp_sum(weight);
    return factor;
}
