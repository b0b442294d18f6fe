//! The files of a segment, and what each holds.

use pageway_store::{FileEntry, FileUuid};
use pageway_types::SplitMix64;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// What a file of an index holds; the number is in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub(crate) enum FileKind {
    /// Records in pages.
    Records = 1,
    /// One code per node.
    Codes = 2,
    /// The quantizer.
    Codebook = 3,
    /// Nodes in the order in which a cache takes them.
    HotNodes = 4,
    /// What finds where walks start.
    Entry = 5,
    /// A second code per node.
    SecondCodes = 6,
    /// The quantizer of the second codes.
    SecondCodebook = 7,
    /// Row and user id of each node.
    Identities = 8,
    /// Ids in their order, each with its node.
    Ids = 9,
    /// A bit for each node that was deleted.
    Dead = 10,
    /// The document of each node.
    Documents = 11,
    /// What documents say, by what is said.
    Terms = 12,
    /// Newer images of pages of records.
    Patch = 13,
    /// Which page of the records has its image where.
    PatchMap = 14,
    /// Where in space the rows of a segment are.
    Region = 15,
    /// Epoch of each page of the records.
    Epochs = 16,
    /// A bit for each dead node whose edges were repaired.
    Repaired = 17,
    /// What pages of the records differ by from what their files hold.
    Differences = 18,
}

impl FileKind {
    const ALL: [Self; 16] = [
        Self::Records,
        Self::Codes,
        Self::Codebook,
        Self::HotNodes,
        Self::Entry,
        Self::SecondCodes,
        Self::SecondCodebook,
        Self::Identities,
        Self::Ids,
        Self::Dead,
        Self::Patch,
        Self::PatchMap,
        Self::Region,
        Self::Epochs,
        Self::Repaired,
        Self::Differences,
    ];

    /// Whether segments may have such a file in common.
    pub(super) const fn is_shared(self) -> bool {
        matches!(self, Self::Codebook | Self::SecondCodebook)
    }

    /// The kind of a number, where it is one.
    pub(crate) fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == number)
    }

    /// Stem of the file name.
    pub(crate) const fn stem(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Codes => "codes",
            Self::Codebook => "codebook",
            Self::HotNodes => "hot",
            Self::Entry => "entry",
            Self::SecondCodes => "second-codes",
            Self::SecondCodebook => "second-codebook",
            Self::Identities => "identities",
            Self::Ids => "ids",
            Self::Dead => "dead",
            Self::Documents => "documents",
            Self::Terms => "terms",
            Self::Patch => "patch",
            Self::PatchMap => "patch-map",
            Self::Region => "region",
            Self::Epochs => "epochs",
            Self::Repaired => "repaired",
            Self::Differences => "differences",
        }
    }

    /// Identity of a file of this kind that is made beside records in a generation.
    pub(crate) fn uuid_beside(self, records: FileUuid, generation: u64) -> FileUuid {
        let mut bytes = [0; 16];
        let mut state = generation.rotate_left(20) ^ u64::from(self as u16);
        for (out, part) in bytes.chunks_exact_mut(8).zip(records.0.as_chunks::<8>().0) {
            state = SplitMix64::mix(state ^ u64::from_le_bytes(*part));
            out.copy_from_slice(&state.to_le_bytes());
        }
        FileUuid(bytes)
    }

    /// Name of the file in one generation of an index; with the number of its segment, where there
    /// are several.
    pub(crate) fn file_name(self, generation: u64, segment: Option<u32>) -> String {
        let stem = self.stem();
        match segment {
            Some(number) => format!("{stem}-{generation}-{number}.pw"),
            None => format!("{stem}-{generation}.pw"),
        }
    }
}

/// The generation that is in the name of a file; 0 for a name that no generation has given.
pub(super) fn generation_of(name: &str) -> u64 {
    let mut parts = name.split(['-', '.']);
    parts.find_map(|part| part.parse().ok()).unwrap_or(0)
}

/// Bytes of files on disk.
pub(super) fn file_bytes<'f>(files: impl IntoIterator<Item = &'f FileEntry>) -> Result<u64> {
    let mut sum = 0;
    for file in files {
        sum += file.file_bytes()?;
    }
    Ok(sum)
}

/// The attributes of the nodes of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttributeFiles {
    pub(crate) documents: FileEntry,
    pub(crate) terms: FileEntry,
}

/// Newer images of pages of the records of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchFiles {
    /// Which page has its image where.
    pub(crate) map: FileEntry,
    /// Images, older files first.
    pub(crate) images: Vec<FileEntry>,
}

/// What is known of pages of the records that were written over.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OverwrittenFiles {
    /// Epoch of each page, a u32.
    pub(crate) epochs: FileEntry,
    /// What told the records, as they are, from all others while they were in a journal.
    pub(crate) identity: FileUuid,
}

/// What came since pages, codes and ids of a segment were last written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdditionFiles {
    /// What tells the records, as they are with it, from all others.
    pub(crate) identity: FileUuid,
    /// What pages differ by from what their files hold, where any do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) differences: Option<FileEntry>,
    /// Codes of the nodes behind those of `codes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) codes: Option<FileEntry>,
    /// Those of `second_codes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) second_codes: Option<FileEntry>,
    /// Ids of nodes that are not in `ids`, and that count where both have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ids: Option<FileEntry>,
    /// Bytes of differences that were written since pages were.
    #[serde(default)]
    pub(crate) written_bytes: u64,
}

impl AdditionFiles {
    /// Every file.
    fn all(&self) -> impl Iterator<Item = &FileEntry> {
        let all = [
            &self.differences,
            &self.codes,
            &self.second_codes,
            &self.ids,
        ];
        all.into_iter().flatten()
    }
}

/// The files of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Files {
    pub(crate) records: FileEntry,
    pub(crate) codebook: FileEntry,
    /// Codes held in memory, where there are any.
    pub(crate) codes: Option<FileEntry>,
    /// Where a cache of nodes or hot pages is part of the design.
    pub(crate) hot: Option<FileEntry>,
    /// Where finding an entry takes more than a few nodes, or their codes are not in `codes`.
    pub(crate) entry: Option<FileEntry>,
    pub(crate) second_codes: Option<FileEntry>,
    pub(crate) second_codebook: Option<FileEntry>,
    /// Where codes may decide that a node is an answer.
    #[serde(default)]
    pub(crate) identities: Option<FileEntry>,
    /// Where the index was opened to be changed, and ids do not tell nodes by arithmetic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ids: Option<FileEntry>,
    /// Where rows were deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dead: Option<FileEntry>,
    /// Where rows have attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attributes: Option<AttributeFiles>,
    /// Where pages of the records have newer images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) patches: Option<PatchFiles>,
    /// Where rows were cut by space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<FileEntry>,
    /// Where pages of the records were written over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) overwritten: Option<OverwrittenFiles>,
    /// Where edges to dead nodes were repaired one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) repaired: Option<FileEntry>,
    /// Where pages, codes or ids have additions in files of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additions: Option<AdditionFiles>,
}

impl Files {
    /// What tells its records, as they are now, from all others.
    pub(crate) fn identity(&self) -> FileUuid {
        let added = self.additions.as_ref().map(|own| own.identity);
        let map = self.patches.as_ref().map(|patches| patches.map.uuid);
        let settled = self.overwritten.as_ref().map(|own| own.identity);
        added.or(map).or(settled).unwrap_or(self.records.uuid)
    }

    /// What pages differ by, where they do.
    pub(crate) fn differences(&self) -> Option<&FileEntry> {
        self.additions.as_ref()?.differences.as_ref()
    }

    /// Codes, and those of the nodes behind, where there are any.
    pub(crate) fn codes_and_additions(&self) -> [Option<&FileEntry>; 2] {
        let added = self.additions.as_ref();
        [
            self.codes.as_ref(),
            added.and_then(|own| own.codes.as_ref()),
        ]
    }

    /// The same of second codes.
    pub(crate) fn second_codes_and_additions(&self) -> [Option<&FileEntry>; 2] {
        let added = self.additions.as_ref();
        [
            self.second_codes.as_ref(),
            added.and_then(|own| own.second_codes.as_ref()),
        ]
    }

    /// The table of ids, and the one that counts before it, where there are any.
    pub(crate) fn ids_and_additions(&self) -> [Option<&FileEntry>; 2] {
        let added = self.additions.as_ref();
        [self.ids.as_ref(), added.and_then(|own| own.ids.as_ref())]
    }

    /// Whether images of pages are a journal: they go where the pages are.
    pub(crate) fn has_journal(&self) -> bool {
        self.records.growable && self.patches.is_some()
    }

    /// Bytes that memory holds of pages that were changed.
    pub(crate) fn patch_bytes(&self) -> u64 {
        let map = self.patches.as_ref().map(|own| own.map.payload_bytes);
        let epochs = self
            .overwritten
            .as_ref()
            .map(|own| own.epochs.payload_bytes);
        let differences = self.differences().map(|own| own.payload_bytes);
        let all = [map, epochs, differences].into_iter().flatten();
        all.fold(0, u64::saturating_add)
    }

    /// Every file.
    pub(crate) fn all(&self) -> Vec<&FileEntry> {
        let optional = [
            &self.codes,
            &self.hot,
            &self.entry,
            &self.second_codes,
            &self.second_codebook,
            &self.identities,
            &self.ids,
            &self.dead,
            &self.region,
            &self.repaired,
        ];
        let always = [&self.records, &self.codebook];
        let attributes = self.attributes.iter();
        let attributes = attributes.flat_map(|own| [&own.documents, &own.terms]);
        let patches = self.patches.iter();
        let patches = patches.flat_map(|own| own.images.iter().chain([&own.map]));
        always
            .into_iter()
            .chain(optional.into_iter().flatten())
            .chain(attributes)
            .chain(patches)
            .chain(self.overwritten.iter().map(|own| &own.epochs))
            .chain(self.additions.iter().flat_map(AdditionFiles::all))
            .collect()
    }

    /// The files of a segment that a build left, to name them anew.
    pub(crate) fn built_mut(&mut self) -> impl Iterator<Item = &mut FileEntry> {
        let optional = [
            &mut self.codes,
            &mut self.hot,
            &mut self.entry,
            &mut self.second_codes,
            &mut self.second_codebook,
            &mut self.identities,
            &mut self.region,
        ];
        let attributes = self.attributes.iter_mut();
        let attributes = attributes.flat_map(|own| [&mut own.documents, &mut own.terms]);
        [&mut self.records, &mut self.codebook]
            .into_iter()
            .chain(optional.into_iter().flatten())
            .chain(attributes)
    }

    /// Bytes of all files on disk, those that other segments have too among them.
    pub(crate) fn bytes(&self) -> Result<u64> {
        file_bytes(self.all())
    }

    /// Bytes of the files that were made in a generation.
    pub(crate) fn bytes_of(&self, generation: u64) -> Result<u64> {
        let files = self.all().into_iter();
        file_bytes(files.filter(|file| generation_of(&file.name) == generation))
    }
}
