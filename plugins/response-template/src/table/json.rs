//! The JSON of a table, as a tree. It has no floats and no maps, which are most of the code of a
//! general reader: numbers stay text, and members stay in their order.

use parser_sdk::json::{unescape, white};

/// Most brackets that may be open, so that a hostile table can't exhaust the stack.
const DEPTH: usize = 64;

/// A value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    /// Members, each key once: of several values of a key the last counts.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text.
    ///
    /// # Errors
    /// The place where it is no JSON.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: text };
        let value = reader.value(0).filter(|_| reader.next().is_none());
        value.ok_or_else(|| ["no JSON at byte ", &(text.len() - reader.rest.len()).to_string()].concat())
    }

    /// The value under `key`; `None` if this is no object, or the key is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        let (_, value) = members.iter().find(|(name, _)| name == key)?;
        (*value != Self::Null).then_some(value)
    }

    /// The string that this is.
    pub(super) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The string under `key`; `None` if the key is missing or null.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.as_text().map(Some).ok_or_else(|| [key, " must be a string"].concat())
    }

    /// The string or the list of strings under `key`; `None` if the key is missing or null.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<&str>>, String> {
        let Some(Self::List(values)) = self.get(key) else {
            return Ok(self.text(key)?.map(|text| vec![text]));
        };
        let texts: Option<_> = values.iter().map(Self::as_text).collect();
        texts.map(Some).ok_or_else(|| [key, " must hold strings"].concat())
    }

    /// Whether `key` is `true`.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.get(key) == Some(&Self::Bool(true))
    }

    /// Checks that this is an object that has no keys but these.
    pub(super) fn known(&self, keys: &[&str]) -> Result<(), String> {
        let Self::Object(members) = self else { return Err("an object was expected".into()) };
        match members.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            Some((key, _)) => Err(["unknown field `", key, "`"].concat()),
            None => Ok(()),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// The next byte that isn't white space; it stays.
    fn next(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_start_matches(white);
        self.rest.bytes().next()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.next() == Some(byte);
        self.rest = &self.rest[usize::from(is_next)..];
        is_next
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        match self.next()? {
            b'"' => self.string().map(Json::Text),
            b'{' | b'[' if depth == DEPTH => None,
            b'{' => {
                let mut members = Vec::<(String, Json)>::new();
                self.items(b'}', |reader| {
                    let key = reader.string()?;
                    let value = reader.eat(b':').then(|| reader.value(depth + 1))??;
                    match members.iter_mut().find(|(name, _)| *name == key) {
                        Some(member) => member.1 = value,
                        None => members.push((key, value)),
                    }
                    Some(())
                })?;
                Some(Json::Object(members))
            }
            b'[' => {
                let mut items = Vec::new();
                self.items(b']', |reader| {
                    items.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Json::List(items))
            }
            _ => self.word(),
        }
    }

    /// Reads what stands between brackets: items by commas, up to `close`.
    fn items(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.rest = &self.rest[1..];
        if self.eat(close) {
            return Some(());
        }
        loop {
            item(self)?;
            if self.eat(close) {
                return Some(());
            }
            self.eat(b',').then_some(())?;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.eat(b'"').then_some(())?;
        let mut is_escaped = false;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                _ if is_escaped => {
                    is_escaped = false;
                    b"\"\\/bfnrtu".contains(&byte).then_some(())?;
                }
                b'"' => {
                    let text = unescape(&self.rest[..at]);
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                b'\\' => is_escaped = true,
                0..0x20 => return None,
                _ => {}
            }
        }
        None
    }

    fn word(&mut self) -> Option<Json> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let (word, rest) = self.rest.split_at(self.rest.bytes().take_while(|byte| is_part(byte)).count());
        let value = match word {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            _ if word.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit()) => {
                Json::Number(word.to_owned())
            }
            _ => return None,
        };
        self.rest = rest;
        Some(value)
    }
}
