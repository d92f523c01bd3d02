//! NVRTC's functions. A binary is the program's text with its options, behind the first bytes of an
//! ELF file; the text is compiled as C++ to find its errors.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::{CStr, c_char, c_int};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cuda_shim::{Module, Program};
use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};

use crate::handles::Handles;
use crate::settings::SETTINGS;

/// First bytes of a binary: those of an ELF file, then our own.
const MAGIC: &[u8] = b"\x7fELF simulated CUDA\0";
/// Bytes of the number behind the magic bytes, which says how many bytes follow.
const LEN: usize = 8;

/// A program, with what its compilation left.
#[derive(Debug)]
struct Source {
    text: String,
    binary: Option<Vec<u8>>,
    log: String,
}

static PROGRAMS: LazyLock<Mutex<Handles<Source>>> = LazyLock::new(Mutex::default);

fn programs() -> MutexGuard<'static, Handles<Source>> {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Binary of a program: architecture, constants and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binary {
    pub(crate) arch: String,
    defines: Vec<(String, String)>,
    text: String,
}

impl Binary {
    /// Reads the options of a program, as `Variant::options` writes them.
    fn new(text: String, options: &[String]) -> Result<Self, String> {
        let mut binary = Self { arch: String::new(), defines: Vec::new(), text };
        for option in options {
            if let Some(arch) = option.strip_prefix("--gpu-architecture=") {
                arch.clone_into(&mut binary.arch);
            } else if let Some((name, value)) =
                option.strip_prefix("-D").and_then(|define| define.split_once('='))
            {
                binary.defines.push((name.to_owned(), value.to_owned()));
            } else if !["--std=c++17", "-default-device"].contains(&option.as_str()) {
                return Err(format!("unrecognized option {option}"));
            }
        }
        match binary.arch.strip_prefix("sm_").map(|number| number.trim_end_matches('a').parse()) {
            Some(Ok(75..=121)) => Ok(binary),
            _ => Err(format!("invalid value for --gpu-architecture: {:?}", binary.arch)),
        }
    }

    pub(crate) fn program(&self) -> Program {
        Program::from_device_text(&self.text, self.defines.clone())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut lines = vec![self.arch.clone(), self.defines.len().to_string()];
        lines.extend(self.defines.iter().map(|(name, value)| format!("{name}={value}")));
        let content = lines.join("\n") + "\n" + &self.text;
        [MAGIC, &content.len().to_le_bytes()[..], content.as_bytes()].concat()
    }

    /// Reads a binary, whose length is in it.
    ///
    /// # Safety
    /// At `at` are the bytes of a binary of any kind.
    pub(crate) unsafe fn read(at: *const u8) -> Option<Self> {
        // SAFETY: no binary is shorter than this; bytes are compared one by one, up to the first
        // that differs.
        let is_ours =
            !at.is_null() && MAGIC.iter().enumerate().all(|(i, byte)| unsafe { *at.add(i) } == *byte);
        if !is_ours {
            return None;
        }
        let mut len = [0; LEN];
        // SAFETY: the binary is one of ours, which has a number here and then as many bytes.
        let content = unsafe {
            len.as_mut_ptr().copy_from_nonoverlapping(at.add(MAGIC.len()), LEN);
            std::slice::from_raw_parts(at.add(MAGIC.len() + LEN), usize::from_le_bytes(len))
        };
        Self::parse(std::str::from_utf8(content).ok()?)
    }

    fn parse(content: &str) -> Option<Self> {
        let (arch, rest) = content.split_once('\n')?;
        let (count, mut rest) = rest.split_once('\n')?;
        let mut defines = Vec::new();
        for _ in 0..count.parse().ok()? {
            let (define, behind) = rest.split_once('\n')?;
            let (name, value) = define.split_once('=')?;
            defines.push((name.to_owned(), value.to_owned()));
            rest = behind;
        }
        Some(Self { arch: arch.to_owned(), defines, text: rest.to_owned() })
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> nvrtcResult {
    // SAFETY: the caller has room for both numbers.
    unsafe { (*major, *minor) = SETTINGS.nvrtc };
    nvrtcResult::NVRTC_SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcCreateProgram(
    program: *mut nvrtcProgram,
    text: *const c_char,
    _name: *const c_char,
    headers: c_int,
    _texts: *const *const c_char,
    _names: *const *const c_char,
) -> nvrtcResult {
    if headers != 0 || program.is_null() || text.is_null() {
        return nvrtcResult::NVRTC_ERROR_INVALID_INPUT;
    }
    // SAFETY: the caller gives a text that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let made = programs().add(Source { text, binary: None, log: String::new() });
    // SAFETY: it isn't null.
    unsafe { *program = made };
    nvrtcResult::NVRTC_SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcDestroyProgram(program: *mut nvrtcProgram) -> nvrtcResult {
    // SAFETY: the caller gives the place of a program, or null. It may be read only, so it isn't
    // set to null.
    let program = unsafe { program.as_ref() };
    match program.and_then(|program| programs().remove(*program)) {
        Some(_) => nvrtcResult::NVRTC_SUCCESS,
        None => nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM,
    }
}

/// Compiles a program as C++. Other threads may compile theirs meanwhile.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcCompileProgram(
    program: nvrtcProgram,
    count: c_int,
    options: *const *const c_char,
) -> nvrtcResult {
    let Some(text) = programs().get(program).map(|source| source.text.clone()) else {
        return nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM;
    };
    // SAFETY: the caller gives so many texts, each of which ends with a zero byte.
    let option = |i| unsafe { CStr::from_ptr(*options.add(i)) }.to_string_lossy().into_owned();
    let options: Vec<String> = (0..usize::try_from(count).unwrap_or_default()).map(option).collect();
    let (result, binary, log) = match Binary::new(text, &options) {
        Err(error) => (nvrtcResult::NVRTC_ERROR_INVALID_OPTION, None, format!("nvrtc: error: {error}\n")),
        Ok(binary) => match Module::compile(&binary.program()) {
            Ok(_) => (nvrtcResult::NVRTC_SUCCESS, Some(binary.bytes()), String::new()),
            Err(error) => (nvrtcResult::NVRTC_ERROR_COMPILATION, None, error.to_string()),
        },
    };
    if let Some(source) = programs().get_mut(program) {
        (source.binary, source.log) = (binary, log);
    }
    result
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcGetCUBINSize(program: nvrtcProgram, size: *mut usize) -> nvrtcResult {
    // SAFETY: the caller has room for a number.
    with_binary(program, |binary| unsafe { *size = binary.len() })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcGetCUBIN(program: nvrtcProgram, to: *mut c_char) -> nvrtcResult {
    // SAFETY: the caller has room for as many bytes as `nvrtcGetCUBINSize` says.
    with_binary(program, |binary| unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(binary.as_ptr(), binary.len());
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcGetProgramLogSize(
    program: nvrtcProgram,
    size: *mut usize,
) -> nvrtcResult {
    // SAFETY: the caller has room for a number.
    with(program, |source| unsafe { *size = source.log.len() + 1 })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcGetProgramLog(program: nvrtcProgram, to: *mut c_char) -> nvrtcResult {
    // SAFETY: the caller has room for as many bytes as `nvrtcGetProgramLogSize` says.
    with(program, |source| unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(source.log.as_ptr(), source.log.len());
        *to.add(source.log.len()) = 0;
    })
}

fn with(program: nvrtcProgram, body: impl FnOnce(&Source)) -> nvrtcResult {
    match programs().get(program) {
        Some(source) => {
            body(source);
            nvrtcResult::NVRTC_SUCCESS
        }
        None => nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM,
    }
}

fn with_binary(program: nvrtcProgram, body: impl FnOnce(&[u8])) -> nvrtcResult {
    let mut result = nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM;
    let found = with(program, |source| {
        if let Some(binary) = &source.binary {
            body(binary);
            result = nvrtcResult::NVRTC_SUCCESS;
        }
    });
    if found == nvrtcResult::NVRTC_SUCCESS { result } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(all: &[&str]) -> Vec<String> {
        all.iter().map(|option| (*option).to_owned()).collect()
    }

    #[test]
    fn a_binary_is_read_as_it_was_written() {
        let variant = &cuda_kernels::variants()[3];
        let arch = cuda_kernels::Arch { major: 9, minor: 0 };
        let binary = Binary::new(variant.text(), &variant.options(arch)).unwrap();
        assert_eq!(binary.program(), Program::from(variant));
        // SAFETY: the bytes of a binary.
        assert_eq!(unsafe { Binary::read(binary.bytes().as_ptr()) }, Some(binary));
    }

    #[test]
    fn other_options_and_architectures_are_refused() {
        for refused in [&["--gpu-architecture=sm_9"][..], &["--gpu-architecture=sm_90", "-O9"], &["-DX=1"]] {
            assert!(Binary::new(String::new(), &options(refused)).is_err(), "{refused:?}");
        }
    }
}
