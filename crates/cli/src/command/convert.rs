//! `pageway convert`: vectors in another file format or element type.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::source::{Selection, VectorFormat};
use pageway::{ElementType, Result, VectorRead, VectorShape};
use pageway_formats::Vectors;
use serde::Serialize;

use crate::distinct::check_distinct;
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::table::VectorColumn;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway convert texts.npy texts.fbin
  pageway convert base.fvecs base.f16bin
  pageway convert base.bin base.npy --element u8

The formats follow from the extensions: .fbin .f16bin .bf16bin .u8bin .i8bin .bitbin .bin .fvecs .bvecs
.npy; also read are .parquet, .jsonl and .ndjson, the last two also with .gz.
Widening is exact; f16 and bf16 are rounded; to u8 and i8 only whole numbers in range are taken,
anything else is refused with its row. Unsigned bytes become the eight bits that are packed in each,
and bits such bytes; of other numbers, 0 and 1 become a bit each. Rows are streamed, and the target
appears when it is complete.";

/// Rewrite vectors in another file format or element type.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ConvertArguments {
    /// File to read
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// File to write; one of that name is replaced at the end
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// Element type of the target: f32, f16, bf16, u8, i8 or bit [default: by extension,
    /// else as FROM]
    #[arg(long, value_name = "TYPE")]
    element: Option<ElementType>,

    /// Element type of FROM, for a .bin file
    #[arg(long, value_name = "TYPE")]
    from_element: Option<ElementType>,

    #[command(flatten)]
    column: VectorColumn,
}

/// What was written, by convert and slice.
#[derive(Serialize)]
pub(super) struct Written {
    from: String,
    to: String,
    rows: u64,
    dimension: u32,
    element: ElementType,
}

impl ConvertArguments {
    /// Converts.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let wish = self.column.wish(self.from_element);
        let file = system::open_vectors(&self.from, &wish, &session.progress)?;
        let selection = Selection::whole(&file, file.name());
        let copy = Copy {
            from: &self.from,
            to: &self.to,
            element: self.element,
        };
        copy.run(&file, &selection, session)
    }
}

/// A copy of vectors from one file to another.
pub(super) struct Copy<'c> {
    pub(super) from: &'c Path,
    pub(super) to: &'c Path,
    /// Element type of the target where it is not left to the extension.
    pub(super) element: Option<ElementType>,
}

impl Copy<'_> {
    /// Copies the selection of `file` and reports what the target holds.
    pub(super) fn run(
        &self,
        file: &Vectors,
        selection: &Selection<'_>,
        session: &Session,
    ) -> Result<Outcome> {
        check_distinct(&[("TO", self.to)], &[("FROM", self.from)])?;
        let rows = system::convert(selection, self.to, self.element, &session.progress)?;
        let stated = VectorFormat::of(self.to)?.element;
        let element = self.element.or(stated).unwrap_or(file.shape().element);
        let shape = selection.shape_as(element);
        let VectorShape { dimension, element } = shape;
        let text = format!(
            "Wrote {} of {shape} to {}.",
            text::counted(rows, "row"),
            self.to.display()
        );
        let [from, to] = [self.from, self.to].map(|path| path.display().to_string());
        Outcome::new(
            text,
            &Written {
                from,
                to,
                rows,
                dimension,
                element,
            },
        )
    }
}
