//! What is fuzzed: bytes of somebody else, through each door that takes some. Nothing panics, and
//! what is accepted can be used.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each fuzz target uses a part of this; a failure is a panic"
)]

use std::path::Path;
use std::sync::Arc;

use pageway::source::{OpenAs, VectorFile, open_ids};
use pageway::truth::{RangeTruthFile, TruthFile};
use pageway::{
    ElementType, Index, Metric, NoProgress, OpenOptions, VectorRead, VectorShape, Vfs, verify_on,
};
use pageway_formats::Wish;
use pageway_graph::{HashTable, NavigationGraph};
use pageway_kernels::KernelSet;
use pageway_quant::Quantizer;
use pageway_store::{OpenMode, commit_manifest};
use pageway_testkit::SimVfs;

/// Most bytes of rows that are read of an accepted file.
const READ_BYTES: u64 = 1 << 20;

/// A quantizer of a file.
pub fn codebook(bytes: &[u8]) {
    if let Ok(quantizer) = Quantizer::from_bytes(bytes) {
        let again = Quantizer::from_bytes(&quantizer.to_bytes()).unwrap();
        assert_eq!(again.code_bytes(), quantizer.code_bytes());
    }
}

/// What finds where walks begin.
pub fn entry(bytes: &[u8]) {
    let kernels = KernelSet::detect().unwrap();
    let shape = VectorShape {
        dimension: 4,
        element: ElementType::F32,
    };
    if let Ok(table) = HashTable::from_bytes(bytes, shape) {
        let mut found = Vec::new();
        table.lookup(&[0.5, -1.0, 2.0, 0.0], 10, &mut found);
        assert!(found.iter().all(|node| table.nodes().contains(node)));
    }
    if let Ok(graph) = NavigationGraph::from_bytes(bytes, shape, Metric::L2.guide(), kernels) {
        assert!(!graph.nodes().is_empty());
    }
}

/// A file of vectors, ids or truth: the first byte says of which extension.
pub fn input(bytes: &[u8]) {
    const EXTENSIONS: [&str; 10] = [
        "npy", "fbin", "u8bin", "i8bin", "fvecs", "bvecs", "ivecs", "ibin", "txt", "rangeres",
    ];
    let Some((choice, bytes)) = bytes.split_first() else {
        return;
    };
    let extension = EXTENSIONS[usize::from(*choice) % EXTENSIONS.len()];
    let name = format!("/input.{extension}");
    let (path, vfs) = (Path::new(&name), file(&name, bytes));
    if let Ok(vectors) = VectorFile::open(&vfs, path, OpenAs::default()) {
        let row_bytes = vectors.shape().row_bytes() as u64;
        let rows = vectors.count().min(READ_BYTES / row_bytes);
        let mut out = vec![0; (rows * row_bytes) as usize];
        // The rows of some formats are checked as they are read.
        let _ = vectors.read(0, &mut out);
    }
    if let Ok(ids) = open_ids(&vfs, path) {
        let mut out = vec![0; ids.count().min(READ_BYTES / 8) as usize];
        let _ = ids.read(0, &mut out);
    }
    let _ = TruthFile::open(&vfs, path, Some(10));
    let _ = RangeTruthFile::open(&vfs, path);
}

/// An index file of another library, by each way to find one.
pub fn library(bytes: &[u8]) {
    for name in ["/input.index", "/input.faiss", "/input.data", "/input.bin"] {
        for element in [None, Some(ElementType::U8)] {
            let wish = Wish {
                element,
                column: None,
                id_column: None,
                scratch: "/".into(),
            };
            let vfs = file(name, bytes);
            let Ok(opened) = pageway_formats::open(&vfs, Path::new(name), &wish, &NoProgress)
            else {
                continue;
            };
            let row_bytes = opened.vectors.shape().row_bytes() as u64;
            let rows = opened.vectors.count().min(READ_BYTES / row_bytes);
            // What is accepted lies in the file.
            opened
                .vectors
                .read(0, &mut vec![0; (rows * row_bytes) as usize])
                .unwrap();
            if let Some(ids) = opened.ids {
                let mut out = vec![0; ids.count().min(READ_BYTES / 8) as usize];
                let _ = ids.read(0, &mut out);
            }
        }
    }
}

/// The payload of a manifest of an index whose other files are gone.
pub fn manifest(bytes: &[u8]) {
    let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    let dir = Path::new("/index");
    vfs.create_dir_all(dir).unwrap();
    commit_manifest(vfs.as_ref(), dir, bytes).unwrap();
    assert!(Index::open_on(&vfs, dir, &OpenOptions::default()).is_err());
    let report = verify_on(&vfs, dir, &NoProgress);
    assert!(report.is_err() || report.is_ok_and(|report| !report.is_sound()));
}

fn file(name: &str, bytes: &[u8]) -> Arc<dyn Vfs> {
    let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    let file = vfs.open(Path::new(name), OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    vfs
}
