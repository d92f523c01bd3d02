//! The secret that all random values of one answer follow from: ids and seeds of samplers.
//!
//! Invariant: values are SHA-256 of the secret and of what they are for, so nobody who sees some of
//! them can tell the others. Nonces of ciphers are never made of it: a recorded seed would make
//! them twice.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::random;

/// Number of bytes of a seed.
const BYTES: usize = 32;

/// What values of a seed are for. Values for different purposes have nothing in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Ids of a protocol's objects.
    Ids = 1,
    /// Ids of calls.
    Calls = 2,
    /// Seeds of samplers.
    Sampling = 3,
}

/// Seed of one answer's random values. Cheap to clone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IdSeed([u8; BYTES]);

impl IdSeed {
    /// A new seed, which can't be guessed.
    ///
    /// # Panics
    /// If the system has no randomness, without which nothing could be served safely.
    pub fn random() -> Self {
        Self(random::bytes())
    }

    /// The seed that [`Self::to_hex`] wrote.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut seed = [0; BYTES];
        if text.len() != 2 * BYTES || !text.is_ascii() {
            return None;
        }
        for (byte, digits) in seed.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(seed))
    }

    /// The seed as 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        random::to_hex(&self.0)
    }

    /// The `number`th id of stream `of` for this purpose: `N` bytes as lower-case hex.
    pub fn id<const N: usize>(&self, purpose: Purpose, of: u32, number: u64) -> String {
        const { assert!(N <= BYTES) };
        random::to_hex(&self.hash(purpose, of, number)[..N])
    }

    /// A number for this purpose and stream.
    pub fn number(&self, purpose: Purpose, of: u32) -> u64 {
        let hash = self.hash(purpose, of, 0);
        u64::from_le_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
    }

    fn hash(&self, purpose: Purpose, of: u32, number: u64) -> [u8; BYTES] {
        let hash = Sha256::new().chain_update(self.0).chain_update([purpose as u8]);
        hash.chain_update(of.to_le_bytes()).chain_update(number.to_le_bytes()).finalize().into()
    }
}

impl fmt::Debug for IdSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdSeed")
    }
}

#[cfg(test)]
mod tests {
    use super::{IdSeed, Purpose};

    #[test]
    fn values_follow_from_the_seed_and_differ_by_use() {
        let seed = IdSeed::random();
        let again = IdSeed::from_hex(&seed.to_hex()).unwrap();
        let id = |seed: &IdSeed, of, number| seed.id::<12>(Purpose::Calls, of, number);
        assert_eq!(id(&seed, 3, 7), id(&again, 3, 7));
        assert_eq!(id(&seed, 0, 0).len(), 24);
        let other = IdSeed::random();
        for different in
            [id(&seed, 3, 8), id(&seed, 7, 3), id(&other, 3, 7), seed.id::<12>(Purpose::Ids, 3, 7)]
        {
            assert_ne!(different, id(&seed, 3, 7));
        }
        assert_ne!(seed.number(Purpose::Sampling, 0), seed.number(Purpose::Sampling, 1));
    }

    #[test]
    fn a_seed_that_was_not_written_whole_is_none() {
        let hex = IdSeed::random().to_hex();
        for wrong in ["", &hex[1..], &format!("{hex}0"), &format!("{}x", &hex[1..]), &"é".repeat(32)] {
            assert!(IdSeed::from_hex(wrong).is_none(), "{wrong}");
        }
    }
}
