//! API keys, stored as digests and compared in constant time.

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::accounts::Principal;

/// Keys that clients may use; if there are none, no key is required.
#[derive(Clone, Default)]
pub struct Keys(Vec<[u8; 32]>);

impl Keys {
    /// Stores digests of the keys. Empty keys are skipped.
    pub fn new<S: AsRef<str>>(keys: &[S]) -> Self {
        let keys = keys.iter().filter(|key| !key.as_ref().is_empty());
        Self(keys.map(|key| Sha256::digest(key.as_ref().as_bytes()).into()).collect())
    }

    /// Whether no key is required.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Principal that the key belongs to, if it is known. The key is compared with every known key, even after a match.
    pub(super) fn principal(&self, key: &[u8]) -> Option<Principal> {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let (mut found, mut whose) = (Choice::from(0), 0_u64);
        for (place, known) in (0..).zip(&self.0) {
            let same = known.ct_eq(&digest);
            whose.conditional_assign(&place, same);
            found |= same;
        }
        bool::from(found).then(|| Principal(usize::try_from(whose).expect("it is a place in a list")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_keys_are_allowed() {
        let keys = Keys::new(&["secret-1", "secret-2"]);
        assert_eq!(keys.principal(b"secret-1"), Some(Principal(0)));
        assert_eq!(keys.principal(b"secret-2"), Some(Principal(1)));
        for wrong in ["", "secret", "secret-11", "Secret-1"] {
            assert_eq!(keys.principal(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
