//! From data to components: the one place that turns the enums of a spec into codecs, kernels and
//! policies.

mod cache;
mod codec;
mod codes;
mod entry;
mod fill;

use std::path::Path;
use std::sync::Arc;

use pageway_attributes::{Attributes, DocumentFile, TermFile};
use pageway_kernels::{KernelSet, advise_huge_pages};
use pageway_quant::Quantizer;
use pageway_store::{BlobReader, FileEntry, IoProbe, OpenMode, PageFile, Vfs};

pub(crate) use cache::{
    CacheBytes, check_hot, keeps_hot_list, list_memory_bytes, packed_list_bytes,
};
pub(crate) use codec::{AnyCodec, codec, index_shape, list_reader, segment_codec};
pub(crate) use codes::{
    code_range, codebook_bytes, codebook_file_bytes, quantizer, second_training, training,
};
pub(crate) use entry::{
    EntryFile, Structure, cluster_spec, entry_bytes, entry_codes_in_file, hash_spec,
    navigation_spec,
};

use crate::error::{Error, ErrorKind, Result};
use crate::execution::{
    AnyParts, CodePart, FixedPart, GivenRows, IndexShape, LoadedSegment, Parts,
};
use crate::layout::PageCodec;
use crate::manifest::{AttributeFiles, SegmentEntry};
use crate::spec::{EntrySpec, IdStorage};
use crate::storage::{CodeBlocks, CodeTable, Differences, Identities, RecordPages, Region, Shadow};

/// The kernels of this machine, or of `PAGEWAY_ISA`.
pub(crate) fn kernels() -> Result<&'static KernelSet> {
    KernelSet::detect().map_err(|error| Error::invalid(error.to_string()))
}

/// The files of one index, and its manifest.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub(crate) vfs: &'s dyn Vfs,
    pub(crate) dir: &'s Path,
    pub(crate) segment: &'s SegmentEntry,
}

impl Source<'_> {
    /// The error of a file that contradicts the manifest.
    pub(crate) fn corrupt(&self, name: &str, what: impl std::fmt::Display) -> Error {
        let path = self.dir.join(name);
        Error::new(ErrorKind::Corrupt, format!("{}: {what}", path.display()))
    }

    /// A whole file that an index must have.
    fn read(&self, entry: Option<&FileEntry>, name: &str) -> Result<Vec<u8>> {
        let entry = entry.ok_or_else(|| self.corrupt(name, "missing from the manifest"))?;
        Ok(BlobReader::open(self.vfs, self.dir, entry)?.read_rest(entry.payload_bytes)?)
    }

    /// A file that an index must have, and what was added to it since, as one.
    fn read_with(&self, files: [Option<&FileEntry>; 2], name: &str) -> Result<Vec<u8>> {
        let [whole, Some(added)] = files else {
            return self.read(files[0], name);
        };
        let whole = whole.ok_or_else(|| self.corrupt(name, "missing from the manifest"))?;
        let open = |file| BlobReader::open(self.vfs, self.dir, file);
        let (mut whole, mut added) = (open(whole)?, open(added)?);
        let first = whole.total_bytes() as usize;
        let mut bytes = vec![0; first + added.total_bytes() as usize];
        let (first, behind) = bytes.split_at_mut(first);
        whole.read_exact(first)?;
        added.read_exact(behind)?;
        Ok(bytes)
    }
}

/// The records, open for reads by page.
pub(crate) struct OpenPages {
    pub(crate) records: RecordPages,
    pub(crate) probe: IoProbe,
}

/// Opens the records for reads by page, past the page cache or through it.
pub(crate) fn record_pages(source: Source<'_>, mode: OpenMode) -> Result<OpenPages> {
    let Source { vfs, dir, segment } = source;
    let files = &segment.files;
    let first = PageFile::open(vfs, dir, &files.records, mode)?;
    let map = segment_codec(segment)?.map();
    let (mut images, mut shadow) = (Vec::new(), Shadow::default());
    if let Some(patches) = &files.patches {
        let open = |entry| PageFile::open(vfs, dir, entry, mode);
        images = patches
            .images
            .iter()
            .map(open)
            .collect::<std::result::Result<_, _>>()?;
        let counts = patches.images.iter().map(|image| image.units);
        let bytes = source.read(Some(&patches.map), "patches")?;
        shadow = Shadow::new(&bytes, counts)
            .map_err(|error| error.within(dir.join(&patches.map.name).display()))?;
    }
    let fits = |file: &PageFile| file.geometry() == map.geometry;
    let (pages, own) = (u64::from(map.page_count()), first.units());
    let is_whole = own <= pages && shadow.covers_from(own, pages);
    if !is_whole || !images.iter().chain([&first]).all(fits) {
        let name = &files.records.name;
        return Err(source.corrupt(name, "its pages do not fit the spec of the manifest"));
    }
    let (mut records, probe) = RecordPages::open(first, images, shadow)?;
    if let Some(overwritten) = &files.overwritten {
        let bytes = source.read(Some(&overwritten.epochs), "epochs")?;
        let epochs = bytes.as_chunks::<4>().0.iter().copied();
        let epochs: Vec<u32> = epochs.map(u32::from_le_bytes).collect();
        if epochs.len() as u64 != own || epochs.iter().any(|epoch| *epoch > files.records.epoch) {
            return Err(source.corrupt(&overwritten.epochs.name, "no epochs of these pages"));
        }
        records = records.with_epochs(epochs);
    }
    if let Some(file) = files.differences() {
        let size = (map.page_count(), map.geometry.payload_bytes());
        let differences = Differences::new(&source.read(Some(file), "differences")?, size)
            .map_err(|error| error.within(dir.join(&file.name).display()))?;
        records = records.with_differences(differences);
    }
    Ok(OpenPages { records, probe })
}

/// What another segment that is open has in common with one that is loaded.
pub(crate) enum InCommon<'s> {
    Nothing,
    /// The codebook.
    Codebook(&'s Arc<Quantizer>),
    /// All but what is cached.
    Fixed(FixedPart),
}

/// Loads what a segment holds in memory, but for what it shares, for scratches of a shape.
pub(crate) fn segment(
    source: Source<'_>,
    (records, shape): (RecordPages, IndexShape),
    cache_bytes: CacheBytes,
    shared: InCommon<'_>,
) -> Result<LoadedSegment> {
    let entry = source.segment;
    let shared = match shared {
        InCommon::Fixed(fixed) => fixed,
        InCommon::Codebook(quantizer) => fixed(source, Some(quantizer))?,
        InCommon::Nothing => fixed(source, None)?,
    };
    let loading = (&records, cache_bytes, shared);
    let parts = match segment_codec(entry)? {
        AnyCodec::Record(codec) => AnyParts::Record(parts(source, codec, loading)?),
        AnyCodec::PageNode(codec) => AnyParts::PageNode(parts(source, codec, loading)?),
    };
    Ok(LoadedSegment {
        parts,
        shape,
        pages: records,
        kernels: kernels()?,
        given: given_rows(entry)?,
        first_id: (entry.spec.storage.ids == IdStorage::RowNumber).then(|| entry.first_id()),
        records: entry.files.identity(),
        codebook: entry.files.codebook.uuid,
        attributes: attributes(source)?,
        region: region(source)?,
    })
}

/// How vectors are given back.
fn given_rows(segment: &SegmentEntry) -> Result<GivenRows> {
    let widen = kernels()?.widen(segment.spec.shape.element);
    let shape = segment.spec.shape.vectors();
    Ok(GivenRows::new(
        shape,
        segment.is_narrowed().then_some(widen),
    ))
}

/// The error of queries that stored vectors are not compared with.
fn uncompared(segment: &SegmentEntry) -> Error {
    let (given, stored) = (segment.element, segment.spec.shape.element);
    let what = format!("queries of {given} are not compared with vectors of {stored}");
    Error::new(ErrorKind::Corrupt, what)
}

/// Where in space its rows are, where that is known.
fn region(source: Source<'_>) -> Result<Option<Region>> {
    let Some(file) = &source.segment.files.region else {
        return Ok(None);
    };
    let bytes = source.read(Some(file), "region")?;
    let dimension = source.segment.spec.shape.dimension as usize;
    let region = Region::from_bytes(&bytes, dimension);
    let whole = region.filter(|region| region.row_count() == u64::from(source.segment.node_count));
    let damaged = || source.corrupt(&file.name, "its centres do not have the rows");
    whole.map(Some).ok_or_else(damaged)
}

/// The attributes of the nodes, where they have any.
pub(crate) fn attributes(source: Source<'_>) -> Result<Option<Attributes>> {
    let Source { vfs, dir, segment } = source;
    let open = |files: &AttributeFiles| -> Result<Attributes> {
        let nodes = segment.node_count;
        Ok(Attributes::new(
            TermFile::open(vfs, dir, &files.terms, nodes)?,
            DocumentFile::open(vfs, dir, &files.documents, nodes)?,
        ))
    };
    segment.files.attributes.as_ref().map(open).transpose()
}

fn parts<C: PageCodec>(
    source: Source<'_>,
    codec: C,
    (records, cache_bytes, fixed): (&RecordPages, CacheBytes, FixedPart),
) -> Result<Parts<C>> {
    let (segment, kernels) = (source.segment, kernels()?);
    let (shape, storage) = (segment.spec.shape, &segment.spec.storage);
    Ok(Parts {
        cache: cache::load(source, &codec, records, cache_bytes)?,
        entry: fixed.entry,
        codes: fixed.codes,
        second: fixed.second,
        identities: fixed.identities,
        vectors: storage.vectors,
        codec,
        exact: kernels
            .distance_to((segment.element, shape.element), shape.metric)
            .ok_or_else(|| uncompared(segment))?,
        widen: kernels.widen(segment.element),
        execution: segment.spec.execution,
    })
}

/// What a segment holds however much of it is cached, with this quantizer where it is known.
fn fixed(source: Source<'_>, known: Option<&Arc<Quantizer>>) -> Result<FixedPart> {
    let segment = source.segment;
    let quantizer = if let Some(quantizer) = known {
        Arc::clone(quantizer)
    } else {
        let spec = segment.spec.storage.quantizer;
        Arc::new(codes::quantizer(source, &segment.files.codebook, spec)?)
    };
    Ok(FixedPart {
        entry: Arc::new(entry::load(source)?),
        codes: Arc::new(codes_of_nodes(source, quantizer)?),
        second: second_codes(source)?.map(Arc::new),
        identities: identities(source)?.map(Arc::new),
    })
}

/// The codes of all nodes, or of the first ones, in the form that is searched.
fn codes_of_nodes(source: Source<'_>, quantizer: Arc<Quantizer>) -> Result<CodePart> {
    let segment = source.segment;
    let (mut table, mut blocks) = (CodeTable::default(), CodeBlocks::default());
    let files = segment.files.codes_and_additions();
    if files[0].is_some() {
        let bytes = source.read_with(files, "codes")?;
        if segment.spec.execution.entry == EntrySpec::Clusters {
            blocks = CodeBlocks::new(bytes, &quantizer);
        } else {
            let in_memory = segment.spec.storage.codes_in_memory(segment.node_count);
            advise_huge_pages(&bytes);
            table = if in_memory == segment.node_count {
                codes::arranged(bytes, in_memory, &quantizer)
            } else {
                CodeTable::stored(bytes, in_memory)
            };
        }
    }
    Ok(CodePart {
        table,
        blocks,
        quantizer,
    })
}

fn second_codes(source: Source<'_>) -> Result<Option<CodePart>> {
    let files = &source.segment.files;
    let spec = source.segment.spec.storage.second_quantizer;
    let (Some(spec), Some(codebook)) = (spec, &files.second_codebook) else {
        return Ok(None);
    };
    let quantizer = Arc::new(codes::quantizer(source, codebook, spec)?);
    let in_memory = source.segment.spec.storage.second_codes_in_memory();
    let table = match in_memory {
        Some(_) => {
            let bytes = source.read_with(files.second_codes_and_additions(), "second-codes")?;
            advise_huge_pages(&bytes);
            codes::arranged(bytes, source.segment.node_count, &quantizer)
        }
        None => CodeTable::default(),
    };
    Ok(Some(CodePart {
        table,
        blocks: CodeBlocks::default(),
        quantizer,
    }))
}

/// What a search returns of nodes that it never read, where that is in memory.
pub(crate) fn identities(source: Source<'_>) -> Result<Option<Identities>> {
    let spec = &source.segment.spec;
    if !Identities::are_kept(spec) {
        return Ok(None);
    }
    let stride = Identities::stride(spec);
    let bytes = match &source.segment.files.identities {
        Some(file) => source.read(Some(file), "identities")?,
        None => Vec::new(),
    };
    Ok(Some(Identities::new(bytes, stride)))
}

/// Checks what `searcher` would load, apart from the records.
pub(crate) fn check_side_files(source: Source<'_>) -> Result<()> {
    let segment = source.segment;
    let storage = &segment.spec.storage;
    codes::quantizer(source, &segment.files.codebook, storage.quantizer)?;
    second_codes(source)?;
    entry::load(source)?;
    region(source)?;
    if let Some(attributes) = attributes(source)? {
        attributes.verify()?;
    }
    check_hot(source)
}
