//! Kernels as text with constants: what the C++ compiler gets behind the shim's header.
//!
//! Invariant: a text that was made from a [`Variant`] and one that was read from NVRTC's input are
//! equal, so both share the cache.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;

use cuda_kernels::{Variant, kernel_names};

const HEADER: &str = concat!(
    "#line 1 \"runtime.hpp\"\n",
    include_str!("runtime.hpp"),
    "#line 1 \"shim.hpp\"\n",
    include_str!("shim.hpp")
);

/// First line behind the text of `ptx.cuh`, which the shim's header replaces.
const PRELUDE: &str = "#line 1 \"prelude.cuh\"\n";

/// Most threads of a block of any kernel.
pub(crate) const MAX_THREADS: u32 = 1024;

/// Kernels with constants: the unit of compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    name: String,
    text: String,
    defines: Vec<(String, String)>,
}

impl From<&Variant> for Program {
    fn from(variant: &Variant) -> Self {
        let defines = variant.defines.iter().map(|(name, value)| (name.to_owned(), value.to_string()));
        Self {
            name: variant.source.name.to_owned(),
            text: variant.source.with_prelude(),
            defines: defines.collect(),
        }
    }
}

impl Program {
    /// Program of a text that NVRTC compiles ([`Variant::text`]), with constants as names and
    /// values. A text without the common prelude is taken whole.
    pub fn from_device_text(text: &str, defines: Vec<(String, String)>) -> Self {
        let text = text.find(PRELUDE).map_or(text, |start| &text[start..]);
        let file = text.strip_prefix(PRELUDE).and_then(|text| text.split_once("\n#line 1 \""));
        let name = file.and_then(|(_, file)| file.split_once('"')).map_or("program", |(name, _)| name);
        Self { name: name.to_owned(), text: text.to_owned(), defines }
    }

    /// Name of the kernels' file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Most threads of a block of each kernel, as an expression, where its `__launch_bounds__` have
    /// it.
    fn launch_bounds(&self) -> HashMap<&str, &str> {
        let kernels = self.text.split("\nKERNEL").skip(1).filter_map(|text| text.split_once(" void "));
        let bounds = kernels.filter_map(|(attributes, rest)| {
            let (name, _) = rest.split_once('(')?;
            let bounds = attributes.split_once("__launch_bounds__(")?.1;
            Some((name, bounds.split([',', ')']).next()?.trim()))
        });
        bounds.collect()
    }

    /// C++ text: constants, header, kernels, and for each kernel a function that calls it with
    /// arguments as a driver takes them.
    pub(crate) fn cpp(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.defines {
            let _ = writeln!(text, "#define {name} {value}");
        }
        let _ = write!(text, "{HEADER}\n{}\n", self.text);
        let bounds = self.launch_bounds();
        for name in kernel_names(&self.text) {
            let most = MAX_THREADS.to_string();
            let threads = bounds.get(name).copied().unwrap_or(&most);
            let _ = writeln!(
                text,
                "KERNEL void shim_call_{name}(shim::Context* c, void** args) {{ shim::context = c; shim::call({name}, args); }}\n\
                 KERNEL u32 shim_parameters_{name}(u32* sizes) {{ return shim::parameters({name}, sizes); }}\n\
                 KERNEL u32 shim_threads_{name}() {{ return {threads}; }}"
            );
        }
        text
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.defines.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvrtc_text_is_the_program_of_its_variant() {
        for variant in cuda_kernels::variants() {
            let program = Program::from(&variant);
            let read = Program::from_device_text(&variant.text(), program.defines.clone());
            assert_eq!(read, program);
            assert_eq!(program.to_string(), variant.to_string());
        }
    }

    #[test]
    fn kernels_tell_how_many_threads_a_block_has() {
        for variant in cuda_kernels::variants() {
            let program = Program::from(&variant);
            let bounds = program.launch_bounds();
            assert!(variant.source.entries().iter().all(|name| bounds.contains_key(*name)), "{variant}");
        }
    }

    #[test]
    fn a_foreign_text_is_taken_whole() {
        let program = Program::from_device_text("int x;", Vec::new());
        assert_eq!((program.name(), program.text.as_str()), ("program", "int x;"));
    }
}
