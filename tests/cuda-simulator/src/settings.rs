//! Description of the simulated machine and of its failures, in the variable `SIMULATED_CUDA`:
//! words with commas between them.
//!
//! | word | |
//! |---|---|
//! | `version=12040` | version of the driver (default 13000) |
//! | `devices=0` | number of devices, 0 or 1 |
//! | `compute=7.5` | compute capability (default 9.0) |
//! | `memory=1000000` | bytes of device memory (default 2 GiB) |
//! | `exclusive` | the device is in exclusive mode, and another process has it |
//! | `nvrtc=12.8` | version of NVRTC (default 13.0) |
//! | `cublaslt=12.9` | version of cuBLASLt (default 13.0) |
//! | `fail=NAME:N:CODE` | the N-th call (from 1) of the function NAME returns CODE; after errors that real devices don't recover from, so does every later call |

use std::sync::LazyLock;

/// Machine that the process sees.
pub(crate) static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
    let words = std::env::var("SIMULATED_CUDA").unwrap_or_default();
    Settings::parse(&words).unwrap_or_else(|error| {
        eprintln!("simulated CUDA: SIMULATED_CUDA={words}: {error}");
        std::process::abort()
    })
});

/// See the table of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) version: i32,
    pub(crate) devices: i32,
    pub(crate) compute: (i32, i32),
    pub(crate) memory: u64,
    pub(crate) exclusive: bool,
    pub(crate) nvrtc: (i32, i32),
    pub(crate) cublaslt: (i32, i32),
    pub(crate) failures: Vec<InjectedFailure>,
}

/// Failure of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InjectedFailure {
    /// Name of the function.
    pub(crate) name: String,
    /// Number of the call, from 1.
    pub(crate) call: u64,
    pub(crate) code: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: 13_000,
            devices: 1,
            compute: (9, 0),
            memory: 2 << 30,
            exclusive: false,
            nvrtc: (13, 0),
            cublaslt: (13, 0),
            failures: Vec::new(),
        }
    }
}

impl Settings {
    fn parse(words: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            settings.set(word).ok_or_else(|| format!("what is {word}?"))?;
        }
        Ok(settings)
    }

    fn set(&mut self, word: &str) -> Option<()> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "version" => self.version = value.parse().ok()?,
            "devices" => self.devices = value.parse().ok().filter(|count| (0..=1).contains(count))?,
            "compute" => self.compute = pair(value)?,
            "memory" => self.memory = value.parse().ok()?,
            "exclusive" => self.exclusive = true,
            "nvrtc" => self.nvrtc = pair(value)?,
            "cublaslt" => self.cublaslt = pair(value)?,
            "fail" => self.failures.push(InjectedFailure::parse(value)?),
            _ => return None,
        }
        Some(())
    }
}

impl InjectedFailure {
    fn parse(value: &str) -> Option<Self> {
        let mut parts = value.split(':');
        let name = parts.next()?.to_owned();
        let (call, code) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self { name, call, code })
    }
}

fn pair(value: &str) -> Option<(i32, i32)> {
    let (major, minor) = value.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_change_the_usual_machine() {
        let settings = Settings::parse("compute=7.5, fail=cuInit:2:100,exclusive").unwrap();
        let failures = vec![InjectedFailure { name: "cuInit".into(), call: 2, code: 100 }];
        let wanted = Settings { compute: (7, 5), exclusive: true, failures, ..Settings::default() };
        assert_eq!(settings, wanted);
    }

    #[test]
    fn unknown_words_are_refused() {
        for words in ["devices=2", "fail=cuInit", "fail=cuInit:1:2:3", "speed=9", "compute=9"] {
            assert!(Settings::parse(words).is_err(), "{words}");
        }
    }
}
