//! The file of a recorded search: a line of JSON that says what was searched, then a line per
//! query.
//!
//! ```text
//! {"version":1,"subject":{...},"settings":{...},"measured":{...}}
//! [[-1,compute_ns,reads,work_ns],[supplied,compute_ns,reads,work_ns],...]
//! ```
//!
//! A turn is what a query does between two waits; `supplied` is the number of the read whose page
//! began it, counted as the query sent them. Invariant of what [`Trace::parse`] gives: every query
//! has one turn more than reads, and each turn but the first has a read out before it.

use pageway::lab::{ReadTrace, ReadTurn};
use pageway::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Version of the format.
const VERSION: u32 = 1;

/// A recorded search.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// What was searched, how, and how fast it was.
    pub header: Header,
    /// The turns of each recorded query.
    pub queries: Vec<Vec<ReadTurn>>,
}

/// The first line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// What was searched.
    pub subject: Subject,
    /// How.
    pub settings: Settings,
    /// What came of it.
    pub measured: Measured,
    /// What it took; absent in files of earlier versions.
    #[serde(default)]
    pub work: Option<QueryWork>,
}

/// Means per query of what was counted.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct QueryWork {
    /// Dependent rounds of reads.
    pub rounds: f64,
    /// Nodes expanded.
    pub hops: f64,
    /// Pages read at the end, for exact distances alone.
    pub refine_reads: f64,
    /// Distances estimated from codes.
    pub estimates: f64,
    /// Exact distances computed.
    pub exact_distances: f64,
    /// Answers that codes decided, within the tolerance.
    pub estimated_answers: f64,
}

/// The index.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    /// Its directory.
    pub index: String,
    /// Vectors.
    pub rows: u64,
    /// Components per vector.
    pub dimensions: u32,
    /// Memory that the search might hold.
    pub memory_bytes: u64,
    /// Bytes of one read.
    pub read_bytes: u64,
    /// Pages of one read.
    pub pages_per_read: u32,
}

/// Settings of the search.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Settings {
    /// Neighbours per query.
    pub k: u32,
    /// Candidate list size.
    pub list_size: u32,
    /// Reads in flight per query.
    pub beam: u32,
    /// Threads.
    pub threads: usize,
    /// Queries in flight per thread.
    pub interleave: u32,
    /// How reads reached the disk.
    pub io_backend: String,
}

/// Latency of queries in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LatencyUs {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// What was measured over all queries, recorded or not.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Queries searched.
    pub queries: u64,
    /// Queries per second.
    pub qps: f64,
    /// Latency of a query.
    pub latency_us: LatencyUs,
    /// Recall against the truth, where that was given.
    pub recall: Option<f64>,
    /// Recall that the calibration of the index expects.
    pub expected_recall: Option<f64>,
    /// Reads per query.
    pub reads_per_query: f64,
    /// Microseconds of computing per query.
    pub compute_us: f64,
}

impl Header {
    /// The header of a file of this version.
    pub fn new(subject: Subject, settings: Settings, measured: Measured) -> Self {
        Self {
            version: VERSION,
            subject,
            settings,
            measured,
            work: None,
        }
    }

    /// With what was counted.
    pub fn with_work(mut self, work: QueryWork) -> Self {
        self.work = Some(work);
        self
    }

    /// Recall as measured, or as calibrated.
    pub fn recall(&self) -> Option<f64> {
        self.measured.recall.or(self.measured.expected_recall)
    }
}

/// A turn as it stands in the file.
type Row = (i64, u64, u32, u64);

impl Trace {
    /// What a search recorded.
    pub fn new(header: Header, traces: Vec<ReadTrace>) -> Self {
        let queries = traces.into_iter().map(|trace| trace.turns).collect();
        Self { header, queries }
    }

    /// The file as text.
    ///
    /// # Errors
    /// None in practice: whatever was measured can be written.
    pub fn to_text(&self) -> Result<String> {
        let unwritable =
            |error: serde_json::Error| Error::new(ErrorKind::Internal, error.to_string());
        let mut text = serde_json::to_string(&self.header).map_err(unwritable)?;
        for turns in &self.queries {
            let rows: Vec<Row> = turns.iter().map(row).collect();
            text.push('\n');
            text.push_str(&serde_json::to_string(&rows).map_err(unwritable)?);
        }
        text.push('\n');
        Ok(text)
    }

    /// What a file holds: about 30 bytes per read that was recorded.
    ///
    /// # Errors
    /// `InvalidInput` with the line that makes no sense.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let header: Header = serde_json::from_str(header)
            .map_err(|error| Error::invalid(format!("line 1: no header of a trace: {error}")))?;
        if header.version != VERSION {
            let words = format!(
                "version {} of a trace; this reads {VERSION}",
                header.version
            );
            return Err(Error::invalid(words));
        }
        let queries = lines.enumerate().map(|(number, line)| {
            turns(line).map_err(|words| Error::invalid(format!("line {}: {words}", number + 2)))
        });
        let queries: Vec<Vec<ReadTurn>> = queries.collect::<Result<_>>()?;
        if queries.is_empty() {
            return Err(Error::invalid("no query was recorded"));
        }
        Ok(Self { header, queries })
    }
}

fn row(turn: &ReadTurn) -> Row {
    let supplied = turn.supplied.map_or(-1, i64::from);
    (supplied, turn.compute_ns, turn.reads, turn.work_ns)
}

fn turns(line: &str) -> std::result::Result<Vec<ReadTurn>, String> {
    let rows: Vec<Row> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let turns: Vec<ReadTurn> = rows
        .into_iter()
        .map(|(supplied, compute_ns, reads, work_ns)| ReadTurn {
            supplied: u32::try_from(supplied).ok(),
            compute_ns,
            reads,
            work_ns,
        })
        .collect();
    check(&turns)?;
    Ok(turns)
}

/// Every read goes out once, comes back once, and not before it went out.
fn check(turns: &[ReadTurn]) -> std::result::Result<(), String> {
    let (mut out, mut sent) = (Vec::new(), 0_u32);
    for (number, turn) in turns.iter().enumerate() {
        match (number, turn.supplied) {
            (0, None) => {}
            (1.., Some(read)) => {
                let at = out.iter().position(|&other| other == read);
                let at = at.ok_or_else(|| format!("read {read} came back before it went out"))?;
                out.swap_remove(at);
            }
            _ => return Err(format!("turn {number} begins with the wrong read")),
        }
        let next = sent.checked_add(turn.reads).ok_or("too many reads")?;
        if out.len() + turn.reads as usize > turns.len() {
            return Err("more reads go out than come back".to_owned());
        }
        out.extend(sent..next);
        sent = next;
        if out.is_empty() != (number + 1 == turns.len()) {
            return Err(format!("{} reads are out after turn {number}", out.len()));
        }
    }
    if turns.is_empty() {
        return Err("a query without a turn".to_owned());
    }
    Ok(())
}
