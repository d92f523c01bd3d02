//! Fields as readers read them. The type of a field's constant decides what reading it yields, and
//! its shape which values are taken.

use std::fmt::Display;
use std::marker::PhantomData;

use super::path::Path;
use super::value::Value;
use crate::error::ApiError;
use crate::fields::shape::{COUNT, Row, Shape, Support};

/// A field that yields a `T`. [`super::JsonObject::get`] reads it, or
/// [`super::JsonObject::require`] if requests must have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<T, const REQUIRED: bool = false> {
    /// The field's row in a table.
    pub(super) row: Row,
    yields: PhantomData<T>,
}

/// A field that requests must have.
pub(crate) type Required<T> = Field<T, true>;

/// What a field yields.
pub(crate) trait Typed: Copy {
    /// What the field holds unless its declaration says more.
    const SHAPE: Shape;
    /// What is expected in place of other JSON.
    const EXPECTED: &'static str;
    /// The value as it is read. The first lifetime is the body's, the second one that of paths.
    type Of<'a: 'b, 'b>;

    /// Reads a value of this shape; others are refused with 400.
    fn read<'a: 'b, 'b>(
        value: Value<'a>,
        shape: &Shape,
        path: Path<'b>,
    ) -> Result<Self::Of<'a, 'b>, ApiError>;
}

impl<T: Typed> Field<T> {
    /// A field that does what the protocol says; `note` is a remark on that for the documentation.
    pub(crate) const fn new(name: &'static str, note: &'static str) -> Self {
        let row = Row { name, shape: T::SHAPE, support: Support::Supported, note, required: None };
        Self { row, yields: PhantomData }
    }

    /// This field as a required one.
    pub(crate) const fn required(self) -> Required<T> {
        self.required_as(T::EXPECTED)
    }

    /// This field as a required one, in whose place `expected` is expected.
    pub(crate) const fn required_as(self, expected: &'static str) -> Required<T> {
        Field { row: Row { required: Some(expected), ..self.row }, yields: PhantomData }
    }
}

/// A whole number up to a bound that the operator sets: [`super::JsonObject::up_to`] reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UpTo {}

impl Field<UpTo> {
    /// A number from `min` to what the operator allows, which is `max` by default.
    pub(crate) const fn up_to(name: &'static str, min: i64, max: i64, note: &'static str) -> Self {
        let shape = Shape::UpTo(min, max);
        Self {
            row: Row { name, shape, support: Support::Supported, note, required: None },
            yields: PhantomData,
        }
    }
}

impl<T> Required<T> {
    /// This field where it needn't be there.
    pub(crate) const fn optional(self) -> Field<T> {
        Field { row: Row { required: None, ..self.row }, yields: PhantomData }
    }
}

impl<T: Typed, const REQUIRED: bool> Field<T, REQUIRED> {
    /// This field with a shape that says more than its type, which must allow it.
    pub(crate) const fn of(self, shape: Shape) -> Self {
        assert!(shape.is_of(&T::SHAPE), "the type of the field yields another shape");
        Self { row: Row { shape, ..self.row }, ..self }
    }
}

impl<T, const REQUIRED: bool> Field<T, REQUIRED> {
    /// This field with another remark.
    pub(crate) const fn note(self, note: &'static str) -> Self {
        Self { row: Row { note, ..self.row }, ..self }
    }

    /// This field with what the server does with it in place of all that the protocol says.
    pub(crate) const fn support(self, support: Support) -> Self {
        Self { row: Row { support, ..self.row }, ..self }
    }

    /// The field's row in a table.
    pub(crate) const fn row(self) -> Row {
        self.row
    }
}

impl Typed for bool {
    const SHAPE: Shape = Shape::Boolean;
    const EXPECTED: &'static str = "a boolean";
    type Of<'a: 'b, 'b> = bool;

    fn read<'a: 'b, 'b>(value: Value<'a>, _: &Shape, path: Path<'b>) -> Result<bool, ApiError> {
        if let Value::Bool(flag) = value { Ok(flag) } else { Err(path.expected(Self::EXPECTED, value)) }
    }
}

impl Typed for &str {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "a string";
    type Of<'a: 'b, 'b> = &'a str;

    fn read<'a: 'b, 'b>(value: Value<'a>, _: &Shape, path: Path<'b>) -> Result<&'a str, ApiError> {
        value.as_str().ok_or_else(|| path.expected(Self::EXPECTED, value))
    }
}

/// Text that names something, under which it may be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Id {}

impl Typed for Id {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = <&str>::EXPECTED;
    type Of<'a: 'b, 'b> = &'a str;

    fn read<'a: 'b, 'b>(value: Value<'a>, shape: &Shape, path: Path<'b>) -> Result<&'a str, ApiError> {
        path.without_nul(<&str>::read(value, shape, path)?)
    }
}

/// One of the strings that the shape lists.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OneOf {}

impl Typed for OneOf {
    const SHAPE: Shape = Shape::OneOf(&[]);
    const EXPECTED: &'static str = <&str>::EXPECTED;
    type Of<'a: 'b, 'b> = &'static str;

    fn read<'a: 'b, 'b>(value: Value<'a>, shape: &Shape, path: Path<'b>) -> Result<&'static str, ApiError> {
        let text = <&str>::read(value, shape, path)?;
        let words = if let Shape::OneOf(words) = *shape { words } else { &[] };
        let word = words.iter().copied().find(|word| *word == text);
        word.ok_or_else(|| match words {
            [few @ .., last] if few.len() < 3 => {
                path.invalid(format_args!("expected {} or {last}", few.join(", ")))
            }
            many => path.invalid(format_args!("expected one of {}", many.join(", "))),
        })
    }
}

/// A whole number; its shape has the bounds.
pub(crate) trait Whole: TryFrom<i64> + Copy {
    /// All that the type holds.
    const ALL: Shape;
}

impl Whole for u32 {
    const ALL: Shape = COUNT;
}

impl Whole for i32 {
    const ALL: Shape = Shape::Integer(i32::MIN as i64, i32::MAX as i64);
}

impl Whole for i64 {
    const ALL: Shape = Shape::Integer(i64::MIN, i64::MAX);
}

impl<N: Whole> Typed for N {
    const SHAPE: Shape = N::ALL;
    const EXPECTED: &'static str = "an integer";
    type Of<'a: 'b, 'b> = N;

    fn read<'a: 'b, 'b>(value: Value<'a>, shape: &Shape, path: Path<'b>) -> Result<N, ApiError> {
        let Value::Number(number) = value else { return Err(path.expected(Self::EXPECTED, value)) };
        let (min, max) = if let Shape::Integer(min, max) = *shape { (min, max) } else { (0, 0) };
        let whole = value.as_integer().filter(|whole| (min..=max).contains(whole));
        let whole = whole.and_then(|whole| whole.try_into().ok());
        whole.ok_or_else(|| out_of_range(path, Self::EXPECTED, min, max, number))
    }
}

impl Typed for f64 {
    const SHAPE: Shape = Shape::Number(f64::MIN, f64::MAX);
    const EXPECTED: &'static str = "a number";
    type Of<'a: 'b, 'b> = f64;

    fn read<'a: 'b, 'b>(value: Value<'a>, shape: &Shape, path: Path<'b>) -> Result<f64, ApiError> {
        let Value::Number(number) = value else { return Err(path.expected(Self::EXPECTED, value)) };
        let (min, max) = if let Shape::Number(min, max) = *shape { (min, max) } else { (0.0, 0.0) };
        let float = value.as_float().filter(|float| (min..=max).contains(float));
        float.ok_or_else(|| out_of_range(path, Self::EXPECTED, min, max, number))
    }
}

/// Any JSON, and what may have several shapes: the reader tells them apart.
impl Typed for Value<'_> {
    const SHAPE: Shape = Shape::Any;
    const EXPECTED: &'static str = "a value";
    type Of<'a: 'b, 'b> = Value<'a>;

    fn read<'a: 'b, 'b>(value: Value<'a>, _: &Shape, _: Path<'b>) -> Result<Value<'a>, ApiError> {
        Ok(value)
    }
}

impl Value<'_> {
    /// A field of an object, without opening the object: for reading few fields of many objects.
    pub(crate) fn field<T: Copy, const R: bool>(self, field: Field<T, R>) -> Option<Self> {
        let Self::Object(object) = self else { return None };
        object.fields().filter(|(key, _)| key.is(field.row.name)).last().map(|(_, value)| value)
    }
}

fn out_of_range<N: Display>(path: Path<'_>, expected: &str, min: N, max: N, number: &str) -> ApiError {
    let shown = &number[..number.len().min(40)];
    path.invalid(format_args!("expected {expected} from {min} to {max}, got {shown}"))
}
