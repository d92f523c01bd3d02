//! A command on a pseudo-terminal of its own, as a user has it: keys go in, the screen's bytes come
//! out, and Ctrl-C is a signal where nobody reads keys.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

pub(super) struct Terminal {
    child: Child,
    keys: File,
    /// What was shown and isn't awaited yet.
    shown: String,
}

impl Terminal {
    #[allow(unsafe_code, reason = "std has no pseudo-terminals")]
    pub(super) fn start(mut command: Command) -> Self {
        let (mut ours, mut theirs) = (-1, -1);
        let null = std::ptr::null_mut();
        // SAFETY: both are places for a descriptor; null asks for no name and default settings.
        let opened = unsafe { libc::openpty(&raw mut ours, &raw mut theirs, null, null.cast(), null.cast()) };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: both were opened above, and nobody else has them.
        let (keys, terminal) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        // Linux sends the signal of Ctrl-C first and then drops what waits to be shown, which may be
        // the answer to the signal; the test reads that, so nothing is dropped.
        // SAFETY: the descriptor is open, and the calls read and write one structure.
        let set = unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings);
            settings.c_lflag |= libc::NOFLSH;
            libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const settings)
        };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
        let end = || Stdio::from(terminal.try_clone().expect("a descriptor"));
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm").env_remove("NO_COLOR");
        let lead = || {
            // SAFETY: between fork and exec there are only calls of the system.
            let led = unsafe { libc::setsid() != -1 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
            if led { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: as above.
        unsafe { command.pre_exec(lead) };
        let child = command.spawn().expect("the binary runs");
        Self { child, keys, shown: String::new() }
    }

    /// Reads the screen up to `text`, which must come; returns what was shown before it.
    pub(super) fn until(&mut self, text: &str) -> String {
        let mut piece = [0; 4096];
        loop {
            if let Some((before, after)) = self.shown.split_once(text) {
                let (before, after) = (before.to_owned(), after.to_owned());
                self.shown = after;
                return before;
            }
            let count = self.keys.read(&mut piece).unwrap_or_default();
            assert_ne!(count, 0, "no {text:?} behind {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    }

    pub(super) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits for the end; returns the rest of the screen and the exit status.
    pub(super) fn end(mut self) -> (String, Option<i32>) {
        let mut piece = [0; 4096];
        // The terminal's end is an error here.
        while let Ok(count @ 1..) = self.keys.read(&mut piece) {
            self.shown.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        let status = self.child.wait().expect("it ends");
        (std::mem::take(&mut self.shown), status.code())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
