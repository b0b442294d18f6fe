//! The attributes of a segment: documents and their terms, in the order of its nodes, sorted within
//! the memory of the build.

use std::path::PathBuf;
use std::sync::Arc;

use pageway_attributes::{Document, DocumentWriter, Schema, TermWriter, terms_of};
use pageway_store::{BlobWriter, FileUuid, PageGeometry, Vfs};
use pageway_types::RowId;

use super::order::NodeOrder;
use super::pipeline::Pipeline;
use super::sort::Sorter;
use crate::error::{Error, Result};
use crate::manifest::{AttributeFiles, FileKind, SegmentEntry};
use crate::resolve::Source;
use crate::segment::IdCursor;
use crate::source::{TextRead, check_document, check_kinds};

/// Where the attributes of a segment go, and the memory that making them may take.
pub(super) struct AttributeBuild<'a> {
    pub(super) vfs: &'a Arc<dyn Vfs>,
    pub(super) dir: PathBuf,
    /// Generation, and number where several are made in one.
    pub(super) name: (u64, Option<u32>),
    pub(super) page_bytes: u32,
    /// The records that they belong to.
    pub(super) records: FileUuid,
    pub(super) nodes: u32,
    pub(super) memory_bytes: u64,
}

/// Documents of rows, by their ids.
pub(crate) trait DocumentsById {
    /// Shows the id and the document of every row that has one, in any order.
    ///
    /// # Errors
    /// As reading is; what `visit` gives.
    fn each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()>;
}

/// Documents that are being sorted by node.
pub(super) struct DocumentSort<'a> {
    build: &'a AttributeBuild<'a>,
    sorter: Sorter,
}

impl AttributeBuild<'_> {
    /// Begins a sort.
    pub(super) fn sort(&self) -> DocumentSort<'_> {
        let sorter = self.sorter("document");
        DocumentSort {
            build: self,
            sorter,
        }
    }

    /// Writes attributes that are given by id; the table of ids of `source` tells their nodes.
    pub(super) fn by_ids(
        &self,
        documents: &dyn DocumentsById,
        source: Source<'_>,
    ) -> Result<AttributeFiles> {
        let mut by_id = self.sorter("document-id");
        documents.each(&mut |id, json| by_id.push(&id.to_be_bytes(), json))?;
        let mut nodes = IdCursor::open(source)?;
        let mut known = nodes.next(source)?;
        let mut sort = self.sort();
        by_id.finish(&mut |key, json| {
            let id = key.first_chunk().map_or(0, |id| u64::from_be_bytes(*id));
            while let Some((own, node)) = known.filter(|(own, _)| *own <= id) {
                if own == id {
                    sort.push(node.0, json)?;
                }
                known = nodes.next(source)?;
            }
            Ok(())
        })?;
        sort.finish()
    }

    /// A sorter with its share of the memory.
    pub(super) fn sorter(&self, what: &str) -> Sorter {
        let (generation, segment) = self.name;
        let own = segment.unwrap_or(0);
        let stem = self.dir.join(format!("{what}-run-{generation}-{own}"));
        Sorter::new(self.vfs, stem, self.memory_bytes / 4)
    }

    fn blob(&self, kind: FileKind) -> Result<BlobWriter> {
        let path = self.dir.join(kind.file_name(self.name.0, self.name.1));
        let geometry = PageGeometry::new(self.page_bytes, 1)?;
        let uuid = kind.uuid_beside(self.records, self.name.0);
        let vfs = self.vfs.as_ref();
        Ok(BlobWriter::create(vfs, &path, kind as u16, geometry, uuid)?)
    }
}

impl DocumentSort<'_> {
    /// Takes the document of a node, as JSON that was checked.
    pub(super) fn push(&mut self, node: u32, json: &[u8]) -> Result<()> {
        let document: Document = serde_json::from_slice(json).map_err(not_json)?;
        let json = serde_json::to_vec(&document).map_err(not_json)?;
        self.sorter.push(&node.to_be_bytes(), &json)
    }

    /// Writes both files. Nodes without a document have an empty one.
    pub(super) fn finish(self) -> Result<AttributeFiles> {
        let Self { build, sorter } = self;
        let mut documents = DocumentWriter::new(build.blob(FileKind::Documents)?);
        let mut terms = build.sorter("term");
        let mut next = 0;
        sorter.finish(&mut |key, json| {
            let node = key
                .first_chunk()
                .map_or(0, |node| u32::from_be_bytes(*node));
            for _ in next..node {
                documents.push(b"{}")?;
            }
            next = node + 1;
            documents.push(json)?;
            let document: Document = serde_json::from_slice(json).map_err(not_json)?;
            for term in terms_of(&document)? {
                terms.push(&term, key)?;
            }
            Ok(())
        })?;
        for _ in next..build.nodes {
            documents.push(b"{}")?;
        }
        let documents = documents.finish()?;
        let mut file = TermWriter::new(build.blob(FileKind::Terms)?);
        terms.finish(&mut |term, key| {
            let node = key
                .first_chunk()
                .map_or(0, |node| u32::from_be_bytes(*node));
            Ok(file.push(term, node)?)
        })?;
        Ok(AttributeFiles {
            documents,
            terms: file.finish(build.nodes)?,
        })
    }
}

impl Pipeline<'_> {
    /// Writes the attributes of the rows, if any.
    pub(super) fn attributes(
        &self,
        order: &NodeOrder,
        segment: &SegmentEntry,
    ) -> Result<Option<AttributeFiles>> {
        let Some(attributes) = self.input.attributes else {
            return Ok(None);
        };
        let build = AttributeBuild {
            vfs: &self.workspace.vfs,
            dir: self.workspace.dir.clone(),
            name: (self.workspace.generation, self.segment),
            page_bytes: segment.spec.layout.page_bytes,
            records: segment.files.records.uuid,
            nodes: segment.node_count,
            memory_bytes: self.plan.budget_bytes,
        };
        let mut batch = DocumentBatch {
            attributes,
            sort: build.sort(),
            first: 0,
            nodes: Vec::with_capacity(BATCH),
        };
        if let NodeOrder::Ordered(rows) = order {
            // Rows come in the order of nodes, documents in that of rows.
            let mut by_row = build.sorter("row-node");
            rows.for_each(0..segment.node_count, |node, row| {
                by_row.push(&row.to_be_bytes(), &node.to_be_bytes())
            })?;
            by_row.finish(&mut |_, node| {
                let node = node.first_chunk();
                batch.push(node.map_or(0, |node| u32::from_be_bytes(*node)))
            })?;
        } else {
            for row in 0..segment.node_count {
                batch.push(order.node_of(RowId(row)).0)?;
            }
        }
        batch.flush()?;
        batch.sort.finish().map(Some)
    }
}

/// Documents that are read at a time.
const BATCH: usize = 4096;

/// A batch of documents in the order of their rows.
struct DocumentBatch<'d> {
    attributes: &'d dyn TextRead,
    sort: DocumentSort<'d>,
    /// Rows that were read.
    first: u64,
    /// Nodes of the next.
    nodes: Vec<u32>,
}

impl DocumentBatch<'_> {
    /// Takes the node of the next row.
    fn push(&mut self, node: u32) -> Result<()> {
        self.nodes.push(node);
        if self.nodes.len() < BATCH {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        let (count, mut nodes) = (self.nodes.len() as u64, self.nodes.iter());
        let sort = &mut self.sort;
        self.attributes.visit(self.first, count, &mut |json| {
            nodes.next().map_or(Ok(()), |node| sort.push(*node, json))
        })?;
        self.first += count;
        self.nodes.clear();
        Ok(())
    }
}

fn not_json(error: serde_json::Error) -> Error {
    Error::invalid(format!("a document: {error}"))
}

/// Refuses invalid documents before anything is built. Costs a pass over them.
///
/// # Errors
/// `InvalidInput` naming the row.
pub(super) fn check_documents(attributes: &dyn TextRead, schema: Option<&Schema>) -> Result<()> {
    let mut row = 0u64;
    attributes.visit(0, attributes.count(), &mut |json| {
        let place = format!("{}, row {row}", attributes.name());
        let checked = check_document(json).and_then(|own| check_kinds(&own, schema));
        checked.map_err(|error| error.within(&place))?;
        row += 1;
        Ok(())
    })
}
