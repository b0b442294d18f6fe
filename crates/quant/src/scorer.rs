//! The seam between the search and a quantizer.
//!
//! A scorer is prepared for one query and then asked for estimates, a batch of codes per call: the
//! virtual call, the choice of instruction set and the bounds checks are paid once per adjacency
//! list instead of once per code.

use pageway_types::Place;

/// Estimates distances from one query to codes.
pub trait CodeScorer: Send + Sync {
    /// Clears `out` and fills it with one estimate per code of the batch, in the same order.
    ///
    /// Estimates are in the units of the metric's distance; smaller is nearer. No allocation once
    /// `out` has grown to the largest batch.
    ///
    /// # Panics
    /// When the bytes of an inline batch are not a whole number of codes, or a gathered node lies
    /// outside the table: callers check ids when they decode a page.
    fn score(&self, batch: CodeBatch<'_>, out: &mut Vec<f32>);

    /// Bytes of one code.
    fn code_bytes(&self) -> usize;
}

/// What a query knows of the centre that some codes are made around, where the caller has centres.
#[derive(Clone, Copy, Debug, Default)]
pub struct Centre {
    /// Squared distance of the query; of its unit vector for cosine.
    pub distance: f32,
    /// Inner product with the query, or with its unit vector for cosine.
    pub product: f32,
}

/// In which forms the codes come that a query meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeForms {
    /// As they are stored.
    Stored,
    /// In tables.
    Table,
    /// Some in this form and some in that.
    Both,
    /// In blocks, and in no other form.
    Blocks,
}

/// Codes to score.
#[derive(Clone, Copy, Debug)]
pub enum CodeBatch<'a> {
    /// The codes at `places`, `code_bytes` each, as they are stored.
    Gather {
        /// All of them.
        codes: &'a [u8],
        /// Places of the codes to score; each must lie among them.
        places: &'a [Place],
    },
    /// The same of a table that [`Quantizer::arrange`](crate::Quantizer::arrange) put in order.
    Table {
        /// The whole table.
        codes: &'a [u8],
        /// Places of the codes to score; each must lie in the table.
        places: &'a [Place],
    },
    /// Codes one after the other, as they lie in a page beside an adjacency list.
    Inline {
        /// A whole number of codes.
        codes: &'a [u8],
    },
}
