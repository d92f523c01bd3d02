//! Slots for expensive work: few at a time, and principals take turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Principal;

/// Slots that principals take turns for. Who has had fewest since nobody waited comes first, and
/// among a principal's requests the oldest. So a request waits for at most one of each other
/// principal that is ahead of it, and for its own. None may have more than a number of them, so
/// that others find one free. Cheap to clone.
#[derive(Clone)]
pub struct TurnSlots(Arc<Mutex<State>>);

struct State {
    free: usize,
    /// Most slots of one principal, at present.
    each: Box<dyn Fn() -> usize + Send>,
    /// Slots that each principal has now.
    held: HashMap<Principal, usize>,
    /// Waiting requests, oldest first.
    waiting: Vec<(Principal, oneshot::Sender<TurnSlot>)>,
    /// Slots that each principal has had while others waited.
    turns: HashMap<Principal, u64>,
}

/// Guard of a principal's slot; without slots it guards none.
pub struct TurnSlot(Option<(TurnSlots, Principal)>);

impl TurnSlots {
    /// Makes this many slots, at least one.
    pub fn new(slots: usize) -> Self {
        Self::shared(slots, move || slots)
    }

    /// Makes this many slots, of which one principal has at most `each` at a time; at least one.
    /// `each` is asked for every slot, so it may follow who there is. It must not ask for a slot.
    pub fn shared(slots: usize, each: impl Fn() -> usize + Send + 'static) -> Self {
        let (free, each) = (slots.max(1), Box::new(each));
        let (held, turns) = (HashMap::new(), HashMap::new());
        Self(Arc::new(Mutex::new(State { free, each, held, waiting: Vec::new(), turns })))
    }

    /// Asks for a slot, which the receiver gets when it is its turn. Dropping the receiver gives
    /// up.
    pub fn ask(&self, principal: &Principal) -> oneshot::Receiver<TurnSlot> {
        let (grant, granted) = oneshot::channel();
        self.lock().waiting.push((principal.clone(), grant));
        self.grant();
        granted
    }

    /// Most slots of one principal, at present.
    pub fn of_one(&self) -> usize {
        self.lock().of_one()
    }

    /// Gives the free slots to those whose turn it is.
    fn grant(&self) {
        loop {
            let next = self.lock().next();
            let Some((principal, next)) = next else { return };
            // Who has given up gets none: it is free again.
            if let Err(mut slot) = next.send(TurnSlot(Some((self.clone(), principal))))
                && let Some((_, principal)) = slot.0.take()
            {
                self.lock().give_back(&principal);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of_one(&self) -> usize {
        (self.each)().max(1)
    }

    /// Takes a free slot for the request whose turn it is.
    fn next(&mut self) -> Option<(Principal, oneshot::Sender<TurnSlot>)> {
        if self.free == 0 {
            return None;
        }
        let turns = |principal: &Principal| self.turns.get(principal).copied().unwrap_or(0);
        let each = self.of_one();
        let may = |at: &usize| self.held.get(&self.waiting[*at].0).is_none_or(|held| *held < each);
        let waiting = (0..self.waiting.len()).filter(may);
        let at = waiting.min_by_key(|at| (turns(&self.waiting[*at].0), *at))?;
        let (principal, next) = self.waiting.remove(at);
        self.free -= 1;
        *self.held.entry(principal.clone()).or_default() += 1;
        if self.waiting.is_empty() {
            self.turns.clear();
        } else {
            *self.turns.entry(principal.clone()).or_default() += 1;
        }
        Some((principal, next))
    }

    fn give_back(&mut self, principal: &Principal) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(principal) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(principal);
            }
        }
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        if let Some((slots, principal)) = self.0.take() {
            slots.lock().give_back(&principal);
            slots.grant();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn principals_take_turns_however_many_wait() {
        let slots = TurnSlots::new(1);
        let mut held = slots.ask(&Principal::new("a")).try_recv().ok();
        let mut waiting: Vec<_> =
            ["a", "a", "a", "b", "c", "b"].map(|name| (name, slots.ask(&Principal::new(name)))).into();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            assert!(waiting.iter_mut().all(|(_, asked)| asked.try_recv().is_err()), "there is one slot");
            drop(held.take());
            let granted = |(_, asked): &mut (_, oneshot::Receiver<TurnSlot>)| {
                held = asked.try_recv().ok();
                held.is_some()
            };
            let at = waiting.iter_mut().position(granted).expect("one of them");
            order.push(waiting.remove(at).0);
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "a"]);
    }

    #[test]
    fn one_principal_leaves_others_a_slot() {
        let slots = TurnSlots::shared(2, || 1);
        let ask = |name| slots.ask(&Principal::new(name));
        let (mut first, mut second, mut other) = (ask("a"), ask("a"), ask("b"));
        let held = first.try_recv().expect("a slot");
        assert!(second.try_recv().is_err() && slots.of_one() == 1, "it has its slot");
        assert!(other.try_recv().is_ok());
        drop(held);
        assert!(second.try_recv().is_ok());
    }

    #[test]
    fn share_follows_who_there_is() {
        let each = Arc::new(AtomicUsize::new(2));
        let present = Arc::clone(&each);
        let slots = TurnSlots::shared(2, move || present.load(Ordering::Relaxed));
        let mut all: Vec<_> = (0..2).map(|_| slots.ask(&Principal::new("a"))).collect();
        let held: Vec<_> = all.iter_mut().map(|asked| asked.try_recv().expect("a slot")).collect();
        each.store(1, Ordering::Relaxed);
        drop(held);
        let (mut first, mut second) = (slots.ask(&Principal::new("a")), slots.ask(&Principal::new("a")));
        let held = first.try_recv().expect("a slot");
        assert!(second.try_recv().is_err(), "one is left to others");
        each.store(0, Ordering::Relaxed);
        drop(held);
        assert!(second.try_recv().is_ok(), "nobody is shut out");
    }

    #[test]
    fn who_gives_up_takes_no_slot() {
        let slots = TurnSlots::new(1);
        let ask = || slots.ask(&Principal::default());
        let held = ask().try_recv().ok();
        let given_up: Vec<_> = (0..1000).map(|_| ask()).collect();
        let mut last = ask();
        drop(given_up);
        drop(held);
        assert!(last.try_recv().is_ok());
        let state = slots.lock();
        assert_eq!((state.free, state.held.len()), (1, 0));
    }
}
