// Search in a row of logits without sorting it: the id at which a sum is reached, and the key down to which the likeliest ids
// measure as much as is wanted, found digit by digit from histograms (radix select). For sampling.cu.

// The first id at which the sum over all ids up to and including it exceeds `target`, which is below the sum of all ids.
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

// Adds to a bin. The thread whose addition overflows the low half adds the carry to the high half.
DEVICE void add(Shared& shared, u32 bin, u64 x) {
    u32 low = (u32)x, before = atomicAdd(&shared.low[bin], low), high = (u32)(x >> 32) + (before + low < before);
    if (high) atomicAdd(&shared.high[bin], high);
}

DEVICE u64 bin_of(const Shared& shared, u32 bin) {
    return (u64)shared.high[bin] << 32 | shared.low[bin];
}

// Finds the bin in which the sum from the highest bin on reaches `target`, and what the bins above it leave of the target. Called
// by warp 0.
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

// Tightens the limits to as few of the likeliest ids as measure `target`, which is at most what all ids measure.
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
    // All ids of this key measure the same: as many of them are kept as reach the rest.
    u64 one = measure.of(limits, of_key(prefix)), ties = (target + one - 1) / one;
    u32 last = find(row, limits, Tie{prefix}, ties - 1, shared);
    limits.key = prefix, limits.id = last;
}
