// Tiles of matrices in shared memory, for linear_tiles.cu: 32 columns of K at a time, in rows of 64 bytes of bf16 or 32 bytes of FP8.
//
// The chunks of 16 bytes of a row swap places, four by the row's bits 2 and 1, two by its bit 2, so that eight rows of ldmatrix lie in
// all banks, as do the first or the last two chunks of four rows. What is outside of a matrix is zero. WIDTH 8: rows and pointers are
// multiples of 16 bytes; WIDTH 1: any bf16.

constexpr u32 TILE_K = 32;

// Index of a chunk of 16 bytes of a tile with rows of RowBytes, in bytes. Eight rows further the index is 8 * RowBytes greater.
template <u32 RowBytes>
DEVICE u32 place(u32 row, u32 chunk) {
    u32 swap = RowBytes == 64 ? row / 2 % 2 * 2 + row / 4 % 2 : row / 4 % 2;
    return row * RowBytes + (chunk ^ swap) * 16;
}

// A matrix [rows, cols] whose tiles a block loads; each thread loads a chunk of 16 bytes of every
// THREADS / (RowBytes / 16)th row.
template <u32 RowBytes>
struct Tiled {
    const u8* matrix;
    // Index of the thread's first row.
    u32 row;
    u32 rows, cols;
};

template <u32 RowBytes>
DEVICE Tiled<RowBytes> tiled(const void* matrix, u32 first, u32 rows, u32 cols) {
    return {(const u8*)matrix, first + threadIdx.x / (RowBytes / 16), rows, cols};
}

// Begins to load the tile's columns from `k` on. Chunks are counted in 32 bits, so that addresses take few registers.
template <u32 Tile, u32 RowBytes>
DEVICE void load_tile(u8* tile, const Tiled<RowBytes>& matrix, u32 k) {
    constexpr u32 CHUNKS = RowBytes / 16, ROWS = THREADS / CHUNKS, CHUNK_COLS = TILE_K / CHUNKS;
    u32 chunk = threadIdx.x % CHUNKS, col = k + chunk * CHUNK_COLS;
    u8* to = tile + place<RowBytes>(threadIdx.x / CHUNKS, chunk);
    if (Tile < ROWS && threadIdx.x / CHUNKS >= Tile) return;
    _Pragma("unroll") for (u32 i = 0; i < (Tile + ROWS - 1) / ROWS; i++) {
        u32 row = matrix.row + i * ROWS;
        if (WIDTH == 8) {
            bool inside = row < matrix.rows && col < matrix.cols;
            u32 at = row * (matrix.cols / CHUNK_COLS) + col / CHUNK_COLS;
            cp_async16(to + i * ROWS * RowBytes, matrix.matrix + (u64)at * 16, inside ? 16 : 0);
        } else {
            const bf16* from = (const bf16*)matrix.matrix + (u64)row * matrix.cols + col;
            bf16* element = (bf16*)(to + i * ROWS * RowBytes);
            for (u32 j = 0; j < 8; j++) element[j] = row < matrix.rows && col + j < matrix.cols ? from[j] : (bf16)0;
        }
    }
}
