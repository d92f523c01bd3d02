//! Prompts of plain words, reproducible from a seed. Any server's tokenizer knows the words, and
//! different prompts differ from the start.

use seeded::SplitMix64;

/// Short common words, about one token each for models of English.
const WORDS: [&str; 64] = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "man",
    "thing",
    "woman",
    "life",
    "child",
    "world",
    "school",
    "state",
    "family",
    "student",
    "group",
    "country",
    "problem",
    "hand",
    "part",
    "place",
    "case",
    "week",
    "company",
    "system",
    "program",
    "question",
    "work",
    "government",
    "number",
    "night",
    "point",
    "home",
    "water",
    "room",
    "mother",
    "area",
    "money",
    "story",
    "fact",
    "month",
    "lot",
    "right",
    "study",
    "book",
    "eye",
    "job",
    "word",
    "business",
    "issue",
    "side",
    "kind",
    "head",
    "house",
    "service",
    "friend",
    "father",
    "power",
    "hour",
    "game",
    "line",
    "end",
    "member",
    "law",
];

/// Random requests.
#[derive(Debug, Clone)]
pub(super) struct Random(SplitMix64);

impl Random {
    /// Makes an independent generator for each `stream` of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self(SplitMix64::stream(seed, stream))
    }

    /// Time in seconds to the next of independent arrivals, of which `rate` come per second in the
    /// mean.
    pub(super) fn interval(&mut self, rate: f64) -> f64 {
        -(1.0 - self.0.unit()).ln() / rate
    }

    /// Text of `count` random words.
    pub(super) fn words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(self.0.choice::<&str>(&WORDS));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_depend_on_seed_and_stream_alone() {
        let text = |seed, stream| Random::new(seed, stream).words(50);
        assert_eq!(text(1, 2), text(1, 2));
        assert_eq!(text(1, 2).split(' ').count(), 50);
        assert!(text(1, 2) != text(1, 3) && text(1, 2) != text(2, 2));
        assert_eq!(Random::new(1, 1).words(0), "");
    }

    #[test]
    fn arrivals_have_the_rate_in_the_mean() {
        let mut random = Random::new(7, 0);
        let all: f64 = (0..20_000).map(|_| random.interval(4.0)).sum();
        assert!((all / 20_000.0 - 0.25).abs() < 0.01, "{all}");
    }
}
