//! Names of filters and tests.

/// A filter by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filter(pub(crate) &'static str);

const FILTERS: [&str; 50] = [
    "abs",
    "attr",
    "batch",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "forceescape",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "striptags",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "wordcount",
    "xmlattr",
];

impl Filter {
    pub(crate) fn named(name: &str) -> Option<Self> {
        FILTERS.iter().find(|known| **known == name).map(|name| Self(name))
    }
}

/// A test by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Test(pub(crate) &'static str);

const TESTS: [&str; 39] = [
    "odd",
    "even",
    "divisibleby",
    "defined",
    "undefined",
    "filter",
    "test",
    "none",
    "boolean",
    "false",
    "true",
    "integer",
    "float",
    "lower",
    "upper",
    "string",
    "mapping",
    "number",
    "sequence",
    "iterable",
    "callable",
    "sameas",
    "escaped",
    "in",
    "==",
    "eq",
    "equalto",
    "!=",
    "ne",
    ">",
    "gt",
    "greaterthan",
    "ge",
    ">=",
    "<",
    "lt",
    "lessthan",
    "<=",
    "le",
];

impl Test {
    pub(crate) fn named(name: &str) -> Option<Self> {
        TESTS.iter().find(|known| **known == name).map(|name| Self(name))
    }
}
