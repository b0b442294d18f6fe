//! Which column of a Parquet file holds the vectors, and which the ids.

use pageway::{ElementType, Error};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::open::Wish;

/// Width and sign of a byte from 0 to 255.
const UNSIGNED_BYTE: (i8, bool) = (8, false);

/// The columns to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// Place of the leaf that holds the components.
    pub(super) vectors: usize,
    pub(super) ids: Option<IdColumn>,
    pub(super) element: ElementType,
    /// Whether a value is a byte of eight bits.
    pub(super) is_packed: bool,
    /// Definition level of a component that is there.
    pub(super) level: i16,
}

/// The column of ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdColumn {
    /// Place of the leaf.
    pub(super) place: usize,
    /// Whether ids with the highest bit are large, not negative.
    pub(super) is_unsigned: bool,
    /// Definition level of an id that is there.
    pub(super) level: i16,
}

impl Columns {
    /// As wished; the only column of lists of numbers where no name is given.
    ///
    /// # Errors
    /// `InvalidInput` with the columns that there are.
    pub(super) fn choose(
        schema: &SchemaDescriptor,
        name: &str,
        wish: &Wish,
    ) -> pageway::Result<Self> {
        let leaves: Vec<&ColumnDescriptor> = schema.columns().iter().map(AsRef::as_ref).collect();
        let refuse = |words: String| Error::invalid(format!("{name}: {words}"));
        let lists: Vec<usize> = (0..leaves.len())
            .filter(|at| leaves.get(*at).is_some_and(|leaf| is_list(leaf)))
            .collect();
        let vectors = match (&wish.column, lists.as_slice()) {
            (Some(column), _) => {
                let mut named = lists.iter().copied();
                let own = |at: &usize| leaves.get(*at).is_some_and(|leaf| root(leaf) == column);
                named.find(own).ok_or_else(|| {
                    refuse(format!(
                        "no column '{column}' of lists; {}",
                        listed(&leaves)
                    ))
                })?
            }
            (None, [only]) => *only,
            (None, []) => {
                return Err(refuse(format!("no column of lists; {}", listed(&leaves))));
            }
            (None, _) => {
                let words = "several columns of lists: name one with --column, that of queries \
                             beside other vectors with --queries-column";
                return Err(refuse(format!("{words}; {}", listed(&leaves))));
            }
        };
        let ids = wish.id_column.as_ref();
        let ids = ids.map(|column| IdColumn::choose(&leaves, column).map_err(refuse));
        let leaf = leaves
            .get(vectors)
            .ok_or_else(|| refuse("no column".to_owned()))?;
        let element = wish.element.or_else(|| element_of(leaf)).ok_or_else(|| {
            refuse(format!(
                "column '{}' holds {}: give --element",
                root(leaf),
                kind(leaf)
            ))
        })?;
        Ok(Self {
            vectors,
            ids: ids.transpose()?,
            element,
            is_packed: element == ElementType::Bit && integer(leaf) == Some(UNSIGNED_BYTE),
            level: leaf.max_def_level(),
        })
    }
}

impl IdColumn {
    fn choose(leaves: &[&ColumnDescriptor], column: &str) -> Result<Self, String> {
        let is_id = |leaf: &ColumnDescriptor| root(leaf) == column && leaf.max_rep_level() == 0;
        let mut numbered = leaves.iter().enumerate();
        let (place, leaf) = numbered
            .find(|(_, leaf)| is_id(leaf))
            .ok_or_else(|| format!("no column '{column}' of ids; {}", listed(leaves)))?;
        if !matches!(leaf.physical_type(), Physical::INT32 | Physical::INT64) {
            return Err(format!(
                "column '{column}' holds {}, which are no ids: ids are whole numbers from 0 to \
                 2^64 - 2; texts and UUIDs come from a file of their own, one per line, with \
                 --names",
                what(leaf)
            ));
        }
        Ok(Self {
            place,
            is_unsigned: is_unsigned(leaf),
            level: leaf.max_def_level(),
        })
    }
}

fn is_list(leaf: &ColumnDescriptor) -> bool {
    let numbers = matches!(
        leaf.physical_type(),
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE | Physical::INT32 | Physical::INT64
    );
    leaf.max_rep_level() == 1 && (numbers || is_half(leaf))
}

fn is_unsigned(leaf: &ColumnDescriptor) -> bool {
    matches!(integer(leaf), Some((_, false)))
}

/// Bits and sign of whole numbers that are marked, in the old way or the new.
fn integer(leaf: &ColumnDescriptor) -> Option<(i8, bool)> {
    if let Some(LogicalType::Integer(int)) = leaf.logical_type_ref() {
        return Some((int.bit_width, int.is_signed));
    }
    let marks = [
        (ConvertedType::UINT_8, UNSIGNED_BYTE),
        (ConvertedType::UINT_16, (16, false)),
        (ConvertedType::UINT_32, (32, false)),
        (ConvertedType::UINT_64, (64, false)),
        (ConvertedType::INT_8, (8, true)),
    ];
    let own = marks
        .iter()
        .find(|(mark, _)| *mark == leaf.converted_type());
    own.map(|(_, kind)| *kind)
}

fn is_half(leaf: &ColumnDescriptor) -> bool {
    leaf.logical_type_ref() == Some(&LogicalType::Float16)
}

/// Name of the column that a leaf belongs to.
fn root(leaf: &ColumnDescriptor) -> &str {
    leaf.path().parts().first().map_or("", String::as_str)
}

fn element_of(leaf: &ColumnDescriptor) -> Option<ElementType> {
    if is_half(leaf) {
        return Some(ElementType::F16);
    }
    match leaf.physical_type() {
        Physical::BOOLEAN => Some(ElementType::Bit),
        Physical::FLOAT | Physical::DOUBLE => Some(ElementType::F32),
        Physical::INT32
        | Physical::INT64
        | Physical::INT96
        | Physical::BYTE_ARRAY
        | Physical::FIXED_LEN_BYTE_ARRAY => match integer(leaf)? {
            (8, true) => Some(ElementType::I8),
            UNSIGNED_BYTE => Some(ElementType::U8),
            _ => None,
        },
    }
}

/// What a column holds that is no column of ids.
fn what(leaf: &ColumnDescriptor) -> String {
    match leaf.logical_type_ref() {
        Some(LogicalType::Uuid) => "UUIDs".to_owned(),
        Some(LogicalType::String) => "text".to_owned(),
        _ if leaf.converted_type() == ConvertedType::UTF8 => "text".to_owned(),
        _ => kind(leaf),
    }
}

fn kind(leaf: &ColumnDescriptor) -> String {
    let list = if leaf.max_rep_level() > 0 {
        " lists"
    } else {
        ""
    };
    format!("{}{list}", leaf.physical_type()).to_lowercase()
}

fn listed(leaves: &[&ColumnDescriptor]) -> String {
    let words = leaves
        .iter()
        .map(|leaf| format!("{} ({})", root(leaf), kind(leaf)));
    format!("there are {}", words.collect::<Vec<_>>().join(", "))
}
