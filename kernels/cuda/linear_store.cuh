// Store of the f32 sums of a linear layer: a bias is added, then one of four things is done (STORE).

// Sums replace the bf16 output.
#define STORE_BF16 0
// Sums replace the f32 output.
#define STORE_F32 1
// Sums are added to the f32 output (a residual connection).
#define STORE_ADD 2
// Outputs are interleaved, eight of gate and eight of up; silu(gate) * up replaces the bf16 output, which has half the columns.
#define STORE_SWIGLU 3

#if STORE == STORE_F32 || STORE == STORE_ADD
typedef float Out;
#else
typedef bf16 Out;
#endif

DEVICE float swiglu(float gate, float up) {
    return gate / (1.0f + __expf(-gate)) * up;
}

DEVICE void put(float* p, float x) {
    *p = STORE == STORE_ADD ? *p + x : x;
}

DEVICE void put(bf16* p, float x) {
    *p = bf16_of(x);
}

// Writes two neighbours, at an address that is a multiple of their size together.
DEVICE void put_two(float* p, float x, float y) {
    float2 old = STORE == STORE_ADD ? *(float2*)p : make_float2(0.0f, 0.0f);
    *(float2*)p = make_float2(old.x + x, old.y + y);
}

DEVICE void put_two(bf16* p, float x, float y) {
    *(u32*)p = bf16_pair(x, y);
}
