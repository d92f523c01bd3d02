//! Record of each request: a row of the CSV file.

use std::fmt::Display;
use std::time::Duration;

use super::exchange::Answer;
use super::failure::RequestFailure;
use crate::csv::Csv;

/// Record of one request.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// Index of the request's conversation; none for an independent request.
    pub conversation: Option<usize>,
    /// Index of the request's turn in its conversation, or of the request among all requests.
    pub turn: usize,
    /// Time at which the request was sent, since the load began.
    pub sent: Duration,
    /// Figures of the answer, or the failure.
    pub result: Result<Figures, RequestFailure>,
}

/// Figures of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Time to the first event with output of the model; none if there was no output.
    pub ttft: Option<Duration>,
    /// Times between successive events with output.
    pub gaps: Vec<Duration>,
    /// Time to the answer's end.
    pub end: Duration,
    /// Token counts of the server, if it sends any.
    pub tokens: Option<Tokens>,
}

/// Token counts of a request, by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Tokens of the prompt that the server had cached.
    pub cached: u64,
    /// Tokens of the answer.
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

    /// Mean time per token after the first; an event may hold several tokens.
    pub(crate) fn time_per_token(&self) -> Option<Duration> {
        let behind = u32::try_from(self.tokens?.output.checked_sub(1)?).ok().filter(|behind| *behind > 0)?;
        Some(self.end.saturating_sub(self.ttft?) / behind)
    }
}

/// CSV file of all requests. Times are in seconds; unknown values are empty.
pub(super) fn csv(records: &[RequestRecord]) -> Csv {
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
    for RequestRecord { conversation, turn, sent, result } in records {
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
