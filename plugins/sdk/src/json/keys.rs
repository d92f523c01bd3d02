//! Keys of a call's object: under which keys a format has the tool's name and the arguments.
//! [`super::Call`] asks for each key once.

/// What the value of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Key {
    Name,
    Arguments,
    #[default]
    Other,
}

/// A format's keys, where they aren't the usual ones: `name`, and `arguments` or `parameters`.
#[derive(Debug, Default)]
pub(super) struct Keys(Option<(String, String)>);

impl Keys {
    pub(super) fn new(name: &str, arguments: &str) -> Self {
        let usual = name == "name" && matches!(arguments, "arguments" | "parameters");
        Self((!usual).then(|| (name.to_owned(), arguments.to_owned())))
    }

    /// What the value of `key` is. `None` is a key that was too long to be kept.
    pub(super) fn key(&self, key: Option<&str>) -> Key {
        match (key, &self.0) {
            (Some(key), Some((name, _))) if key == name => Key::Name,
            (Some(key), Some((_, arguments))) if key == arguments => Key::Arguments,
            (Some("name"), None) => Key::Name,
            (Some("arguments" | "parameters"), None) => Key::Arguments,
            _ => Key::Other,
        }
    }
}
