//! The form in which events are compared: nonces and keys are no part of it, what was sealed is.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::{HEAD, OWNERLESS, Seal, VERSION};
use crate::messages::WEB_RESULT;
use crate::responses::{REASONING, SUMMARY};
use system::random::to_hex;

impl Seal {
    /// `json` with the digest of its text in place of each sealed text, and a word in place of each
    /// signature, of this seal.
    pub fn comparable<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        let heads = self.keys.iter().flat_map(|key| [VERSION, OWNERLESS].map(|version| key.head(version)));
        let marks = heads.map(|head| format!("\"{}", URL_SAFE_NO_PAD.encode(head)));
        let mut json = Cow::Borrowed(json);
        for mark in marks {
            if memchr::memmem::find(&json, mark.as_bytes()).is_some() {
                json = Cow::Owned(self.without(&mark, &json));
            }
        }
        json
    }

    fn without(&self, mark: &str, json: &[u8]) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::with_capacity(json.len()), json);
        while let Some(at) = memchr::memmem::find(rest, mark.as_bytes()) {
            let (before, string) = rest.split_at(at + 1);
            out.extend_from_slice(before);
            let (string, after) = string.split_at(memchr::memchr(b'"', string).unwrap_or(string.len()));
            out.extend_from_slice(self.opened(string).as_deref().unwrap_or_default().as_bytes());
            if self.opened(string).is_none() {
                out.extend_from_slice(string);
            }
            rest = after;
        }
        out.extend_from_slice(rest);
        out
    }

    /// What stands for a string that begins as sealed texts and signatures of this seal do.
    fn opened(&self, string: &[u8]) -> Option<String> {
        let string = std::str::from_utf8(string).ok()?;
        let text = |purpose| Some((purpose, self.open(purpose, string).ok()?));
        if let Some((purpose, text)) = [REASONING, SUMMARY, WEB_RESULT].into_iter().find_map(text) {
            return Some(format!("sealed {purpose} sha256:{}", to_hex(&Sha256::digest(text))));
        }
        let bytes = URL_SAFE_NO_PAD.decode(string).ok()?;
        (bytes.len() == HEAD + Sha256::output_size()).then(|| "signature".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::KEY_BYTES;

    #[test]
    fn what_two_servers_seal_is_equal_if_its_text_is() {
        let (one, other) = (Seal::new(&[[1; KEY_BYTES]]), Seal::new(&[[2; KEY_BYTES], [1; KEY_BYTES]]));
        for purpose in [REASONING, SUMMARY, WEB_RESULT] {
            let event = |seal: &Seal, text: &str| {
                let (sealed, signed) = (seal.seal(purpose, text), seal.sign("thinking", text));
                let json = format!("{{\"a\":\"{sealed}\",\"b\":\"{signed}\",\"c\":\"{}\"}}", &sealed[..20]);
                String::from_utf8(seal.comparable(json.as_bytes()).into_owned()).unwrap()
            };
            let cut = |event: String| event.split_once(",\"c\"").unwrap().0.to_owned();
            assert_eq!(cut(event(&one, "x")), cut(event(&other, "x")), "{purpose}");
            assert_ne!(cut(event(&one, "x")), cut(event(&other, "y")), "{purpose}");
            assert!(event(&one, "x").contains("\"b\":\"signature\""));
        }
        assert_eq!(one.comparable(b"{}"), Cow::Borrowed(b"{}"));
    }
}
