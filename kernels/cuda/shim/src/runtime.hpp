// Interface of a kernel's thread to the runtime (block.rs), and operations of a warp.
//
// A thread runs until it needs other threads: at a barrier, or at an operation of its warp, where it brings its operands and goes
// on when all lanes of the mask have brought theirs. The last lane to arrive computes for all. The runtime switches between
// threads.

typedef unsigned int u32;
struct uint3 { u32 x, y, z; };
struct dim3 { u32 x, y, z; };

namespace shim {

// Computes for all lanes of `mask` from the operands that each has brought.
typedef void (*Compute)(void* const* lanes, u32 mask);

struct Context;

// Functions of the runtime (hooks.rs).
struct Hooks {
    void (*barrier)(Context*, u32 id, u32 threads, u32 line);
    void (*warp)(Context*, u32 mask, void* slot, Compute);
    void (*copy)(Context*, void* to, const void* from, u32 size, u32 bytes);
    void (*commit)(Context*);
    void (*wait)(Context*, u32 pending);
    void (*dependency)(Context*);
    void (*fail)(Context*, const char* reason);
};

// A block, with the thread that runs now. `Context` in hooks.rs has the same fields.
struct Context {
    uint3 thread, block;
    dim3 block_dim, grid_dim;
    unsigned char* shared;
    const Hooks* hooks;
    void* runtime;
};

static thread_local Context* context;

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> { typedef Indices<I...> Type; };

template <class... A, int... I>
void call(void (*kernel)(A...), void** args, Indices<I...>) {
    kernel(*(A*)args[I]...);
}
template <class... A>
void call(void (*kernel)(A...), void** args) {
    call(kernel, args, typename MakeIndices<sizeof...(A)>::Type());
}
// Writes the sizes of a kernel's parameters; returns their number.
template <class... A>
u32 parameters(void (*)(A...), u32* sizes) {
    static_assert(sizeof...(A) <= 24, "a kernel with more than MAX_ARGS parameters");
    u32 all[] = {(u32)sizeof(A)..., 0};
    for (u32 i = 0; i < sizeof...(A); i++) sizes[i] = all[i];
    return sizeof...(A);
}

static inline u32 lane() {
    const Context& c = *context;
    return (c.thread.x + c.block_dim.x * (c.thread.y + c.block_dim.y * c.thread.z)) % 32;
}

static inline void fail(const char* reason) { context->hooks->fail(context, reason); }

static inline void aligned(const void* p, u32 bytes) {
    if ((unsigned long long)p % bytes != 0) fail("a misaligned address");
}

template <class T>
struct Shuffle { T in, out; u32 from; };

template <class T>
void shuffle_all(void* const* lanes, u32 mask) {
    for (u32 i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        Shuffle<T>& own = *(Shuffle<T>*)lanes[i];
        if (!(mask >> own.from & 1)) fail("a shuffle from a lane outside of the mask");
        own.out = ((Shuffle<T>*)lanes[own.from])->in;
    }
}

template <class T>
T shuffle(u32 mask, T value, u32 from) {
    Shuffle<T> slot = {value, value, from};
    context->hooks->warp(context, mask, &slot, shuffle_all<T>);
    return slot.out;
}

struct Vote { u32 value, all_and, all_or, sum, least, most, ballot; };

static inline void vote_all(void* const* lanes, u32 mask) {
    Vote all = {0, ~0u, 0, 0, ~0u, 0, 0};
    for (u32 i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        u32 v = ((Vote*)lanes[i])->value;
        all.all_and &= v, all.all_or |= v, all.sum += v;
        if (v < all.least) all.least = v;
        if (v > all.most) all.most = v;
        if (v) all.ballot |= 1u << i;
    }
    for (u32 i = 0; i < 32; i++) if (mask >> i & 1) *(Vote*)lanes[i] = all;
}

static inline Vote vote(u32 mask, u32 value) {
    Vote slot = {value, 0, 0, 0, 0, 0, 0};
    context->hooks->warp(context, mask, &slot, vote_all);
    return slot;
}

static inline void nothing(void* const*, u32) {}

static inline float f32_of_bits(u32 bits) { float x; __builtin_memcpy(&x, &bits, 4); return x; }
static inline u32 bits_of_f32(float x) { u32 bits; __builtin_memcpy(&bits, &x, 4); return bits; }
static inline u32 bf16_bits(float x) {
    u32 bits = bits_of_f32(x);
    if (x != x) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

struct Matrices { const void* row; u32 out[4]; };

template <int N, bool Transposed>
void load_matrices(void* const* lanes, u32) {
    for (int m = 0; m < N; m++) {
        const unsigned short* rows[8];
        for (int r = 0; r < 8; r++) {
            rows[r] = (const unsigned short*)((Matrices*)lanes[8 * m + r])->row;
            aligned(rows[r], 16);
        }
        for (int i = 0; i < 32; i++) {
            int major = i / 4, minor = i % 4 * 2;
            u32 low = Transposed ? rows[minor][major] : rows[major][minor];
            u32 high = Transposed ? rows[minor + 1][major] : rows[major][minor + 1];
            ((Matrices*)lanes[i])->out[m] = low | high << 16;
        }
    }
}

template <int N, bool Transposed>
void ldmatrix(u32 (&out)[N], const void* row) {
    Matrices slot = {row, {0, 0, 0, 0}};
    context->hooks->warp(context, ~0u, &slot, load_matrices<N, Transposed>);
    for (int m = 0; m < N; m++) out[m] = slot.out[m];
}

struct Product { u32 a[4], b[2]; float c[4]; };

// Most of the shim's time goes here, so it has no sanitizer checks; its indices are within bounds.
__attribute__((no_sanitize("undefined"))) static inline void multiply(void* const* lanes, u32) {
    float a[16][16], b[16][8];
    for (int i = 0; i < 32; i++) {
        const Product& p = *(Product*)lanes[i];
        int g = i / 4, t = i % 4 * 2;
        for (int h = 0; h < 2; h++) {
            for (int part = 0; part < 4; part++) {
                a[g + part % 2 * 8][t + part / 2 * 8 + h] = f32_of_bits(p.a[part] >> 16 * h << 16);
            }
            for (int part = 0; part < 2; part++) b[t + part * 8 + h][g] = f32_of_bits(p.b[part] >> 16 * h << 16);
        }
    }
    float c[16][8] = {};
    for (int row = 0; row < 16; row++) {
        for (int k = 0; k < 16; k++) {
            for (int col = 0; col < 8; col++) c[row][col] += a[row][k] * b[k][col];
        }
    }
    for (int i = 0; i < 32; i++) {
        for (int part = 0; part < 4; part++) ((Product*)lanes[i])->c[part] += c[i / 4 + part / 2 * 8][i % 4 * 2 + part % 2];
    }
}

}  // namespace shim
