//! What is kept of each request: a row of the CSV file.

use std::fmt::Display;
use std::time::Duration;

use super::exchange::Answer;
use super::failure::Failure;
use crate::bench::csv::Csv;

/// One request.
#[derive(Debug, Clone)]
pub struct Record {
    /// Which conversation it belongs to; none: a request by itself.
    pub conversation: Option<usize>,
    /// Its turn there, or its place among all requests; from zero.
    pub turn: usize,
    /// When it was sent, since the load began.
    pub sent: Duration,
    /// What came of it.
    pub result: Result<Figures, Failure>,
}

/// Figures of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Time to the first event with something of the model; none: it wrote nothing.
    pub ttft: Option<Duration>,
    /// Times between those events.
    pub gaps: Vec<Duration>,
    /// Time to the end.
    pub end: Duration,
    /// Tokens as the server counts them, if it does.
    pub tokens: Option<Tokens>,
}

/// Tokens of a request, by the server's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Of the prompt.
    pub prompt: u64,
    /// Those of them that the server had cached.
    pub cached: u64,
    /// Of the answer.
    pub output: u64,
}

impl Figures {
    pub(super) fn of(answer: &Answer) -> Self {
        let tokens = answer.usage.map(|usage| Tokens {
            prompt: usage.prompt_tokens,
            cached: usage.cached_tokens(),
            output: usage.completion_tokens,
        });
        Self {
            ttft: answer.tokens.first().copied(),
            gaps: answer.tokens.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect(),
            end: answer.end,
            tokens,
        }
    }

    /// Time per token behind the first: what the tokens of one event took, shared by them.
    pub fn time_per_token(&self) -> Option<Duration> {
        let behind = u32::try_from(self.tokens?.output.checked_sub(1)?).ok().filter(|behind| *behind > 0)?;
        Some(self.end.saturating_sub(self.ttft?) / behind)
    }
}

/// The file of all requests. Times are in seconds; what isn't known is empty.
pub(super) fn csv(records: &[Record]) -> Csv {
    let mut csv = Csv::new(&[
        "conversation",
        "turn",
        "sent",
        "result",
        "ttft",
        "tpot",
        "end",
        "events",
        "prompt_tokens",
        "cached_tokens",
        "output_tokens",
    ]);
    for Record { conversation, turn, sent, result } in records {
        let figures = result.as_ref().ok();
        let said = result.as_ref().err().map_or_else(|| "ok".to_owned(), ToString::to_string);
        let tokens = |of: fn(Tokens) -> u64| cell(figures.and_then(|figures| figures.tokens).map(of));
        let seconds = |time: Option<Duration>| cell(time.map(|time| time.as_secs_f64()));
        let cells = [
            cell(*conversation),
            turn.to_string(),
            seconds(Some(*sent)),
            said,
            seconds(figures.and_then(|figures| figures.ttft)),
            seconds(figures.and_then(Figures::time_per_token)),
            seconds(figures.map(|figures| figures.end)),
            cell(figures.and_then(|figures| figures.ttft.map(|_| figures.gaps.len() + 1))),
            tokens(|tokens| tokens.prompt),
            tokens(|tokens| tokens.cached),
            tokens(|tokens| tokens.output),
        ];
        csv.row(cells.iter().map(|cell| cell as &dyn Display));
    }
    csv
}

fn cell(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
