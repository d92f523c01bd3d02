//! Cache of compiled kernels: an entry in the cache needs no compiler, and one that this
//! installation didn't write is compiled again.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_kernels::{Arch, Variant};

use super::rig::private_folder;
use crate::cuda::compile::{Compiler, KernelCache, binaries};
use crate::cuda::{CudaError, CudaVersion};

const ARCH: Arch = Arch { major: 9, minor: 0 };

/// Compiler whose binaries are the variants' names.
struct Fake {
    version: Result<CudaVersion, CudaError>,
    compiled: AtomicUsize,
    refuses: Option<&'static str>,
}

impl Fake {
    fn new() -> Self {
        Self { version: Ok(CudaVersion::NEEDED), compiled: AtomicUsize::new(0), refuses: None }
    }

    fn count(&self) -> usize {
        self.compiled.load(Ordering::Relaxed)
    }
}

impl Compiler for Fake {
    fn version(&self) -> Result<CudaVersion, CudaError> {
        self.version.clone()
    }

    fn compile(&self, variant: &Variant, arch: Arch) -> Result<Vec<u8>, CudaError> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        if self.refuses == Some(variant.source.name) {
            return Err(CudaError::Compile { kernel: variant.to_string(), log: "line 1: error".into() });
        }
        Ok(format!("{variant} for {arch}").into_bytes())
    }
}

fn all(compiler: &Fake, folder: &Path) -> Result<Vec<Vec<u8>>, CudaError> {
    let (variants, mut heard) = (cuda_kernels::variants(), Vec::new());
    let made = binaries(compiler, &KernelCache::open(folder), &variants, ARCH, &mut |done| heard.push(done))?;
    assert!(heard.is_sorted() && heard.last() == Some(&variants.len()), "{heard:?}");
    let expected = variants.iter().map(|variant| format!("{variant} for {ARCH}").into_bytes());
    assert_eq!(made, expected.collect::<Vec<_>>());
    Ok(made)
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| !file.ends_with("key"));
    files.sort();
    files
}

#[test]
fn a_full_cache_needs_no_compiler() {
    let folder = private_folder();
    let first = Fake::new();
    all(&first, folder.path()).unwrap();
    let count = cuda_kernels::variants().len();
    assert_eq!((first.count(), entries(folder.path()).len()), (count, count));
    let none = Fake { version: Err(CudaError::NoNvrtc), ..Fake::new() };
    all(&none, folder.path()).unwrap();
    assert_eq!(none.count(), 0);
}

#[test]
fn empty_cache_without_a_compiler_names_the_wheel() {
    let folder = private_folder();
    let none = Fake { version: Err(CudaError::NoNvrtc), ..Fake::new() };
    assert_eq!(all(&none, folder.path()), Err(CudaError::NoNvrtc));
}

#[test]
fn another_compiler_makes_its_own() {
    let folder = private_folder();
    all(&Fake::new(), folder.path()).unwrap();
    let newer = Fake { version: Ok(CudaVersion::new(13, 1)), ..Fake::new() };
    all(&newer, folder.path()).unwrap();
    assert_eq!(newer.count(), cuda_kernels::variants().len());
}

#[test]
fn cut_changed_foreign_or_linked_entry_is_recompiled() {
    let [folder, other] = [(); 2].map(|()| private_folder());
    for folder in [&folder, &other] {
        all(&Fake::new(), folder.path()).unwrap();
    }
    let files = entries(folder.path());
    std::fs::write(&files[0], b"short").unwrap();
    let mut bytes = std::fs::read(&files[1]).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&files[1], bytes).unwrap();
    std::fs::copy(&entries(other.path())[2], &files[2]).unwrap();
    std::fs::rename(&files[3], other.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(other.path().join("moved"), &files[3]).unwrap();
    let again = Fake::new();
    all(&again, folder.path()).unwrap();
    assert_eq!(again.count(), 4);
    all(&Fake { version: Err(CudaError::NoNvrtc), ..Fake::new() }, folder.path()).unwrap();
}

#[test]
fn starts_at_the_same_time_do_not_disturb_each_other() {
    let folder = private_folder();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| all(&Fake::new(), folder.path()).unwrap());
        }
    });
    assert_eq!(entries(folder.path()).len(), cuda_kernels::variants().len(), "nothing unfinished is left");
}

#[test]
fn what_the_compiler_refuses_is_named_with_its_log() {
    let folder = private_folder();
    let refusing = Fake { refuses: Some("embed.cu"), ..Fake::new() };
    let error = all(&refusing, folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("kernel embed.cu") && error.ends_with("line 1: error"), "{error}");
}

#[test]
fn folders_open_to_others_and_links_are_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = private_folder();
    let kernels = folder.path().join("kernels");
    std::fs::create_dir(&kernels).unwrap();
    std::os::unix::fs::symlink(&kernels, folder.path().join("link")).unwrap();
    for (name, mode) in [("kernels", 0o777), ("kernels", 0o755), ("link", 0o700)] {
        std::fs::set_permissions(&kernels, std::fs::Permissions::from_mode(mode)).unwrap();
        all(&Fake::new(), &folder.path().join(name)).unwrap();
        assert_eq!(std::fs::read_dir(&kernels).unwrap().count(), 0, "{name} {mode:o}");
    }
}
