//! What a file of rows holds, as it is typed.

use std::path::Path;

use clap::Args;
use pageway::ElementType;
use pageway_formats::Wish;

use crate::system::plain;

/// Where the vectors lie in a table.
#[derive(Debug, Args)]
pub(crate) struct VectorColumn {
    /// Column of the vectors in a .parquet file, field in a .jsonl file [default: the only one with
    /// lists]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
}

impl VectorColumn {
    /// What to read of vectors with this element type.
    pub(crate) fn wish(&self, element: Option<ElementType>) -> Wish {
        Wish {
            column: self.column.clone(),
            ..plain(element)
        }
    }
}

/// What is what in a file of rows.
#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// Element type of a .bin file, or wanted of .npy, .parquet and .jsonl: f32, f16, bf16, u8, i8
    /// or bit
    #[arg(long, value_name = "TYPE")]
    pub(crate) element: Option<ElementType>,

    #[command(flatten)]
    column: VectorColumn,

    /// Column, or field, of ids, one per row
    #[arg(long, value_name = "NAME", conflicts_with_all = ["ids", "names"])]
    id_column: Option<String>,
}

/// How vectors lie in a file.
#[derive(Debug, Args)]
pub(crate) struct ReadArguments {
    /// Element type of a .bin file: f32, f16, bf16, u8, i8 or bit
    #[arg(long, value_name = "TYPE")]
    pub(crate) element: Option<ElementType>,

    #[command(flatten)]
    column: VectorColumn,
}

impl ReadArguments {
    /// What to read.
    pub(crate) fn wish(&self) -> Wish {
        self.column.wish(self.element)
    }
}

/// How queries lie in a file of their own, where there is another of vectors.
#[derive(Debug, Args)]
pub(crate) struct QueriesColumn {
    /// Column, or field, of the vectors of --queries [default: the only one with lists]
    #[arg(long, value_name = "NAME")]
    pub(crate) queries_column: Option<String>,
}

impl QueriesColumn {
    /// What to read of queries with the element type of the vectors.
    pub(crate) fn wish(&self, element: Option<ElementType>) -> Wish {
        Wish {
            column: self.queries_column.clone(),
            ..plain(element)
        }
    }
}

impl TableArguments {
    /// What to read; rows may wait in `scratch`.
    pub(crate) fn wish(&self, scratch: &Path) -> Wish {
        Wish {
            id_column: self.id_column.clone(),
            scratch: scratch.to_owned(),
            ..self.column.wish(self.element)
        }
    }
}

/// The directory that an index lies in.
pub(crate) fn beside(index: &Path) -> &Path {
    let parent = index.parent();
    let parent = parent.filter(|directory| !directory.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
