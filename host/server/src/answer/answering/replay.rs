//! A recorded answer, played back: the same machine and turns, driven by the record's inputs.

use std::time::Duration;

use tokio::time::timeout;

use super::Answer;
use api::event_buffer::EventBuffer;
use model::record::line::Delivery;
use model::record::{Playback, RecordedInput};
use turn::TurnEnd;

/// Longest time in which nothing comes of an input. What needs time is the work of this process.
const PATIENCE: Duration = Duration::from_secs(20);

/// What became of a replayed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its events, as a record has them; the body of an answer in one piece.
    pub events: Vec<Vec<u8>>,
    /// How it ended; none if the record's inputs were used up before.
    pub end: Option<TurnEnd>,
    /// Number of inputs that it didn't take.
    pub left: usize,
}

/// Why a replay doesn't come to an end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Nobody waits for the next input.
    #[error("nothing takes the record's next input: {0}")]
    Stuck(String),
    /// The answer isn't one of a record.
    #[error("this answer is played from no record")]
    NotPlayed,
}

impl Answer {
    /// Generates the answer from its record.
    ///
    /// # Errors
    /// The answer waits for something else than what was recorded.
    pub async fn replay(mut self, delivery: Delivery) -> Result<Replay, ReplayError> {
        let playback = self.context.playback().cloned().ok_or(ReplayError::NotPlayed)?;
        let mut buffer = match delivery {
            Delivery::Whole => EventBuffer::discarding(),
            Delivery::Streamed | Delivery::Stored => EventBuffer::new(),
        };
        let mut events = Vec::new();
        self.machine.begin(&mut buffer);
        let mut is_over = false;
        while !is_over {
            self.collect(&mut buffer, &mut events);
            let Some(over) = self.play(&playback, &mut buffer).await? else { break };
            is_over = over;
        }
        if playback.take(|input| *input == RecordedInput::Unstored).is_some() {
            self.machine.not_stored(&mut buffer);
        }
        self.collect(&mut buffer, &mut events);
        if is_over && delivery == Delivery::Whole {
            events.push(self.comparable(self.machine.body().1.as_bytes()));
        }
        let end = is_over.then(|| self.ended.clone());
        Ok(Replay { events, end, left: playback.left() })
    }

    /// Takes the next input. Returns whether the answer is over, or nothing if there is none left
    /// for which it waits.
    async fn play(
        &mut self,
        playback: &Playback,
        buffer: &mut EventBuffer,
    ) -> Result<Option<bool>, ReplayError> {
        let is_own = |input: &RecordedInput| {
            matches!(input, RecordedInput::Cancel(_) | RecordedInput::Heartbeat | RecordedInput::Steer)
        };
        match playback.take(is_own) {
            Some(RecordedInput::Cancel(failure)) => {
                self.abort(failure.into_failure(), buffer);
                return Ok(Some(self.stream.is_over()));
            }
            Some(RecordedInput::Heartbeat) => {
                self.heartbeat(buffer);
                return Ok(Some(false));
            }
            Some(_) => {
                self.is_steered = true;
                return Ok(Some(false));
            }
            None => {}
        }
        let next = async {
            tokio::select! {
                biased;
                over = self.advance(buffer) => Some(over),
                () = playback.starving() => None,
            }
        };
        timeout(PATIENCE, next).await.map_err(|_| {
            let input = playback.peek().map_or_else(String::new, |input| format!("{input:?}"));
            ReplayError::Stuck(net::printable::shortened(input, 200))
        })
    }

    fn collect(&self, buffer: &mut EventBuffer, events: &mut Vec<Vec<u8>>) {
        events.extend(buffer.iter().map(|(_, json)| self.comparable(json)));
        buffer.clear();
    }

    fn comparable(&self, json: &[u8]) -> Vec<u8> {
        self.seal.as_ref().map_or_else(|| json.to_vec(), |seal| seal.comparable(json).into_owned())
    }
}
