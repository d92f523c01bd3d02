//! Shows a GGUF file as the model directory that its header describes: its `config.json`, then each
//! tensor's place, type, shape and name, in the file's order. Only the header is read.
//!
//! ```sh
//! cargo run --release -p gguf --example show -- model.gguf
//! ```
#![expect(clippy::print_stdout, reason = "the output")]

use std::error::Error;
use std::fs::File;
use std::io::Read;

use gguf::{FilePart, Gguf};

/// Bytes that are read at a time until the header is there as a whole.
const CHUNK: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: show MODEL.gguf")?;
    let mut file = File::open(&path)?;
    let file_bytes = usize::try_from(file.metadata()?.len())?;
    let mut bytes = Vec::new();
    while file.by_ref().take(CHUNK).read_to_end(&mut bytes)? > 0 {
        if (FilePart { name: &path, bytes: &bytes, file_bytes }).header_len()?.is_some() {
            break;
        }
    }
    let parts = [FilePart { name: &path, bytes: &bytes, file_bytes }];
    let gguf = Gguf::parse(&parts)?;
    println!("{}", gguf.summary());
    if let Some(config) = gguf.file("config.json")? {
        println!("{}", String::from_utf8_lossy(&config));
    }
    let mut tensors: Vec<_> = gguf.tensors().map(|(_, tensor)| tensor).collect();
    tensors.sort_by_key(|tensor| tensor.range.start);
    for tensor in tensors {
        println!("{:>12} {:8} {:?} {}", tensor.range.start, tensor.kind.name(), tensor.shape, tensor.name);
    }
    Ok(())
}
