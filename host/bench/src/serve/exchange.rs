//! One request and its answer, with the times at which tokens arrived.

use std::time::{Duration, Instant};

use reqwest::Response;

use super::api::{End, EventContent, Prompt, Usage};
use super::failure::Failure;
use super::target::Target;
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
pub(super) async fn exchange(target: &Target, prompt: &Prompt) -> Result<Answer, Failure> {
    let reading = async {
        let begin = Instant::now();
        let response = target.ask(prompt).await.map_err(|error| of_request(&error))?;
        if !response.status().is_success() {
            return Err(Failure::Status(response.status().as_u16()));
        }
        ResponseReader { target, begin, answer: Answer::new(), has_ended: false }.read(response).await
    };
    tokio::time::timeout(target.timeout(), reading).await.unwrap_or(Err(Failure::Timeout))
}

fn of_request(error: &reqwest::Error) -> Failure {
    if error.is_connect() || error.is_timeout() { Failure::Connection } else { Failure::Cut }
}

impl Answer {
    fn new() -> Self {
        Self { tokens: Vec::new(), end: Duration::ZERO, text: String::new(), usage: None }
    }
}

/// An answer that is being read.
struct ResponseReader<'a> {
    target: &'a Target,
    begin: Instant,
    answer: Answer,
    has_ended: bool,
}

impl ResponseReader<'_> {
    async fn read(mut self, mut response: Response) -> Result<Answer, Failure> {
        let (mut events, mut data) = (SseReader::new(MAX_EVENT), Vec::new());
        while let Some(bytes) = response.chunk().await.map_err(|_| Failure::Cut)? {
            let now = self.begin.elapsed();
            events.push(&bytes);
            while events.next(&mut data).map_err(|_| Failure::Malformed)? {
                let content = self.target.api().read(&data).ok_or(Failure::Malformed)?;
                if self.take(content, now)? {
                    // A connection can be reused only after its answer is read to the end. If the
                    // answer doesn't end, only the connection is lost.
                    let rest = async { while response.chunk().await.is_ok_and(|bytes| bytes.is_some()) {} };
                    let _ = tokio::time::timeout(REST_TIME, rest).await;
                    return Ok(self.answer);
                }
            }
        }
        if self.has_ended { Ok(self.answer) } else { Err(Failure::Cut) }
    }

    /// Takes an event; returns whether it is the last one.
    fn take(&mut self, content: EventContent, now: Duration) -> Result<bool, Failure> {
        let EventContent { has_token, text, usage, end } = content;
        let Answer { tokens, end: ended, text: all, usage: counted } = &mut self.answer;
        if has_token {
            tokens.push(now);
        }
        all.push_str(&text);
        *counted = usage.or(*counted);
        match end {
            Some(End::Failed) => return Err(Failure::Event),
            Some(End::Answered | End::Over) if !self.has_ended => {
                *ended = now;
                self.has_ended = true;
            }
            _ => {}
        }
        Ok(end == Some(End::Over))
    }
}
