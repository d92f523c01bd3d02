//! Lists of steps, as words.

use cuda_kernels::decode_work;

use super::*;

const SPARE: Spare = Spare { lane: 9, block: 50 };

/// Lists of tiles of four rows and for layers of two windows, with room for `spans` spans; at
/// address 0, without memory.
fn work(tiled: TiledRows, spans: usize) -> AttentionWork {
    let windows = vec![None, Some(64)];
    let decode = (tiled == TiledRows::Prompts).then_some(DecodeKind { windows, part_bytes: 1, counters: 2 });
    let kinds = WorkKinds { decode, tiles: Some(TileKind { tiled, rows: 4 }) };
    let sizes = WorkSizes { rows: 8, lanes: 4, context: 1024 };
    let null = DevicePtr::NULL;
    AttentionWork {
        layout: ListLayout::new(&kinds, sizes, spans),
        kinds,
        at: null,
        partials: null,
        counters: null,
        step: WorkStep::default(),
        positions: Vec::new(),
        words: Vec::new(),
    }
}

/// Sequences given as (number of rows, position of the last row); sequence `i` is on lane `i`.
fn batch(sequences: &[(u32, u32)]) -> Batch {
    let mut batch = Batch { starts: vec![0], ..Batch::default() };
    for (lane, (rows, last)) in (0..).zip(sequences) {
        batch.positions.extend(last + 1 - rows..=*last);
        batch.tokens.extend(std::iter::repeat_n(0, *rows as usize));
        batch.starts.push(count(batch.tokens.len()));
        batch.context_lens.push(last + 1);
        batch.lanes.push(lane);
    }
    batch
}

fn write(work: &mut AttentionWork, batch: &Batch, bucket: Option<usize>) -> (Vec<u32>, Vec<Range<usize>>) {
    let (mut out, mut copy) = (vec![0xff; work.layout.bytes()], Vec::new());
    work.write(batch, bucket, SPARE, &mut out, &mut copy);
    (out.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(), copy)
}

fn at(words: &[u32], bytes: u64, count: usize) -> &[u32] {
    &words[usize::try_from(bytes / 4).unwrap()..][..count]
}

#[test]
fn decode_work_lists_padding_and_copies_only_writes() {
    let mut work = work(TiledRows::Prompts, 100);
    let (words, copy) = write(&mut work, &batch(&[(1, 600), (1, 3)]), Some(4));
    let wanted = [None, Some(64)].map(|window| decode_work(&[600, 3, 0, 0], window));
    let lists = [None, Some(64)].map(|window| work.lists(window).collect::<Vec<_>>());
    for (list, wanted) in lists.iter().zip(&wanted) {
        assert_eq!(at(&words, list[0].0, wanted.len()), wanted);
    }
    let copied: Vec<usize> = copy.iter().map(Range::len).collect();
    assert_eq!((copied, copy[0].start), (wanted.iter().map(|list| list.len() * 4).collect(), 0));
    assert_eq!((lists[0].len(), work.tiles().1), (1, 0));
}

#[test]
fn rows_of_too_many_spans_share_lists_without_a_graph() {
    let mut work = work(TiledRows::Prompts, 4);
    // The rows have 3, 1, 1 and 4 spans.
    let batch = batch(&[(1, 600), (1, 3), (1, 255), (1, 1000)]);
    assert!(!work.fits_graph(&batch, 4) && work.fits_graph(&self::batch(&[(1, 600)]), 2));
    assert!(!work.fits_graph(&self::batch(&[(1, 600)]), 4), "padding takes room, too");
    let (words, _) = write(&mut work, &batch, None);
    let lists: Vec<_> = work.lists(None).collect();
    let rows = |list: &DevicePtr| -> Vec<u32> {
        let count = at(&words, list.0, 1)[0] as usize;
        at(&words, list.0 + 16, count * 4).chunks(4).map(|item| item[0]).collect()
    };
    assert_eq!(lists.iter().map(rows).collect::<Vec<_>>(), [vec![0, 0, 0, 1], vec![2], vec![3, 3, 3, 3]]);
    assert_eq!(work.lists(Some(64)).count(), 3, "those of every window have the same rows");
}

#[test]
fn the_largest_step_has_room() {
    for spans in [1, 4, 7, 100, 4096] {
        let mut work = work(TiledRows::Prompts, spans);
        write(&mut work, &batch(&[(1, 1023); 4]), Some(8));
        write(&mut work, &batch(&[(5, 1023), (1, 1023), (1, 1023), (1, 1023)]), None);
    }
    let mut all = work(TiledRows::All, 4096);
    write(&mut all, &batch(&[(1, 1023); 4]), Some(8));
    assert_eq!(all.tiles().1, 8);
}

#[test]
fn prompts_are_cut_into_tiles_behind_rows_that_decode() {
    let mut work = work(TiledRows::Prompts, 100);
    let (words, _) = write(&mut work, &batch(&[(1, 5), (6, 12), (1, 0)]), None);
    let (tiles, count) = work.tiles();
    assert_eq!(at(&words, tiles.0, 12), [1, 4, 7, 1, 5, 2, 11, 1, 7, 1, 0, 2]);
    assert_eq!((count, work.lists(None).count()), (3, 1));
    let list = work.lists(None).next().unwrap();
    assert_eq!(at(&words, list.0, 8), [1, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn deterministic_engine_tiles_all_rows_even_padding() {
    let mut work = work(TiledRows::All, 100);
    let (words, _) = write(&mut work, &batch(&[(1, 5), (1, 70)]), Some(4));
    let (tiles, count) = work.tiles();
    assert_eq!(at(&words, tiles.0, 16), [0, 1, 5, 0, 1, 1, 70, 1, 2, 1, 0, 9, 3, 1, 0, 9]);
    assert_eq!((count, work.has_lists()), (4, false));
}
