//! Values of a file's keys, borrowed from the file. Arrays are checked as a whole and decoded one
//! element at a time, so that a value takes no memory beyond the file's.

use super::cursor::Cursor;
use super::error::HeaderError;

/// Value of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MetadataValue<'a> {
    /// A whole number.
    Unsigned(u64),
    /// A whole number of a signed type.
    Signed(i64),
    /// A number with a fraction. One of 32 bits has the value of its shortest decimal text, as
    /// configurations spell it.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A text, which needn't be UTF-8.
    String(&'a [u8]),
    /// Elements of one type.
    Array(Array<'a>),
}

/// Type of a value, by its number in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

const KINDS: [Kind; 13] = [
    Kind::U8,
    Kind::I8,
    Kind::U16,
    Kind::I16,
    Kind::U32,
    Kind::I32,
    Kind::F32,
    Kind::Bool,
    Kind::String,
    Kind::Array,
    Kind::U64,
    Kind::I64,
    Kind::F64,
];

/// Elements of one type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Array<'a> {
    kind: Kind,
    count: usize,
    bytes: &'a [u8],
}

impl Kind {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, HeaderError> {
        let id = cursor.u32()?;
        let kind = usize::try_from(id).ok().and_then(|id| KINDS.get(id)).copied();
        kind.ok_or_else(|| format!("no value has type {id}").into())
    }

    /// Bytes of a value; of a string, those of its length.
    fn least_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::String | Self::U64 | Self::I64 | Self::F64 => 8,
            Self::Array => 12,
        }
    }
}

impl<'a> MetadataValue<'a> {
    /// Reads a value of any type, which stands before it.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, HeaderError> {
        match Kind::read(cursor)? {
            Kind::Array => Array::read(cursor).map(Self::Array),
            kind => Self::scalar(kind, cursor),
        }
    }

    fn scalar(kind: Kind, cursor: &mut Cursor<'a>) -> Result<Self, HeaderError> {
        Ok(match kind {
            Kind::U8 => Self::Unsigned(cursor.array().map(u8::from_le_bytes)?.into()),
            Kind::I8 => Self::Signed(cursor.array().map(i8::from_le_bytes)?.into()),
            Kind::U16 => Self::Unsigned(cursor.array().map(u16::from_le_bytes)?.into()),
            Kind::I16 => Self::Signed(cursor.array().map(i16::from_le_bytes)?.into()),
            Kind::U32 => Self::Unsigned(cursor.u32()?.into()),
            Kind::I32 => Self::Signed(cursor.array().map(i32::from_le_bytes)?.into()),
            Kind::F32 => Self::Float(decimal(cursor.array().map(f32::from_le_bytes)?)),
            Kind::Bool => match cursor.array()? {
                [byte @ (0 | 1)] => Self::Bool(byte == 1),
                [byte] => return Err(format!("{byte} is neither true nor false").into()),
            },
            Kind::String => Self::String(cursor.string()?),
            Kind::Array => return Err("arrays of arrays are not supported".to_owned().into()),
            Kind::U64 => Self::Unsigned(cursor.u64()?),
            Kind::I64 => Self::Signed(cursor.array().map(i64::from_le_bytes)?),
            Kind::F64 => Self::Float(cursor.array().map(f64::from_le_bytes)?),
        })
    }

    /// The text; `None` for other values.
    pub(crate) fn as_str(&self) -> Option<&'a str> {
        match self {
            Self::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The whole number, unless it is negative; `None` for other values.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(number) => Some(number),
            Self::Signed(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    /// True or false; `None` for other values.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The number; `None` for other values.
    #[expect(clippy::cast_precision_loss, reason = "a number in a configuration")]
    pub(crate) fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Unsigned(number) => Some(number as f64),
            Self::Signed(number) => Some(number as f64),
            Self::Float(number) => Some(number),
            _ => None,
        }
    }
}

impl<'a> Array<'a> {
    /// Reads type, number and elements; each element is checked.
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, HeaderError> {
        let kind = Kind::read(cursor)?;
        let count = cursor.count("elements", kind.least_bytes())?;
        let mut elements = cursor.clone();
        let bytes = match kind {
            Kind::String | Kind::Array | Kind::Bool => {
                for _ in 0..count {
                    MetadataValue::scalar(kind, &mut elements)?;
                }
                elements.at() - cursor.at()
            }
            _ => count * kind.least_bytes(),
        };
        Ok(Self { kind, count, bytes: cursor.take(bytes as u64)? })
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The elements, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = MetadataValue<'a>> + use<'a> {
        let (kind, mut cursor) = (self.kind, Cursor::new(self.bytes, self.bytes.len()));
        // None is missing: all elements were read before.
        (0..self.count).map_while(move |_| MetadataValue::scalar(kind, &mut cursor).ok())
    }
}

/// The number that the shortest decimal text of `number` stands for.
pub(crate) fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}
