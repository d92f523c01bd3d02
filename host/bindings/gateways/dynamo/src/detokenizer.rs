//! Detokenizer: the text that token ids add to a stream, as soon as its characters are whole.
//!
//! Tokens are decoded behind the ones before them, since what a token says depends on its place:
//! tokenizers leave out a space where a text begins.

use anyhow::{Context, Result};

/// What a broken character decodes to.
const BROKEN: char = '\u{fffd}';

/// Maximum number of broken characters at the end that may be one whose rest comes later.
const WAITING: usize = 3;

/// Tokens whose text was told last, and those whose text waits.
#[derive(Debug, Default)]
pub(crate) struct Detokenizer {
    window: Vec<u32>,
    /// Number of the window's tokens whose text was told.
    told: usize,
}

impl Detokenizer {
    /// Takes ids, and returns the text that is whole.
    ///
    /// # Errors
    /// The ids can't be decoded.
    pub(crate) fn push(&mut self, ids: &[u32], decode: &dyn Fn(&[u32]) -> Option<String>) -> Result<String> {
        self.window.extend_from_slice(ids);
        let is_whole = |text: &str| {
            let broken = text.chars().rev().take_while(|character| *character == BROKEN).count();
            broken == 0 || broken > WAITING
        };
        self.tell(decode, is_whole)
    }

    /// Returns the text that waits, whole or not.
    ///
    /// # Errors
    /// The ids can't be decoded.
    pub(crate) fn finish(&mut self, decode: &dyn Fn(&[u32]) -> Option<String>) -> Result<String> {
        self.tell(decode, |_| true)
    }

    fn tell(
        &mut self,
        decode: &dyn Fn(&[u32]) -> Option<String>,
        is_whole: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let decoded = |ids: &[u32]| decode(ids).context("the tokenizer has no text for these token ids");
        let (before, all) = (decoded(&self.window[..self.told])?, decoded(&self.window)?);
        // By characters: a broken one may be whole now.
        let new: String = all.chars().skip(before.chars().count()).collect();
        if !is_whole(&new) {
            return Ok(String::new());
        }
        self.window.drain(..self.told);
        self.told = self.window.len();
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::Detokenizer;

    /// A tokenizer of bytes.
    #[expect(clippy::unnecessary_wraps, reason = "what decodes")]
    fn decode(ids: &[u32]) -> Option<String> {
        let bytes: Vec<u8> = ids.iter().map(|id| u8::try_from(*id).expect("a byte")).collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn characters_come_whole_and_each_once() {
        let mut detokenizer = Detokenizer::default();
        let text = "aé→🌍b";
        let told: Vec<String> =
            text.bytes().map(|byte| detokenizer.push(&[byte.into()], &decode).expect("text")).collect();
        assert_eq!(told, ["a", "", "é", "", "", "→", "", "", "", "🌍", "b"]);
        assert_eq!(detokenizer.finish(&decode).expect("text"), "");
    }

    #[test]
    fn what_is_broken_comes_at_the_end() {
        let mut detokenizer = Detokenizer::default();
        assert_eq!(detokenizer.push(&[0xe2, 0x86], &decode).expect("text"), "");
        assert_eq!(detokenizer.finish(&decode).expect("text"), "\u{fffd}");
    }
}
