//! A tokenizer for tests: each marker of a parser is a token, and so is each other byte.

use parser_kit::case::Piece;
use reader::Tokenizer;

/// The tokens of a parser's tests.
#[derive(Debug, Clone)]
pub struct Tokens {
    markers: Vec<String>,
}

/// A token of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// The text that it adds, of which a character belongs to the token that ends it.
    pub text: String,
}

impl Tokens {
    /// Tokens of a parser with these markers.
    pub fn new(markers: &[String]) -> Self {
        Self { markers: markers.to_vec() }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.markers.len()).unwrap_or(u32::MAX)
    }

    /// The tokens of an output.
    pub fn encode(&self, pieces: &[Piece]) -> Vec<Token> {
        let mut tokens = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Marker(id, text) => tokens.push(Token { id: *id, text: text.clone() }),
                Piece::Text(text) => {
                    for character in text.chars() {
                        let mut bytes = [0; 4];
                        let bytes = character.encode_utf8(&mut bytes).as_bytes();
                        let id = |byte: &u8| self.count() + u32::from(*byte);
                        tokens.extend(bytes.iter().map(|byte| Token { id: id(byte), text: String::new() }));
                        if let Some(last) = tokens.last_mut() {
                            last.text.push(character);
                        }
                    }
                }
            }
        }
        tokens
    }
}

/// Text of tokens.
pub fn texts(tokens: &[Token]) -> String {
    tokens.iter().map(|token| &*token.text).collect()
}

impl Tokenizer for Tokens {
    fn token_id(&self, literal: &str) -> Option<u32> {
        self.markers.iter().position(|marker| marker == literal).and_then(|at| u32::try_from(at).ok())
    }

    fn decode(&self, ids: &[u32]) -> Option<String> {
        let mut bytes = Vec::new();
        for id in ids {
            match self.markers.get(usize::try_from(*id).ok()?) {
                Some(marker) => bytes.extend_from_slice(marker.as_bytes()),
                None => bytes.push(u8::try_from(id - self.count()).ok()?),
            }
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}
