//! Models of the engine's thread and its clients: arrivals, pauses, and clients that leave; and of
//! engines that share a device.

use std::future::poll_fn;

use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use crate::device_lock::DeviceLock;
use crate::error::SubmitError;
use crate::explore;
use crate::generation::{StepOutput, StepStream};
use crate::inbox::Inbox;
use crate::notify::Notify;
use crate::outlet::{Inlet, Outlet, outlet};
use crate::sequence::Sequence;

pub(crate) fn explore_all() {
    explore("inbox: what is pushed arrives, and the engine wakes for it", || {
        let inbox = Arc::new(Inbox::default());
        let clients: Vec<_> = (0..2)
            .map(|_| {
                let inbox = Arc::clone(&inbox);
                thread::spawn(move || inbox.push(Sequence).expect("there is room"))
            })
            .collect();
        let mut arrived = 0;
        while arrived < 2 {
            match inbox.take().expect("nobody stops it").len() {
                0 => inbox.sleep(None),
                more => arrived += more,
            }
        }
        for client in clients {
            client.join().expect("it doesn't panic");
        }
    });
    explore("inbox: a stop wakes the engine, and nothing pushed is lost", || {
        let inbox = Arc::new(Inbox::default());
        let (pushing, stopping) = (Arc::clone(&inbox), Arc::clone(&inbox));
        let client = thread::spawn(move || pushing.push(Sequence));
        let owner = thread::spawn(move || stopping.stop());
        let mut arrived = 0;
        while let Some(arrivals) = inbox.take() {
            arrived += arrivals.len();
            if arrivals.is_empty() {
                inbox.sleep(None);
            }
        }
        owner.join().expect("it doesn't panic");
        let pushed = client.join().expect("it doesn't panic");
        arrived += inbox.rest().len();
        assert_eq!(
            (arrived, pushed),
            if arrived == 1 { (1, Ok(())) } else { (0, Err(SubmitError::Stopped)) }
        );
    });
    explore("device lock: two engines never step at once, and each gets on", || {
        let (lock, steps) = (Arc::new(DeviceLock::default()), Arc::new(UnsafeCell::new(0)));
        let step = |lock: &DeviceLock, steps: &UnsafeCell<usize>| {
            let _device = lock.take();
            steps.with_mut(|steps| {
                #[expect(
                    unsafe_code,
                    reason = "loom reports two engines in here at once, which is what is tried"
                )]
                // SAFETY: the lock is held.
                unsafe {
                    *steps += 1;
                }
            });
        };
        let (other, its_steps) = (Arc::clone(&lock), Arc::clone(&steps));
        let engine = thread::spawn(move || (0..2).for_each(|_| step(&other, &its_steps)));
        (0..2).for_each(|_| step(&lock, &steps));
        engine.join().expect("it doesn't panic");
    });
    explore("outlet: a paused sequence goes on when there is room", || {
        let notify = Arc::new(Notify::default());
        let (out, inlet) = outlet(1, false, Arc::clone(&notify));
        let client = thread::spawn(move || block_on(read(inlet, usize::MAX)));
        assert!(generate(out, &notify, 3), "the client stays");
        assert_eq!(client.join().expect("it doesn't panic"), 3);
    });
    explore("outlet: the engine hears of a client that leaves", || {
        let notify = Arc::new(Notify::default());
        let (out, inlet) = outlet(1, false, Arc::clone(&notify));
        let client = thread::spawn(move || block_on(read(inlet, 1)));
        generate(out, &notify, 3);
        assert_eq!(client.join().expect("it doesn't panic"), 1);
    });
}

/// The engine's side of a sequence of `steps` steps; false if its client left.
fn generate(mut out: Outlet, notify: &Notify, steps: usize) -> bool {
    for number in 0..steps {
        loop {
            notify.clear();
            if out.is_closed() {
                return false;
            }
            if number + 1 == steps || !out.is_full(0) {
                break;
            }
            notify.wait(None);
        }
        out.send(StepOutput { number, finish: (number + 1 == steps).then_some(()) });
    }
    true
}

/// Reads at most `most` steps, checks their order, and returns their number.
async fn read(mut inlet: Inlet, most: usize) -> usize {
    let mut read = 0;
    while read < most {
        let Some(step) = poll_fn(|cx| inlet.poll_step(cx)).await else { break };
        assert_eq!(step.number, read);
        read += 1;
        if step.finish.is_some() {
            break;
        }
    }
    read
}
