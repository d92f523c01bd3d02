//! Prompts of plain words, reproducible from a seed. Any server's tokenizer knows the words, and different prompts differ from the start.

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

/// Random numbers of splitmix64.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// Makes an independent generator for each `stream` of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed);
        let mixed = random.next() ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mixed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Random number from 0 to 1, without 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds")]
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Time in seconds to the next of independent arrivals, of which `rate` come per second in the mean.
    pub(super) fn interval(&mut self, rate: f64) -> f64 {
        -(1.0 - self.unit()).ln() / rate
    }

    /// Text of `count` random words.
    pub(super) fn words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            if !text.is_empty() {
                text.push(' ');
            }
            let index = self.next() % WORDS.len() as u64;
            text.push_str(WORDS[usize::try_from(index).unwrap_or(0)]);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_stream_say_the_same_and_others_something_else() {
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
