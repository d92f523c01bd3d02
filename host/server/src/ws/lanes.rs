//! Order of a socket's requests: those of one lane run one after the other, those of different
//! lanes beside each other, up to a number.

use std::collections::{HashSet, VecDeque};

use crate::limits::HttpLimits;
use api::error::ApiError;
use api::responses::web_socket::StreamId;

/// A lane: its name, or none.
pub(crate) type Lane = Option<StreamId>;

/// The lanes of a socket, with requests `R` that wait.
pub(crate) struct Lanes<R> {
    most: Most,
    named: HashSet<StreamId>,
    running: HashSet<Lane>,
    /// Waiting requests of all lanes, oldest first.
    waiting: VecDeque<(Lane, R)>,
}

struct Most {
    named: usize,
    running: usize,
    waiting: usize,
}

impl<R> Lanes<R> {
    pub(crate) fn new(limits: &HttpLimits) -> Self {
        let most = Most {
            named: limits.socket_lanes,
            running: limits.socket_running,
            waiting: limits.socket_waiting,
        };
        Self { most, named: HashSet::new(), running: HashSet::new(), waiting: VecDeque::new() }
    }

    /// Has a request wait for its turn in its lane.
    ///
    /// # Errors
    /// Too many lanes have been named, or too many requests wait.
    pub(crate) fn push(&mut self, lane: Lane, request: R) -> Result<(), ApiError> {
        if let Some(name) = &lane
            && !self.named.contains(name)
        {
            if self.named.len() >= self.most.named {
                return Err(too_many_lanes(self.most.named));
            }
            self.named.insert(name.clone());
        }
        if self.waiting.len() >= self.most.waiting {
            return Err(ApiError::rate_limited(1));
        }
        self.waiting.push_back((lane, request));
        Ok(())
    }

    /// The next request that may run, which then counts as running.
    pub(crate) fn start(&mut self) -> Option<(Lane, R)> {
        if self.running.len() >= self.most.running {
            return None;
        }
        let at = self.waiting.iter().position(|(lane, _)| !self.running.contains(lane))?;
        let (lane, request) = self.waiting.remove(at)?;
        self.running.insert(lane.clone());
        Some((lane, request))
    }

    /// The lane's request has ended.
    pub(crate) fn ended(&mut self, lane: &Lane) {
        self.running.remove(lane);
    }

    /// Takes the requests that wait.
    pub(crate) fn take_waiting(&mut self) -> VecDeque<(Lane, R)> {
        std::mem::take(&mut self.waiting)
    }
}

fn too_many_lanes(most: usize) -> ApiError {
    let message = format!(
        "stream_id: this WebSocket has {most} lanes, which is as many as it may have: use one of them, or open another WebSocket"
    );
    ApiError::invalid("stream_id".to_owned(), message).with_code("websocket_stream_limit_reached")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> StreamId {
        StreamId::new(name).unwrap()
    }

    fn lanes(most: usize) -> Lanes<u32> {
        Lanes::new(&HttpLimits {
            socket_lanes: 2 * most,
            socket_running: most,
            socket_waiting: 4 * most,
            ..HttpLimits::default()
        })
    }

    #[test]
    fn lane_keeps_order_and_lanes_run_side_by_side() {
        let mut lanes = lanes(2);
        for (number, name) in ["a", "a", "b", "c", "b"].into_iter().enumerate() {
            lanes.push(Some(named(name)), u32::try_from(number).unwrap()).unwrap();
        }
        assert_eq!(lanes.start(), Some((Some(named("a")), 0)));
        assert_eq!(lanes.start(), Some((Some(named("b")), 2)));
        assert_eq!(lanes.start(), None, "two run");
        lanes.ended(&Some(named("b")));
        assert_eq!(lanes.start(), Some((Some(named("c")), 3)), "the oldest that may run");
        lanes.ended(&Some(named("a")));
        assert_eq!(lanes.start(), Some((Some(named("a")), 1)));
        lanes.ended(&Some(named("c")));
        assert_eq!(lanes.start(), Some((Some(named("b")), 4)));
        assert_eq!(lanes.start(), None);
    }

    #[test]
    fn names_and_waiting_requests_are_bounded() {
        let mut lanes = lanes(1);
        let code = |refused: Result<(), ApiError>| refused.unwrap_err().code;
        for name in ["a", "b"] {
            lanes.push(Some(named(name)), 0).unwrap();
        }
        assert_eq!(code(lanes.push(Some(named("c")), 0)), Some("websocket_stream_limit_reached"));
        lanes.push(None, 0).unwrap();
        lanes.push(Some(named("a")), 0).unwrap();
        assert_eq!(code(lanes.push(Some(named("a")), 0)), Some("rate_limit_exceeded"));
        assert_eq!(lanes.take_waiting().len(), 4);
        assert_eq!(
            code(lanes.push(Some(named("c")), 0)),
            Some("websocket_stream_limit_reached"),
            "a name stays"
        );
    }
}
