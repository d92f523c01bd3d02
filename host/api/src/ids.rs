//! Ids and time for answers. Both are handed to the machines from outside, so that tests can give
//! the same ids and times in each run.

use std::time::{SystemTime, UNIX_EPOCH};

use system::random;

/// A clock: returns seconds since 1970, UTC.
pub type Clock = fn() -> u64;

/// The system's clock.
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A source of ids such as `msg_6f1c…`; each id is new.
#[derive(Debug, Clone)]
pub struct Ids(IdSource);

#[derive(Debug, Clone)]
enum IdSource {
    Random,
    Counted(u64),
}

impl Ids {
    /// Ids of 128 random bits each, which can't be guessed.
    pub fn random() -> Self {
        Self(IdSource::Random)
    }

    /// `resp_1`, `msg_2`, …: for tests.
    pub fn counted() -> Self {
        Self(IdSource::Counted(0))
    }

    /// A seed for random values of an answer: it differs between answers, and is the same in each
    /// run of a test.
    pub fn seed(&self) -> u64 {
        match self.0 {
            IdSource::Random => random::seed(),
            IdSource::Counted(count) => count,
        }
    }

    /// The next id, beginning with `prefix`.
    ///
    /// # Panics
    /// If the system has no random bytes to give.
    pub fn next(&mut self, prefix: &str) -> String {
        match &mut self.0 {
            IdSource::Random => format!("{prefix}{}", random::hex::<16>()),
            IdSource::Counted(count) => {
                *count += 1;
                format!("{prefix}{count}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn random_ids_carry_the_prefix_and_differ() {
        let mut ids = Ids::random();
        let (a, b) = (ids.next("msg_"), ids.next("msg_"));
        assert_ne!(a, b);
        assert!(a.starts_with("msg_") && a.len() == 4 + 32);
    }
}
