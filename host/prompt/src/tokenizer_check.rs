//! Checks of a `tokenizer.json`, which may come from a stranger: its steps make a bounded text of a
//! text, and plain texts neither make it fail nor take it long.
//!
//! The library bounds none of that. What a step may add is read from the file, before the library
//! gets it; how the whole goes is tried with short texts, which grow while it goes well. Called by
//! `tokenizer`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use system::cpu_clock::thread_cpu_time;

/// Longest text that a step puts in place of another, in bytes.
const LONGEST: usize = 64;
/// Most bytes that all steps together may make of one, by what the file says of each.
const MOST_GROWTH: usize = 1 << 14;
/// Most bytes of a normalised probe for each of its own.
pub(super) const PROBE_GROWTH: usize = 16;
/// Most CPU time of a probe. Usual tokenizers take a millisecond.
const PROBE_TIME: Duration = Duration::from_secs(1);
/// Lengths of probes, in characters.
const PROBE_LENGTHS: [usize; 5] = [1, 8, 32, 128, 512];
/// What probes repeat.
const PROBES: [&str; 11] = ["a", "A", "1", " ", "\n", "!", "'s", "é", "你", "🚀", "a1 b.\n"];

/// The steps of a file that make text of text.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TextSteps {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    decoder: Value,
}

impl TextSteps {
    /// Checks what the steps may make of a text. The error is a reason.
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, steps) in [("normalizer", &self.normalizer), ("decoder", &self.decoder)] {
            let most = growth(steps).map_err(|reason| format!("its {name} {reason}"))?;
            if most > MOST_GROWTH {
                return Err(format!("its {name} may make more than {MOST_GROWTH} bytes of one"));
            }
        }
        Ok(())
    }
}

/// Most bytes that a step makes of one, by the longest decompositions of Unicode and by what the
/// file puts in place of texts. The library finds steps by their fields where they have no type, and
/// so does this.
fn growth(step: &Value) -> Result<usize, String> {
    let text = |key: &str| step[key].as_str();
    let mut most: usize = match text("type") {
        Some("NFKC" | "NFKD") => 11,
        Some("NFC" | "NFD") => 3,
        Some("Lowercase" | "ByteLevel" | "WordPiece" | "CTC") => 2,
        Some("BertNormalizer") | None if step.is_object() => 12,
        _ => 1,
    };
    for steps in [&step["normalizers"], &step["decoders"]].into_iter().filter_map(Value::as_array) {
        most = steps.iter().try_fold(most, |all, step| Ok::<_, String>(all.saturating_mul(growth(step)?)))?;
    }
    if let Some(content) = text("content").filter(|_| step.get("pattern").is_some()) {
        let content = short(content.len())?;
        most = most.saturating_mul(match step["pattern"]["String"].as_str().map(str::len) {
            Some(bytes @ 1..) => content.div_ceil(bytes).max(1),
            // It may stand between any two characters.
            _ => 1 + content,
        });
    }
    if let Some(before) = text("prepend") {
        most = most.saturating_mul(1 + short(before.len())?);
    }
    if let Some(map) = text("precompiled_charsmap") {
        most = most.saturating_mul(short(longest_entry(map)?)?.max(1));
    }
    Ok(most)
}

/// Most bytes of text of which a normalizer makes one; `None` if there may be any number.
pub(super) fn shrinkage(step: &Value) -> Option<usize> {
    match step["type"].as_str() {
        None => step.is_null().then_some(1),
        Some("NFD" | "ByteLevel" | "Prepend") => Some(1),
        // Nine bytes of Hangul's letters are a syllable of three.
        Some("NFC") => Some(3),
        Some("Replace") => {
            let (pattern, content) = (step["pattern"]["String"].as_str()?, step["content"].as_str()?);
            (pattern.len() <= content.len()).then_some(1)
        }
        Some("Sequence") => step["normalizers"].as_array()?.iter().map(shrinkage).product(),
        Some(_) => None,
    }
}

fn short(bytes: usize) -> Result<usize, String> {
    if bytes <= LONGEST {
        Ok(bytes)
    } else {
        Err(format!("writes {bytes} bytes at a time, more than {LONGEST}"))
    }
}

/// Length of the longest text of a `SentencePiece` map, in bytes: behind the size of a trie and the
/// trie come texts that each end with a zero.
fn longest_entry(map: &str) -> Result<usize, String> {
    let broken = || "has a broken map of characters".to_owned();
    let map = STANDARD.decode(map).map_err(|_| broken())?;
    let (size, rest) = map.split_first_chunk().ok_or_else(broken)?;
    let trie = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| broken())?;
    let texts = rest.get(trie..).ok_or_else(broken)?;
    Ok(texts.split(|byte| *byte == 0).map(<[u8]>::len).max().unwrap_or(0))
}

/// Tries the tokenizer with texts of one kind of characters each; `probe_with` says what goes wrong
/// with one, as a verb. The error is a reason.
pub(super) fn probe(probe_with: impl Fn(&str) -> Result<(), &'static str>) -> Result<(), String> {
    for length in PROBE_LENGTHS {
        for repeated in PROBES {
            let text: String = repeated.chars().cycle().take(length).collect();
            let began = thread_cpu_time();
            probe_with(&text).map_err(|what| format!("it {what} a text of {} bytes", text.len()))?;
            if thread_cpu_time().saturating_sub(began) > PROBE_TIME {
                let most = PROBE_TIME.as_millis();
                return Err(format!("it takes more than {most} ms for a text of {} bytes", text.len()));
            }
        }
    }
    Ok(())
}
