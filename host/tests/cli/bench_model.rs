//! `host bench model`: every family with random weights, and the model inside the binary. The tests
//! check counts, never times.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The engine's tiny models, one for each family and storage format, with the expected name of the
/// format.
const MODELS: [(&str, &str); 10] = [
    ("llama3-bf16", "bf16"),
    ("mistral-window-bf16", "bf16"),
    ("tied-bf16", "bf16"),
    ("fp8", "fp8"),
    ("moe-bf16", "bf16"),
    ("moe-fp8", "fp8"),
    ("gpt-oss-bf16", "bf16"),
    ("gpt-oss-mxfp4", "mxfp4"),
    ("deepseek-bf16", "bf16"),
    ("deepseek-fp8", "fp8"),
];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("engine/tests/goldens").join(name)
}

/// Row by the names of its columns.
type Row = HashMap<String, String>;

/// Reads the rows of a CSV file, in which only the engine's name is quoted.
pub(super) fn rows(file: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(file).expect("it was written");
    let cells = |line: &str| -> Vec<String> {
        let mut quoted = line
            .split('"')
            .enumerate()
            .map(|(i, part)| if i % 2 == 1 { part.replace(", ", " ") } else { part.to_owned() });
        quoted.by_ref().collect::<String>().split(',').map(str::to_owned).collect()
    };
    let mut lines = text.lines();
    let head = cells(lines.next().expect("a head"));
    lines.map(|line| head.iter().cloned().zip(cells(line)).collect()).collect()
}

fn count(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

/// Runs a measurement and returns its rows; checks that the plot is well-formed and the output
/// names every test twice.
fn bench(arguments: &[&str]) -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (csv, svg) = (folder.path().join("rows.csv"), folder.path().join("plot.svg"));
    let output = Command::new(env!("CARGO_BIN_EXE_host"))
        .args(["bench", "model", "--threads", "2", "--kv-cache", "16", "--read-buffer", "1", "-r", "2"])
        .args(arguments)
        .args([Path::new("--csv"), &csv, Path::new("--svg"), &svg])
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let (printed, rows) = (String::from_utf8(output.stdout).expect("UTF-8"), rows(&csv));
    let plot = std::fs::read_to_string(svg).expect("a plot");
    assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"), "{plot}");
    for row in &rows {
        let lines = printed.lines().filter(|line| line.starts_with(&format!("{}  ", row["test"])));
        assert_eq!(lines.count(), 2, "{printed}");
        assert!(plot.contains(&format!(">{}</text>", row["test"])), "{plot}");
    }
    rows
}

#[test]
fn families_run_with_random_weights_as_large_as_real() {
    for (name, stored) in MODELS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::copy(golden(name).join("config.json"), folder.path().join("config.json")).expect("copied");
        let run = |directory: &Path, format: &str| {
            let model = directory.to_str().expect("UTF-8");
            let sizes = ["-p", "5,20", "-n", "4", "--parallel", "1,3", "-d", "40"];
            bench(&[&["--model", model, "--load-format", format][..], &sizes].concat())
        };
        let (dummy, real) = (run(folder.path(), "dummy"), run(&golden(name), "auto"));
        let tests = ["pp5", "pp20", "tg4 x1", "tg4 x3", "tg4 x1 @ d40"];
        assert_eq!(dummy.iter().map(|row| row["test"].as_str()).collect::<Vec<_>>(), tests, "{name}");
        let column = |column| dummy.iter().map(|row| count(row, column)).collect::<Vec<_>>();
        assert_eq!(column("tokens"), [5, 20, 4, 12, 4], "{name}");
        assert_eq!(column("n_depth"), [0, 0, 0, 0, 40], "{name}");
        assert_eq!(column("repetitions"), [2; 5], "{name}");
        assert!(dummy.iter().all(|row| row["engine"].ends_with(stored)), "{name}: {}", dummy[0]["engine"]);
        // A single token goes to the same number of experts with any weights.
        for test in [2, 4] {
            let bytes =
                |rows: &[Row]| ["weight_bytes", "cache_bytes"].map(|column| count(&rows[test], column));
            assert_eq!(bytes(&dummy), bytes(&real), "{name}, {}", tests[test]);
        }
    }
}

/// Numbers of bytes in the matrices of the model inside the binary, each of which is read once for
/// a token: those of the layers, and the embedding, which is also the head.
fn matrices() -> (u64, u64) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny/model.safetensors");
    let bytes = std::fs::read(file).expect("the weights");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight"));
    let header = &bytes[8..8 + usize::try_from(length).expect("small")];
    let header: HashMap<String, Value> = serde_json::from_slice(header).expect("JSON");
    let matrix = |entry: &Value| {
        let shape: Vec<u64> = serde_json::from_value(entry["shape"].clone()).ok()?;
        (shape.len() == 2).then(|| 2 * shape.iter().product::<u64>())
    };
    let head = matrix(&header["model.embed_tokens.weight"]).expect("a matrix");
    (header.values().filter_map(matrix).sum::<u64>() - head, head)
}

#[test]
fn step_reads_matrices_once_and_each_sequences_cache() {
    let rows = bench(&["-p", "600", "-n", "3", "--parallel", "1,4", "-d", "7"]);
    let all = |column| rows.iter().map(|row| count(row, column)).collect::<Vec<_>>();
    let (layers, head) = matrices();
    let weights = all("weight_bytes");
    assert_eq!(
        weights[0],
        2 * layers + head,
        "600 tokens take two steps; the head is read for the last token"
    );
    assert_eq!(weights[1..], [3 * (layers + head); 3]);
    // The contexts have 1, 2, 3 tokens, and 8, 9, 10 tokens.
    let cache = all("cache_bytes");
    assert_eq!((cache[2], cache[3]), (4 * cache[1], cache[1] / 6 * 27));
}

#[test]
fn nothing_that_is_not_asked_for_is_measured() {
    assert_eq!(bench(&["-p", "0", "-n", "0"]).len(), 0);
    let rows = bench(&["-p", "0", "-n", "2", "--parallel", "0", "-d", "3"]);
    assert_eq!(rows.iter().map(|row| row["test"].as_str()).collect::<Vec<_>>(), ["tg2 x1 @ d3"]);
}
