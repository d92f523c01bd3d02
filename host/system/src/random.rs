//! Random ids and seeds, from the system's randomness.

use std::cell::RefCell;

/// Number of random bytes that a thread keeps in stock. A call of the system costs more than making
/// an id, so one call serves many ids.
const STOCK: usize = 384;

/// Random bytes, and the number of them that are used up.
struct Stock([u8; STOCK], usize);

thread_local! {
    static BYTES: RefCell<Stock> = const { RefCell::new(Stock([0; STOCK], STOCK)) };
}

/// `N` random bytes as lower-case hex.
///
/// # Panics
/// If the system has no randomness, without which nothing could be served safely.
pub fn hex<const N: usize>() -> String {
    to_hex(&bytes::<N>())
}

/// `N` random bytes.
///
/// # Panics
/// As `hex`.
pub fn bytes<const N: usize>() -> [u8; N] {
    const { assert!(N <= STOCK) };
    let mut taken = [0; N];
    BYTES.with_borrow_mut(|Stock(bytes, used)| {
        if STOCK - *used < N {
            getrandom::fill(bytes).expect("the system gives randomness");
            *used = 0;
        }
        taken.copy_from_slice(&bytes[*used..][..N]);
        *used += N;
    });
    taken
}

/// `bytes` as lower-case hex.
pub fn to_hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("four bits");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A random seed.
///
/// # Panics
/// As `hex`.
pub fn seed() -> u64 {
    getrandom::u64().expect("the system gives randomness")
}
