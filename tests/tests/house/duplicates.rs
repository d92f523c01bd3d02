//! Code that stands in two places. A run of equal tokens that is long enough says one thing twice; the
//! number of such runs may only fall.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use super::style::product;
use super::tokens::product_tokens;

/// Tokens of a run: about ten lines.
const RUN: usize = 80;
/// Runs that are left: how parsers read text, two versions of a contract, kernels written for their registers.
const LEFT: usize = 10;

/// A place in a file, by its token.
type Place = (usize, usize);

/// The runs that stand in two places, each with both.
fn repeated(files: &[Vec<u32>]) -> Vec<(Place, Place, usize)> {
    let mut first: HashMap<&[u32], Place> = HashMap::new();
    let mut runs: Vec<(Place, Place, usize)> = Vec::new();
    for (file, tokens) in files.iter().enumerate() {
        for (at, window) in tokens.windows(RUN).enumerate() {
            let Some(&(other, place)) = first.get(window) else {
                first.insert(window, (file, at));
                continue;
            };
            if other == file && at < place + RUN {
                continue;
            }
            match runs.last_mut() {
                Some(((of, begin), (here, start), length))
                    if (*of, *here) == (other, file)
                        && *begin + *length - RUN + 1 == place
                        && *start + *length - RUN + 1 == at =>
                {
                    *length += 1;
                }
                _ => runs.push(((other, place), (file, at), RUN)),
            }
        }
    }
    runs
}

#[test]
fn code_that_stands_twice_gets_no_more() {
    let paths: Vec<PathBuf> = product();
    let mut words: Vec<String> = Vec::new();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let files: Vec<Vec<u32>> = paths
        .iter()
        .map(|path| {
            let source = fs::read_to_string(path).expect("a source");
            let number = |token: &str| {
                *numbers.entry(token.to_owned()).or_insert_with(|| {
                    words.push(token.to_owned());
                    u32::try_from(words.len() - 1).expect("few words")
                })
            };
            product_tokens(&source).into_iter().map(number).collect()
        })
        .collect();
    let runs = repeated(&files);
    let begins = |(file, at): &Place| {
        let tokens = files[*file][*at..*at + 12].iter().map(|token| words[*token as usize].as_str());
        tokens.collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = runs
        .iter()
        .map(|(one, two, length)| {
            let (one_file, two_file) = (paths[one.0].display(), paths[two.0].display());
            format!("{length} tokens of {one_file} in {two_file}: {} …", begins(one))
        })
        .collect();
    assert_eq!(runs.len(), LEFT, "runs that stand twice, beside those that are known:\n{}", lines.join("\n"));
}

#[test]
fn a_run_is_found_once_and_whole() {
    let run = |length: usize| 1_000..1_000 + u32::try_from(length).expect("short");
    let file = |own: u32, length| (own..own + 50).chain(run(length)).chain(own + 50..own + 99).collect();
    let files: [Vec<u32>; 3] = [file(0, RUN + 20), file(100, RUN + 20), file(200, RUN - 1)];
    assert_eq!(repeated(&files), [((0, 50), (1, 50), RUN + 20)]);
}
