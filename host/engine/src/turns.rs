//! Turns at a device that several engines share: one step at a time, in the order in which they asked.
//!
//! Invariant: whoever takes a turn waits for at most one turn of each other, since one who comes again stands behind all who wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A ticket lock: a mutex that is fair.
#[derive(Debug, Default)]
pub struct Turns {
    state: Mutex<Tickets>,
    passed: Condvar,
}

#[derive(Debug, Default)]
struct Tickets {
    /// The next ticket to be drawn.
    next: u64,
    /// The ticket whose turn it is.
    serving: u64,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for a turn.
    pub(crate) fn take(&self) -> Turn<'_> {
        let mut tickets = self.lock();
        let mine = tickets.next;
        tickets.next += 1;
        while tickets.serving != mine {
            tickets = self.passed.wait(tickets).unwrap_or_else(PoisonError::into_inner);
        }
        Turn(self)
    }

    fn lock(&self) -> MutexGuard<'_, Tickets> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().serving += 1;
        self.0.passed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::Turns;

    /// Waits until so many tickets were drawn.
    fn await_tickets(turns: &Turns, drawn: u64) {
        while turns.lock().next < drawn {
            std::thread::yield_now();
        }
    }

    #[test]
    fn turns_are_taken_in_the_order_of_asking_and_who_comes_again_is_last() {
        let (turns, order) = (Turns::default(), Mutex::new(Vec::new()));
        let take = |name| {
            let _turn = turns.take();
            order.lock().unwrap().push(name);
        };
        std::thread::scope(|scope| {
            let held = turns.take();
            for (drawn, name) in [(2, "first"), (3, "second"), (4, "third")] {
                scope.spawn(move || take(name));
                await_tickets(&turns, drawn);
            }
            drop(held);
            take("again");
        });
        assert_eq!(order.into_inner().unwrap(), ["first", "second", "third", "again"]);
    }

    #[test]
    fn a_turn_that_panics_is_passed_on() {
        let turns = Turns::default();
        let panicked = std::panic::catch_unwind(|| {
            let _turn = turns.take();
            panic!("in a turn");
        });
        assert!(panicked.is_err());
        drop(turns.take());
    }
}
