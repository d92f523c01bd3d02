//! Writes the hostile guests as `.wasm` files into a folder, for tests in other languages:
//! `guests DIR`.

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("usage: guests DIR"))?;
    for name in tests::guests::NAMES {
        std::fs::write(Path::new(&folder).join(format!("{name}.wasm")), tests::guests::guest(name))?;
    }
    Ok(())
}
