// From rows of logits to tokens: edits, mask, temperature, top-k, min-p, top-p, draw, log-probabilities; what the CPU's sampler does.
//
// A block for a row, which it reads several times from the second-level cache: for what isn't a number and the largest, for
// log-probabilities, for each digit of a threshold, for the draw. No row is sorted: the likeliest are those above a threshold, which
// is found digit by digit from histograms of 2048 bins (radix select; Alabi et al. 2012, doi:10.1145/2133803.2345676), by their
// number (top-k) or by their weight (top-p); of equal logits those with lower ids are likelier. Weights are integers, multiples of
// 2^-46 of the largest, so that no sum depends on its order. Edits are made in place of the logits, and the logit that was there
// takes the place of the edit's bias.

#define NONE 0xffffffffu
constexpr u32 THREADS = 1024, WARPS = THREADS / 32, BINS = 2048;

// A draw's words; the same as in sampling.rs.
struct Draw {
    u32 logit_row, lane, mask_row, first_edit, end_edit;
    float temperature, top_p;
    u32 top_k;
    float min_p;
    u32 seed_low, seed_high, position_low, position_high, top_logprobs, unused[2];
};

struct Edit {
    u32 id;
    float bias, repetition, minus;
};

struct Shared {
    u32 low[BINS], high[BINS];
    u64 warps[WARPS];
    u64 rest;
    u32 digit, found, count;
    float logit;
};

// The logits that count.
struct Row {
    const float* logits;
    const u32* mask;
    u32 vocab;
};

// What is left: ids above a key, of those with that key the ids up to `id`, and weights of `least`.
struct Limits {
    u32 key, id;
    float largest, temperature, least;
};

DEVICE float logit_of(const Row& row, u32 id) {
    return !row.mask || row.mask[id / 32] >> id % 32 & 1 ? row.logits[id] : MINUS_INFINITY;
}

// Keys are ordered like logits. Zeros of both signs are equal.
DEVICE u32 key_of(float logit) {
    u32 bits = logit == 0.0f ? 0 : __float_as_uint(logit);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

DEVICE float of_key(u32 key) {
    return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

DEVICE float weight_of(const Limits& limits, float logit) {
    return expf((logit - limits.largest) / limits.temperature);
}

DEVICE bool is_left(const Limits& limits, u32 id, float logit) {
    u32 key = key_of(logit);
    return logit > MINUS_INFINITY && (key > limits.key || (key == limits.key && id <= limits.id));
}

struct Count {
    DEVICE_MEMBER u64 of(const Limits&, float) const { return 1; }
};

struct Weight {
    DEVICE_MEMBER u64 of(const Limits& limits, float logit) const {
        float weight = weight_of(limits, logit);
        return weight >= limits.least ? (u64)(weight * 70368744177664.0f) : 0;
    }
};

// One for each id of a key that has a weight.
struct Tie {
    u32 key;
    DEVICE_MEMBER u64 of(const Limits& limits, float logit) const {
        return key_of(logit) == key && weight_of(limits, logit) >= limits.least;
    }
};

struct Larger {
    DEVICE_MEMBER u64 of(u64 a, u64 b) const { return a > b ? a : b; }
};

struct Sum {
    DEVICE_MEMBER u64 of(u64 a, u64 b) const { return a + b; }
};

template <class Join>
DEVICE u64 over_warp(u64 x, Join join) {
    _Pragma("unroll") for (int offset = 16; offset > 0; offset /= 2) x = join.of(x, __shfl_xor_sync(0xffffffffu, x, offset));
    return x;
}

template <class Join>
DEVICE u64 over_block(u64 x, Join join, Shared& shared) {
    x = over_warp(x, join);
    if (threadIdx.x % 32 == 0) shared.warps[threadIdx.x / 32] = x;
    __syncthreads();
    u64 all = shared.warps[0];
    for (u32 warp = 1; warp < WARPS; warp++) all = join.of(all, shared.warps[warp]);
    __syncthreads();
    return all;
}

// Sums of this lane and all before it.
DEVICE u64 up_to_lane(u64 x) {
    for (u32 offset = 1; offset < 32; offset *= 2) {
        u64 before = __shfl_up_sync(0xffffffffu, x, offset);
        if (threadIdx.x % 32 >= offset) x += before;
    }
    return x;
}

template <class Measure>
DEVICE u64 total(const Row& row, const Limits& limits, Measure measure, Shared& shared) {
    u64 sum = 0;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) {
        float logit = logit_of(row, id);
        if (is_left(limits, id, logit)) sum += measure.of(limits, logit);
    }
    return over_block(sum, Sum(), shared);
}

// The first id at which the sum over the ids up to it is above `target`, which is below the sum of all.
template <class Measure>
DEVICE u32 find(const Row& row, const Limits& limits, Measure measure, u64 target, Shared& shared) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 share = (row.vocab + THREADS - 1) / THREADS * 32, begin = warp * share, end = min(row.vocab, begin + share);
    u64 sum = 0;
    for (u32 id = begin + lane; id < end; id += 32) {
        float logit = logit_of(row, id);
        if (is_left(limits, id, logit)) sum += measure.of(limits, logit);
    }
    sum = over_warp(sum, Sum());
    if (lane == 0) shared.warps[warp] = sum;
    __syncthreads();
    u64 before = 0;
    for (u32 other = 0; other < warp; other++) before += shared.warps[other];
    if (before <= target && before + sum > target) {
        for (u32 from = begin;; from += 32) {
            u32 id = from + lane;
            float logit = id < end ? logit_of(row, id) : MINUS_INFINITY;
            u64 sums = before + up_to_lane(is_left(limits, id, logit) ? measure.of(limits, logit) : 0);
            u32 above = __ballot_sync(0xffffffffu, sums > target);
            if (above) {
                if (lane == 0) shared.found = from + __ffs(above) - 1;
                break;
            }
            before = __shfl_sync(0xffffffffu, sums, 31);
        }
    }
    __syncthreads();
    u32 found = shared.found;
    __syncthreads();
    return found;
}

// Adds to a bin. The low half's carry is found by whoever makes it.
DEVICE void add(Shared& shared, u32 bin, u64 x) {
    u32 low = (u32)x, before = atomicAdd(&shared.low[bin], low), high = (u32)(x >> 32) + (before + low < before);
    if (high) atomicAdd(&shared.high[bin], high);
}

DEVICE u64 bin_of(const Shared& shared, u32 bin) {
    return (u64)shared.high[bin] << 32 | shared.low[bin];
}

// The bin in which the sum from the highest bin on reaches `target`, and how much of the target the bins above leave. Of warp 0.
DEVICE void find_bin(Shared& shared, u64 target) {
    constexpr u32 share = BINS / 32;
    u32 lane = threadIdx.x % 32, top = BINS - 1 - lane * share;
    u64 own = 0;
    for (u32 i = 0; i < share; i++) own += bin_of(shared, top - (i + lane) % share);
    u64 sum = up_to_lane(own) - own;
    if (sum < target && sum + own >= target) {
        u32 bin = top;
        while (sum + bin_of(shared, bin) < target) sum += bin_of(shared, bin--);
        shared.digit = bin, shared.rest = target - sum;
    }
}

// Limits that leave as few of the likeliest as measure `target`, which is at most what all measure.
template <class Measure>
DEVICE void limit(const Row& row, Limits& limits, Measure measure, u64 target, Shared& shared) {
    u32 prefix = 0;
    for (int shift = 21; shift >= 0; shift -= shift == 21 ? 11 : 10) {
        u32 bits = shift == 0 ? 10 : 11;
        for (u32 bin = threadIdx.x; bin < BINS; bin += THREADS) shared.low[bin] = shared.high[bin] = 0;
        __syncthreads();
        for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) {
            float logit = logit_of(row, id);
            u32 key = key_of(logit);
            if ((shift == 21 || key >> (shift + bits) == prefix) && is_left(limits, id, logit)) {
                add(shared, key >> shift & ((1u << bits) - 1), measure.of(limits, logit));
            }
        }
        __syncthreads();
        if (threadIdx.x < 32) find_bin(shared, target);
        __syncthreads();
        prefix = prefix << bits | shared.digit, target = shared.rest;
        __syncthreads();
    }
    // All of this key measure the same: as many of them as reach the rest.
    u64 one = measure.of(limits, of_key(prefix)), ties = (target + one - 1) / one;
    u32 last = find(row, limits, Tie{prefix}, ties - 1, shared);
    limits.key = prefix, limits.id = last;
}

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

// The largest logit's key, and the complement of the lowest id that has it.
DEVICE u64 best_of(const Row& row, Shared& shared) {
    u64 best = 0;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) {
        u64 one = (u64)key_of(logit_of(row, id)) << 32 | (u32)~id;
        if (one > best) best = one;
    }
    return over_block(best, Larger(), shared);
}

// The complement of the first id whose logit is NaN or infinity; 0: none.
DEVICE u32 first_bad(const Row& row, Shared& shared) {
    u64 bad = 0;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) {
        if (!(row.logits[id] < -MINUS_INFINITY) && (u32)~id > bad) bad = (u32)~id;
    }
    return (u32)over_block(bad, Larger(), shared);
}

// What a logit is above its log-probability.
DEVICE float log_sum(const Row& row, float largest, Shared& shared) {
    float sum = 0.0f;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) sum += expf(row.logits[id] - largest);
    sum = block_sum(sum, (float*)shared.low);
    __syncthreads();
    return largest + logf(sum);
}

// Writes the `count` likeliest ids with their log-probabilities; returns how many there are.
DEVICE u32 write_top(const Row& row, u32 count, float above, u32* top, Shared& shared) {
    Limits limits = {0, NONE, 0.0f, 1.0f, 0.0f};
    u64 all = total(row, limits, Count(), shared);
    if (count < all && count > 0) limit(row, limits, Count(), count, shared);
    u32 found = count < all ? count : (u32)all;
    if (threadIdx.x == 0) shared.count = 0;
    __syncthreads();
    for (u32 id = threadIdx.x; id < row.vocab && found > 0; id += THREADS) {
        if (!is_left(limits, id, row.logits[id])) continue;
        u32 place = atomicAdd(&shared.count, 1u);
        shared.low[place] = id, shared.high[place] = key_of(row.logits[id]);
    }
    __syncthreads();
    for (u32 one = threadIdx.x; one < found; one += THREADS) {
        u32 id = shared.low[one], key = shared.high[one], rank = 0;
        for (u32 other = 0; other < found; other++) {
            rank += shared.high[other] > key || (shared.high[other] == key && shared.low[other] < id);
        }
        top[2 * rank] = id, top[2 * rank + 1] = __float_as_uint(row.logits[id] - above);
    }
    __syncthreads();
    return found;
}

// As in `Edit::apply` of the engine. What overflows upwards stays a number.
DEVICE void apply(float* logits, Edit& edit) {
    const float most = __uint_as_float(0x7f7fffffu);
    float logit = logits[edit.id], biased = fminf(logit + edit.bias, most);
    float repeated = biased > 0.0f ? biased / edit.repetition : biased * edit.repetition;
    logits[edit.id] = fminf(repeated - edit.minus, most);
    edit.bias = logit;
}

// Of at least one id that is left.
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
    // The upper 53 bits of the random ones, times the sum, rounded down.
    return find(row, limits, Weight(), __umul64hi(random_bits(draw) >> 11 << 11, all), shared);
}

// out: [rows, 4] of status (0: a token, 1: a logit is no number, 2: no token is left), id, log-probability or the bad logit, number
// of alternatives; top: [rows, top_width, 2] of id and log-probability.
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
