//! Values of a template's run: Python's, as far as templates can see them.
//!
//! Values are immutable and shared. What changes (namespaces, loops, generators) lives in the run,
//! and a value is its number there.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::error::{Error, Result};
use crate::number::Number;
use crate::text::{Origin, Text};

/// Maximum nesting of lists and objects. Deeper ones could overflow the stack of what walks them.
pub(crate) const MAX_DEPTH: u16 = 200;

/// Maximum number of steps that a walk through a value takes. A list may hold the same list many
/// times, so it can grow exponentially.
const MAX_WEIGHT: usize = 1 << 24;

/// Value in a template.
#[derive(Debug, Clone)]
pub enum Value {
    /// A name or an attribute that doesn't exist.
    Undefined(Missing),
    /// Python's `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer that needs more bits.
    BigInt(Arc<BigInt>),
    /// A float.
    Float(f64),
    /// A string.
    Text(Text),
    /// A list.
    List(Arc<Sequence>),
    /// A tuple.
    Tuple(Arc<Sequence>),
    /// A mapping, in the order of insertion.
    Dict(Arc<Dict>),
    /// Numbers from a start, below an end, by a step.
    Range(Arc<[i64; 3]>),
    /// Keys, values or items of a mapping.
    View(View, Arc<Dict>),
    /// A method or function that is bound to a value.
    Method(Arc<(Value, Arc<str>)>),
    /// A global function.
    Function(Function),
    /// A macro of the template: its number, and the scope that it was made in.
    Macro(MacroValue),
    /// A changing object of the run, by its number.
    Object(usize),
}

/// What is missing, for the message of an error.
#[derive(Debug, Clone)]
pub struct Missing {
    /// Type of the value that lacks it; `None` for a variable.
    pub(crate) owner: Option<&'static str>,
    pub(crate) name: Arc<str>,
}

/// Part of a mapping that a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The keys.
    Keys,
    /// The values.
    Values,
    /// Pairs of key and value.
    Items,
}

/// Global functions of templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `range`.
    Range,
    /// `dict`.
    Dict,
    /// `namespace`.
    Namespace,
    /// `cycler`.
    Cycler,
    /// `joiner`.
    Joiner,
    /// `raise_exception`.
    RaiseException,
    /// `strftime_now`.
    StrftimeNow,
}

/// A macro, and the scope that its free names are looked up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacroValue {
    pub(crate) index: usize,
    pub(crate) scope: usize,
}

/// Items of a list or a tuple.
#[derive(Debug, Default)]
pub struct Sequence {
    pub(crate) items: Vec<Value>,
    extent: Extent,
}

/// Entries of a mapping.
#[derive(Debug, Default)]
pub struct Dict {
    pub(crate) entries: IndexMap<Key, Value>,
    extent: Extent,
}

/// Size of a list or a mapping as those see it who walk through all of it. What it holds twice
/// counts twice.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    /// Nesting of lists and mappings.
    depth: u16,
    /// Number of steps.
    weight: usize,
}

/// Key of a mapping: a hashable value.
#[derive(Debug, Clone)]
pub(crate) struct Key(pub(crate) Value);

impl Value {
    /// A string of one origin.
    pub fn text(origin: Origin, string: impl Into<String>) -> Self {
        Self::Text(Text::new(origin, string))
    }

    /// A list.
    ///
    /// # Errors
    /// It is nested too deeply.
    pub fn list(items: Vec<Self>) -> std::result::Result<Self, Error> {
        Ok(Self::List(Arc::new(Sequence::new(items)?)))
    }

    /// A mapping with keys that the caller knows, which count as the template's.
    ///
    /// # Errors
    /// It is nested too deeply.
    pub fn dict<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> std::result::Result<Self, Error> {
        let key = |key: &str| Key(Self::text(Origin::Template, key));
        let entries = entries.into_iter().map(|(name, value)| (key(name), value)).collect();
        Ok(Self::Dict(Arc::new(Dict::new(entries)?)))
    }

    pub(crate) fn tuple(items: Vec<Self>) -> Result<Self> {
        Ok(Self::Tuple(Arc::new(Sequence::new(items)?)))
    }

    /// A string that the run made, which counts as the request's.
    pub(crate) fn made(string: impl Into<String>) -> Self {
        Self::text(Origin::Request, string)
    }

    pub(crate) fn undefined(owner: &'static str, name: impl Into<Arc<str>>) -> Self {
        Self::Undefined(Missing { owner: Some(owner), name: name.into() })
    }

    pub(crate) fn integer(number: BigInt) -> Self {
        number.to_i64().map_or_else(|| Self::BigInt(Arc::new(number)), Self::Int)
    }

    pub(crate) fn of_number(number: Number) -> Self {
        match number {
            Number::Int(number) => Self::integer(number),
            Number::Float(number) => Self::Float(number),
        }
    }

    /// Length as an integer.
    pub(crate) fn count(count: usize) -> Self {
        i64::try_from(count).map_or(Self::Int(i64::MAX), Self::Int)
    }

    pub(crate) fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// The number as `isize`; booleans are numbers, as in Python. Larger ones are saturated.
    pub(crate) fn as_index(&self) -> Option<isize> {
        match self {
            Self::Bool(flag) => Some(isize::from(*flag)),
            Self::Int(number) => Some(isize::try_from(*number).unwrap_or(isize::MAX)),
            Self::BigInt(number) => {
                Some(if number.sign() == num_bigint::Sign::Minus { isize::MIN } else { isize::MAX })
            }
            _ => None,
        }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined(_))
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Bool(_) | Self::Int(_) | Self::BigInt(_) | Self::Float(_))
    }

    /// The number; `None` for other values.
    pub(crate) fn number(&self) -> Option<Number> {
        Some(match self {
            Self::Bool(flag) => Number::Int(BigInt::from(u8::from(*flag))),
            Self::Int(number) => Number::Int(BigInt::from(*number)),
            Self::BigInt(number) => Number::Int((**number).clone()),
            Self::Float(number) => Number::Float(*number),
            _ => return None,
        })
    }

    /// Order of two numbers; `None` if one of them is NaN or no number.
    fn number_order(&self, other: &Self) -> Option<Ordering> {
        if let (Self::Int(a), Self::Int(b)) = (self, other) {
            return Some(a.cmp(b));
        }
        self.number()?.order(&other.number()?)
    }

    /// Python's name of the value's type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Undefined(_) => "Undefined",
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::BigInt(_) => "int",
            Self::Float(_) => "float",
            Self::Text(text) if text.is_markup => "Markup",
            Self::Text(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::Range(_) => "range",
            Self::View(View::Keys, _) => "dict_keys",
            Self::View(View::Values, _) => "dict_values",
            Self::View(View::Items, _) => "dict_items",
            Self::Method(_) => "method",
            Self::Function(_) => "function",
            Self::Macro(_) => "Macro",
            Self::Object(_) => "object",
        }
    }

    fn extent(&self) -> Extent {
        match self {
            Self::List(items) | Self::Tuple(items) => items.extent,
            Self::Dict(dict) | Self::View(_, dict) => dict.extent,
            Self::Method(bound) => bound.0.extent(),
            Self::Text(text) => Extent { depth: 0, weight: 1 + text.as_str().len() / 64 },
            _ => Extent { depth: 0, weight: 1 },
        }
    }

    /// Number of steps that a walk through the value takes.
    pub(crate) fn weight(&self) -> usize {
        self.extent().weight
    }

    /// Whether two values are equal in Python: numbers by value, everything else only within its
    /// type.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined(_), Self::Undefined(_)) | (Self::None, Self::None) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => {
                a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| a.equals(b))
            }
            (Self::Dict(a), Self::Dict(b)) => {
                let same = |(key, value): (&Key, &Self)| b.entries.get(key).is_some_and(|b| value.equals(b));
                a.entries.len() == b.entries.len() && a.entries.iter().all(same)
            }
            (Self::View(View::Keys, a), Self::View(View::Keys, b)) => {
                a.entries.len() == b.entries.len() && a.entries.keys().all(|key| b.entries.contains_key(key))
            }
            (Self::View(View::Items, a), Self::View(View::Items, b)) => {
                Self::Dict(Arc::clone(a)).equals(&Self::Dict(Arc::clone(b)))
            }
            (Self::Range(a), Self::Range(b)) => a == b,
            (Self::Function(a), Self::Function(b)) => a == b,
            (Self::Macro(a), Self::Macro(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            _ if self.is_number() && other.is_number() => self.number_order(other) == Some(Ordering::Equal),
            _ => false,
        }
    }

    /// Order of two values by `<`.
    ///
    /// # Errors
    /// Python has no order for these types; `operator` stands in the message.
    pub(crate) fn compare(&self, other: &Self, operator: &str) -> Result<Option<Ordering>> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Ok(Some(a.as_str().cmp(b.as_str()))),
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => {
                let differing = a.items.iter().zip(&b.items).find(|(a, b)| !a.equals(b));
                match differing {
                    Some((a, b)) => a.compare(b, operator),
                    None => Ok(Some(a.items.len().cmp(&b.items.len()))),
                }
            }
            (Self::Undefined(missing), _) | (_, Self::Undefined(missing)) => Err(missing.error()),
            _ if self.is_number() && other.is_number() => Ok(self.number_order(other)),
            _ => Err(Error::runtime(format!(
                "'{operator}' not supported between instances of '{}' and '{}'",
                self.type_name(),
                other.type_name()
            ))),
        }
    }
}

impl Missing {
    pub(crate) fn error(&self) -> Error {
        Error::runtime(match self.owner {
            None => format!("'{}' is undefined", self.name),
            // Hints of filters are whole sentences.
            Some("") => self.name.to_string(),
            Some(owner) => format!("'{owner} object' has no attribute '{}'", self.name),
        })
    }
}

impl Sequence {
    pub(crate) fn new(items: Vec<Value>) -> Result<Self> {
        let extent = Extent::above(items.iter())?;
        Ok(Self { items, extent })
    }
}

impl Dict {
    pub(crate) fn new(entries: IndexMap<Key, Value>) -> Result<Self> {
        let extent = Extent::above(entries.iter().flat_map(|(key, value)| [&key.0, value]))?;
        Ok(Self { entries, extent })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.entries.get(&Name(name))
    }

    /// The value of any key; `None` also for a key that can't be one.
    pub(crate) fn get_value(&self, key: &Value) -> Option<&Value> {
        Key::new(key.clone()).ok().and_then(|key| self.entries.get(&key))
    }

    /// What a view of the mapping yields.
    pub(crate) fn viewed(&self, view: View) -> Result<Vec<Value>> {
        let key = |key: &Key| key.0.clone();
        match view {
            View::Keys => Ok(self.entries.keys().map(key).collect()),
            View::Values => Ok(self.entries.values().cloned().collect()),
            View::Items => self
                .entries
                .iter()
                .map(|(name, value)| Value::tuple(vec![key(name), value.clone()]))
                .collect(),
        }
    }
}

impl Extent {
    fn above<'a>(items: impl Iterator<Item = &'a Value>) -> Result<Self> {
        let mut above = Self { depth: 1, weight: 1 };
        for item in items {
            let Self { depth, weight } = item.extent();
            above.depth = above.depth.max(depth + 1);
            above.weight = above.weight.saturating_add(weight);
        }
        if above.depth > MAX_DEPTH {
            return Err(Error::runtime(format!("a value is nested more than {MAX_DEPTH} deep")));
        }
        if above.weight > MAX_WEIGHT {
            return Err(Error::too_large());
        }
        Ok(above)
    }
}

impl Key {
    pub(crate) fn new(value: Value) -> Result<Self> {
        let unhashable = match &value {
            Value::List(_) | Value::Dict(_) | Value::View(..) => true,
            Value::Tuple(items) => {
                items.items.iter().try_for_each(|item| Self::new(item.clone()).map(|_| ()))?;
                false
            }
            _ => false,
        };
        if unhashable {
            return Err(Error::runtime(format!("unhashable type: '{}'", value.type_name())));
        }
        Ok(Self(value))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&other.0)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hash(&self.0, hasher);
    }
}

fn hash<H: Hasher>(value: &Value, hasher: &mut H) {
    match value {
        Value::Text(text) => text.as_str().hash(hasher),
        Value::Tuple(items) => items.items.iter().for_each(|item| hash(item, hasher)),
        Value::Bool(flag) => i64::from(*flag).hash(hasher),
        Value::Int(number) => number.hash(hasher),
        // Numbers are equal across types, so an integral float hashes as its integer.
        #[expect(clippy::cast_possible_truncation, reason = "saturates; equal floats hash alike")]
        Value::Float(number) => (*number as i64).hash(hasher),
        Value::BigInt(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "as a float of that size would")]
            let float = number.to_f64().unwrap_or(f64::INFINITY) as i64;
            float.hash(hasher);
        }
        Value::Object(index) => index.hash(hasher),
        _ => {}
    }
}

/// Name by which an entry is looked up without making a key.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
    }
}

impl Equivalent<Key> for Name<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        key.0.as_str() == Some(self.0)
    }
}

/// Number of items of a range.
pub(crate) fn range_len([start, stop, step]: &[i64; 3]) -> usize {
    let (distance, step) = match step {
        0 => return 0,
        1.. => (i128::from(*stop) - i128::from(*start), i128::from(*step)),
        _ => (i128::from(*start) - i128::from(*stop), -i128::from(*step)),
    };
    usize::try_from((distance + step - 1) / step).unwrap_or(if distance > 0 { usize::MAX } else { 0 })
}
