//! Randomness for ids and seeds, from the system.

/// `N` random bytes as lower-case hex.
///
/// # Panics
/// If the system has no randomness: nothing could be served safely then.
pub(crate) fn hex<const N: usize>() -> String {
    use std::fmt::Write;
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    let mut text = String::with_capacity(2 * N);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a string");
    }
    text
}

/// A random seed.
///
/// # Panics
/// As `hex`.
pub(crate) fn seed() -> u64 {
    getrandom::u64().expect("the system gives randomness")
}
