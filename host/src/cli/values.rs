//! Parsers of option values that are types of the library, so that the library doesn't depend on
//! the command line.

use std::ops::RangeInclusive;

use ::bench::serve::Api;
use api::{Protocol, ReasoningEvents};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use engine::SpeculationOptions;
use engine::cpu::{InputDtype, KvDtype, QuantizeTo, Repack};
use model::{CallForm, LoadFormat};
use prompt::EFFORTS;
use store::Synchronous;
use turn::FaultPolicy;

/// Parser of whole numbers in `range`; an error names the range.
pub(super) fn number<N: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let given = text.parse().ok().filter(|number| range.contains(number));
        let number = given.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| format!("{text} is not in {}..={}", range.start(), range.end()))
    }
}

/// Parser of one of these words.
fn word<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.iter().map(|(word, _)| *word)).map(move |given| {
        let (_, value) = words.iter().find(|(word, _)| *word == given).expect("one of the possible values");
        *value
    })
}

/// The value of one of these words, in a setting that may be given for one model.
fn one_of<T: Copy>(words: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        format!("{text} is none of {}", words.join(", "))
    })
}

pub(super) fn reasoning_events() -> impl TypedValueParser<Value = ReasoningEvents> {
    word(&[("text", ReasoningEvents::Text), ("summary", ReasoningEvents::Summary)])
}

pub(super) fn synchronous() -> impl TypedValueParser<Value = Synchronous> {
    word(&[("normal", Synchronous::Normal), ("full", Synchronous::Full)])
}

pub(super) fn protocol() -> impl TypedValueParser<Value = Protocol> {
    word(&[
        ("responses", Protocol::Responses),
        ("chat", Protocol::Chat),
        ("completions", Protocol::Completions),
        ("messages", Protocol::Messages),
    ])
}

/// Longest draft that may be requested: longer ones are hardly ever accepted whole.
const MAX_DRAFT: u64 = 64;

/// Parses `--parser-fault`.
pub(super) fn fault_policy(text: &str) -> Result<FaultPolicy, String> {
    one_of(
        &[
            ("continue", FaultPolicy::Continue),
            ("continue-in-calls", FaultPolicy::ContinueInCalls),
            ("fail", FaultPolicy::Fail),
        ],
        text,
    )
}

/// Parses `--tool-calls`.
pub(super) fn call_form(text: &str) -> Result<CallForm, String> {
    one_of(&[("free", CallForm::Free), ("envelope", CallForm::Envelope), ("schema", CallForm::Schema)], text)
}

/// Parses `--speculation`.
pub(super) fn speculation(text: &str) -> Result<SpeculationOptions, String> {
    let auto = SpeculationOptions::default();
    match text {
        "auto" => Ok(auto),
        "off" => Ok(SpeculationOptions::OFF),
        tokens => {
            let given = number(1..=MAX_DRAFT)(tokens);
            let draft_tokens = given.map_err(|error| format!("{error}, and neither `auto` nor `off`"))?;
            Ok(SpeculationOptions { draft_tokens, decode_rows: auto.decode_rows.max(2 * draft_tokens) })
        }
    }
}

/// Parses `--dtype`.
pub(super) fn dtype(text: &str) -> Result<InputDtype, String> {
    one_of(&[("auto", InputDtype::Auto), ("f32", InputDtype::F32)], text)
}

/// Parses `--kv-cache-dtype`.
pub(super) fn kv_cache_dtype(text: &str) -> Result<KvDtype, String> {
    one_of(&[("f16", KvDtype::F16), ("f32", KvDtype::F32)], text)
}

/// Parses `--quantize`.
pub(super) fn quantize(text: &str) -> Result<QuantizeTo, String> {
    one_of(&[("q8", QuantizeTo::Q8), ("q4", QuantizeTo::Q4)], text)
}

/// Parses `--repack`.
pub(super) fn repack(text: &str) -> Result<Repack, String> {
    one_of(&[("auto", Repack::Auto), ("never", Repack::Never)], text)
}

pub(super) fn api() -> impl TypedValueParser<Value = Api> {
    word(&[("chat", Api::Chat), ("responses", Api::Responses), ("completions", Api::Completions)])
}

/// Parses a number per second, at least `MIN_RATE`; `inf` means no limit and gives none.
pub(super) fn rate(text: &str) -> Result<Option<f64>, String> {
    if text == "inf" {
        return Ok(None);
    }
    let given = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate >= MIN_RATE);
    given.map(Some).ok_or_else(|| format!("{text} is neither a number from {MIN_RATE} on nor `inf`"))
}

/// Lowest rate, 3.6 per hour: it keeps the times between arrivals in the range of the clock.
const MIN_RATE: f64 = 0.001;

/// Parses `--load-format`.
pub(super) fn load_format(text: &str) -> Result<LoadFormat, String> {
    one_of(&[("auto", LoadFormat::Auto), ("dummy", LoadFormat::Dummy)], text)
}

/// Parses a text that isn't empty.
pub(super) fn text(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("expected a value".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses any type that implements `FromStr`.
pub(super) fn parsed<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Parses `--reasoning-budget`: an effort, or `default`, and its tokens.
pub(super) fn budget(text: &str) -> Result<(String, u32), String> {
    let (effort, tokens) = key_value(text).map_err(|_| "expected EFFORT=TOKENS".to_owned())?;
    if effort != "default" && !EFFORTS.contains(&effort.as_str()) {
        return Err(format!("{effort} is none of default, {}", EFFORTS.join(", ")));
    }
    Ok((effort, number(0..=u32::MAX.into())(&tokens)?))
}

/// A share from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}
