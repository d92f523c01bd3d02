//! Ids and time for answers. Both are handed to the machines from outside, so that they are the same
//! in each run of a test, and when a recorded answer is replayed.

pub use system::{Clock, IdSeed};

use system::id_seed::Purpose;

/// A source of ids such as `msg_6f1c…`; each id is new.
#[derive(Debug, Clone)]
pub struct Ids(IdSource);

#[derive(Debug, Clone)]
enum IdSource {
    Seeded(IdSeed, u64),
    Counted(u64),
}

impl Ids {
    /// Ids of 128 random bits each, which can't be guessed.
    pub fn random() -> Self {
        Self::seeded(IdSeed::random())
    }

    /// Ids of 128 bits each, which follow from the seed and can't be guessed without it.
    pub fn seeded(seed: IdSeed) -> Self {
        Self(IdSource::Seeded(seed, 0))
    }

    /// `resp_1`, `msg_2`, …: for tests.
    pub fn counted() -> Self {
        Self(IdSource::Counted(0))
    }

    /// The next id, beginning with `prefix`.
    pub fn next(&mut self, prefix: &str) -> String {
        match &mut self.0 {
            IdSource::Seeded(seed, count) => {
                *count += 1;
                format!("{prefix}{}", seed.id::<16>(Purpose::Ids, 0, *count))
            }
            IdSource::Counted(count) => {
                *count += 1;
                format!("{prefix}{count}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IdSeed, Ids};

    #[test]
    fn random_ids_carry_the_prefix_and_differ() {
        let mut ids = Ids::random();
        let (a, b) = (ids.next("msg_"), ids.next("msg_"));
        assert_ne!(a, b);
        assert!(a.starts_with("msg_") && a.len() == 4 + 32);
    }

    #[test]
    fn equal_seeds_give_equal_ids() {
        let seed = IdSeed::random();
        let (mut one, mut other) = (Ids::seeded(seed), Ids::seeded(seed));
        for prefix in ["resp_", "msg_"] {
            assert_eq!(one.next(prefix), other.next(prefix));
        }
        assert_ne!(one.next(""), Ids::random().next(""));
    }
}
