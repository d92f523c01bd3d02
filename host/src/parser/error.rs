//! Why a plugin can't be loaded, and how wasmtime's errors become one line of a log.
//!
//! Names and messages that come from a plugin are cut and stripped of control characters before they enter an error.

use std::fmt::Write as _;
use std::io;

use wasmtime::Trap;

use super::budget::Exceeded;
use super::version::{CONTRACT, INTERFACE};

/// Characters of a plugin's own words that an error repeats.
const QUOTED: usize = 200;
/// Names that an error lists.
const LISTED: usize = 8;

/// A plugin that can't be used: which, and why, in one line.
#[derive(Debug, thiserror::Error)]
#[error("parser {plugin}: {problem}")]
pub struct PluginLoadError {
    /// The plugin, as the operator named it.
    pub plugin: String,
    /// What is wrong with it.
    pub problem: LoadProblem,
}

/// What is wrong with a plugin.
#[derive(Debug, thiserror::Error)]
pub enum LoadProblem {
    /// The file can't be read.
    #[error("can't be read: {0}")]
    Unreadable(#[source] io::Error),
    /// A directory, a FIFO, a socket or a device.
    #[error("is {0}, not a parser file")]
    NotAFile(&'static str),
    /// The file is larger than the limit.
    #[error("the file has more than {limit} bytes, the most that a parser may have")]
    TooLarge {
        /// `ParserLimits::file_bytes`.
        limit: u64,
    },
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// No WebAssembly magic number.
    #[error("not a WebAssembly component: the file doesn't begin with \"\\0asm\"")]
    NotWasm,
    /// A core module, or something newer.
    #[error(
        "a WebAssembly core module, not a component: link it with wasm-component-ld, or convert it with \
         `wasm-tools component new`"
    )]
    CoreModule,
    /// Damaged, or beyond what is accepted of WebAssembly.
    #[error("not a valid component: {0}")]
    Invalid(String),
    /// It wants something of the host.
    #[error("imports {}, but a parser may import nothing: build it for wasm32-unknown-unknown", list(.0))]
    Imports(Vec<String>),
    /// It isn't a parser.
    #[error("exports no sluice:parser/parser{}", and_what(.0))]
    NoParser(Vec<String>),
    /// It is a parser for another host.
    #[error("exports {}, this host speaks {CONTRACT}", list(.0))]
    Version(Vec<String>),
    /// It asks for too much, or its own initialisation fails.
    #[error("can't be instantiated: {0}")]
    Instantiate(String),
    /// Its functions have other types than the contract's.
    #[error("doesn't fit {INTERFACE}: {0}; build it against this version's WIT file")]
    Mismatch(String),
    /// It failed when it was asked what it is.
    #[error("failed in `describe`: {0}")]
    Describe(String),
    /// It doesn't accept the operator's options.
    #[error("refuses its options: {0}")]
    Options(String),
    /// What the build wrote of it isn't what it is.
    #[error("its section sluice-descriptor {0}; build the component again")]
    Section(String),
    /// It says something of itself that the contract forbids.
    #[error("describes itself badly: {0}")]
    Descriptor(String),
}

/// Names in one line, the first few of them.
fn list(names: &[String]) -> String {
    let mut line = names.iter().take(LISTED).map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        let _ = write!(line, " and {} more", names.len() - LISTED);
    }
    line
}

fn and_what(exports: &[String]) -> String {
    if exports.is_empty() { String::new() } else { format!(", only {}", list(exports)) }
}

/// Words from outside, fit for one line of a log: no control characters or line ends, and not long.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = words.collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(QUOTED) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// Why a call into a guest failed, without addresses and backtraces.
pub(super) fn reason(error: &wasmtime::Error) -> String {
    if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
        return exceeded.to_string();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::UnreachableCodeReached) => "wasm trap: unreachable".to_owned(),
        Some(Trap::StackOverflow) => "wasm trap: stack limit".to_owned(),
        Some(trap) => trap.to_string(),
        None => one_line(&error.root_cause().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugins_words_are_cut_and_kept_on_one_line() {
        assert_eq!(one_line("a\n\tb\u{1b}[31mc "), "a b [31mc");
        assert_eq!(one_line(&"ä".repeat(201)), format!("{}…", "ä".repeat(200)));
        assert_eq!(one_line(&"ä".repeat(200)), "ä".repeat(200));
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let names: Vec<String> = (0..10).map(|n| format!("n{n}")).collect();
        assert_eq!(list(&names), "n0, n1, n2, n3, n4, n5, n6, n7 and 2 more");
        assert_eq!(list(&names[..2]), "n0, n1");
    }

    #[test]
    fn a_load_error_names_plugin_and_problem_in_one_line() {
        let error = |problem| PluginLoadError { plugin: "x.wasm".to_owned(), problem }.to_string();
        assert_eq!(
            error(LoadProblem::Version(vec!["sluice:parser/parser@0.2.0".to_owned()])),
            "parser x.wasm: exports sluice:parser/parser@0.2.0, this host speaks 0.1"
        );
        assert_eq!(error(LoadProblem::NoParser(vec![])), "parser x.wasm: exports no sluice:parser/parser");
        assert_eq!(
            error(LoadProblem::NoParser(vec!["run".to_owned()])),
            "parser x.wasm: exports no sluice:parser/parser, only run"
        );
    }
}
