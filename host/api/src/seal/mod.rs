//! Encryption and signatures of text that clients keep for this server and hand back, so that
//! nobody else can read or change it.
//!
//! A sealed text is base64url of: version (1 byte) ‖ id of the key (8) ‖ nonce (24, random) ‖
//! XChaCha20-Poly1305 of the text with its tag. The associated data are version, key id, the
//! principal that it belongs to, and `purpose`, which says what the text is for. The model isn't
//! among them: clients may change models in the middle of a conversation, and could as well send
//! the text in the clear. Texts of version 1 name no owner, and are opened where there are no keys.
//!
//! A signature proves that this server wrote a text that is in the clear: base64url of version ‖ id
//! of the key ‖ HMAC-SHA256 of purpose and text, under a key derived from the sealing key.

mod comparable;
mod key_file;

use std::fmt;
use std::sync::Arc;

use accounts::Principal;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use sha2::{Digest, Sha256};

pub use key_file::KeyFileError;

const VERSION: u8 = 2;
/// The version whose sealed texts name no owner, and the one of signatures.
const OWNERLESS: u8 = 1;
const ID: usize = 8;
const NONCE: usize = 24;
const HEAD: usize = 1 + ID;

/// Length of a key in bytes.
pub(crate) const KEY_BYTES: usize = 32;

/// The keys of one server: the first one seals and signs, all of them open and verify. What it
/// seals belongs to a principal. Cheap to clone.
#[derive(Clone)]
pub struct Seal {
    keys: Arc<[Key]>,
    owner: Principal,
}

struct Key {
    /// Hash of the key, by which the key of a sealed text is found. It reveals nothing of the key.
    id: [u8; ID],
    cipher: XChaCha20Poly1305,
    /// Key of signatures.
    signing: [u8; KEY_BYTES],
}

/// Why a sealed text can't be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The text doesn't have the form of a sealed text.
    #[error("it was not made by this server, or it was cut")]
    Malformed,
    /// The text was sealed with a key that this server doesn't have.
    #[error("it was made with another key: by another server, or by this one before its key was replaced")]
    Foreign,
    /// The tag is wrong: the text was changed, or its purpose or its owner is another.
    #[error("it was changed after this server made it, or it was made for something or somebody else")]
    Tampered,
}

impl Seal {
    /// A seal with `keys`: the first one seals and signs, all of them open and verify. It is that of
    /// requests without keys.
    ///
    /// # Panics
    /// If `keys` is empty.
    pub fn new(keys: &[[u8; KEY_BYTES]]) -> Self {
        assert!(!keys.is_empty(), "a seal has a key");
        Self { keys: keys.iter().map(Key::new).collect(), owner: Principal::default() }
    }

    /// The seal of what belongs to `owner`.
    #[must_use]
    pub fn of(&self, owner: &Principal) -> Self {
        Self { keys: Arc::clone(&self.keys), owner: owner.clone() }
    }

    /// Ids of the keys, which reveal nothing of them: the first one seals.
    pub fn key_ids(&self) -> Vec<String> {
        self.keys.iter().map(|key| URL_SAFE_NO_PAD.encode(key.id)).collect()
    }

    /// A seal with a random key, which only this process has.
    ///
    /// # Panics
    /// If the system has no randomness to give.
    pub fn random() -> Self {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).expect("the system gives randomness");
        Self::new(&[key])
    }

    /// Seals `text`.
    ///
    /// # Panics
    /// If the system has no randomness to give, or the text has more than 256 GiB.
    pub(crate) fn seal(&self, purpose: &str, text: &str) -> String {
        let key = &self.keys[0];
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).expect("the system gives randomness");
        let head = key.head(VERSION);
        let payload = Payload { msg: text.as_bytes(), aad: &self.associated(purpose, &head) };
        let sealed = key.cipher.encrypt(&XNonce::from(nonce), payload).expect("the text is short enough");
        URL_SAFE_NO_PAD.encode([&head[..], &nonce, &sealed].concat())
    }

    /// Opens a text that `seal` made for `purpose`.
    pub(crate) fn open(&self, purpose: &str, sealed: &str) -> Result<String, SealError> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| SealError::Malformed)?;
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(SealError::Malformed)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or(SealError::Malformed)?;
        if ![VERSION, OWNERLESS].contains(&head[0]) {
            return Err(SealError::Malformed);
        }
        let key = self.key(head).ok_or(SealError::Foreign)?;
        let payload = Payload { msg: sealed, aad: &self.associated(purpose, head) };
        let text = key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Tampered)?;
        String::from_utf8(text).map_err(|_| SealError::Tampered)
    }

    /// Signs `text`. Equal texts get equal signatures.
    pub(crate) fn sign(&self, purpose: &str, text: &str) -> String {
        let key = &self.keys[0];
        let tag = key.tag(purpose, text).finalize().into_bytes();
        URL_SAFE_NO_PAD.encode([&key.head(OWNERLESS)[..], &tag].concat())
    }

    /// Whether `sign` made `signature` of `text` for `purpose`.
    pub(crate) fn verify(&self, purpose: &str, text: &str, signature: &str) -> bool {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        let Some((head, tag)) = bytes.split_first_chunk::<HEAD>() else { return false };
        self.key(head).is_some_and(|key| key.tag(purpose, text).verify_slice(tag).is_ok())
    }

    /// The key of a text that begins with `head`.
    fn key(&self, head: &[u8; HEAD]) -> Option<&Key> {
        self.keys.iter().find(|key| key.id[..] == head[1..])
    }

    /// Associated data of a sealed text. The owner's length comes before it, so different pairs of
    /// owner and purpose never make the same data. A text that names no owner is that of requests
    /// without keys: it can't be opened for somebody else's.
    fn associated(&self, purpose: &str, head: &[u8; HEAD]) -> Vec<u8> {
        let owner = self.owner.name();
        if head[0] == OWNERLESS && owner == Principal::LOCAL {
            return [&head[..], purpose.as_bytes()].concat();
        }
        let length = (owner.len() as u64).to_le_bytes();
        [&head[..], &length, owner.as_bytes(), purpose.as_bytes()].concat()
    }
}

impl Key {
    fn new(key: &[u8; KEY_BYTES]) -> Self {
        let digest = Sha256::new().chain_update(b"sluice seal key id").chain_update(key).finalize();
        let mut id = [0; ID];
        id.copy_from_slice(&digest[..ID]);
        let signing = Sha256::new().chain_update(b"sluice seal signatures").chain_update(key).finalize();
        Self { id, cipher: XChaCha20Poly1305::new(key.into()), signing: signing.into() }
    }

    /// The tag of a signature. The purpose's length comes first, so different pairs of purpose and
    /// text never make the same input.
    fn tag(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        let mut mac =
            <Hmac<Sha256> as KeyInit>::new_from_slice(&self.signing).expect("HMAC takes keys of any length");
        mac.update(&(purpose.len() as u64).to_le_bytes());
        mac.update(purpose.as_bytes());
        mac.update(text.as_bytes());
        mac
    }

    fn head(&self, version: u8) -> [u8; HEAD] {
        let mut head = [version; HEAD];
        head[1..].copy_from_slice(&self.id);
        head
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({} keys)", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use accounts::Principal;

    use super::{KEY_BYTES, Seal, SealError};

    fn seal(key: u8) -> Seal {
        Seal::new(&[[key; KEY_BYTES]])
    }

    #[test]
    fn seal_opens_only_with_the_same_key_and_purpose() {
        let sealed = seal(1).seal("reasoning", "Two 🌍s.");
        assert_eq!(seal(1).open("reasoning", &sealed).as_deref(), Ok("Two 🌍s."));
        assert_eq!(seal(1).open("thinking", &sealed), Err(SealError::Tampered));
        assert_eq!(seal(2).open("reasoning", &sealed), Err(SealError::Foreign));
        assert!(!sealed.contains("Two"));
    }

    #[test]
    fn a_text_opens_for_its_owner_alone() {
        let of = |name: &str| seal(1).of(&Principal::new(name));
        let sealed = of("alice").seal("r", "Two.");
        assert_eq!(of("alice").open("r", &sealed).as_deref(), Ok("Two."));
        for other in ["bob", "alic", "alicer", "local"] {
            assert_eq!(of(other).open("r", &sealed), Err(SealError::Tampered), "{other}");
        }
        assert_eq!(of("a").open("licer", &sealed), Err(SealError::Tampered));
    }

    #[test]
    fn ownerless_text_of_an_older_version_opens_without_keys_only() {
        // Made by another implementation of the cipher, with the nonce 0, 1, …, 23.
        let old = "AUHTYpnUuZVUAAECAwQFBgcICQoLDA0ODxAREhMUFRYXLKe0pW0OWwWQaEJOiHFLOe5L_KxVV8Vr2FU";
        assert_eq!(seal(1).open("responses reasoning", old).as_deref(), Ok("Two 🌍s."));
        let of_alice = seal(1).of(&Principal::new("alice"));
        assert_eq!(of_alice.open("responses reasoning", old), Err(SealError::Tampered));
    }

    #[test]
    fn the_same_text_never_looks_the_same_twice() {
        assert_ne!(seal(1).seal("r", "x"), seal(1).seal("r", "x"));
    }

    #[test]
    fn no_bit_can_be_changed_and_nothing_can_be_cut() {
        let sealed = seal(1).seal("r", "some text");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed == sealed || seal(1).open("r", &changed).is_err(), "character {at}");
            assert!(seal(1).open("r", &sealed[..at]).is_err(), "cut at {at}");
        }
        for foreign in ["", "gAAAAABo", "not base64 !", "\u{0}", "AAAA"] {
            assert_eq!(seal(1).open("r", foreign), Err(SealError::Malformed), "{foreign:?}");
        }
    }

    #[test]
    fn a_signature_is_of_its_text_purpose_and_key_alone() {
        let signature = seal(1).sign("thinking", "Two 🌍s.");
        assert_eq!(signature, seal(1).sign("thinking", "Two 🌍s."));
        assert!(seal(1).verify("thinking", "Two 🌍s.", &signature));
        assert!(Seal::new(&[[2; KEY_BYTES], [1; KEY_BYTES]]).verify("thinking", "Two 🌍s.", &signature));
        assert!(!seal(2).verify("thinking", "Two 🌍s.", &signature));
        for (purpose, text) in [("thinking", "Two 🌍s"), ("thinkin", "gTwo 🌍s."), ("", "Two 🌍s.")] {
            assert!(!seal(1).verify(purpose, text, &signature), "{purpose} {text}");
        }
        for wrong in
            ["", "EqQBCkYIBRgCKkBx", &signature[1..], &signature[..signature.len() - 2], "not base64 !"]
        {
            assert!(!seal(1).verify("thinking", "Two 🌍s.", wrong), "{wrong}");
        }
    }

    #[test]
    fn replaced_keys_still_open_what_the_old_one_sealed() {
        let old = seal(1).seal("r", "old");
        let both = Seal::new(&[[2; KEY_BYTES], [1; KEY_BYTES]]);
        assert_eq!(both.open("r", &old).as_deref(), Ok("old"));
        assert_eq!(seal(2).open("r", &both.seal("r", "new")).as_deref(), Ok("new"));
    }
}
