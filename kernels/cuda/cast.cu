// Conversion of numbers to another type: FROM and TO are 0 for bf16, 1 for f32, 2 for f16 (FROM only). Weights are converted
// once, when they are loaded.
//
// A thread converts WIDTH numbers (8: accesses of 16 bytes). Rounded to nearest even. Bytes: each number is read and written
// once.
// sass [WIDTH=8]: cast lacks LDG(?!\.E\.128)
// sass [WIDTH=8]: cast lacks STG(?!\.E\.128)

struct f16 {
    u16 bits;
};

// A product with 2¹¹² corrects the exponent, also of subnormal numbers; infinities and NaN stay what they are.
DEVICE float f32_of(f16 x) {
    u32 magnitude = (x.bits & 0x7fffu) << 13, sign = (x.bits & 0x8000u) << 16;
    float y = __uint_as_float(magnitude) * __uint_as_float(0x77800000u);
    u32 bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : __float_as_uint(y);
    return __uint_as_float(bits | sign);
}

template <int N>
DEVICE Floats<N> load(const f16* p) {
    Floats<N> v;
    if (N == 8) {
        uint4 bits = *(const uint4*)p;
        u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
        _Pragma("unroll") for (int i = 0; i < N; i++) v.at[i] = f32_of(f16{(u16)(words[i / 2] >> i % 2 * 16)});
    } else {
        v.at[0] = f32_of(p[0]);
    }
    return v;
}

#if FROM == 0
typedef bf16 From;
#elif FROM == 1
typedef float From;
#else
typedef f16 From;
#endif
#if TO == 0
typedef bf16 To;
#else
typedef float To;
#endif

KERNEL __launch_bounds__(256) void cast(const From* from, To* to, u64 count) {
    grid_launch_dependents();
    grid_dependency_wait();
    u64 at = ((u64)blockIdx.x * 256 + threadIdx.x) * WIDTH;
    if (at < count) store(to + at, load<WIDTH>(from + at));
}
