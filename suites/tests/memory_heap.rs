//! What attributes and names take of the heap: what an index that is open holds beyond one without,
//! every byte counted. What opening allocates for a while is told and not bounded here: the kernel
//! gives memory for what is touched (`memory_filters`).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::Path;

use common::attributed::{MEMORY, build, count};
use pageway::{Index, MemoryWish, OpenOptions, UpdateOptions, Writer};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// What opening four indexed fields may take.
const OPENING_BYTES: usize = 200_000;
/// What either holds, however many rows there are.
const HELD_BYTES: usize = 64_000;
/// What a name may take.
const NAME_BYTES: usize = 8;

/// Bytes that are held, and most of them at a time.
#[derive(Clone, Copy, Debug)]
struct Heap {
    held: usize,
    most: usize,
}

impl Heap {
    /// That of what `open` gives; the least of several, where threads come and go meanwhile.
    fn of<T>(open: impl Fn() -> T) -> Self {
        // What is made once for a process is not of an index.
        drop(open());
        let once = || {
            let before = HEAP.current_usage();
            HEAP.reset_peak_usage();
            let opened = open();
            let (held, most) = (HEAP.current_usage(), HEAP.peak_usage());
            drop(opened);
            [held, most].map(|bytes| bytes.saturating_sub(before))
        };
        let all: Vec<[usize; 2]> = (0..3).map(|_| once()).collect();
        let least = |at: usize| all.iter().map(|bytes| bytes[at]).min().unwrap();
        let (held, most) = (least(0), least(1));
        Self { held, most }
    }

    fn beyond(self, other: Self) -> Self {
        Self {
            held: self.held.saturating_sub(other.held),
            most: self.most.saturating_sub(other.most),
        }
    }
}

fn options() -> OpenOptions {
    OpenOptions::default()
        .with_memory(MemoryWish::Bytes(MEMORY))
        .with_threads(2)
}

#[test]
fn attributes_and_names_take_next_to_nothing() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let searched = |dir: &Path| Heap::of(|| Index::open(dir, &options()).unwrap());
    let update = UpdateOptions::default().with_threads(1);
    let changed = |dir: &Path| Heap::of(|| Writer::open(dir, &options(), &update).unwrap());
    let at = |name: &str| root.path().join(name);
    let plain = [searched(&at("plain")), changed(&at("plain"))];
    let [read, written] = [
        ("attributes", OPENING_BYTES),
        ("names", NAME_BYTES * count()),
    ]
    .map(|(name, most)| {
        let own = [searched(&at(name)), changed(&at(name))];
        let more = [own[0].beyond(plain[0]), own[1].beyond(plain[1])];
        println!(
            "memory_heap: {} rows, {name}: {more:?} of {most} B",
            count()
        );
        (more, most)
    });
    for (more, most) in [read, written] {
        for heap in more {
            assert!(
                heap.held <= most.min(HELD_BYTES),
                "{heap:?}, at most {most}"
            );
        }
    }
}
