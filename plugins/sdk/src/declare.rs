//! Declarations of a format: its markers with names for their indices, and the description of its
//! parser.

/// Declares `MARKERS`, a format's markers in their order, and for each that has a name the constant of
/// its index.
///
/// ```
/// parser_sdk::markers! { THINK = "<think>", "</think>", TURN_END = "<|im_end|>" }
/// assert_eq!((THINK, TURN_END, MARKERS.len()), (0, 2, 3));
/// ```
#[macro_export]
macro_rules! markers {
    ($($($name:ident =)? $literal:literal),+ $(,)?) => {
        const MARKERS: &[&str] = &[$($literal),+];
        $($(const $name: usize = $crate::index_of(MARKERS, $literal);)?)+
    };
}

/// A descriptor with the name, the `model_type`s, this crate's version, the grammar in `grammar.lark`
/// beside the calling file, and white space trimmed from all text. With a third argument it has the
/// [`markers!`], and those of these indices as its stops.
#[macro_export]
macro_rules! describe {
    ($name:literal, $models:expr) => {
        $crate::Descriptor {
            name: $name.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            models: $models.map(String::from).into(),
            trim: $crate::Trim { reasoning: true, content: true },
            grammar: Some(include_str!("grammar.lark").into()),
            ..$crate::Descriptor::default()
        }
    };
    ($name:literal, $models:expr, $stops:expr) => {
        $crate::Descriptor {
            markers: MARKERS.iter().copied().map(String::from).collect(),
            stops: (0..)
                .zip(0..MARKERS.len())
                .filter(|(_, at)| $stops.contains(at))
                .map(|(stop, _)| stop)
                .collect(),
            ..$crate::describe!($name, $models)
        }
    };
}

/// Index of the marker that is `literal`.
///
/// # Panics
/// If there is none.
#[doc(hidden)]
pub const fn index_of(markers: &[&str], literal: &str) -> usize {
    let mut index = 0;
    while !are_equal(markers[index].as_bytes(), literal.as_bytes()) {
        index += 1;
    }
    index
}

const fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
