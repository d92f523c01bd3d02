//! Stamps a built plugin with its descriptor and with what it was built from, and checks the
//! stamps. Called by `plugins/build.sh` in the repository's root. The trial of grammars
//! (`grammar-trial`) is stamped likewise; it has no descriptor.
//!
//! usage: `stamp write NAME COMPONENT` writes `plugins/NAME.wasm`; `stamp check NAME [COMPONENT]`
//! compares it with its sources, and with a component just built if the same toolchain built both.

mod describe;
mod sections;
mod source;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

const TARGET: &str = "wasm32-unknown-unknown";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["write", name, component] => write(name, component),
        ["check", name] => check(name).map(drop),
        ["check", name, component] => compare(name, component),
        _ => Err("usage: stamp write NAME COMPONENT | stamp check NAME [COMPONENT]".into()),
    }
}

fn write(name: &str, component: &str) -> Result<(), Box<dyn Error>> {
    let stamped = stamped(name, component)?;
    std::fs::write(shipped(name), &stamped)?;
    eprintln!("{}: {} bytes", shipped(name).display(), stamped.len());
    Ok(())
}

/// The shipped plugin, if it was built from the sources as they are.
fn check(name: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let plugin = std::fs::read(shipped(name))?;
    if sections::custom(&plugin, sections::SOURCE)? != source::digest(Path::new("."), name)?.as_bytes() {
        let shipped = shipped(name);
        return Err(
            format!("{} was built from other sources: run plugins/build.sh", shipped.display()).into()
        );
    }
    Ok(plugin)
}

fn compare(name: &str, component: &str) -> Result<(), Box<dyn Error>> {
    let plugin = check(name)?;
    let theirs = String::from_utf8_lossy(sections::custom(&plugin, sections::TOOLCHAIN)?).into_owned();
    let (ours, shipped) = (toolchain()?, shipped(name));
    let shipped = shipped.display();
    if theirs != ours {
        eprintln!("{shipped}: sources fit; bytes not compared, it was built by {theirs}, and this is {ours}");
    } else if plugin == stamped(name, component)? {
        eprintln!("{shipped}: sources and bytes fit");
    } else {
        return Err(format!("{shipped} differs from what its sources give: run plugins/build.sh").into());
    }
    Ok(())
}

fn shipped(name: &str) -> PathBuf {
    match name {
        source::TRIAL => "host/grammar-trial/trial.wasm".into(),
        _ => Path::new("plugins").join(name).with_extension("wasm"),
    }
}

/// The component with its descriptor and its two stamps behind it.
fn stamped(name: &str, component: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut stamped = std::fs::read(component)?;
    if name != source::TRIAL {
        let descriptor = describe::describe(&stamped)?;
        append(&mut stamped, sections::DESCRIPTOR, descriptor.as_bytes());
    }
    append(&mut stamped, sections::SOURCE, source::digest(Path::new("."), name)?.as_bytes());
    append(&mut stamped, sections::TOOLCHAIN, toolchain()?.as_bytes());
    Ok(stamped)
}

/// The compiler's version, and a digest of the standard library it links.
fn toolchain() -> Result<String, Box<dyn Error>> {
    let version = rustc(&["--version"])?;
    let folder = rustc(&["--print", "target-libdir", "--target", TARGET])?;
    let mut libraries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    libraries.retain(|path| path.extension().is_some_and(|extension| extension == "rlib"));
    libraries.sort();
    let mut hash = Sha256::new();
    for library in libraries {
        hash.update(std::fs::read(library)?);
    }
    Ok(format!("{version}, std {}", source::hex(hash)))
}

fn rustc(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("rustc").args(arguments).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Appends a custom section.
fn append(component: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let mut section = Vec::new();
    leb128(name.len(), &mut section);
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(contents);
    component.push(sections::CUSTOM);
    leb128(section.len(), component);
    component.extend_from_slice(&section);
}

fn leb128(mut value: usize, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(u8::try_from(value & 0x7f).expect("seven bits") | 0x80);
        value >>= 7;
    }
    into.push(u8::try_from(value).expect("seven bits"));
}
