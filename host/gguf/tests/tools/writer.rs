//! Writer of GGUF files, for tests of several packages: keys and tensors in the order in which they
//! are added, nothing checked.

/// Alignment of tensors where a file doesn't say.
const ALIGNMENT: usize = 32;

/// A file in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writer {
    keys: Vec<u8>,
    key_count: u64,
    tensors: Vec<WrittenTensor>,
}

#[derive(Debug, Clone)]
struct WrittenTensor {
    name: String,
    kind: u32,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// A value of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key<'a> {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(&'a str),
    Texts(&'a [String]),
    Bools(&'a [bool]),
    I32s(&'a [i32]),
    F32s(&'a [f32]),
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn array(kind: u32, count: usize, elements: &[u8]) -> Vec<u8> {
    [&9u32.to_le_bytes()[..], &kind.to_le_bytes(), &(count as u64).to_le_bytes(), elements].concat()
}

impl Writer {
    /// Adds a key.
    pub(crate) fn key(&mut self, name: &str, value: Key<'_>) {
        self.key_count += 1;
        self.keys.extend(text(name));
        self.keys.extend(match value {
            Key::U32(number) => [4u32.to_le_bytes(), number.to_le_bytes()].concat(),
            Key::F32(number) => [6u32.to_le_bytes(), number.to_le_bytes()].concat(),
            Key::Bool(flag) => [&7u32.to_le_bytes()[..], &[u8::from(flag)]].concat(),
            Key::Text(value) => [&8u32.to_le_bytes()[..], &text(value)].concat(),
            Key::Texts(all) => {
                array(8, all.len(), &all.iter().flat_map(|one| text(one)).collect::<Vec<u8>>())
            }
            Key::Bools(all) => {
                array(7, all.len(), &all.iter().map(|flag| u8::from(*flag)).collect::<Vec<u8>>())
            }
            Key::I32s(all) => {
                array(5, all.len(), &all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
            }
            Key::F32s(all) => {
                array(6, all.len(), &all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
            }
        });
    }

    /// Adds a tensor of ggml's type number `kind`; the shape has rows before columns.
    pub(crate) fn tensor(&mut self, name: &str, kind: u32, shape: &[usize], bytes: Vec<u8>) {
        self.tensors.push(WrittenTensor { name: name.to_owned(), kind, shape: shape.to_vec(), bytes });
    }

    /// Replaces tensors: `with` gets name, shape and bytes, and returns another type and other bytes
    /// for those that are to be replaced.
    pub(crate) fn replace(&mut self, mut with: impl FnMut(&str, &[usize], &[u8]) -> Option<(u32, Vec<u8>)>) {
        for WrittenTensor { name, kind, shape, bytes } in &mut self.tensors {
            if let Some((other, replaced)) = with(name, shape, bytes) {
                (*kind, *bytes) = (other, replaced);
            }
        }
    }

    /// Joins tensors of two names, which differ in `parts`, to one of a third name: of each expert
    /// first the rows of the one, then those of the other. Returns how many were joined.
    pub(crate) fn fuse(&mut self, parts: [&str; 2], whole: &str) -> usize {
        let all = std::mem::take(&mut self.tensors).into_iter();
        let (others, kept): (Vec<_>, Vec<_>) = all.partition(|tensor| tensor.name.contains(parts[1]));
        self.tensors = kept;
        let mut count = 0;
        for one in self.tensors.iter_mut().filter(|tensor| tensor.name.contains(parts[0])) {
            let name = one.name.replace(parts[0], parts[1]);
            let other = others.iter().find(|other| other.name == name).unwrap();
            let size = one.bytes.len() / one.shape[0];
            let experts = one.bytes.chunks_exact(size).zip(other.bytes.chunks_exact(size));
            one.bytes = experts.flat_map(|(one, other)| [one, other].concat()).collect();
            one.shape[1] *= 2;
            one.name = one.name.replace(parts[0], whole);
            count += 1;
        }
        count
    }

    /// Length of the file without its tensors' bytes.
    pub(crate) fn header_len(&self) -> usize {
        let own = |tensor: &WrittenTensor| tensor.bytes.len().next_multiple_of(ALIGNMENT);
        self.finish().len() - self.tensors.iter().map(own).sum::<usize>()
    }

    /// The file.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3u32.to_le_bytes());
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend(self.key_count.to_le_bytes());
        file.extend(&self.keys);
        let mut offset = 0;
        for WrittenTensor { name, kind, shape, bytes } in &self.tensors {
            file.extend(text(name));
            file.extend(u32::try_from(shape.len()).unwrap().to_le_bytes());
            file.extend(shape.iter().rev().flat_map(|size| (*size as u64).to_le_bytes()));
            file.extend(kind.to_le_bytes());
            file.extend((offset as u64).to_le_bytes());
            offset += bytes.len().next_multiple_of(ALIGNMENT);
        }
        for WrittenTensor { bytes, .. } in &self.tensors {
            file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
            file.extend(bytes);
        }
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        file
    }

    /// The file in `count` parts, which get the tensors in turn.
    pub(crate) fn parts(&self, count: u32) -> Vec<Vec<u8>> {
        let part = |number: u32| {
            let mut part =
                if number == 0 { Self { tensors: Vec::new(), ..self.clone() } } else { Self::default() };
            part.key("split.no", Key::U32(number));
            part.key("split.count", Key::U32(count));
            part.key("split.tensors.count", Key::U32(u32::try_from(self.tensors.len()).unwrap()));
            let own = self.tensors.iter().skip(number as usize).step_by(count as usize);
            part.tensors = own.cloned().collect();
            part.finish()
        };
        (0..count).map(part).collect()
    }
}
