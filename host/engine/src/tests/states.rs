//! Layers that keep states: what sequences go on from, and how much they compute again.

use super::fake::{Rig, alone, alone_under, request, sampled, shape};
use super::masks::{NoTwins, words};
use crate::generation::{GenerationRequest, TokenMask};
use crate::options::LocalOptions;
use crate::runner::{RunnerShape, StatesShape};
use crate::scheduler::{ANSWER_TOKENS, END_MARGIN};
use crate::speculation::SpeculationOptions;

const BLOCK: usize = 4;

/// Without drafts, whose rows would be counted, too.
fn options() -> LocalOptions {
    LocalOptions { speculation: SpeculationOptions::OFF, ..LocalOptions::default() }
}

/// A runner with room for `lanes` sequences, and this many snapshots.
fn rig(lanes: usize, snapshots: usize, options: LocalOptions) -> Rig {
    let states = Some(StatesShape { snapshots, tentative: 9 });
    Rig::new(RunnerShape { context: 3000, states, lanes, ..shape(1500, BLOCK) }, options)
}

fn prompt(length: u32, salt: u32) -> Vec<u32> {
    (0..length).map(|at| (at * 7 + at / 11 + salt * 13) % 38).collect()
}

/// Runs a request to its end. Returns its answer, and the tokens that were computed for it.
fn run(rig: &mut Rig, request: GenerationRequest) -> (Vec<u32>, usize) {
    let before = rig.runner.computed;
    let wanted = alone(&request);
    let mut client = rig.submit(GenerationRequest { queue: 1000, ..request });
    while rig.step().is_some() {
        rig.scheduler.audit();
    }
    client.read(usize::MAX);
    assert_eq!(client.tokens, wanted);
    (client.tokens, rig.runner.computed - before)
}

#[test]
fn growing_conversations_compute_their_own_tokens() {
    let mut rig = rig(2, 4, options());
    let (mut history, mut most) = (Vec::new(), 0);
    for turn in 0..20 {
        let asked = prompt(30 + turn % 3, turn);
        let length = 50 + 7 * (turn as usize % 4);
        history.extend(&asked);
        let (answer, computed) = run(&mut rig, request(history.clone(), length));
        history.extend(answer);
        most = most.max(computed.saturating_sub(asked.len() + length));
    }
    assert!(history.len() > 1700, "{} tokens", history.len());
    // What the last turn computed behind the last snapshot, which is of its answer or of its prompt.
    let bound = ANSWER_TOKENS.max(END_MARGIN + BLOCK + 71);
    assert!(most <= bound, "{most} tokens of earlier turns were computed again");
    assert!(most > 0, "a snapshot lies before the end");
}

#[test]
fn prompts_share_a_beginning_from_the_third_on() {
    let mut rig = rig(2, 6, options());
    let asks = |salt| [prompt(200, 0), prompt(20, salt)].concat();
    let computed: Vec<usize> = (1..5).map(|salt| run(&mut rig, request(asks(salt), 3)).1).collect();
    // The second finds blocks of the beginning, and no snapshot; it saves one where it departs.
    assert_eq!(computed, [222, 222, 22, 22]);
}

#[test]
fn same_prompt_again_goes_on_near_its_end() {
    let mut rig = rig(2, 4, options());
    let (_, first) = run(&mut rig, request(prompt(100, 1), 5));
    let (_, again) = run(&mut rig, request(prompt(100, 1), 5));
    assert_eq!((first, again), (104, 104 - (100 - END_MARGIN) / BLOCK * BLOCK));
}

#[test]
fn without_a_prefix_cache_nothing_is_saved() {
    let mut rig = rig(2, 4, LocalOptions { prefix_cache: false, ..options() });
    for _ in 0..2 {
        assert_eq!(run(&mut rig, request(prompt(100, 1), 100)).1, 199);
    }
}

#[test]
fn preempted_answers_go_on_from_their_snapshots() {
    let states = Some(StatesShape { snapshots: 8, tentative: 9 });
    let shape = RunnerShape { states, lanes: 4, context: 400, ..shape(130, BLOCK) };
    let mut rig = Rig::new(shape, LocalOptions { batch_tokens: 64, ..options() });
    let asks = |salt| GenerationRequest { queue: 1000, ..sampled(prompt(20, salt), 200, salt.into()) };
    let mut clients: Vec<_> = (0..4).map(|salt| rig.submit(asks(salt))).collect();
    while rig.step().is_some() {
        rig.scheduler.audit();
    }
    for (client, salt) in clients.iter_mut().zip(0..) {
        client.read(usize::MAX);
        assert_eq!(client.tokens, alone(&asks(salt)));
    }
    let preemptions = usize::try_from(rig.scheduler.stats().preemptions).unwrap();
    let again = rig.runner.computed - 4 * 219;
    assert!(preemptions > 0 && again <= preemptions * 220, "{again} tokens for {preemptions} preemptions");
}

#[test]
fn rejected_drafts_and_late_masks_leave_states_as_they_were() {
    let mut rig = rig(4, 4, LocalOptions::default());
    let asks = |seed: u64| {
        let mask = NoTwins { can_rollback: true, late_one_in: 3, ..NoTwins::default() };
        let mut one = sampled(prompt(30, 1), 100, seed);
        one.processors = words(3);
        one.mask = seed.is_multiple_of(2).then(|| Box::new(mask) as _);
        GenerationRequest { queue: 1000, ..one }
    };
    let mut clients: Vec<_> = (0..4).map(|seed| rig.submit(asks(seed))).collect();
    while clients.iter().any(|client| client.finish.is_none()) {
        rig.step();
        rig.scheduler.audit();
        for client in &mut clients {
            client.read(usize::MAX);
        }
    }
    for (client, seed) in clients.iter().zip(0..) {
        let mut mask = NoTwins::default();
        let is_masked = asks(seed).mask.is_some();
        let wanted = alone_under(&asks(seed), is_masked.then_some(&mut mask as &mut dyn TokenMask));
        assert_eq!(client.tokens, wanted);
    }
    let stats = rig.scheduler.stats();
    assert!(stats.accepted_tokens > 0 && stats.drafted_tokens > stats.accepted_tokens, "{stats:?}");
    assert!(stats.late_masks > 0, "{stats:?}");
}

/// A chat whose history has the second half of each answer.
struct Chat {
    salt: u32,
    turns: u32,
    history: Vec<u32>,
    last: Vec<u32>,
}

impl Chat {
    /// A chat that begins with these tokens, and instructions of its own.
    fn new(salt: u32, mut history: Vec<u32>) -> Self {
        history.extend(prompt(40, 1000 + salt));
        Self { salt, turns: 0, history, last: Vec::new() }
    }

    /// Asks, and returns the number of tokens that were computed beyond the turn's own: those of its
    /// prompt that the last prompt hasn't.
    fn turn(&mut self, rig: &mut Rig) -> usize {
        const ANSWER: usize = 40;
        self.turns += 1;
        self.history.extend(prompt(20 + self.salt % 7, self.salt * 100 + self.turns));
        let known = self.last.iter().zip(&self.history).take_while(|(a, b)| a == b).count();
        self.last = [&self.history[..], &[1, 2]].concat();
        let own = self.last.len() - known + ANSWER - 1;
        let asked = GenerationRequest { opens_turn: true, ..request(self.last.clone(), ANSWER) };
        let (answer, computed) = run(rig, asked);
        self.history.extend(&answer[ANSWER / 2..]);
        computed.saturating_sub(own)
    }
}

/// Tokens that a turn may compute beyond its own, if its chat has a snapshot.
const MARGIN: usize = END_MARGIN + BLOCK - 1;

/// Rounds of chats that take turns. Returns how many turns of each round compute more than they must.
fn rounds(rig: &mut Rig, chats: &mut [Chat], count: usize) -> Vec<usize> {
    let lost = |chats: &mut [Chat], rig: &mut Rig| {
        chats.iter_mut().filter_map(|chat| (chat.turn(rig) > MARGIN).then_some(())).count()
    };
    (0..count).map(|_| lost(chats, rig)).collect()
}

fn chats(count: u32, beginning: &[u32]) -> Vec<Chat> {
    (0..count).map(|salt| Chat::new(salt, beginning.to_vec())).collect()
}

#[test]
fn each_chat_needs_one_snapshot() {
    let mut rig = rig(2, 6, options());
    assert_eq!(rounds(&mut rig, &mut chats(6, &[]), 6), [0; 6]);
}

#[test]
fn chats_of_one_beginning_need_one_more() {
    let mut rig = rig(2, 7, options());
    let mut chats = chats(6, &prompt(100, 7));
    assert_eq!(rounds(&mut rig, &mut chats, 6), [0; 6]);
}

#[test]
fn chats_without_a_snapshot_leave_others_theirs() {
    for count in [7, 8, 10] {
        let mut rig = rig(2, 6, options());
        let lost = rounds(&mut rig, &mut chats(count, &[]), 8);
        let most = count as usize - 6;
        assert!(lost.iter().all(|lost| *lost <= most), "{count} chats: {lost:?} turns of each round");
    }
}

#[test]
fn requests_that_come_once_leave_a_chat_its_own() {
    let mut rig = rig(2, 4, options());
    let mut chat = Chat::new(0, Vec::new());
    for turn in 0..12 {
        let beyond = chat.turn(&mut rig);
        assert!(beyond <= MARGIN, "turn {turn}: {beyond} tokens");
        for once in 0..6 {
            run(&mut rig, request(prompt(60 + once, 50 + 7 * turn + once), 3));
        }
    }
}

#[test]
fn chats_find_room_behind_long_ones() {
    let mut rig = rig(2, 6, options());
    let mut long = [Chat::new(50, prompt(500, 1)), Chat::new(51, prompt(400, 2))];
    rounds(&mut rig, &mut long, 6);
    let lost = rounds(&mut rig, &mut chats(6, &[]), 8);
    assert_eq!(lost[4..], [0; 4], "{lost:?}");
}
