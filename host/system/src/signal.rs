//! Signals that this process passes on to a child.

use std::io;

use rustix::process::{Pid, Signal, kill_process};

/// Signals that end a process unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGHUP: its terminal is gone.
    Hangup,
    /// SIGTERM: somebody asks it to end.
    Terminate,
}

/// Sends a signal to a process of this user, by its id.
///
/// # Errors
/// There is no such process, or it is another user's.
pub fn send(process: u32, signal: EndSignal) -> io::Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or(io::ErrorKind::NotFound)?;
    let signal = match signal {
        EndSignal::Hangup => Signal::HUP,
        EndSignal::Terminate => Signal::TERM,
    };
    Ok(kill_process(process, signal)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_ends_by_the_signal_that_it_is_sent() {
        for (signal, number) in [(EndSignal::Hangup, 1), (EndSignal::Terminate, 15)] {
            let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
            send(child.id(), signal).unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(number));
        }
        assert!(send(0, EndSignal::Terminate).is_err());
    }
}
