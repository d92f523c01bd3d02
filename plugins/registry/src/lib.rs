//! Every shipped parser once (`list.rs`), for what is done with each: tests, fuzzing, the tables of
//! pages. No other list of parsers may grow beside it (`tests/places.rs`).

mod profile;

pub use profile::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Next, Opening, Profile, Writing};

/// Output format, and the parser that reads it.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Name of the parser, and of its folder.
    pub name: &'static str,
    /// Models that write the format.
    pub models: &'static str,
    /// How they write it, in Markdown.
    pub how: &'static str,
    /// What the tests of all formats must know.
    pub profile: &'static Profile,
    /// Generation prompts of random streams.
    pub prompts: &'static [&'static str],
    /// Fragments that are hard to parse, of which random streams are made.
    pub fragments: &'static [&'static str],
}

/// Parser of formats that a table describes.
#[derive(Debug, Clone, Copy)]
pub struct Interpreter {
    /// Name of the parser, and of its folder.
    pub name: &'static str,
    /// Models that write such formats.
    pub models: &'static str,
    /// How they write them, in Markdown.
    pub how: &'static str,
    /// Tables of its tests, each with fragments of the streams that it describes.
    pub tables: &'static [(&'static str, &'static [&'static str])],
    /// Fragments that are hard to parse under any table.
    pub fragments: &'static [&'static str],
}

// Paths in what the list expands to begin at the list.
macro_rules! registry {
    (
        formats { $($module:ident $name:literal $parser:ident $models:literal $how:literal;)* }
        interpreter { $reader:ident $reader_name:literal $reader_parser:ident $any:literal $told:literal; }
        tables { $($table:literal)* }
    ) => {
        #[path = ".."]
        mod folders {
            $(
                #[path = $name]
                pub(crate) mod $module {
                    #[path = "tests/format/fragments.rs"]
                    pub(crate) mod fragments;
                    #[path = "tests/format/profile.rs"]
                    pub(crate) mod profile;
                }
            )*
            #[path = $reader_name]
            pub(crate) mod $reader {
                #[path = "tests/format/fragments.rs"]
                pub(crate) mod fragments;
            }
        }

        $(
            /// A parser and its format.
            pub mod $module {
                pub use ::$module::$parser as Parser;

                /// The format.
                pub const FORMAT: crate::Format = crate::Format {
                    name: $name,
                    models: $models,
                    how: $how,
                    profile: &crate::folders::$module::profile::PROFILE,
                    prompts: crate::folders::$module::fragments::PROMPTS,
                    fragments: crate::folders::$module::fragments::FRAGMENTS,
                };
            }
        )*

        /// The parser of all other formats.
        pub mod $reader {
            pub use ::$reader::$reader_parser as Parser;
        }

        /// The formats that have a parser of their own, in the order in which the server tries them.
        pub const FORMATS: &[Format] = &[$($module::FORMAT),*];

        /// The parser of all other formats.
        pub const INTERPRETER: Interpreter = Interpreter {
            name: $reader_name,
            models: $any,
            how: $told,
            tables: folders::$reader::fragments::TABLES,
            fragments: folders::$reader::fragments::FRAGMENTS,
        };

        /// Names of the shipped tables.
        pub const TABLES: &[&str] = &[$($table),*];

        /// Calls a macro with the module and the name of each format.
        #[macro_export]
        macro_rules! with_formats {
            ($callback:ident) => {
                $callback! { $($module $name;)* }
            };
        }
    };
}

include!("../list.rs");
