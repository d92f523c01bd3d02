//! NVRTC and cuBLASLt, opened by their exact names. cudarc's search begins with names without a
//! version, which belong to whatever toolkit is installed: it may be of another generation than the
//! library that `--cuda-libs` names, and would be taken in its place.

use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// The type `Functions` of a library: for each function that is called its field, its type as in
/// the library's header, and its symbol.
macro_rules! functions {
    ($library:expr; $($name:ident: $type:ty = $symbol:literal;)+) => {
        /// The functions that are called, of a library that stays loaded.
        #[derive(Debug)]
        pub(super) struct Functions {
            $(pub(super) $name: $type,)+
            _library: libloading::os::unix::Library,
        }

        impl Functions {
            /// The library's functions; `None` where it can't be loaded, or lacks one.
            pub(super) fn find() -> Option<&'static Self> {
                use crate::cuda::real::library::{function, loaded_once, open};
                static FOUND: std::sync::OnceLock<Functions> = std::sync::OnceLock::new();
                loaded_once(&FOUND, || {
                    let library = open($library)?;
                    // SAFETY: the types are those of the library's header.
                    unsafe { Some(Self { $($name: function(&library, $symbol)?,)+ _library: library }) }
                })
            }
        }
    };
}
pub(super) use functions;

/// Functions of a library, loaded once; what isn't there now may be there once a folder is named.
/// `None` where the library can't be loaded, or lacks one.
pub(super) fn loaded_once<F>(found: &'static OnceLock<F>, load: fn() -> Option<F>) -> Option<&'static F> {
    found.get().or_else(|| load().map(|functions| found.get_or_init(|| functions)))
}

/// Opens a library by its name: the one that `load_libraries` has loaded, else the one that the
/// loader finds.
pub(super) fn open(name: &str) -> Option<Library> {
    // SAFETY: NVIDIA's libraries are made to be loaded by any process.
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.ok()
}

/// A function of a library; `None` where the library lacks it.
///
/// # Safety
/// `F` is the function's type.
pub(super) unsafe fn function<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller says so.
    unsafe { library.get::<F>(name) }.ok().map(|function| *function)
}
