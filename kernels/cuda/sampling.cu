// Sampling of tokens from rows of logits: edits, mask, temperature, top-k, min-p, top-p, draw and log-probabilities, as in the
// CPU's sampler.
//
// A block samples a row, which it reads several times from the second-level cache: for NaN, infinity and the largest logit, for
// log-probabilities, for each digit of a threshold, for the draw. No row is sorted: the likeliest ids are those above a
// threshold, which is found digit by digit from histograms of 2048 bins (radix select; Alabi et al. 2012,
// doi:10.1145/2133803.2345676), by their number (top-k) or by their weight (top-p); of equal logits those with lower ids are
// likelier. Weights are integers, multiples of 2^-46 of the largest weight, so that no sum depends on its order. Edits are
// applied to the logits in place, and the logit before an edit replaces the edit's bias.

// 64 bits from a counter: two rounds of the finaliser of SplitMix64 (Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195).
DEVICE u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

DEVICE u64 random_bits(const Draw& draw) {
    const u64 step = 0x9e3779b97f4a7c15ull;
    u64 seed = (u64)draw.seed_high << 32 | draw.seed_low, position = (u64)draw.position_high << 32 | draw.position_low;
    return mix(mix(seed + step) + position * step);
}

// Applies an edit as `Edit::apply` of the engine does: a logit that overflows upwards becomes the largest number.
DEVICE void apply(float* logits, Edit& edit) {
    const float most = __uint_as_float(0x7f7fffffu);
    float logit = logits[edit.id], biased = fminf(logit + edit.bias, most);
    float repeated = biased > 0.0f ? biased / edit.repetition : biased * edit.repetition;
    logits[edit.id] = fminf(repeated - edit.minus, most);
    edit.bias = logit;
}

// Chooses an id; at least one must be left.
DEVICE u32 choose(const Row& row, const Draw& draw, u64 best, Shared& shared) {
    if (!(draw.temperature > 0.0f)) return ~(u32)best;
    Limits limits = {0, NONE, of_key((u32)(best >> 32)), draw.temperature, 0.0f};
    if (draw.top_k > 0 && draw.top_k < row.vocab && total(row, limits, Count(), shared) > draw.top_k) {
        limit(row, limits, Count(), draw.top_k, shared);
    }
    if (draw.min_p > 0.0f) limits.least = fminf(draw.min_p, 1.0f);
    u64 all = total(row, limits, Weight(), shared);
    if (draw.top_p < 1.0f) {
        double wanted = (double)draw.top_p * (double)all;
        u64 target = wanted > 1.0 ? (u64)wanted : 1;
        if ((double)target < wanted) target++;
        limit(row, limits, Weight(), min(target, all), shared);
        all = total(row, limits, Weight(), shared);
    }
    // The upper 53 random bits as a fraction of one, times the sum, rounded down.
    return find(row, limits, Weight(), __umul64hi(random_bits(draw) >> 11 << 11, all), shared);
}

// out: [rows, 4] of status (0: a token, 1: a logit is NaN or plus infinity, 2: no token is left), id, log-probability or the bad
// logit, number of alternatives; top: [rows, top_width, 2] of id and log-probability.
KERNEL __launch_bounds__(1024) void sample(float* all_logits, const Draw* draws, Edit* edits, const u32* masks, u32* samples,
                                           u32* out, u32* top, u32 vocab, u32 top_width) {
    grid_launch_dependents();
    grid_dependency_wait();
    Shared& shared = *(Shared*)shared_memory();
    const Draw draw = draws[blockIdx.x];
    float* logits = all_logits + (u64)draw.logit_row * vocab;
    const u32* mask = draw.mask_row == NONE ? nullptr : masks + (u64)draw.mask_row * ((vocab + 31) / 32);
    Row raw = {logits, nullptr, vocab}, row = {logits, mask, vocab};
    u32 bad = first_bad(raw, shared), status = 0, id = 0, alternatives = 0;
    float above = 0.0f;
    bool wants_logprobs = draw.top_logprobs != NONE;
    if (!bad && wants_logprobs) {
        above = log_sum(raw, of_key((u32)(best_of(raw, shared) >> 32)), shared);
        alternatives = write_top(raw, min(draw.top_logprobs, top_width), above, top + (u64)blockIdx.x * top_width * 2, shared);
    }
    for (u32 i = draw.first_edit + threadIdx.x; i < draw.end_edit && !bad; i += THREADS) apply(logits, edits[i]);
    __syncthreads();
    u64 best = bad ? 0 : best_of(row, shared);
    if (bad) {
        status = 1, id = ~bad;
    } else if (!(of_key((u32)(best >> 32)) > MINUS_INFINITY)) {
        status = 2;
    } else {
        id = choose(row, draw, best, shared);
    }
    if (threadIdx.x == 0) shared.logit = logits[id];
    __syncthreads();
    for (u32 i = draw.first_edit + threadIdx.x; i < draw.end_edit && !bad; i += THREADS) {
        if (edits[i].id == id) shared.logit = edits[i].bias;
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    u32* result = out + 4 * blockIdx.x;
    result[0] = status, result[1] = id, result[3] = alternatives;
    result[2] = __float_as_uint(shared.logit - (status == 0 ? above : 0.0f));
    if (samples && draw.lane != NONE) samples[draw.lane] = id;
}
