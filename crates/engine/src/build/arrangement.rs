//! An order of the rows of a build in which each run that becomes a segment holds near rows.
//!
//! ```text
//! rows -deal-> cells -by halves-> cells in order -cut-> runs of equal length: a segment each
//! ```
//! A run has whole cells, and a part of the cell at each end. Inside a run, rows stay in the order
//! of the data, so they are read forward.

use std::io;
use std::ops::Range;

use pageway_graph::{Partition, PartitionSpec, divide};
use pageway_types::{VectorRead, VectorShape};

use super::deal::Deal;
use super::plan::BuildPlan;
use crate::error::Result;
use crate::options::BuildInput;
use crate::source::{IdRead, TextRead};
use crate::storage::Region;

/// Rows that a cell takes at most, in shares of the mean.
const FILL: f64 = 1.5;
/// Texts between two wanted ones that are read rather than skipped, at most.
const TEXT_GAP: u32 = 16;

/// An order of rows, and where the rows of each run of it lie.
pub(super) struct Arrangement {
    /// Row of the data, by row of the index.
    order: Vec<u32>,
    /// The region of each segment.
    pub(super) regions: Vec<Region>,
}

impl Arrangement {
    /// Finds the order of the rows of `deal`, which were checked.
    ///
    /// # Errors
    /// As reading is, and `Cancelled`.
    pub(super) fn find(deal: &Deal<'_>, plan: &BuildPlan) -> Result<Self> {
        let cut = plan.cut;
        let sample = deal.sample(plan)?;
        let dimension = plan.spec.shape.dimension as usize;
        let cells = cut.cells().max(1);
        let mean = f64::from(cut.rows()) / f64::from(cells);
        let spec = PartitionSpec {
            dimension,
            total_count: cut.rows().into(),
            shard_capacity: (mean * FILL).ceil() as u64,
            copies: 1,
            seed: plan.spec.seed,
        };
        let partition = divide(&sample, &spec, cells, deal.pool, deal.progress)?;
        drop(sample);
        let mut cell_of = Vec::with_capacity(cut.rows() as usize);
        let loads = deal.run(&partition, &mut |dealt| {
            cell_of.extend_from_slice(dealt.shards);
            Ok(())
        })?;
        let cells = partition.by_halves(&loads, deal.progress)?;
        let mut order = sorted_by_cell(&cell_of, (&cells, &loads));
        let mut regions = Vec::with_capacity(cut.runs() as usize);
        for run in cut.all() {
            let rows = order.get_mut(run.start as usize..run.end as usize);
            let rows = rows.unwrap_or_default();
            regions.push(region(rows, (&cell_of, &partition)));
            rows.sort_unstable();
        }
        Ok(Self { order, regions })
    }

    /// An order that was found before.
    pub(super) const fn of(order: Vec<u32>, regions: Vec<Region>) -> Self {
        Self { order, regions }
    }

    /// The rows of the data of a run of the index.
    pub(super) fn run(&self, run: &Range<u32>) -> &[u32] {
        let rows = run.start as usize..run.end as usize;
        self.order.get(rows).unwrap_or_default()
    }

    /// The rows of `input` in this order. Rows without ids get their numbers in `input` as ids.
    pub(super) fn rows<'a>(&'a self, input: &BuildInput<'a>) -> ArrangedRows<'a> {
        let order = &self.order;
        ArrangedRows {
            whole: *input,
            vectors: ArrangedVectors {
                vectors: input.vectors,
                order,
            },
            ids: ArrangedIds {
                ids: input.ids,
                order,
            },
            attributes: input.attributes.map(|texts| ArrangedTexts { texts, order }),
        }
    }
}

/// All rows, cell by cell.
fn sorted_by_cell(cell_of: &[u32], (cells, loads): (&[u32], &[u64])) -> Vec<u32> {
    let mut next = vec![0; loads.len()];
    let mut start = 0;
    for cell in cells {
        let load = loads.get(*cell as usize).copied().unwrap_or(0);
        if let Some(next) = next.get_mut(*cell as usize) {
            *next = start;
        }
        start += load as usize;
    }
    let mut order = vec![0; cell_of.len()];
    for (row, cell) in (0u32..).zip(cell_of) {
        let Some(next) = next.get_mut(*cell as usize) else {
            continue;
        };
        if let Some(place) = order.get_mut(*next) {
            *place = row;
        }
        *next += 1;
    }
    order
}

/// The region of a run of rows, sorted by cell.
fn region(rows: &[u32], (cell_of, partition): (&[u32], &Partition)) -> Region {
    let cell = |row: &u32| cell_of.get(*row as usize).copied().unwrap_or(0);
    let mut region = Region::new(partition.spec().dimension);
    for own in rows.chunk_by(|one, next| cell(one) == cell(next)) {
        if let Some(first) = own.first() {
            region.push(partition.centroid(cell(first)), own.len() as u32);
        }
    }
    region
}

/// The rows of a build in the order of an arrangement.
pub(super) struct ArrangedRows<'a> {
    whole: BuildInput<'a>,
    vectors: ArrangedVectors<'a>,
    ids: ArrangedIds<'a>,
    attributes: Option<ArrangedTexts<'a>>,
}

impl ArrangedRows<'_> {
    /// The rows, as the input of a build.
    pub(super) fn input(&self) -> BuildInput<'_> {
        BuildInput {
            vectors: &self.vectors,
            ids: Some(&self.ids),
            attributes: self.attributes.as_ref().map(|own| own as &dyn TextRead),
            ..self.whole
        }
    }
}

struct ArrangedVectors<'a> {
    vectors: &'a dyn VectorRead,
    order: &'a [u32],
}

impl VectorRead for ArrangedVectors<'_> {
    fn count(&self) -> u64 {
        self.order.len() as u64
    }

    fn shape(&self) -> VectorShape {
        self.vectors.shape()
    }

    fn read(&self, first: u64, mut out: &mut [u8]) -> io::Result<()> {
        let row_bytes = self.shape().row_bytes();
        let rows = rows_of(self.order, (first, out.len() / row_bytes))?;
        for run in rows.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
            let Some((own, rest)) = out.split_at_mut_checked(run.len() * row_bytes) else {
                break;
            };
            self.vectors
                .read(run.first().copied().unwrap_or(0).into(), own)?;
            out = rest;
        }
        Ok(())
    }
}

struct ArrangedIds<'a> {
    /// `None` for row numbers as ids.
    ids: Option<&'a dyn IdRead>,
    order: &'a [u32],
}

impl IdRead for ArrangedIds<'_> {
    fn name(&self) -> &str {
        self.ids.map_or("rows", IdRead::name)
    }

    fn count(&self) -> u64 {
        self.order.len() as u64
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let rows = rows_of(self.order, (first, out.len()))?;
        let Some(ids) = self.ids else {
            let numbered = out.iter_mut().zip(rows);
            numbered.for_each(|(out, row)| *out = u64::from(*row));
            return Ok(());
        };
        let mut rest = out;
        for run in rows.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
            let Some((own, others)) = rest.split_at_mut_checked(run.len()) else {
                break;
            };
            ids.read(run.first().copied().unwrap_or(0).into(), own)?;
            rest = others;
        }
        Ok(())
    }
}

struct ArrangedTexts<'a> {
    texts: &'a dyn TextRead,
    order: &'a [u32],
}

impl TextRead for ArrangedTexts<'_> {
    fn name(&self) -> &str {
        self.texts.name()
    }

    fn count(&self) -> u64 {
        self.order.len() as u64
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let rows = rows_of(self.order, (first, count as usize))?;
        let near = |one: &u32, next: &u32| (1..=TEXT_GAP).contains(&next.wrapping_sub(*one));
        for run in rows.chunk_by(near) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else {
                continue;
            };
            let (mut row, mut wanted) = (*first, run.iter().peekable());
            let span = u64::from(last - first) + 1;
            self.texts.visit(u64::from(*first), span, &mut |text| {
                let is_wanted = wanted.next_if(|own| **own == row).is_some();
                row += 1;
                if is_wanted { visit(text) } else { Ok(()) }
            })?;
        }
        Ok(())
    }
}

/// The rows of the data of `count` rows of the index from `first` on.
fn rows_of(order: &[u32], (first, count): (u64, usize)) -> io::Result<&[u32]> {
    let first = usize::try_from(first).ok();
    let rows = first.and_then(|first| order.get(first..first.checked_add(count)?));
    rows.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "rows beyond the last"))
}
