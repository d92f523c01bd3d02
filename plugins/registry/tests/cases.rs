//! The recorded turns of each parser, in the `cases/` of its folder.

use std::path::Path;

use parser_kit::check_cases;
use parser_sdk::Parser;

/// Plays the cases of a folder: each gives its items however it is cut.
fn check<P: Parser>(folder: &str) {
    check_cases::<P>(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("cases"));
}

macro_rules! formats {
    ($($module:ident $name:literal;)*) => {
        $(#[test]
        fn $module() {
            check::<registry::$module::Parser>($name);
        })*
    };
}
registry::with_formats!(formats);

#[test]
fn response_template() {
    check::<registry::response_template::Parser>(registry::INTERPRETER.name);
}
