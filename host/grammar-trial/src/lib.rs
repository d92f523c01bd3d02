//! Compiles a grammar with llguidance, within its limits of work.
//!
//! The server compiles each grammar twice: first as a module in a sandbox (`module.rs`), where
//! time, memory and stack are bounded whatever llguidance does, then itself. Both call [`compile`],
//! so what ended well in the sandbox ends well in the server.
#![doc = include_str!("../DESIGN.md")]

mod digits;
#[cfg(target_arch = "wasm32")]
mod module;
mod width;

use llguidance::api::{GrammarInit, ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{InferenceCapabilities, TokEnv};
use llguidance::{Matcher, ParserFactory, TokenParser};

/// Most states of a lexer, of one to two kilobytes each. All answers of one grammar share its
/// lexer.
pub const LEXER_STATES: usize = 50_000;

/// Makes the compiler of grammars for a vocabulary. `slices` are regexes of token sets that masks
/// take as a whole.
///
/// # Errors
/// llguidance can't use the vocabulary.
pub fn compiler(vocabulary: &TokEnv, slices: &[String]) -> Result<ParserFactory, String> {
    let capabilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
    let mut factory =
        ParserFactory::new(vocabulary, capabilities, slices).map_err(|error| error.to_string())?;
    *factory.limits_mut() = limits();
    factory.quiet();
    Ok(factory)
}

/// Compiles a grammar in llguidance's Lark dialect. The parser is kept for its figures; matchers
/// share its lexer.
///
/// # Errors
/// llguidance's message: the grammar is wrong, can't be followed, or takes more work than the
/// limits allow.
pub fn compile(compiler: &ParserFactory, grammar: &str) -> Result<(TokenParser, Matcher), String> {
    let source = GrammarInit::Serialized(TopLevelGrammar::from_lark(with_all_escapes(grammar)));
    let parts = source.to_internal(Some(compiler.tok_env().clone()), compiler.limits().clone());
    let (grammar, mut lexers) = parts.map_err(|error| error.to_string())?;
    width::check(lexers.regex_builder.exprset())?;
    lexers.no_forcing |= width::has_remainder(lexers.regex_builder.exprset());
    digits::bound(&mut lexers)?;
    let parser = compiler.create_parser_from_init_default(GrammarInit::Internal(grammar, lexers));
    let parser = parser.map_err(|error| error.to_string())?;
    let matcher = Matcher::new(Ok(parser.clone()));
    matcher.get_error().map_or(Ok((parser, matcher)), Err)
}

/// Grammar whose JSON strings may spell any character as `\uXXXX`. By default llguidance allows
/// only control characters behind `\u`, and so leads a model that means `\u00e9` to one of them.
/// The setting is added here, behind those of `host/grammar` (`lark/schema.rs`), since a remote
/// engine's llguidance may refuse what it doesn't know.
fn with_all_escapes(grammar: &str) -> String {
    ["lenient", "whitespace_pattern"].iter().fold(grammar.to_owned(), |grammar, first| {
        let settings = r#""x-guidance":{"#;
        grammar.replace(
            &format!("{settings}\"{first}\":"),
            &format!("{settings}\"json_allow_general_unicode_escapes\":true,\"{first}\":"),
        )
    })
}

/// Limits that llguidance enforces.
fn limits() -> ParserLimits {
    ParserLimits { max_lexer_states: LEXER_STATES, verbose_errors: false, ..ParserLimits::default() }
}

/// Regexes of token sets that a mask takes as a whole, where the grammar allows all texts of that
/// form. They are llguidance's, without the `<` with which most markers begin, so that they also
/// apply where a grammar allows any text but markers.
pub fn slices() -> Vec<String> {
    let text = r#"[^"\\<\x00-\x1F\x7F]"#;
    let lengths = ["{1,10}", "{1,30}", "+"].map(|length| format!("{text}{length}"));
    std::iter::once(r"[ \n\r\t]+".to_owned()).chain(lengths).collect()
}
