//! Errors of loading a plugin, and wasmtime's errors as one line of a log.
//!
//! Names and messages that come from a plugin are cut and stripped of control characters before
//! they enter an error.

use std::fmt::Write as _;
use std::io;

use wasmtime::Trap;

use super::instance_limits::LimitExceeded;
use super::version::{CONTRACT, ContractVersion};
use grammar::TemplateError;

/// Maximum number of characters of a plugin's own words that an error quotes.
const QUOTED: usize = 200;
/// Maximum number of names that an error lists.
const LISTED: usize = 8;

/// How a parser is built, for those that were built for a system: plain `cargo component build`
/// does that.
const BUILD: &str = "build Rust with `cargo build --release --target wasm32-unknown-unknown` or `cargo component build --release \
                     --target wasm32-unknown-unknown`, Python with `componentize-py … componentize --stub-wasi`";

/// Error of loading a plugin: the plugin and the problem, in one line.
#[derive(Debug, thiserror::Error)]
#[error("parser {plugin}: {problem}")]
pub struct PluginLoadError {
    /// Name of the plugin, as the operator gave it.
    pub plugin: String,
    /// Reason why the plugin can't be used.
    pub problem: LoadProblem,
}

/// Reason why a plugin can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadProblem {
    /// The file can't be read.
    #[error("can't be read: {0}")]
    Unreadable(#[source] io::Error),
    /// It is a directory, a FIFO, a socket or a device.
    #[error("is {0}, not a parser file")]
    NotAFile(&'static str),
    /// The file is larger than the limit.
    #[error("the file has more than {limit} bytes, the most that a parser may have")]
    TooLarge {
        /// Value of `ParserLimits::file_bytes`.
        limit: u64,
    },
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file of a table isn't one.
    #[error("not a table: {0}")]
    Table(String),
    /// The file has no WebAssembly magic number.
    #[error("not a WebAssembly component: the file doesn't begin with \"\\0asm\"")]
    NotWasm,
    /// The file is a core module.
    #[error(
        "a WebAssembly core module, not a component: link it with wasm-component-ld, or convert it with \
         `wasm-tools component new`"
    )]
    CoreModule,
    /// The component is damaged, or uses WebAssembly features that aren't accepted.
    #[error("not a valid component: {0}")]
    Invalid(String),
    /// The component has imports.
    #[error("imports {}, but a parser may import nothing: {BUILD}", list(.0))]
    Imports(Vec<String>),
    /// The component exports no parser.
    #[error("exports no sluice:parser/parser{}: {BUILD}", and_what(.0))]
    NoParser(Vec<String>),
    /// The component exports a parser of another contract version.
    #[error("exports {}, this host serves {CONTRACT}: update the host, or take the parser's build for {CONTRACT}", list(.0))]
    Version(Vec<String>),
    /// The component exports a parser of a draft of the contract alone.
    #[error(
        "exports {0}, a draft of the contract: allow it with --draft-contracts, or take the parser's build for {CONTRACT}"
    )]
    Draft(String),
    /// The component needs more than the limits allow, or its own initialisation fails.
    #[error("can't be instantiated: {0}")]
    Instantiate(String),
    /// The component's functions have other types than the contract's.
    #[error("{0}")]
    Mismatch(Mismatch),
    /// The component failed in `describe`.
    #[error("failed in `describe`: {0}")]
    Describe(String),
    /// The component refuses the operator's options, or needs some.
    #[error("refuses its options: {0}")]
    Options(String),
    /// The section that the build wrote can't be read, or differs from the component's own
    /// `describe`.
    #[error("its section sluice-descriptor {0}; build the component again")]
    Section(String),
    /// The component's descriptor breaks the contract.
    #[error("describes itself badly: {0}")]
    Descriptor(String),
    /// The parser can't do without something that this host doesn't know.
    #[error(
        "needs `{0}`, which this host doesn't know: update the host, or take a build of the parser for it"
    )]
    Needs(String),
    /// The template of the parser's grammars can't be read.
    #[error("its grammar is no template: {0}")]
    Grammar(TemplateError),
}

/// Difference between a component's interface and the version of the contract that its name says.
#[derive(Debug, thiserror::Error)]
#[error(
    "its {interface} isn't contract {contract}: {words}; build it against wit/parser-{contract} of this host, or update the host"
)]
pub struct Mismatch {
    /// Name of the interface, as the component exports it.
    pub interface: String,
    /// Version of the contract.
    pub contract: ContractVersion,
    /// wasmtime's words for the difference.
    pub words: String,
}

/// The first few names in one line.
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

/// Makes one line of a log from words of a plugin: without control characters or line ends, and not
/// long.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = words.collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(QUOTED) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// Reason why a call into a guest failed, without addresses and backtraces.
pub(super) fn reason(error: &wasmtime::Error) -> String {
    if let Some(exceeded) = error.downcast_ref::<LimitExceeded>() {
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
    fn parser_built_for_a_system_gets_the_whole_command() {
        let command = "cargo component build --release --target wasm32-unknown-unknown";
        for problem in
            [LoadProblem::NoParser(vec![]), LoadProblem::Imports(vec!["wasi:io/error@0.2.3".to_owned()])]
        {
            let line = problem.to_string();
            assert!(line.contains(command) && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn a_load_error_names_plugin_and_problem_in_one_line() {
        let error = |problem| PluginLoadError { plugin: "x.wasm".to_owned(), problem }.to_string();
        assert_eq!(
            error(LoadProblem::Version(vec!["sluice:parser/parser@0.2.0".to_owned()])),
            "parser x.wasm: exports sluice:parser/parser@0.2.0, this host serves 0.1: update the host, or take the parser's build for 0.1"
        );
        assert_eq!(
            error(LoadProblem::NoParser(vec!["run".to_owned()])),
            format!("parser x.wasm: exports no sluice:parser/parser, only run: {BUILD}")
        );
    }
}
