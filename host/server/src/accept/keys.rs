//! API keys and the names of their owners. Keys are stored as digests and compared in constant
//! time.
//!
//! Invariant: a key has one owner, and who that is doesn't depend on the order or the number of
//! keys. All clones have the same keys, which [`Keys::replace`] replaces whole or not at all; the
//! command line does that when the keys' file changed.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use accounts::Principal;

/// Most characters of a name.
const NAME_CHARACTERS: usize = 64;
/// Length from which on a key that ends in one `=` is base64, as of 17 bytes or more, and no name
/// whose key is missing.
const BASE64_CHARACTERS: usize = 24;
/// Bytes of a key's digest in the name of a key that was given none: two keys in 2⁶⁴ have the same.
const NAME_BYTES: usize = 8;

/// A key, of which only the digest is kept, and its owner.
#[derive(Clone)]
pub struct ApiKey {
    owner: Principal,
    digest: [u8; 32],
}

/// A key that came with a request, of which only the digest is kept. Put into the extensions of each
/// request that needed one.
#[derive(Clone)]
pub(crate) struct PresentedKey([u8; 32]);

impl PresentedKey {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }
}

/// Error of a key. It never shows the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no name, or one with other characters.
    #[error("expected NAME=KEY with a name of at most {NAME_CHARACTERS} letters, digits, `.`, `_` and `-`")]
    Name,
    /// Nothing follows the name, or the key is empty.
    #[error(
        "a key is empty: expected a key after NAME= (a short key that ends in = needs a name, too: NAME=KEY)"
    )]
    Empty,
    /// The name is that of requests without keys.
    #[error("no key can be called {}, which is whoever needs no key: choose another name", Principal::LOCAL)]
    Reserved,
    /// Two owners have the same key.
    #[error("{} and {} have the same key: give each a key of its own", .0.name(), .1.name())]
    Shared(Principal, Principal),
}

impl ApiKey {
    /// The key in `NAME=KEY`; white space around both is ignored.
    ///
    /// # Errors
    /// There is no name or no key, or the name is reserved.
    pub fn named(text: &str) -> Result<Self, KeyError> {
        let (name, key) = split(text).ok_or(KeyError::Name)?;
        match (name, key) {
            (Principal::LOCAL, _) => Err(KeyError::Reserved),
            (_, "") => Err(KeyError::Empty),
            _ => Ok(Self { owner: Principal::new(name), digest: Sha256::digest(key).into() }),
        }
    }

    /// The key in `text` without a name. Its name follows from its digest.
    fn unnamed(text: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(text).into();
        let mut name = "key-".to_owned();
        for byte in &digest[..NAME_BYTES] {
            let _ = write!(name, "{byte:02x}");
        }
        Self { owner: Principal::new(&name), digest }
    }
}

/// Reads `NAME=KEY` or `KEY`. What is before the first `=` is a name if it can be one, unless all
/// that follows is the padding of base64.
impl FromStr for ApiKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        match split(text) {
            None if text.is_empty() => Err(KeyError::Empty),
            Some((_, key)) if !is_padding(text, key) => Self::named(text),
            _ => Ok(Self::unnamed(text)),
        }
    }
}

/// Name and key of `NAME=KEY`.
fn split(text: &str) -> Option<(&str, &str)> {
    let (name, key) = text.split_once('=')?;
    let (name, key) = (name.trim(), key.trim());
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = (1..=NAME_CHARACTERS).contains(&name.len()) && name.bytes().all(is_part);
    is_name.then_some((name, key))
}

/// Whether `rest`, which follows the first `=` of `text`, ends a key in base64. A name whose key is
/// missing (`NAME=$UNSET`) isn't one.
fn is_padding(text: &str, rest: &str) -> bool {
    let is_base64 = text.len() >= BASE64_CHARACTERS && text.len().is_multiple_of(4);
    rest == "=" || (rest.is_empty() && is_base64)
}

/// Keys that clients may use; if there are none, no key is required.
#[derive(Clone, Default)]
pub struct Keys {
    known: Arc<RwLock<Known>>,
    owners: usize,
}

/// The present keys.
#[derive(Default)]
struct Known {
    keys: Vec<ApiKey>,
    owners: usize,
}

impl Keys {
    /// Stores the keys.
    ///
    /// # Errors
    /// Two owners have the same key.
    pub fn new(keys: Vec<ApiKey>) -> Result<Self, KeyError> {
        let owners = check_owners(&keys)?;
        Ok(Self { known: Arc::new(RwLock::new(Known { keys, owners })), owners })
    }

    /// These keys, with budgets for several owners even if there is one now: [`Self::replace`] may
    /// bring others.
    #[must_use]
    pub fn replaceable(self) -> Self {
        Self { owners: self.owners.max(2), ..self }
    }

    /// Replaces all keys, in all clones.
    ///
    /// # Errors
    /// Two owners have the same key; the keys stay as they were.
    pub fn replace(&self, keys: Vec<ApiKey>) -> Result<(), KeyError> {
        let owners = check_owners(&keys)?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Known { keys, owners };
        Ok(())
    }

    /// Checks keys that may replace these.
    ///
    /// # Errors
    /// Two owners have the same key.
    pub fn check(keys: &[ApiKey]) -> Result<(), KeyError> {
        check_owners(keys).map(drop)
    }

    /// Whether no key is required.
    pub fn is_empty(&self) -> bool {
        self.owners == 0
    }

    /// Number of owners that budgets are made for.
    pub fn owners(&self) -> usize {
        self.owners
    }

    /// Number of owners that have a key now.
    pub(crate) fn present_owners(&self) -> usize {
        self.known.read().unwrap_or_else(PoisonError::into_inner).owners
    }

    /// Owner of the key, if it is known.
    pub(crate) fn owner(&self, key: &PresentedKey) -> Option<Principal> {
        let PresentedKey(digest) = key;
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (mut found, mut place) = (Choice::from(0), 0_u64);
        for (at, key) in (0..).zip(&known.keys) {
            let same = key.digest.ct_eq(digest);
            place.conditional_assign(&at, same);
            found |= same;
        }
        // The key was compared with every known key, even after a match.
        let key = bool::from(found).then(|| usize::try_from(place).ok()).flatten();
        key.and_then(|key| known.keys.get(key)).map(|key| key.owner.clone())
    }
}

/// Number of owners of the keys, each of which must have one.
fn check_owners(keys: &[ApiKey]) -> Result<usize, KeyError> {
    let mut sorted: Vec<&ApiKey> = keys.iter().collect();
    sorted.sort_by_key(|key| key.digest);
    let shared = |pair: &&[&ApiKey]| pair[0].digest == pair[1].digest && pair[0].owner != pair[1].owner;
    match sorted.windows(2).find(shared) {
        Some(pair) => Err(KeyError::Shared(pair[0].owner.clone(), pair[1].owner.clone())),
        None => Ok(keys.iter().map(|key| &key.owner).collect::<HashSet<_>>().len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &[&str]) -> Result<Keys, KeyError> {
        Keys::new(texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?)
    }

    fn owner(keys: &[&str], key: &str) -> Option<String> {
        let keys = self::keys(keys).unwrap_or_else(|error| panic!("{error}"));
        keys.owner(&PresentedKey::new(key.as_bytes())).map(|owner| owner.name().to_owned())
    }

    #[test]
    fn only_whole_keys_are_allowed() {
        let keys = ["one=secret-1", "two=secret-2", "one=secret-3"];
        for (key, name) in [("secret-1", "one"), ("secret-2", "two"), ("secret-3", "one")] {
            assert_eq!(owner(&keys, key).as_deref(), Some(name));
        }
        for wrong in ["", "secret", "secret-11", "Secret-1", "one=secret-1", "one"] {
            assert_eq!(owner(&keys, wrong), None, "{wrong:?}");
        }
        assert_eq!(self::keys(&keys).map(|keys| keys.owners()), Ok(2));
    }

    #[test]
    fn unnamed_keys_owner_depends_on_that_key_only() {
        let name = owner(&["secret"], "secret").expect("it is known");
        // printf %s secret | sha256sum
        assert_eq!(name, "key-2bb80d537b1da3e3");
        assert_eq!(owner(&["a=1", "other", "secret"], "secret").as_ref(), Some(&name));
        let named = format!("{name}=its-successor");
        assert_eq!(owner(&["secret", &named], "its-successor"), Some(name));
    }

    #[test]
    fn keys_with_equals_sign_are_whole_unless_named() {
        for whole in [
            "c2VjcmV0",
            "YQ==",
            "YWJjZGVmZ2hpamtsbW5vcHE=",
            "pvQ7jI0VZ0cS6oRk2hqmY3b7sYt0pLxw5m1fQe8uN9c=",
            "ab+/c=d",
            "=a",
        ] {
            assert!(owner(&[whole], whole).expect("it is known").starts_with("key-"), "{whole}");
        }
        for (text, key) in [("a=b", "b"), ("a=b==", "b=="), ("a.B_c-9===", "=="), (" a = b=c ", "b=c")] {
            let name = text.split('=').next().expect("a part").trim();
            assert_eq!(owner(&[text], key).as_deref(), Some(name), "{text}");
        }
    }

    #[test]
    fn missing_reserved_and_two_owner_keys_are_refused() {
        for empty in ["", " ", "alice=", "YWI=", "a-name-of-27-characters-or-so="] {
            assert_eq!(keys(&[empty]).err(), Some(KeyError::Empty), "{empty:?}");
        }
        assert_eq!(keys(&["local=secret"]).err(), Some(KeyError::Reserved));
        for unnamed in ["secret", "=secret", "a b=secret", &format!("{}=secret", "n".repeat(65))] {
            assert_eq!(ApiKey::named(unnamed).err(), Some(KeyError::Name), "{unnamed:?}");
        }
        let shared = keys(&["a=secret", "b=other", "c=secret"]).err().expect("two owners").to_string();
        assert!(shared.contains('a') && shared.contains('c') && !shared.contains("secret"), "{shared}");
        assert!(keys(&["a=secret", "a=secret"]).is_ok());
        assert!(keys(&["secret", "a=secret"]).is_err());
    }

    #[test]
    fn key_replacement_reaches_clones_whole_or_not_at_all() {
        let keys = self::keys(&["a=1"]).expect("keys").replaceable();
        let clone = keys.clone();
        let new = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a key")).collect();
        assert!(keys.replace(new(&["a=2", "b=2"])).is_err());
        let owner = |key: &str| clone.owner(&PresentedKey::new(key.as_bytes()));
        assert!(owner("1").is_some() && owner("2").is_none());
        keys.replace(new(&["a=2", "b=3"])).expect("keys");
        assert_eq!(owner("2"), Some(Principal::new("a")));
        assert!(owner("1").is_none());
        assert_eq!((clone.owners(), clone.present_owners()), (2, 2));
        keys.replace(new(&["a=2", "a=3"])).expect("keys");
        assert_eq!(clone.present_owners(), 1, "one owner has two keys");
    }
}
