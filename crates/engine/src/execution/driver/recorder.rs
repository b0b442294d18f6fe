//! Writes down what a query does, turn by turn, so that its reads can be replayed on another disk.
//!
//! ```text
//! turn 0   compute -> reads out -> work meanwhile
//! turn n   a page arrives, compute -> reads out -> work meanwhile
//! ```
//!
//! A query that is not recorded has no recorder: it pays a test per turn, and no clock.

use std::time::Instant;

use pageway_store::clock;

use super::multiplex::nanoseconds_since;

/// What a query does between two waits of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadTurn {
    /// The read whose page arrived, numbered from 0 as the query sent them; none in the first
    /// turn.
    pub supplied: Option<u32>,
    /// Nanoseconds of computing before the next reads go out. A page that a cache had is computing.
    pub compute_ns: u64,
    /// Reads that go out.
    pub reads: u32,
    /// Nanoseconds of computing that was kept for the time in which they are in flight.
    pub work_ns: u64,
}

/// What one query did, turn by turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadTrace {
    /// Number of the query.
    pub query: usize,
    /// Its turns: one, and one more per read.
    pub turns: Vec<ReadTurn>,
    /// Where each read went, in the order in which they were sent.
    pub places: Vec<ReadPlace>,
    /// Numbers of the segments that were asked, in the order of their turns.
    pub asked: Vec<u16>,
}

/// Where a read went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadPlace {
    /// Number of the segment.
    pub segment: u16,
    /// Page of the segment.
    pub page: u32,
    /// Whether it was read at the end, for exact distances alone.
    pub is_last: bool,
}

/// Records one query.
pub(super) struct Recorder {
    trace: ReadTrace,
    turn: ReadTurn,
    sent: u32,
    /// Number of the read that each buffer is in flight for.
    buffers: Vec<u32>,
    mark: Instant,
}

impl Recorder {
    /// A recorder of query number `query`, which began at `begin` and may read into `buffers`.
    pub(super) fn new(query: usize, buffers: usize, begin: Instant) -> Self {
        let trace = ReadTrace {
            query,
            ..ReadTrace::default()
        };
        Self {
            trace,
            turn: ReadTurn::default(),
            sent: 0,
            buffers: vec![0; buffers],
            mark: begin,
        }
    }

    /// The page in `buffer` arrived: the next turn begins.
    pub(super) fn arrived(&mut self, buffer: u32) {
        self.mark = clock::now();
        let next = ReadTurn {
            supplied: self.buffers.get(buffer as usize).copied(),
            ..ReadTurn::default()
        };
        self.trace
            .turns
            .push(std::mem::replace(&mut self.turn, next));
    }

    /// A read into `buffer` is to go out at the end of this turn.
    pub(super) fn sends(&mut self, buffer: u32, place: ReadPlace) {
        self.trace.places.push(place);
        if let Some(number) = self.buffers.get_mut(buffer as usize) {
            *number = self.sent;
        }
        self.sent += 1;
        self.turn.reads += 1;
    }

    /// All that had to be computed before the reads go out is done.
    pub(super) fn computed(&mut self) {
        self.turn.compute_ns = nanoseconds_since(self.mark);
    }

    /// The reads are out.
    pub(super) fn flushed(&mut self) {
        self.mark = clock::now();
    }

    /// What was kept for the time of the reads is done.
    pub(super) fn worked(&mut self) {
        self.turn.work_ns = nanoseconds_since(self.mark);
    }

    /// The query is answered, out of the segments that were `asked`.
    pub(super) fn finish(mut self, asked: impl Iterator<Item = u16>) -> ReadTrace {
        self.trace.turns.push(self.turn);
        self.trace.asked.extend(asked);
        self.trace
    }
}
