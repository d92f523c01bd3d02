//! Values of options that name something of the library: the library's types stay free of the command line.

use std::ops::RangeInclusive;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use engine::SpeculationOptions;
use engine::cpu::{InputDtype, KvDtype, QuantizeTo, Repack};
use host::api::{Protocol, ReasoningEvents};
use host::bench::serve::Api;
use host::model::LoadFormat;
use host::turn::FaultPolicy;

/// A parser for whole numbers in `range`; whatever is none is refused with the range.
pub(super) fn number<N: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let given = text.parse().ok().filter(|number| range.contains(number));
        let number = given.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| format!("{text} is not in {}..={}", range.start(), range.end()))
    }
}

/// A parser for one of these words.
fn word<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.iter().map(|(word, _)| *word)).map(move |given| {
        let (_, value) = words.iter().find(|(word, _)| *word == given).expect("one of the possible values");
        *value
    })
}

pub(super) fn fault_policy() -> impl TypedValueParser<Value = FaultPolicy> {
    word(&[("continue", FaultPolicy::Continue), ("fail", FaultPolicy::Fail)])
}

pub(super) fn reasoning_events() -> impl TypedValueParser<Value = ReasoningEvents> {
    word(&[("text", ReasoningEvents::Text), ("summary", ReasoningEvents::Summary)])
}

pub(super) fn protocol() -> impl TypedValueParser<Value = Protocol> {
    word(&[
        ("responses", Protocol::Responses),
        ("chat", Protocol::Chat),
        ("completions", Protocol::Completions),
        ("messages", Protocol::Messages),
    ])
}

/// The longest draft that may be asked for: longer ones are hardly ever accepted whole.
const MAX_DRAFT: u64 = 64;

/// What `--speculation` says.
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

/// What `--dtype` says.
pub(super) fn dtype(text: &str) -> Result<InputDtype, String> {
    match text {
        "auto" => Ok(InputDtype::Auto),
        "f32" => Ok(InputDtype::F32),
        other => Err(format!("{other} is neither `auto` nor `f32`")),
    }
}

/// What `--kv-cache-dtype` says.
pub(super) fn kv_cache_dtype(text: &str) -> Result<KvDtype, String> {
    match text {
        "f16" => Ok(KvDtype::F16),
        "f32" => Ok(KvDtype::F32),
        other => Err(format!("{other} is neither `f16` nor `f32`")),
    }
}

/// What `--quantize` says.
pub(super) fn quantize(text: &str) -> Result<QuantizeTo, String> {
    match text {
        "q8" => Ok(QuantizeTo::Q8),
        "q4" => Ok(QuantizeTo::Q4),
        other => Err(format!("{other} is neither `q8` nor `q4`")),
    }
}

/// What `--repack` says.
pub(super) fn repack(text: &str) -> Result<Repack, String> {
    match text {
        "auto" => Ok(Repack::Auto),
        "never" => Ok(Repack::Never),
        other => Err(format!("{other} is neither `auto` nor `never`")),
    }
}

pub(super) fn api() -> impl TypedValueParser<Value = Api> {
    word(&[("chat", Api::Chat), ("responses", Api::Responses), ("completions", Api::Completions)])
}

/// Some number per second above zero, or `inf` for any: none.
pub(super) fn rate(text: &str) -> Result<Option<f64>, String> {
    if text == "inf" {
        return Ok(None);
    }
    let given = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate >= MIN_RATE);
    given.map(Some).ok_or_else(|| format!("{text} is neither a number from {MIN_RATE} on nor `inf`"))
}

/// The lowest rate, 3.6 in an hour: so the times between arrivals are times that a clock has.
const MIN_RATE: f64 = 0.001;

/// What `--load-format` says.
pub(super) fn load_format(text: &str) -> Result<LoadFormat, String> {
    match text {
        "auto" => Ok(LoadFormat::Auto),
        "dummy" => Ok(LoadFormat::Dummy),
        _ => Err("expected `auto` or `dummy`".to_owned()),
    }
}

/// A text that isn't empty.
pub(super) fn text(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("expected a value".to_owned()) } else { Ok(text.to_owned()) }
}

/// Whatever a text can be parsed as.
pub(super) fn parsed<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}
