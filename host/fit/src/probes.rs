//! Probes: turns of the model that a chat template is given to write. Their words begin with `zq`
//! and `zk`, which no template has.

use serde_json::{Value, json};

use crate::conversation::{TOOLS, Turn};

pub(crate) const REASONING: &str = "zqreason first\nthen zqreasonend";
const TEXT: &str = "zqtext first\nthen zqtextend";
/// Bytes of the long string.
const LONG: usize = 8192;

/// A turn of the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probe {
    pub(crate) name: String,
    pub(crate) reasoning: Option<&'static str>,
    pub(crate) text: Option<&'static str>,
    /// Names and arguments of the calls.
    pub(crate) calls: Vec<(&'static str, Value)>,
    /// Other arguments of the only call; a template that writes them alike makes the probe
    /// ambiguous.
    pub(crate) twins: Vec<Value>,
    /// Whether a value spells a marker, which only ids can tell from the marker itself.
    pub(crate) only_by_id: bool,
    /// White space between markers in the turn as it is played.
    pub(crate) spacing: Spacing,
}

/// White space between markers that a template writes, and that models write otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// That of the template.
    #[default]
    Kept,
    /// A line end between markers that the template writes side by side.
    LineEnds,
    /// None between markers.
    LeftOut,
    /// Twice that of the template between markers.
    Doubled,
}

impl Probe {
    fn calls(name: &str, calls: Vec<(&'static str, Value)>) -> Self {
        Self { name: name.to_owned(), calls, ..Self::default() }
    }

    fn value(name: &str, arguments: Value) -> Self {
        Self::calls(name, vec![(TOOLS[0], arguments)])
    }

    /// What the turn holds.
    pub(crate) fn turn(&self) -> Turn<'_> {
        let calls = self.calls.iter().map(|(name, arguments)| (*name, arguments)).collect();
        Turn { reasoning: self.reasoning, text: self.text, calls }
    }

    /// Whether it needs the parameter that may be null.
    pub(crate) fn is_nullable(&self) -> bool {
        self.name == "null"
    }

    /// The probe with the arguments of these items, if they are its calls with other arguments of
    /// the same types.
    pub(crate) fn with_arguments(&self, items: &[Value]) -> Option<Self> {
        let read: Vec<&Value> = items.iter().filter(|item| item["type"] == "tool_call").collect();
        if read.len() != self.calls.len() {
            return None;
        }
        let calls = self.calls.iter().zip(read).map(|((name, arguments), item)| {
            let read: Value = serde_json::from_str(item["arguments"].as_str()?).ok()?;
            let mut values = read.as_object()?.iter();
            let is_typed = values
                .all(|(key, value)| std::mem::discriminant(value) == std::mem::discriminant(&arguments[key]));
            (item["name"] == *name && is_typed).then_some((*name, read))
        });
        let calls: Vec<_> = calls.collect::<Option<_>>()?;
        (calls != self.calls).then(|| Self { calls, ..self.clone() })
    }

    /// Whether a nested value is written as Python prints it.
    pub(crate) fn is_python_in(&self, text: &str) -> bool {
        let arguments = self.calls.iter().filter_map(|(_, arguments)| arguments.as_object());
        let mut nested = arguments.flat_map(|arguments| arguments.values().filter(|value| !is_scalar(value)));
        nested.any(|value| text.contains(&python(value)))
    }

    /// Words that the template has to show, in this order.
    pub(crate) fn words(&self) -> Vec<&str> {
        let prose = |text: Option<&'static str>| text.into_iter().flat_map(|text| text.lines());
        let calls = self.calls.iter().flat_map(|(name, arguments)| {
            let values = arguments.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
            [*name].into_iter().chain(values.filter(|value| value.starts_with("zqv") && !value.contains(' ')))
        });
        prose(self.reasoning).chain(prose(self.text)).chain(calls).collect()
    }

    /// String values, which the template has to show as they are or as JSON.
    pub(crate) fn strings(&self) -> impl Iterator<Item = &str> {
        let arguments = self.calls.iter().filter_map(|(_, arguments)| arguments.as_object());
        arguments.flat_map(|arguments| arguments.values().filter_map(Value::as_str))
    }
}

/// All probes for a parser with these markers.
pub(crate) fn probes(markers: &[String]) -> Vec<Probe> {
    let one = || json!({ "zkone": "zqv1" });
    let call = |tool: usize| (TOOLS[tool], one());
    let prose = |name: &str, reasoning, text, calls| Probe { reasoning, text, ..Probe::calls(name, calls) };
    let (reasoning, text) = (Some(REASONING), Some(TEXT));
    let mut probes = vec![
        prose("text", None, text, vec![]),
        prose("reasoning-text", reasoning, text, vec![]),
        Probe::value("one-argument", one()),
        Probe::value("two-arguments", json!({ "zkone": "zqv1", "zktwo": "zqv2" })),
        Probe::calls("two-tools", vec![call(0), call(1)]),
        Probe::calls("one-tool-twice", vec![call(0), (TOOLS[0], json!({ "zktwo": "zqv2" }))]),
        Probe::value("no-arguments", json!({})),
        Probe::calls("no-arguments-first", vec![(TOOLS[0], json!({})), call(1)]),
        prose("reasoning-call", reasoning, None, vec![call(0)]),
        prose("text-call", None, text, vec![call(0)]),
        prose("reasoning-text-call", reasoning, text, vec![call(0)]),
        Probe::calls("another-name", vec![call(2)]),
    ];
    let spaced = [
        ("line-ends", Spacing::LineEnds),
        ("blanks-left-out", Spacing::LeftOut),
        ("blanks-doubled", Spacing::Doubled),
    ];
    probes.extend(spaced.map(|(name, spacing)| Probe {
        spacing,
        ..Probe::value(name, json!({ "zkone": "zqv1", "zktwo": "zqv2" }))
    }));
    probes.extend(values());
    probes.extend(markers.iter().enumerate().map(|(index, marker)| Probe {
        only_by_id: true,
        ..Probe::value(&format!("marker-{index}"), json!({ "zkone": format!("zq {marker} zq") }))
    }));
    probes
}

/// Probes of single values.
fn values() -> Vec<Probe> {
    let string = |name: &str, value: &str| Probe::value(name, json!({ "zkone": value }));
    let null = Probe::value("null", json!({ "zknul": null }));
    let alike = ["None", "null", ""].map(|text| json!({ "zknul": text }));
    let alike = alike.into_iter().chain([json!({})]).collect();
    vec![
        Probe::value("numbers", json!({ "zkint": -42, "zkflt": 2.5, "zkbool": false })),
        Probe::value(
            "nested",
            json!({ "zkobj": { "a": { "b": [1, null, "x"] } }, "zkarr": [1, "two", { "c": true }] }),
        ),
        Probe { twins: alike, ..null },
        string("quotes", "zq \"say\" it's a \\ zq"),
        string("lines", "zq\n\tone\n  two zq"),
        string("blanks", "  zq  "),
        Probe::value("like-numbers", json!({ "zkone": "42", "zktwo": "true" })),
        string("like-none", "None"),
        Probe { twins: vec![json!({}), json!({ "zkone": null })], ..string("empty", "") },
        string("unicode", "zq é日本🙂 zq"),
        string("markup", "zq <b>&amp;</b> {x} zq"),
        string("long", &"zq long ".repeat(LONG / 8)),
    ]
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// A value as Python prints it.
pub(crate) fn python(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
        Value::String(text) => {
            let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
            format!("'{}'", escaped.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r"))
        }
        Value::Array(items) => format!("[{}]", list(items.iter().map(python).collect())),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", python(&Value::from(key.as_str())), python(value))
            };
            format!("{{{}}}", list(entries.iter().map(entry).collect()))
        }
    }
}

/// Parameters that tools declare. Some templates raise for an object's or a union's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    /// Those of simple types.
    Plain,
    /// Also an object and a list.
    All,
    /// Also one that may be null.
    Nullable,
}

/// JSON schema of every tool's arguments.
pub(crate) fn parameters(declared: Declared) -> Value {
    let of_type = |kind: Value| json!({ "type": kind, "description": "a value" });
    let mut types = vec![
        ("zkone", json!("string")),
        ("zktwo", json!("string")),
        ("zkint", json!("integer")),
        ("zkflt", json!("number")),
        ("zkbool", json!("boolean")),
    ];
    if declared != Declared::Plain {
        types.extend([("zkobj", json!("object")), ("zkarr", json!("array"))]);
    }
    if declared == Declared::Nullable {
        types.push(("zknul", json!(["string", "null"])));
    }
    let properties: Value = types.into_iter().map(|(name, kind)| (name.to_owned(), of_type(kind))).collect();
    json!({ "type": "object", "properties": properties })
}
