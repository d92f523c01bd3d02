//! JSON that is handed on as text, without being parsed into values.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// One JSON value as text without white space between its tokens, so that it fits on one line. It
/// is serialised as it stands.
#[derive(Debug, Clone)]
pub(crate) struct Json(Box<RawValue>);

impl Json {
    /// `json` as a value; its syntax has been checked.
    pub(super) fn new(json: String) -> Self {
        Self(RawValue::from_string(json).expect("the whole body has been checked"))
    }

    /// `null`.
    pub(crate) fn null() -> Self {
        Self::new("null".to_owned())
    }

    /// The JSON of a value of the server's own types.
    pub(crate) fn of(value: &(impl Serialize + ?Sized)) -> Self {
        Self(to_raw_value(value).expect("values of ours serialise"))
    }

    /// The JSON text.
    pub(crate) fn into_string(self) -> String {
        let text: Box<str> = self.0.into();
        text.into_string()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl schemars::JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        serde_json::Value::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        serde_json::Value::json_schema(generator)
    }
}

/// An object of `fields`, in their order.
pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    struct Fields<T>(std::cell::Cell<Option<T>>);

    impl<'a, T: Iterator<Item = (&'a str, Json)>> Serialize for Fields<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            for (name, value) in self.0.take().into_iter().flatten() {
                map.serialize_entry(name, &value)?;
            }
            map.end()
        }
    }

    Json::of(&Fields(std::cell::Cell::new(Some(fields.into_iter()))))
}
