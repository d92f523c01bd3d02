//! A batch that doesn't fit the runner is an error that says what is wrong, and the runner goes on
//! with the next.

use engine::batch::{Batch, LAST};

use super::steps::{Sequence, batch, run};
use super::{golden, load};

type Edit = fn(&mut Batch);

#[test]
fn a_wrong_batch_is_an_error_and_the_runner_lives_on() {
    let mut runner = load(&golden("odd-f32")).unwrap();
    let sequence = Sequence::new(&[5, 6, 7], 0, 1);
    let sound = batch(&[&sequence], &[3], false);
    let wanted = run(&mut runner, &sound).unwrap();
    let edits: [(Edit, &str); 16] = [
        (|b| b.tokens[1] = 131, "token 131 is not below 131"),
        (|b| b.positions[2] = 7, "sequence 0: row 2: position 7 in slot 2, expected 2 in 2"),
        (|b| b.slots[0] = 9, "sequence 0: row 0: position 0 in slot 9, expected 0 in 0"),
        (|b| b.table_edits[1].block = 70_000, "table edit of lane 0: block 70000 at 1"),
        (|b| b.table_edits[1].at = 50, "table edit of lane 0: block 1 at 50"),
        (|b| b.table_edits[0].lane = 256, "table edit of lane 256: block 0 at 0"),
        (|b| b.lanes[0] = 256, "lanes of 1 sequences, below 256: [256]"),
        (|b| b.lanes.clear(), "lanes of 1 sequences, below 256: []"),
        (|b| b.context_lens[0] = 2, "sequence 0: rows 0 to 3 of 2 tokens"),
        (|b| b.context_lens[0] = 513, "sequence 0: rows 0 to 3 of 513 tokens"),
        (|b| b.starts[1] = 4, "starts of 1 sequences: [0, 4]"),
        (|b| b.starts.clear(), "starts of 1 sequences: []"),
        (|b| b.logit_rows = vec![3], "logit rows of 3 tokens: [3]"),
        (|b| b.positions.clear(), "3 tokens, 0 positions, 3 slots"),
        (
            |b| (b.lanes[0], b.table_edits) = (7, Vec::new()),
            "sequence 0: 3 tokens need 1 blocks, the table has 0",
        ),
        (|b| b.tokens[2] = LAST, "token 4294967295 is not below 131"),
    ];
    for (edit, message) in edits {
        let mut broken = sound.clone();
        edit(&mut broken);
        assert_eq!(run(&mut runner, &broken).unwrap_err().to_string(), message);
    }
    assert_eq!(run(&mut runner, &sound).unwrap(), wanted);
    let mut nothing_wanted = sound.clone();
    nothing_wanted.logit_rows.clear();
    assert!(run(&mut runner, &nothing_wanted).unwrap().is_empty());
    assert!(run(&mut runner, &Batch { starts: vec![0], ..Default::default() }).unwrap().is_empty());
}
