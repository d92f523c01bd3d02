//! Tokens and times of answers, of one or of several together.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use serde_json::Value;

/// Sums over answers: tokens as the server counts them, times since each request was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct Figures {
    answers: u32,
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
    /// Time to the first text or reasoning, and the number of answers that have some.
    first: (Duration, u32),
    /// Tokens behind the first one, and their time.
    rest: (u64, Duration),
    whole: Duration,
}

impl Figures {
    /// Figures of one answer: its `usage`, the time to its first text, and to its end.
    pub(super) fn of(usage: Option<&Value>, first: Option<Duration>, whole: Duration) -> Self {
        let count = |path| usage.and_then(|usage| usage.pointer(path)?.as_u64()).unwrap_or_default();
        let output = count("/output_tokens");
        let rest = first.map(|first| (output.saturating_sub(1), whole.saturating_sub(first)));
        Self {
            answers: 1,
            input: count("/input_tokens"),
            cached: count("/input_tokens_details/cached_tokens"),
            output,
            reasoning: count("/output_tokens_details/reasoning_tokens"),
            first: first.map_or_else(Default::default, |first| (first, 1)),
            rest: rest.unwrap_or_default(),
            whole,
        }
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        let counts = [
            (&mut self.input, other.input),
            (&mut self.cached, other.cached),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
            (&mut self.rest.0, other.rest.0),
        ];
        for (sum, count) in counts {
            // A server may claim any count.
            *sum = sum.saturating_add(count);
        }
        self.answers = self.answers.saturating_add(other.answers);
        self.first = (self.first.0.saturating_add(other.first.0), self.first.1.saturating_add(other.first.1));
        self.rest.1 = self.rest.1.saturating_add(other.rest.1);
        self.whole = self.whole.saturating_add(other.whole);
    }
}

impl fmt::Display for Figures {
    /// On one line; of several answers the time to the first text is the mean.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answers, input, cached, output, reasoning, first, rest, whole } = self;
        let mean = if *answers > 1 { " on average" } else { "" };
        if *answers > 1 {
            write!(f, "{answers} answers, ")?;
        }
        write!(f, "{input} tokens in ({cached} cached), {output} out ({reasoning} of reasoning)")?;
        if let Some(first) = first.0.checked_div(first.1) {
            write!(f, ", first after {:.2} s{mean}", first.as_secs_f64())?;
        }
        let seconds = rest.1.as_secs_f64();
        if rest.0 > 0 && seconds > 0.0 {
            #[allow(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
            let rate = rest.0 as f64 / seconds;
            write!(f, ", then {rate:.1} tok/s")?;
        }
        write!(f, ", {:.2} s in all", whole.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn figures(output: u64, first: Option<u64>, whole: u64) -> Figures {
        let usage = json!({"input_tokens": 10, "output_tokens": output,
            "input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 2}});
        Figures::of(Some(&usage), first.map(Duration::from_millis), Duration::from_millis(whole))
    }

    #[test]
    fn answers_add_up_and_one_is_said_as_it_is() {
        let mut all = figures(11, Some(500), 1500);
        let one = "10 tokens in (4 cached), 11 out (2 of reasoning), first after 0.50 s, then 10.0 tok/s, 1.50 s in all";
        assert_eq!(all.to_string(), one);
        all += figures(31, Some(1500), 2500);
        let two = "2 answers, 20 tokens in (8 cached), 42 out (4 of reasoning), first after 1.00 s on average, \
                   then 20.0 tok/s, 4.00 s in all";
        assert_eq!(all.to_string(), two);
    }

    #[test]
    fn what_a_server_leaves_out_or_exaggerates_is_no_fault() {
        let silent = Figures::of(None, None, Duration::ZERO);
        assert_eq!(silent.to_string(), "0 tokens in (0 cached), 0 out (0 of reasoning), 0.00 s in all");
        let mut sum = figures(u64::MAX, None, 0);
        sum += figures(u64::MAX, None, 0);
        assert!(sum.to_string().contains(&format!("{} out", u64::MAX)), "{sum}");
    }
}
