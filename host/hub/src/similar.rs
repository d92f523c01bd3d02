//! Names in the cache that are like one that isn't: for messages, so that a slip is seen at once.

use super::repository::repositories;

/// Names that a message has at most.
const SHOWN: usize = 5;
/// Least likeness, from 0 to 1, of names that may be meant.
const LIKE: f64 = 0.8;
/// Least characters of a part that makes names alike.
const PART: usize = 3;
/// Characters of a name that are compared: the comparison takes their square.
const MOST: usize = 200;

/// Models in the cache with names like this one, the most like first, as the end of a message; empty if
/// there is none.
pub fn similar(name: &str) -> String {
    let names = repositories().unwrap_or_default();
    let like = most_like(name, &names);
    if like.is_empty() { String::new() } else { format!("; the cache has {}", like.join(", ")) }
}

fn most_like<'a>(name: &str, names: &'a [String]) -> Vec<&'a str> {
    let mut like: Vec<(f64, &str)> =
        names.iter().map(|known| (likeness(name, known), known.as_str())).collect();
    like.retain(|(likeness, _)| *likeness >= LIKE);
    like.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    like.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

/// Likeness of a name that was given and one of the hub, without their organisations: a given name may
/// lack it. A part of a name is like the whole.
fn likeness(given: &str, known: &str) -> f64 {
    let (given, known) = (plain(given), plain(known));
    let contains = |whole: &str, part: &str| part.chars().count() >= PART && whole.contains(part);
    if contains(&known, &given) || contains(&given, &known) {
        return 1.0;
    }
    strsim::jaro_winkler(&given, &known)
}

/// The name without what people leave out or write otherwise: organisation, revision and file, its
/// case, and marks between its parts.
fn plain(name: &str) -> String {
    let name = name.split(['@', ':']).next().unwrap_or(name).trim_end_matches('/');
    let name = name.rsplit('/').next().unwrap_or(name);
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts_of_names_are_alike() {
        let names = ["Qwen/Qwen3-0.6B", "HuggingFaceTB/SmolLM3-3B", "google/gemma-3-270m-it"];
        let names = names.map(str::to_owned);
        for (given, found) in [
            ("qwen3", &["Qwen/Qwen3-0.6B"][..]),
            ("Qwen/Qwen3-06B", &["Qwen/Qwen3-0.6B"]),
            ("Qwen/Qwen-3-0.6b:Q4_K_M", &["Qwen/Qwen3-0.6B"]),
            ("google/gema-3-270m", &["google/gemma-3-270m-it"]),
            ("smollm3", &["HuggingFaceTB/SmolLM3-3B"]),
            ("mistralai/Mistral-7B", &[]),
            ("", &[]),
            ("org/", &[]),
        ] {
            assert_eq!(most_like(given, &names), found, "{given}");
        }
        let many: Vec<String> = (0..100).map(|number| format!("org/x{number}")).collect();
        assert_eq!(most_like("org/x", &many), ["org/x0", "org/x1", "org/x2", "org/x3", "org/x4"]);
        assert!(most_like(&"x/".repeat(10_000), &many).len() <= SHOWN);
    }
}
