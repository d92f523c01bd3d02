//! Bounds the numbers of JSON: without a bound a model may write digits for ever.
//!
//! llguidance has no setting for it, so lexemes of a compiled grammar that are endless fractions
//! are exchanged: typed and untyped numbers, with limits or without, alone or as alternatives to
//! something else. Integers stay: the SDK bounds them in the schema, which may name larger ones.
//! Lexemes of the grammar around the JSON stay, since somebody wrote them as they are. Called by
//! [`crate::compile`].
//!
//! A bounded lexeme says what it may be, and not what it may not: llguidance sees the end of a
//! lexeme behind which nothing comes only where nothing is left of its expression. At one that it
//! doesn't see it panics if a token follows, as in formats whose markers are tokens.

use llguidance::derivre::raw::RelevanceCache;
use llguidance::derivre::{ExprRef, RegexAst};
use llguidance::earley::lexerspec::{LexemeClass, LexemeSpec, LexerSpec};

/// Most lexemes that are looked at: each takes the compiler time, and what it may take has a limit.
const MOST: usize = 256;
/// Steps after which a lexeme counts as none with endless numbers; usual ones take some hundred.
const STEPS: u64 = 20_000;

/// Fractions and exponents without an end.
const ENDLESS: &str = r"-?[0-9]+(\.[0-9]{64,}|(\.[0-9]+)?[eE][+-]?[0-9]{64,})";
/// Numbers with exponents.
const EXPONENTS: &str = r"-?[0-9]+(\.[0-9]+)?[eE](?s:.*)";
/// Numbers with as many digits as doubles have in JavaScript, which writes them longest: 21 before
/// the point, 22 behind it, 3 in the exponent.
const FRACTION: &str = r"-?[0-9]{1,21}(\.[0-9]{1,22})?";
const EXPONENT: &str = r"([eE][+-]?[0-9]{1,3})?";
/// What is no number from its first characters on.
const OTHERS: &str = r"(?s:([^-0-9].*|-([^0-9].*)?)?)";

/// Exchanges the endless fractions in all JSON of a grammar.
///
/// # Errors
/// llguidance's message.
pub(crate) fn bound(lexers: &mut LexerSpec) -> Result<(), String> {
    let [endless, exponents] = [ENDLESS, EXPONENTS].map(|regex| RegexAst::Regex(regex.to_owned()));
    let current = lexers.current_class;
    let places: Vec<_> = (0..lexers.lexemes.len()).filter(|place| is_candidate(lexers, *place)).collect();
    let mut candidates = Vec::new();
    for place in places.into_iter().take(MOST) {
        let Some(regex) = regex(&lexers.lexemes[place]) else { continue };
        let mut both = |other: &RegexAst| {
            let both = RegexAst::And(vec![regex.clone(), other.clone()]);
            lexers.regex_builder.mk(&both).map_err(|error| error.to_string())
        };
        let (endless, exponents) = (both(&endless)?, both(&exponents)?);
        candidates.push((place, regex, endless, exponents));
    }
    let (mut expressions, mut cache) = (lexers.regex_builder.exprset().clone(), RelevanceCache::new());
    let mut is_met = |both| cache.is_non_empty_limited(&mut expressions, both, STEPS).ok();
    candidates.retain(|(.., endless, _)| is_met(*endless) == Some(true));
    for (place, regex, _, exponents) in candidates {
        // Without the part that isn't there: behind the last digit nothing may be left.
        let exponent = if is_met(exponents) == Some(false) { "" } else { EXPONENT };
        let bounded = RegexAst::Regex(format!("{FRACTION}{exponent}|{OTHERS}"));
        exchange(lexers, place, &RegexAst::And(vec![regex, bounded]))?;
    }
    lexers.current_class = current;
    Ok(())
}

/// Whether the lexeme is one of JSON, and not only of strings. The first class is that of the
/// grammar around the JSON.
fn is_candidate(lexers: &LexerSpec, place: usize) -> bool {
    let lexeme = &lexers.lexemes[place];
    lexeme.class() != LexemeClass::ROOT && !lexers.has_forced_bytes(lexeme, b"\"")
}

/// The lexeme's regular expression, as JSON's lexemes have it. llguidance gives it out in this form
/// only.
fn regex(lexeme: &LexemeSpec) -> Option<RegexAst> {
    let text = lexeme.to_string(usize::MAX, None);
    let (_, behind) = text.rsplit_once("(ExprRef ")?;
    let id = behind.split(')').next()?.parse().ok()?;
    Some(RegexAst::ExprRef(ExprRef::new(id)))
}

/// Puts a lexeme of this regular expression in the place of another of its class.
fn exchange(lexers: &mut LexerSpec, place: usize, regex: &RegexAst) -> Result<(), String> {
    // A lexeme's index is its place, so the new one is added there.
    let mut behind = lexers.lexemes.split_off(place);
    lexers.current_class = behind[0].class();
    let added = lexers.add_greedy_lexeme(String::new(), regex.clone(), false, None, usize::MAX);
    // One that is there already isn't added again.
    if added.map_err(|error| error.to_string())?.as_usize() == place {
        behind.remove(0);
    }
    lexers.lexemes.append(&mut behind);
    Ok(())
}
