//! Played output: steps, ends, pace.

use std::time::Duration;

use tokio::time::Instant;

use super::fake::request;
use super::masks::NoTwins;
use crate::error::{GenerationError, MaskError, PlayedMismatch};
use crate::generation::{Finish, Generation, GenerationRequest, StepOutput};
use crate::play::{Clock, PlayedEnd, PlayedOutput};

fn output(tokens: &[u32], tokens_per_step: usize, end: PlayedEnd) -> PlayedOutput {
    PlayedOutput { tokens: tokens.to_vec(), tokens_per_step, pace: None, end }
}

fn ask(max_tokens: usize) -> GenerationRequest {
    GenerationRequest { stop_ids: [9, 8].into(), ..request([1], max_tokens) }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn ids(step: &StepOutput) -> Vec<u32> {
    step.tokens.iter().map(|token| token.id).collect()
}

/// Tokens of each step, and the finish of the last.
fn play(output: PlayedOutput, request: GenerationRequest) -> (Vec<Vec<u32>>, Finish) {
    let mut generation = output.play(request);
    runtime().block_on(async {
        let mut steps = Vec::new();
        loop {
            let step = generation.next().await.unwrap();
            steps.push(ids(&step));
            if let Some(finish) = step.finish {
                assert_eq!(generation.next().await, None);
                return (steps, finish);
            }
        }
    })
}

#[test]
fn played_steps_have_asked_size_and_count_the_stop() {
    let stop = PlayedEnd::Stop;
    assert_eq!(
        play(output(&[1, 2, 3], 1, stop), ask(99)),
        (vec![vec![1], vec![2], vec![3], vec![]], Finish::Stop(9))
    );
    assert_eq!(play(output(&[1, 2, 3], 2, stop), ask(99)), (vec![vec![1, 2], vec![3]], Finish::Stop(9)));
    assert_eq!(play(output(&[1, 2, 3], 0, stop), ask(99)), (vec![vec![1, 2, 3]], Finish::Stop(9)));
    assert_eq!(play(output(&[], 1, stop), ask(99)), (vec![vec![]], Finish::Stop(9)));
}

#[test]
fn the_request_bounds_what_is_played() {
    assert_eq!(
        play(output(&[1, 2, 3], 1, PlayedEnd::Stop), ask(2)),
        (vec![vec![1], vec![2]], Finish::Length)
    );
    assert_eq!(
        play(output(&[1, 2, 3], 2, PlayedEnd::Stop), ask(3)),
        (vec![vec![1, 2], vec![3]], Finish::Length)
    );
    assert_eq!(play(output(&[1, 8, 3], 0, PlayedEnd::Stop), ask(9)), (vec![vec![1]], Finish::Stop(8)));
    assert_eq!(play(output(&[1, 8, 3], 0, PlayedEnd::Stop), ask(2)), (vec![vec![1]], Finish::Stop(8)));
}

#[test]
fn other_ends_are_played_as_written() {
    assert_eq!(play(output(&[1], 0, PlayedEnd::Length), ask(9)), (vec![vec![1]], Finish::Length));
    let (steps, finish) = play(output(&[1], 1, PlayedEnd::Error), ask(9));
    assert_eq!(steps, [vec![1], vec![]]);
    assert_eq!(finish, Finish::Error(GenerationError::Played));
    let no_stop = GenerationRequest { stop_ids: [].into(), ..ask(9) };
    assert_eq!(
        play(output(&[1], 1, PlayedEnd::Stop), no_stop).1,
        Finish::Error(GenerationError::NoStopToken)
    );
}

/// Asks for at most 99 tokens, none of which is the same as the one before.
fn without_twins(mask: NoTwins) -> GenerationRequest {
    GenerationRequest { mask: Some(Box::new(mask)), ..ask(99) }
}

fn mismatch(before: &[u32], token: Option<u32>) -> Finish {
    let mismatch = PlayedMismatch { before: before.to_vec(), token, is_complete: false };
    Finish::Error(GenerationError::Mismatch(Box::new(mismatch)))
}

#[test]
fn forbidden_token_ends_the_output_before_it() {
    for (per_step, steps) in
        [(1, vec![vec![1], vec![2], vec![]]), (2, vec![vec![1, 2], vec![]]), (0, vec![vec![1, 2]])]
    {
        let played =
            play(output(&[1, 2, 2, 3], per_step, PlayedEnd::Stop), without_twins(NoTwins::default()));
        assert_eq!(played, (steps, mismatch(&[1, 2], Some(2))));
    }
    let bounded = GenerationRequest { max_tokens: 2, ..without_twins(NoTwins::default()) };
    assert_eq!(play(output(&[1, 2, 2], 0, PlayedEnd::Stop), bounded).1, Finish::Length);
}

#[test]
fn end_is_the_first_stop_token_that_the_mask_allows() {
    let before = |last| NoTwins { taken: vec![last], ..NoTwins::default() };
    assert_eq!(play(output(&[], 1, PlayedEnd::Stop), without_twins(before(3))).1, Finish::Stop(9));
    assert_eq!(play(output(&[], 1, PlayedEnd::Stop), without_twins(before(9))).1, Finish::Stop(8));
    let only = GenerationRequest { stop_ids: [9].into(), ..without_twins(before(9)) };
    assert_eq!(play(output(&[], 1, PlayedEnd::Stop), only).1, mismatch(&[], None));
    let other_end = play(output(&[], 1, PlayedEnd::Length), without_twins(before(9)));
    assert_eq!(other_end.1, Finish::Length, "the mask is asked about stop tokens only");
}

#[test]
fn a_mask_that_fails_ends_the_output_with_its_error() {
    let lost = NoTwins { fails_at: Some(1), ..NoTwins::default() };
    let error = GenerationError::Mask(MaskError::Failed("lost the thread".into()));
    assert_eq!(
        play(output(&[1, 2], 1, PlayedEnd::Stop), without_twins(lost)),
        (vec![vec![1], vec![]], Finish::Error(error))
    );
}

#[test]
fn a_late_mask_is_waited_for() {
    let late = NoTwins { late_one_in: 1, ..NoTwins::default() };
    let mut generation = output(&[1], 0, PlayedEnd::Stop).play(without_twins(late));
    runtime().block_on(async {
        let mut polls = 0;
        let step = loop {
            match due_now(&mut generation).await {
                Some(step) => break step,
                None => polls += 1,
            }
        };
        assert!(polls > 0 && ids(&step) == [1] && step.finish == Some(Finish::Stop(9)), "{polls}: {step:?}");
    });
}

/// The next step if it is due now; else `None`, and the wait for it is dropped.
async fn due_now(generation: &mut Generation) -> Option<StepOutput> {
    tokio::select! {
        biased;
        step = generation.next() => step,
        () = std::future::ready(()) => None,
    }
}

#[test]
fn hanging_output_gives_its_tokens_and_then_nothing() {
    let mut generation = output(&[1, 2, 3], 2, PlayedEnd::Hang).play(ask(9));
    runtime().block_on(async {
        assert_eq!(ids(&generation.next().await.unwrap()), [1, 2]);
        assert_eq!(ids(&generation.next().await.unwrap()), [3]);
        assert_eq!(due_now(&mut generation).await, None);
    });
}

#[test]
fn steps_keep_pace_and_late_readers_find_one_queue() {
    let ms = Duration::from_millis;
    let start = Instant::now();
    let mut clock = Clock::new(start, ms(4), 4);
    let mut take = |at| {
        clock.taken(start + ms(at));
        clock.due.unwrap().duration_since(start)
    };
    // Steps taken when they are due, and a little late: the next step is due a pace after the last
    // one was due.
    assert_eq!([0, 4, 9].map(&mut take), [ms(4), ms(8), ms(12)]);
    // Steps taken after a long pause: the one that was due, four more at once, and then the pace
    // holds again.
    assert_eq!([200; 5].map(&mut take), [ms(188), ms(192), ms(196), ms(200), ms(204)]);
    assert_eq!([204, 208].map(&mut take), [ms(208), ms(212)]);
}

#[test]
fn outputs_of_one_pace_are_due_together_at_their_pace() {
    let ms = Duration::from_millis;
    let epoch = Instant::now();
    let second_and_third = |pace, began: u64| {
        let mut clock = Clock::new(epoch, ms(pace), 4);
        let mut take = |at| {
            clock.taken(epoch + at);
            clock.due.unwrap().duration_since(epoch)
        };
        let second = take(ms(began));
        [second, take(second)]
    };
    // A tick is as long as the pace: outputs that begin within one tick share the next.
    assert_eq!([1, 7, 20].map(|began| second_and_third(20, began)), [[ms(40), ms(60)]; 3]);
    assert_eq!(second_and_third(20, 21), [ms(60), ms(80)]);
    // A longer pace has several ticks, here two of 30 ms.
    assert_eq!([1, 30].map(|began| second_and_third(60, began)), [[ms(90), ms(150)]; 2]);
    assert_eq!(second_and_third(60, 31), [ms(120), ms(180)]);
}

#[test]
fn first_step_is_due_at_once_and_the_second_waits() {
    let paced = PlayedOutput { pace: Some(Duration::from_hours(1)), ..output(&[1, 2], 1, PlayedEnd::Stop) };
    let mut generation = paced.play(ask(99));
    runtime().block_on(async {
        assert_eq!(due_now(&mut generation).await.map(|step| ids(&step)), Some(vec![1]));
        assert_eq!(due_now(&mut generation).await, None);
    });
}

#[test]
fn interrupted_wait_for_a_step_loses_none() {
    let paced = PlayedOutput { pace: Some(Duration::from_millis(10)), ..output(&[1, 2], 1, PlayedEnd::Stop) };
    let mut generation = paced.play(ask(99));
    runtime().block_on(async {
        let mut seen = Vec::new();
        while seen.len() < 2 {
            seen.extend(due_now(&mut generation).await.iter().flat_map(ids));
            tokio::task::yield_now().await;
        }
        assert_eq!(seen, [1, 2]);
    });
}

#[test]
fn other_tasks_get_turns_while_long_output_is_read() {
    let mut generation = output(&vec![1; 100_000], 1, PlayedEnd::Stop).play(ask(200_000));
    let read = async {
        let mut steps = 0;
        while generation.next().await.is_some() {
            steps += 1;
        }
        steps
    };
    let yields = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    runtime().block_on(async {
        tokio::select! {
            biased;
            steps = read => panic!("all {steps} steps were read first"),
            () = yields => {}
        }
    });
}

#[test]
fn what_is_played_has_probability_one() {
    let request = GenerationRequest { top_logprobs: Some(3), ..ask(9) };
    let step = runtime().block_on(output(&[5], 0, PlayedEnd::Stop).play(request).next()).unwrap();
    let logprobs = step.tokens[0].logprobs.as_ref().unwrap();
    assert_eq!((logprobs.chosen, &logprobs.top[..]), (0.0, &[(5, 0.0)][..]));
}
