//! Sections of a component file, as far as stamps and the test of the shipped plugins need them.

/// Section with what the component answers to `describe` without options.
pub(crate) const DESCRIPTOR: &str = "sluice-descriptor";
/// Section with the digest of the sources.
pub(crate) const SOURCE: &str = "sluice-source";
/// Section with the toolchain that built the plugin.
pub(crate) const TOOLCHAIN: &str = "sluice-toolchain";

/// Id of custom sections.
pub(crate) const CUSTOM: u8 = 0;
const HEADER: usize = 8;

/// The outermost sections: id and contents.
pub(crate) fn sections(component: &[u8]) -> Result<Vec<(u8, &[u8])>, String> {
    let mut rest = component.get(HEADER..).ok_or("shorter than a header")?;
    let mut found = Vec::new();
    while let Some((id, tail)) = rest.split_first() {
        let (contents, tail) = sized(tail)?;
        found.push((*id, contents));
        rest = tail;
    }
    Ok(found)
}

/// The contents of the custom section of this name.
pub(crate) fn custom<'a>(component: &'a [u8], name: &str) -> Result<&'a [u8], String> {
    for (id, contents) in sections(component)? {
        if id == CUSTOM {
            let (found, contents) = sized(contents)?;
            if found == name.as_bytes() {
                return Ok(contents);
            }
        }
    }
    Err(format!("no section {name}"))
}

/// Splits off a run of bytes that begins with its length.
fn sized(bytes: &[u8]) -> Result<(&[u8], &[u8]), String> {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).ok_or("a length without end")?;
    let length =
        bytes[..=end].iter().rev().fold(0_usize, |length, byte| length << 7 | usize::from(byte & 0x7f));
    bytes[end + 1..].split_at_checked(length).ok_or_else(|| "a section longer than the file".into())
}
