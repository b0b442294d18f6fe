//! Indexes that faiss wrote, where they hold the vectors themselves.
//!
//! ```text
//! IxF2 IxFI IxFl   head  rows                                  flat: by L2, inner product, others
//! IHNf             head  graph  index                          HNSW over flat
//! IwFl             head  lists, probes  index  map  lists      IVF: rows and ids by list
//! IxMp IxM2        head  index  ids                            ids for the rows of another
//! ```
//!
//! A head is dimension, rows, two numbers of no use, trained or not, metric. Arrays are a count and
//! that many items; that of flat rows counts words of 4 bytes.

use pageway::{ElementType, Metric, Result};

use super::fields::Fields;
use super::found::{Found, origin, shape};
use super::runs::{Grid, Runs};

/// Bytes of a component, of an id and of a count.
const FLOAT: u64 = 4;
const WORD: u64 = 8;

/// Kinds that hold codes, or vectors in another place, and what they are called.
const OTHERS: [(&[u8; 4], &str); 17] = [
    (b"IxSQ", "scalar-quantized codes"),
    (b"IxPQ", "product-quantized codes"),
    (b"IxPq", "product-quantized codes"),
    (b"IwPQ", "product-quantized codes in lists"),
    (b"IwQR", "product-quantized codes in lists"),
    (b"IwPf", "product-quantized codes in lists"),
    (b"IPfs", "product-quantized codes"),
    (b"IwSQ", "scalar-quantized codes in lists"),
    (b"IwSq", "scalar-quantized codes in lists"),
    (b"IHNp", "product-quantized codes under a graph"),
    (b"IHNs", "scalar-quantized codes under a graph"),
    (b"IHN2", "codes in two layers under a graph"),
    (b"Ixrq", "binary-quantized codes"),
    (b"Iwrq", "binary-quantized codes in lists"),
    (b"IxPT", "vectors that were transformed"),
    (b"IxRF", "codes and what refines them"),
    (b"IBxF", "binary vectors"),
];

/// What stands in front of every index.
struct Head {
    dimension: u64,
    rows: u64,
    metric: Option<Metric>,
}

/// Whether a file that begins so is one of faiss.
pub(super) fn claims(first: [u8; 4]) -> bool {
    let known = [
        b"IxF2", b"IxFI", b"IxFl", b"IHNf", b"IwFl", b"IxMp", b"IxM2",
    ];
    known.contains(&&first) || OTHERS.iter().any(|(letters, _)| **letters == first)
}

/// The vectors of a file.
///
/// # Errors
/// `InvalidInput` for kinds without vectors, and for what is cut short, contradicts itself or
/// goes on behind its end.
pub(super) fn read(mut fields: Fields) -> Result<Found> {
    let letters = fields.letters("kind")?;
    let found = match &letters {
        b"IxMp" | b"IxM2" => mapped(&mut fields)?,
        _ => index(&mut fields, letters)?,
    };
    fields.finish()?;
    Ok(found)
}

/// An index whose rows have ids of the caller's.
fn mapped(fields: &mut Fields) -> Result<Found> {
    head(fields)?;
    let inner = fields.letters("kind of the mapped index")?;
    let mut found = index(fields, inner)?;
    let ids = fields.array(WORD, "ids")?;
    if ids.count != found.rows.count() {
        return Err(fields.refuse(format!(
            "maps {} ids of an index of {} rows",
            ids.count,
            found.rows.count()
        )));
    }
    let mut rows = Runs::new(fields, Grid::even(WORD, WORD));
    match found.ids {
        None => rows.add(ids.offset, ids.count)?,
        Some(numbers) => add_by_number(fields, &mut rows, (&numbers, ids.offset))?,
    }
    found.ids = Some(rows);
    found.origin.kind += " with ids";
    Ok(found)
}

/// Adds the mapped id of each row, whose own id is a place in the map: one run for rows that the
/// map has together.
fn add_by_number(fields: &Fields, to: &mut Runs, (numbers, map): (&Runs, u64)) -> Result<()> {
    const STEP: u64 = 8192;
    let count = numbers.count();
    let mut run = 0..0;
    for first in (0..count).step_by(STEP as usize) {
        let mut bytes = vec![0; (STEP.min(count - first) * WORD) as usize];
        numbers.read(first, &mut bytes)?;
        for word in bytes.as_chunks::<8>().0 {
            let number = u64::from_le_bytes(*word);
            if number >= count {
                return Err(fields.refuse(format!(
                    "maps ids of {count} rows, one of which has the number {}",
                    number.cast_signed()
                )));
            }
            if run.end != number {
                to.add(map + run.start * WORD, run.end - run.start)?;
                run.start = number;
            }
            run.end = number + 1;
        }
    }
    to.add(map + run.start * WORD, run.end - run.start)
}

/// An index that is not mapped.
fn index(fields: &mut Fields, letters: [u8; 4]) -> Result<Found> {
    match &letters {
        b"IxF2" | b"IxFI" | b"IxFl" => flat(fields),
        b"IHNf" => graph(fields),
        b"IwFl" => lists(fields),
        _ => Err(no_vectors(fields, letters)),
    }
}

fn no_vectors(fields: &Fields, letters: [u8; 4]) -> pageway::Error {
    let known = OTHERS.iter().find(|(known, _)| **known == letters);
    let what = match known {
        Some((_, what)) => format!("holds {what}"),
        None => format!("is of kind {:?}", letters.escape_ascii().to_string()),
    };
    fields.refuse(format!(
        "a faiss index that {what}; flat, IVF-flat and HNSW-flat ones hold vectors. With faiss \
         itself, `index.reconstruct_n(0, index.ntotal)` gives vectors as good as they can be"
    ))
}

fn head(fields: &mut Fields) -> Result<Head> {
    const METRICS: [Metric; 3] = [Metric::InnerProduct, Metric::L2, Metric::L1];
    let dimension = fields.u32("dimension")?.into();
    let rows = fields.u64("rows")?;
    fields.skip(2 * WORD + 1, "head")?;
    let metric = fields.u32("metric")?;
    if metric > 1 {
        fields.skip(FLOAT, "number of the metric")?;
    }
    Ok(Head {
        dimension,
        rows,
        metric: METRICS.get(metric as usize).copied(),
    })
}

fn found(fields: &Fields, kind: &str, head: &Head, rows: Runs) -> Result<Found> {
    let shape = shape(head.dimension, ElementType::F32);
    let refuse = || fields.refuse(format!("vectors of {} dimensions", head.dimension));
    let (rows_found, stated) = (rows.count(), head.rows);
    if rows_found != stated {
        return Err(fields.refuse(format!("says {stated} rows and holds {rows_found}")));
    }
    Ok(Found {
        name: fields.name().to_owned(),
        origin: origin(kind, head.metric),
        shape: shape.ok_or_else(refuse)?,
        rows,
        ids: None,
    })
}

fn flat(fields: &mut Fields) -> Result<Found> {
    let head = head(fields)?;
    let words = fields.array(FLOAT, "vectors")?;
    if Some(words.count) != head.rows.checked_mul(head.dimension) {
        return Err(fields.refuse(format!(
            "{} rows of {} dimensions do not make {} numbers",
            head.rows, head.dimension, words.count
        )));
    }
    let row_bytes = head.dimension * FLOAT;
    let mut rows = Runs::new(fields, Grid::even(row_bytes, row_bytes));
    rows.add(words.offset, head.rows)?;
    found(fields, "faiss, flat", &head, rows)
}

fn graph(fields: &mut Fields) -> Result<Found> {
    let head = head(fields)?;
    let arrays = [WORD, FLOAT, FLOAT, WORD, FLOAT];
    for item_bytes in arrays {
        fields.array(item_bytes, "graph")?;
    }
    fields.skip(5 * FLOAT, "graph")?;
    let letters = fields.letters("kind of the vectors")?;
    let mut under = match &letters {
        b"IxF2" | b"IxFI" | b"IxFl" => flat(fields)?,
        b"null" => return Err(fields.refuse("was written without its vectors")),
        _ => return Err(no_vectors(fields, letters)),
    };
    if under.rows.count() != head.rows {
        return Err(fields.refuse("the graph has other rows than its vectors"));
    }
    under.origin = origin("faiss, HNSW-flat", head.metric);
    Ok(under)
}

fn lists(fields: &mut Fields) -> Result<Found> {
    let head = head(fields)?;
    let count = fields.u64("number of lists")?;
    fields.skip(WORD, "probes")?;
    let letters = fields.letters("kind of the quantizer")?;
    match &letters {
        b"IxF2" | b"IxFI" | b"IxFl" => flat(fields)?,
        b"IHNf" => graph(fields)?,
        _ => {
            let kind = letters.escape_ascii();
            return Err(fields.refuse(format!("its coarse quantizer is of kind \"{kind}\"")));
        }
    };
    let map = fields.u8("kind of the map")?;
    fields.array(WORD, "map")?;
    if map == 2 {
        fields.array(2 * WORD, "map")?;
    }
    let row_bytes = head.dimension * FLOAT;
    let sizes = list_sizes(fields, count, row_bytes)?;
    let mut rows = Runs::new(fields, Grid::even(row_bytes, row_bytes));
    let mut ids = Runs::new(fields, Grid::even(WORD, WORD));
    for size in sizes {
        let codes = size.saturating_mul(row_bytes);
        rows.add(fields.at(), size)?;
        fields.skip(codes, "vectors of a list")?;
        ids.add(fields.at(), size)?;
        fields.skip(size * WORD, "ids of a list")?;
    }
    let mut found = found(fields, "faiss, IVF-flat", &head, rows)?;
    found.ids = Some(ids);
    Ok(found)
}

/// Rows of each list that has some, in order.
fn list_sizes(fields: &mut Fields, count: u64, row_bytes: u64) -> Result<Vec<u64>> {
    match &fields.letters("kind of the lists")? {
        b"ilar" => {}
        b"il00" => return Ok(Vec::new()),
        b"ilod" => {
            return Err(fields.refuse("keeps its lists in another file, which is not read"));
        }
        other => {
            let kind = other.escape_ascii();
            return Err(fields.refuse(format!("its lists are of kind \"{kind}\"")));
        }
    }
    let stated = (
        fields.u64("number of lists")?,
        fields.u64("bytes of a row")?,
    );
    if stated != (count, row_bytes) {
        return Err(fields.refuse(format!(
            "{} lists of rows of {} bytes, where {count} and {row_bytes} were announced",
            stated.0, stated.1
        )));
    }
    let sparse = match &fields.letters("form of the lists")? {
        b"full" => false,
        b"sprs" => true,
        _ => return Err(fields.refuse("its lists are neither full nor sparse")),
    };
    let sizes = fields.array(WORD, "sizes of lists")?;
    let numbers = fields.numbers(sizes)?;
    let sizes = if sparse {
        let (pairs, _) = numbers.as_chunks::<2>();
        pairs.iter().map(|[_, size]| *size).collect()
    } else {
        numbers
    };
    Ok(sizes)
}
