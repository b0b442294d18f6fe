//! Indexes that DiskANN wrote: on disk (`NAME_disk.index`) and in memory (`NAME.data`).
//!
//! ```text
//! disk    u32 numbers, 1 | u64 rows, dimensions, medoid, node bytes, nodes per page, .., length
//!         pages of 4 KiB from byte 4,096 on: nodes, each a vector and its neighbours
//! memory  u32 rows, dimensions | rows
//! ```
//!
//! The element type stands in neither; `NAME_metadata.bin` of diskannpy has it, beside the metric:
//! four u64: type, metric, rows, dimensions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::lab::OpenMode;
use pageway::{ElementType, Error, Metric, Result, Vfs};

use super::fields::Fields;
use super::found::{Found, origin, shape};
use super::runs::{Grid, Runs};

const PAGE_BYTES: u64 = 4096;
/// Numbers in front of a disk index, fewest and most.
const NUMBERS: std::ops::RangeInclusive<u32> = 9..=16;

/// What diskannpy writes beside an index.
struct Beside {
    element: Option<ElementType>,
    metric: Option<Metric>,
    dimensions: u64,
}

/// The numbers of a disk index.
struct Head {
    rows: u64,
    dimensions: u64,
    node_bytes: u64,
    nodes_per_page: u64,
}

impl Head {
    fn read(fields: &mut Fields) -> Result<Option<Self>> {
        if fields.length() < PAGE_BYTES {
            return Ok(None);
        }
        let numbers = fields.u32("head")?;
        if !NUMBERS.contains(&numbers) || fields.u32("head")? != 1 {
            return Ok(None);
        }
        let (rows, dimensions) = (fields.u64("head")?, fields.u64("head")?);
        fields.skip(8, "head")?;
        let (node_bytes, nodes_per_page) = (fields.u64("head")?, fields.u64("head")?);
        fields.skip((u64::from(numbers) - 6) * 8, "head")?;
        let is_whole = fields.u64("head")? == fields.length();
        Ok(is_whole.then_some(Self {
            rows,
            dimensions,
            node_bytes,
            nodes_per_page,
        }))
    }

    /// Nodes that fit share a page, longer ones begin a page each.
    fn grid(&self, row_bytes: u64) -> Option<Grid> {
        let shared = self.nodes_per_page > 0;
        let needed = self.node_bytes.checked_mul(self.nodes_per_page)?;
        let fits = row_bytes < self.node_bytes && needed <= PAGE_BYTES;
        fits.then_some(Grid {
            row_bytes,
            stride: self.node_bytes,
            block_rows: self.nodes_per_page.max(1),
            block_stride: if shared {
                PAGE_BYTES
            } else {
                self.node_bytes.checked_next_multiple_of(PAGE_BYTES)?
            },
        })
    }
}

/// Whether a file is a disk index.
pub(super) fn claims(fields: &mut Fields) -> Result<bool> {
    Ok(Head::read(fields)?.is_some())
}

/// The vectors of a disk index.
///
/// # Errors
/// `InvalidInput` without an element type, for vectors that are compressed or were lengthened, and
/// for what contradicts itself.
pub(super) fn read_disk(
    mut fields: Fields,
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    asked: Option<ElementType>,
) -> Result<Found> {
    let head = Head::read(&mut fields)?;
    let head = head.ok_or_else(|| fields.refuse("is no disk index of DiskANN, or is cut short"))?;
    let beside = Beside::read(vfs, path, "_disk.index")?;
    let pivots = sibling(path, "", "_pq_pivots.bin");
    if vfs.exists(&pivots)? {
        return Err(fields.refuse("its vectors are compressed: import the data it was built from"));
    }
    let stated = beside.as_ref().map(|beside| beside.dimensions);
    if stated.is_some_and(|stated| stated != head.dimensions) {
        return Err(fields.refuse(
            "its vectors were scaled and lengthened for inner product: import the data it was \
             built from",
        ));
    }
    let element = element(&fields, asked, beside.as_ref())?;
    let refuse = || {
        fields.refuse(format!(
            "{} dimensions of {element} do not fit nodes of {} bytes: is that the element type?",
            head.dimensions, head.node_bytes
        ))
    };
    let shape = shape(head.dimensions, element).ok_or_else(refuse)?;
    let grid = head.grid(shape.row_bytes() as u64).ok_or_else(refuse)?;
    let mut rows = Runs::new(&fields, grid);
    rows.add(PAGE_BYTES, head.rows)?;
    check_nodes(&fields, &head, grid)
        .map_err(|words| fields.refuse(format!("{words}: is {element} the element type?")))?;
    let metric = beside.and_then(|beside| beside.metric);
    Ok(Found {
        name: fields.name().to_owned(),
        origin: origin("DiskANN, disk index", metric),
        shape,
        rows,
        ids: None,
    })
}

/// Whether the first nodes, behind vectors of this size, have neighbours that are nodes.
fn check_nodes(fields: &Fields, head: &Head, grid: Grid) -> std::result::Result<(), String> {
    const CHECKED: u64 = 1024;
    let whole = Grid {
        row_bytes: head.node_bytes,
        ..grid
    };
    let mut nodes = Runs::new(fields, whole);
    let checked = head.rows.min(CHECKED);
    nodes
        .add(PAGE_BYTES, checked)
        .map_err(|error| error.to_string())?;
    for row in 0..checked {
        let mut node = vec![0; head.node_bytes as usize];
        nodes
            .read(row, &mut node)
            .map_err(|error| error.to_string())?;
        let behind = node.get(grid.row_bytes as usize..).unwrap_or_default();
        let (words, _) = behind.as_chunks::<4>();
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        let degree = words.next().unwrap_or_default() as usize;
        if degree > words.len() {
            return Err(format!(
                "node {row} has {degree} neighbours, and room for {}",
                words.len()
            ));
        }
        if let Some(other) = words
            .take(degree)
            .find(|other| u64::from(*other) >= head.rows)
        {
            return Err(format!(
                "node {row} has a neighbour {other}, of {} nodes",
                head.rows
            ));
        }
    }
    Ok(())
}

/// The vectors beside an index in memory.
///
/// # Errors
/// `InvalidInput` without an element type, and for what contradicts itself.
pub(super) fn read_memory(
    mut fields: Fields,
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    asked: Option<ElementType>,
) -> Result<Found> {
    let count = fields.u32("rows")?.into();
    let dimensions = fields.u32("dimensions")?.into();
    let beside = Beside::read(vfs, path, ".data")?;
    let element = element(&fields, asked, beside.as_ref())?;
    let words = || fields.refuse(format!("vectors of {dimensions} dimensions"));
    let shape = shape(dimensions, element).ok_or_else(words)?;
    let row_bytes = shape.row_bytes() as u64;
    let mut rows = Runs::new(&fields, Grid::even(row_bytes, row_bytes));
    rows.add(fields.at(), count)?;
    if fields.at() + rows.count() * row_bytes != fields.length() {
        return Err(fields.refuse(format!(
            "{count} rows of {shape} do not make {} bytes: is that the element type?",
            fields.length()
        )));
    }
    let metric = beside.and_then(|beside| beside.metric);
    Ok(Found {
        name: fields.name().to_owned(),
        origin: origin("DiskANN, index in memory", metric),
        shape,
        rows,
        ids: None,
    })
}

fn element(
    fields: &Fields,
    asked: Option<ElementType>,
    beside: Option<&Beside>,
) -> Result<ElementType> {
    let stated = beside.and_then(|beside| beside.element);
    asked.or(stated).ok_or_else(|| {
        fields.refuse("does not say what its vectors are made of: give --element f32, u8 or i8")
    })
}

impl Beside {
    /// What stands in the file beside `path`, whose name ends with `ending`.
    fn read(vfs: &Arc<dyn Vfs>, path: &Path, ending: &str) -> Result<Option<Self>> {
        const ELEMENTS: [ElementType; 3] = [ElementType::F32, ElementType::I8, ElementType::U8];
        const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];
        let beside = sibling(path, ending, "_metadata.bin");
        if !vfs.exists(&beside)? {
            return Ok(None);
        }
        let name = beside.display().to_string();
        let file = vfs.open(&beside, OpenMode::Read);
        let file = file.map_err(|error| Error::from(error).within(&name))?;
        let mut fields = Fields::new(file, &name)?;
        let element = fields.u64("type")?.try_into().ok();
        let metric: Option<usize> = fields.u64("metric")?.try_into().ok();
        fields.skip(8, "rows")?;
        let metric = metric.and_then(|metric| METRICS.get(metric));
        Ok(Some(Self {
            element: element.and_then(|element: usize| ELEMENTS.get(element).copied()),
            metric: metric.copied(),
            dimensions: fields.u64("dimensions")?,
        }))
    }
}

/// `path` with `new` in the place of `ending`.
fn sibling(path: &Path, ending: &str, new: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(ending).unwrap_or(&name);
    path.with_file_name(format!("{stem}{new}"))
}
