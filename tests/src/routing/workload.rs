//! Workload of a simulation: when conversations begin, how long their turns are, and which
//! application they belong to.
//!
//! The popularity of applications follows Zipf's law. Some have a system prompt, some send one
//! `prompt_cache_key` for all of their conversations. A conversation's next turn begins some time
//! after its last answer.

use super::random::{exponential, mix, uniform};
use super::scenario::{Keys, Scenario};

const APPLICATIONS: u32 = 2000;
/// Means, before a minimum is added: of tokens, and of seconds for `THINK`.
const FIRST_MESSAGE: f64 = 400.0;
const MESSAGE: f64 = 160.0;
const OUTPUT: f64 = 170.0;
const SYSTEM: f64 = 1500.0;
const THINK: f64 = 25.0;
/// Maximum number of turns in a conversation.
const TURNS: f64 = 40.0;

/// One conversation.
pub struct Conversation {
    /// Number of the conversation, from 0, in the order of their beginnings.
    pub id: u32,
    /// Time of the first turn, in microseconds from the start of the simulation.
    pub begins: u64,
    /// Rank of its application by popularity, from 0.
    pub application: u32,
    /// Number of turns.
    pub turns: u32,
    /// Routing key of its requests.
    pub key: u64,
}

/// Makes the conversations of a scenario, in the order of their beginnings.
pub fn conversations(scenario: &Scenario) -> Vec<Conversation> {
    let popularity = cumulative_popularity();
    let mut time = 0.0;
    (0..scenario.conversations)
        .map(|id| {
            let number = u64::from(id);
            time += exponential(1e6 / scenario.rate(), 1, number, 0);
            let application = application(&popularity, uniform(2, number, 0));
            let turns = (1.0 + exponential(7.5, 3, number, 0)).min(TURNS);
            let key = key(scenario.keys, number, application);
            Conversation { id, begins: whole(time), application, turns: whole32(turns), key }
        })
        .collect()
}

impl Conversation {
    /// Number of tokens in the user's message that begins `turn`.
    pub fn message(&self, turn: u32) -> u32 {
        let mean = if turn == 0 { FIRST_MESSAGE } else { MESSAGE };
        whole32(30.0 + exponential(mean, 4, self.id.into(), turn.into()))
    }

    /// Number of tokens in the answer of `turn`.
    pub fn output(&self, turn: u32) -> u32 {
        whole32(30.0 + exponential(OUTPUT, 5, self.id.into(), turn.into()))
    }

    /// Microseconds from the end of the answer of `turn` to the next turn.
    pub fn think(&self, turn: u32) -> u64 {
        whole(1e6 * (3.0 + exponential(THINK, 6, self.id.into(), turn.into())))
    }

    /// Number of tokens in its application's system prompt; 0 for some applications.
    pub fn system(&self) -> u32 {
        let application = self.application.into();
        if uniform(7, application, 0) < 0.6 {
            whole32(500.0 + exponential(SYSTEM, 8, application, 0))
        } else {
            0
        }
    }

    /// Index of the host, below `hosts`, that gets this turn: the load balancer in front of the
    /// hosts chooses at random.
    pub fn host(&self, turn: u32, hosts: usize) -> usize {
        usize::try_from(mix(mix(u64::from(self.id)) ^ u64::from(turn))).unwrap_or(0) % hosts
    }
}

fn key(keys: Keys, conversation: u64, application: u32) -> u64 {
    let own = mix(conversation ^ 0xc0);
    let shared = mix(u64::from(application) ^ 0xa0_0000_0000);
    // Every second application sends a key, the most popular among them.
    let is_shared = application.is_multiple_of(2) && matches!(keys, Keys::CacheKeyAlone);
    if is_shared { shared } else { own }
}

/// Cumulative shares of the applications, by Zipf's law with exponent 1.
fn cumulative_popularity() -> Vec<f64> {
    let weights = (1..=APPLICATIONS).map(|rank| 1.0 / f64::from(rank));
    let total: f64 = weights.clone().sum();
    weights
        .scan(0.0, |sum, weight| {
            *sum += weight / total;
            Some(*sum)
        })
        .collect()
}

fn application(popularity: &[f64], at: f64) -> u32 {
    let rank = popularity.partition_point(|&sum| sum <= at);
    u32::try_from(rank).unwrap_or(0).min(APPLICATIONS - 1)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and far below 2^53")]
fn whole(value: f64) -> u64 {
    value as u64
}

fn whole32(value: f64) -> u32 {
    u32::try_from(whole(value)).unwrap_or(u32::MAX)
}
