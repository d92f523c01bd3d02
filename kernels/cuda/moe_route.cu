// Router of a mixture of experts: the experts that a token goes to, and their weights. All in f32; of equal ranks the lower
// expert is first. Scores are made into a choice in one of three ways (SCORING):
//   0: softmax over all, the greatest are chosen (Qwen3); weights are divided by their sum if `normalize`.
//   1: the greatest are chosen; softmax over those (gpt-oss).
//   2: sigmoid of each; groups of neighbours with the greatest sums of two are left, the greatest of those are chosen, and weights
//      are divided by their sum if `normalize` (DeepSeek-V3, arXiv:2412.19437, section 2.1.2).
// A correction is added to the values that the choice is made by, and not to the weights.
//
// A warp for a token; a lane has the experts lane, lane + 32, and so on. Experts are chosen one by one, each by a maximum over
// the warp. Fuses everything from scores to weights. Bytes: 4 for each score, 8 for each choice.

// Number of experts that a lane has.
constexpr u32 SHARE = (EXPERTS + 31) / 32;

// Rank of a number, ordered like f32's total order: NaN of both signs are at the ends.
DEVICE u32 rank_of(float x) {
    u32 bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// The greatest rank of the warp and the lowest index that has it, as rank << 32 | ~index.
DEVICE u64 warp_best(u64 x) {
    _Pragma("unroll") for (int offset = 16; offset > 0; offset /= 2) {
        u64 other = __shfl_xor_sync(0xffffffffu, x, offset);
        if (other > x) x = other;
    }
    return x;
}

// The best expert that isn't chosen yet; `ranks` of chosen ones are 0, below the rank of any number.
DEVICE u64 best_of(const u32 (&ranks)[SHARE], u32 lane) {
    u64 best = 0;
    _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) {
        u64 one = (u64)ranks[i] << 32 | (u32)~(i * 32 + lane);
        if (one > best) best = one;
    }
    return warp_best(best);
}

DEVICE float softmax(float x, float largest, bool is_there) {
    return is_there ? expf(x - largest) : 0.0f;
}

// Keeps the `left` groups whose two greatest ranks have the greatest sums; experts of other groups get the rank of minus
// infinity. `numbers` are the ranks as numbers, in shared memory.
DEVICE void leave_groups(u32 (&ranks)[SHARE], const float* numbers, u32 lane, u32 groups, u32 left) {
    u32 size = EXPERTS / groups;
    // A group for each lane; there are at most 32.
    float first = MINUS_INFINITY, second = MINUS_INFINITY;
    for (u32 i = 0; i < size && lane < groups; i++) {
        float x = numbers[lane * size + i];
        if (rank_of(x) > rank_of(first)) {
            second = first, first = x;
        } else if (rank_of(x) > rank_of(second)) {
            second = x;
        }
    }
    u64 own = (u64)rank_of(size > 1 ? first + second : first) << 32 | (u32)~lane;
    u32 before = 0;
    for (u32 other = 0; other < groups; other++) before += __shfl_sync(0xffffffffu, own, other) > own;
    u32 stay = __ballot_sync(0xffffffffu, lane < groups && before < left);
    u32 gone = rank_of(MINUS_INFINITY);
    _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) {
        u32 expert = i * 32 + lane;
        if (expert < EXPERTS && !(stay >> expert / size & 1)) ranks[i] = gone;
    }
}

KERNEL __launch_bounds__(128) void moe_route(const float* scores, const float* correction, u32* experts, float* weights, u32 rows,
                                             u32 per_token, u32 groups, u32 top_groups, u32 normalize, float scale) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 4 + warp;
    if (row >= rows) return;
    float* numbers = (float*)shared_memory() + warp * EXPERTS;
    float x[SHARE], largest = MINUS_INFINITY, sum = 0.0f;
    _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) {
        u32 expert = i * 32 + lane;
        x[i] = expert < EXPERTS ? scores[(u64)row * EXPERTS + expert] : MINUS_INFINITY;
        largest = fmaxf(largest, x[i]);
    }
    if (SCORING == 0) {
        largest = warp_max(largest);
        _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) sum += x[i] = softmax(x[i], largest, i * 32 + lane < EXPERTS);
        sum = warp_sum(sum);
        _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) x[i] = x[i] / sum;
    } else if (SCORING == 2) {
        _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) x[i] = 1.0f / (1.0f + expf(-x[i]));
    }
    u32 ranks[SHARE];
    _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) {
        u32 expert = i * 32 + lane;
        float number = expert < EXPERTS && correction ? x[i] + correction[expert] : x[i];
        ranks[i] = expert < EXPERTS ? rank_of(number) : 0;
        if (expert < EXPERTS) numbers[expert] = number;
    }
    __syncwarp();
    if (SCORING == 2 && top_groups < groups) leave_groups(ranks, numbers, lane, groups, top_groups);
    __syncwarp();
    _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) {
        if (i * 32 + lane < EXPERTS) numbers[i * 32 + lane] = x[i];
    }
    __syncwarp();

    // Lane c keeps choice c; there are at most 32.
    u32 chosen = 0;
    float weight = 0.0f, first = 0.0f, all = 0.0f;
    for (u32 choice = 0; choice < per_token; choice++) {
        u32 expert = ~(u32)best_of(ranks, lane);
        _Pragma("unroll") for (u32 i = 0; i < SHARE; i++) {
            if (expert == i * 32 + lane) ranks[i] = 0;
        }
        float number = numbers[expert];
        if (choice == 0) first = number;
        if (SCORING == 1) number = expf(number - first);
        all += number;
        if (choice == lane) chosen = expert, weight = number;
    }
    if (SCORING == 2) all += 1e-20f;
    if (lane >= per_token) return;
    if (SCORING == 1 || normalize) weight = weight / all;
    experts[(u64)row * per_token + lane] = chosen;
    weights[(u64)row * per_token + lane] = SCORING == 2 ? weight * scale : weight;
}
