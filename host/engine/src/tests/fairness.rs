//! Order of waiting requests: principals, priorities, deadlines, and shares of a step.

use std::time::Duration;

use super::fake::{Client, Rig, request, shape};
use crate::error::SubmitError;
use crate::generation::{Finish, GenerationRequest};
use crate::options::LocalOptions;
use crate::speculation::SpeculationOptions;

fn rig(blocks: usize, sequences: usize) -> Rig {
    let speculation = SpeculationOptions::OFF;
    let queue_timeout = Some(Duration::from_secs(9));
    let options =
        LocalOptions { batch_tokens: 16, sequences, speculation, queue_timeout, ..LocalOptions::default() };
    Rig::new(shape(blocks, 4), options)
}

/// A request that is told apart by its first token.
fn ask(principal: u64, first: u32, prompt: usize, tokens: usize) -> GenerationRequest {
    let prompt: Vec<u32> = (0..prompt).map(|at| if at == 0 { first } else { 1 }).collect();
    GenerationRequest { principal, cache_salt: principal, ..request(prompt, tokens) }
}

/// First tokens of the waiting requests in the order in which they begin; `begun` requests had
/// begun before.
fn order_from(rig: &mut Rig, begun: u64) -> Vec<u32> {
    let mut order = Vec::new();
    while rig.scheduler.queued().next().is_some() {
        rig.step();
        let new = rig.scheduler.running().iter().filter(|one| one.admission >= begun + order.len() as u64);
        let new: Vec<u32> = new.map(|one| one.tokens[0]).collect();
        order.extend(new);
    }
    order
}

#[test]
fn newcomer_waits_for_one_request_of_each_at_most() {
    for others in 1..5 {
        let mut rig = rig(100, 1);
        let mut clients: Vec<Client> = Vec::new();
        for principal in 0..others {
            clients.extend((0..30).map(|_| rig.submit(ask(principal, 1, 3, 2))));
        }
        // Some of these requests have begun by then.
        for _ in 0..17 {
            rig.step();
        }
        let before = rig.scheduler.running().last().unwrap().admission + 1;
        clients.push(rig.submit(ask(9, 2, 3, 2)));
        clients.push(rig.submit(ask(9, 3, 3, 2)));
        while !rig.scheduler.running().iter().any(|one| one.tokens[0] == 2) {
            rig.step();
        }
        let overtaken = rig.scheduler.running().last().unwrap().admission - before;
        assert!(overtaken <= others, "{overtaken} requests of {others} principals went before");
    }
}

#[test]
fn requests_begin_in_order_and_principals_take_turns() {
    let mut rig = rig(100, 1);
    let clients: Vec<Client> = [(1, 10), (1, 11), (1, 12), (2, 20), (2, 21), (3, 30)]
        .map(|(principal, first)| rig.submit(ask(principal, first, 3, 2)))
        .into();
    assert_eq!(order_from(&mut rig, 0), [10, 20, 30, 11, 21, 12]);
    drop(clients);
}

#[test]
fn output_that_has_begun_goes_on_before_new_requests() {
    let mut rig = rig(100, 1);
    let running = rig.submit(ask(1, 10, 3, 2));
    rig.step();
    let new = rig.submit(ask(1, 11, 3, 2));
    let begun = rig.submit(GenerationRequest { begun: vec![1, 2], ..ask(1, 12, 3, 2) });
    assert_eq!(order_from(&mut rig, 1), [12, 11]);
    drop((running, new, begun));
}

#[test]
fn time_that_a_principal_did_not_use_is_not_saved_up() {
    for late_first in [true, false] {
        let mut rig = rig(100, 1);
        // Principal 2 was there at the beginning, and was given few tokens.
        let mut clients = vec![rig.submit(ask(2, 2, 3, 2))];
        clients.extend((0..19).map(|_| rig.submit(ask(1, 1, 3, 2))));
        rig.run();
        let mut ask =
            |principal, first| clients.extend((0..9).map(|_| rig.submit(ask(principal, first, 3, 2))));
        let (early, late) = ((1, 1), (2, 2));
        for (principal, first) in if late_first { [late, early] } else { [early, late] } {
            ask(principal, first);
        }
        let order = order_from(&mut rig, 20);
        assert_eq!(order.len(), 18);
        let runs = order.chunk_by(|a, b| a == b).map(<[u32]>::len);
        assert!(runs.max() <= Some(2), "{order:?}");
    }
}

#[test]
fn ever_waiting_principals_get_equally_many_tokens() {
    let mut rig = rig(60, 4);
    let mut clients = Vec::new();
    // Principal 1 has long prompts and answers, principal 2 short ones.
    for at in 0..200 {
        clients.push(rig.submit(ask(1, at % 30, 40, 20)));
        clients.extend((0..9).map(|_| rig.submit(ask(2, at % 30, 5, 3))));
    }
    // The most that a principal may be ahead by: a prompt, and the answers under way.
    let most = 40 + 4 * 20;
    let waits = |rig: &Rig, principal| rig.scheduler.queued().any(|one| one.principal == principal);
    let mut steps = 0;
    while waits(&rig, 1) && waits(&rig, 2) {
        rig.step();
        for client in &mut clients {
            client.read(9);
        }
        let (one, two) = (rig.scheduler.given(1), rig.scheduler.given(2));
        assert!(one.abs_diff(two) <= most, "{one} and {two} tokens");
        steps += 1;
    }
    assert!(steps > 500, "{steps} steps");
}

#[test]
fn lower_priority_number_begins_first_and_yields_last() {
    let mut rig = rig(20, 2);
    let with = |priority, first| GenerationRequest { priority, ..ask(1, first, 10, 60) };
    let clients: Vec<Client> =
        [(5, 15), (0, 10), (-7, 7)].map(|(priority, first)| rig.submit(with(priority, first))).into();
    rig.step();
    let running = |rig: &Rig| rig.scheduler.running().iter().map(|one| one.tokens[0]).collect::<Vec<_>>();
    assert_eq!(running(&rig), [7, 10]);
    // Both answers don't fit: the one of lower priority is preempted.
    while rig.scheduler.stats().preemptions == 0 {
        rig.step();
    }
    assert_eq!(running(&rig), [7]);
    drop(clients);
}

#[test]
fn a_priority_puts_no_principal_before_another() {
    let mut rig = rig(100, 1);
    let hasty = || GenerationRequest { priority: -1_000_000, ..ask(1, 1, 3, 2) };
    let mut clients: Vec<Client> = (0..50).map(|_| rig.submit(hasty())).collect();
    rig.step();
    let begun = rig.scheduler.running().last().unwrap().admission + 1;
    clients.push(rig.submit(GenerationRequest { priority: 9, ..ask(2, 2, 3, 2) }));
    let order = order_from(&mut rig, begun);
    assert_eq!(order.iter().position(|first| *first == 2), Some(0), "{order:?}");
}

#[test]
fn priority_takes_no_blocks_from_smaller_holders() {
    let mut rig = rig(20, 4);
    let hasty = |first| GenerationRequest { priority: -1_000_000, ..ask(1, first, 10, 60) };
    let mut clients: Vec<Client> = (11..14).map(|first| rig.submit(hasty(first))).collect();
    rig.step();
    // It is the last to begin, and of the lowest priority.
    clients.push(rig.submit(GenerationRequest { priority: 9, ..ask(2, 20, 3, 20) }));
    while clients[3].finish.is_none() {
        rig.step();
        clients[3].read(9);
        let waits = rig.scheduler.running().iter().all(|one| one.principal != 2);
        assert!(!waits || clients[3].tokens.is_empty() || clients[3].finish.is_some(), "it was preempted");
    }
    assert!(rig.scheduler.stats().preemptions > 0);
}

#[test]
fn long_prompts_delay_no_other_principals_work() {
    let mut rig = rig(200, 8);
    let mut decoding = rig.submit(ask(1, 5, 2, 100));
    rig.step();
    assert_eq!(decoding.read(9), 1);
    let long: Vec<Client> = (0..3).map(|first| rig.submit(ask(2, first, 150, 1))).collect();
    rig.step();
    let mut short = rig.submit(ask(3, 6, 12, 2));
    assert_eq!((rig.step(), rig.step()), (Some(16), Some(16)));
    assert_eq!(short.read(9), 1, "half of what the one who decodes leaves, and then the rest");
    assert_eq!(decoding.read(9), 3, "a token in each step");
    drop(long);
}

#[test]
fn late_waiters_are_refused_and_those_begun_are_not() {
    let mut rig = rig(100, 1);
    let at = |rig: &mut Rig, seconds| {
        rig.scheduler.set_time(Duration::from_secs(seconds));
        rig.step();
    };
    let mut running = rig.submit(ask(1, 1, 3, 100));
    at(&mut rig, 1);
    let mut first = rig.submit(ask(1, 2, 3, 2));
    at(&mut rig, 2);
    let mut second = rig.submit(ask(2, 3, 3, 2));
    assert_eq!(rig.scheduler.until_deadline(), Some(Duration::from_secs(8)));
    at(&mut rig, 9);
    assert_eq!((first.read(9), rig.scheduler.until_deadline()), (0, Some(Duration::from_secs(1))));
    at(&mut rig, 10);
    let refused = SubmitError::Overloaded { retry_after: Some(Duration::from_secs(9)), dropped: None };
    assert_eq!((first.read(9), first.finish), (1, Some(Finish::Refused(refused))));
    assert_eq!((second.read(9), second.finish.is_none()), (0, true));
    running.leave();
    at(&mut rig, 10);
    at(&mut rig, 99);
    assert_eq!((second.read(9), second.finish), (2, Some(Finish::Length)));
    let stats = rig.scheduler.stats();
    assert_eq!((stats.refused, stats.cancelled, stats.failed), (1, 1, 0));
    assert_eq!(rig.scheduler.until_deadline(), None);
}
