//! Three times the same rows, to see what attributes and names take: plain, with attributes, with
//! names.

use std::path::Path;

use pageway::source::{TextSlice, VectorSlice};
use pageway::{BuildInput, Index, MemoryWish, NoProgress};

use super::{Data, long, quick};

/// Memory of searches: the caches of each index hold all of it, and are equal.
pub const MEMORY: u64 = 128 << 20;

pub fn count() -> usize {
    if long() { 1_000_000 } else { 20_000 }
}

/// Four indexed fields.
fn document(row: usize) -> String {
    let kind = ["red", "green", "blue"][row % 3];
    let (part, tag) = (row % 1000, row % 77);
    format!(r#"{{"kind":"{kind}","row":{row},"part":{part}.5,"tags":["t{tag}","all"]}}"#)
}

/// Builds `plain`, `attributes` and `names`.
pub fn build(dir: &Path) {
    let data = Data::new(count(), 8, 3);
    let vectors = VectorSlice::new(&data.rows, data.shape).unwrap();
    let documents: Vec<String> = (0..count()).map(document).collect();
    let names: Vec<String> = (0..count()).map(|row| format!("names/{row:09}")).collect();
    let attributes = TextSlice::attributes(&documents);
    let names = TextSlice::names(&names);
    let plain = BuildInput::new(&vectors, "rows");
    let inputs = [
        ("plain", plain),
        ("attributes", plain.with_attributes(Some(&attributes as _))),
        ("names", plain.with_names(Some(&names as _))),
    ];
    let options = quick()
        .with_memory(MemoryWish::Bytes(MEMORY))
        .with_threads(2);
    for (name, input) in inputs {
        Index::build(&dir.join(name), &input, &options, &NoProgress).unwrap();
    }
}
