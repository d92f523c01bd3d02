//! One request and its answer, with the times at which tokens arrived.

use std::time::{Duration, Instant};

use reqwest::Response;

use super::api::{End, EventContent, Prompt, Usage};
use super::failure::RequestFailure;
use super::target::BenchTarget;
use net::sse::{MAX_EVENT, SseReader};

/// Time for a stream to end after its last event.
const REST_TIME: Duration = Duration::from_secs(1);

/// Answer to a request.
#[derive(Debug)]
pub(super) struct Answer {
    /// Times at which events with output of the model arrived, since the request was sent.
    pub(super) tokens: Vec<Duration>,
    /// Time at which the answer ended, since the request was sent.
    pub(super) end: Duration,
    /// Text of the answer.
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
}

/// Sends a request and reads its answer to the end.
pub(super) async fn exchange(target: &BenchTarget, prompt: &Prompt) -> Result<Answer, RequestFailure> {
    let reading = async {
        let begin = Instant::now();
        let response = target.ask(prompt).await.map_err(|error| of_request(&error))?;
        if !response.status().is_success() {
            return Err(RequestFailure::Status(response.status().as_u16()));
        }
        ResponseReader { target, begin, answer: Answer::new(), has_ended: false }.read(response).await
    };
    tokio::time::timeout(target.timeout(), reading).await.unwrap_or(Err(RequestFailure::Timeout))
}

fn of_request(error: &reqwest::Error) -> RequestFailure {
    if error.is_connect() || error.is_timeout() { RequestFailure::Connection } else { RequestFailure::Cut }
}

impl Answer {
    fn new() -> Self {
        Self { tokens: Vec::new(), end: Duration::ZERO, text: String::new(), usage: None }
    }
}

/// An answer that is being read.
struct ResponseReader<'a> {
    target: &'a BenchTarget,
    begin: Instant,
    answer: Answer,
    has_ended: bool,
}

impl ResponseReader<'_> {
    async fn read(mut self, mut response: Response) -> Result<Answer, RequestFailure> {
        let (mut events, mut data) = (SseReader::new(MAX_EVENT), Vec::new());
        while let Some(bytes) = response.chunk().await.map_err(|_| RequestFailure::Cut)? {
            let now = self.begin.elapsed();
            events.push(&bytes);
            while events.next(&mut data).map_err(|_| RequestFailure::Malformed)? {
                let content = self.target.api().read(&data).ok_or(RequestFailure::Malformed)?;
                if self.take(content, now)? {
                    // A connection can be reused only after its answer is read to the end. If the
                    // answer doesn't end, only the connection is lost.
                    let rest = async { while response.chunk().await.is_ok_and(|bytes| bytes.is_some()) {} };
                    let _ = tokio::time::timeout(REST_TIME, rest).await;
                    return Ok(self.answer);
                }
            }
        }
        if self.has_ended { Ok(self.answer) } else { Err(RequestFailure::Cut) }
    }

    /// Takes an event; returns whether it is the last one.
    fn take(&mut self, content: EventContent, now: Duration) -> Result<bool, RequestFailure> {
        let EventContent { has_token, text, usage, end } = content;
        let Answer { tokens, end: ended, text: all, usage: counted } = &mut self.answer;
        if has_token {
            tokens.push(now);
        }
        all.push_str(&text);
        *counted = usage.or(*counted);
        match end {
            Some(End::Failed) => return Err(RequestFailure::Event),
            Some(End::Answered | End::Over) if !self.has_ended => {
                *ended = now;
                self.has_ended = true;
            }
            _ => {}
        }
        Ok(end == Some(End::Over))
    }
}
