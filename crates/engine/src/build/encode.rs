//! The codes of a build: quantizers trained or taken over, all nodes encoded in their order, and
//! their rows and ids beside codes that may decide answers.

use pageway_quant::{Quantizer, TrainingSample, TrainingSpec};
use pageway_store::{BlobWriter, FileEntry, FileUuid};
use pageway_types::{Guide, NodeId};
use rayon::ThreadPool;

use super::clusters::BuiltClusters;
use super::codes::{self, Encoding};
use super::fingerprint::Fingerprint;
use super::gather::Gathered;
use super::order::NodeOrder;
use super::pipeline::Pipeline;
use super::spill::Spill;
use crate::error::Result;
use crate::manifest::FileKind;
use crate::resolve;
use crate::storage::{ClusterTable, Identities};

/// Identities that are written at a time.
const IDENTITIES: u32 = 8192;

/// Quantizers of a build: the same in all segments.
#[derive(Clone)]
pub(super) struct Quantizers {
    pub(super) first: (Quantizer, CodebookFile),
    pub(super) second: Option<(Quantizer, CodebookFile)>,
}

/// Where a segment finds its quantizer.
#[derive(Clone)]
pub(super) enum CodebookFile {
    /// In a file of its own, with this identity.
    Own(FileUuid),
    /// In the file of another segment of the index.
    Shared(FileEntry),
}

/// Quantizers, and the files that hold them.
pub(super) struct Codebooks {
    pub(super) first: Quantizer,
    pub(super) first_file: FileEntry,
    pub(super) second: Option<(Quantizer, FileEntry)>,
}

/// Files of codes, and the codes of all nodes where pages need them.
pub(super) struct CodeFiles {
    pub(super) first: Option<FileEntry>,
    pub(super) second: Option<FileEntry>,
    pub(super) at_hand: CodesAtHand,
    /// Makes the fine codes that lie in records, if any do.
    pub(super) fine: Option<Quantizer>,
    /// Error of the first codes: see [`Encoding::error`].
    pub(super) error: f64,
}

/// The codes of all nodes, in their order, for pages that hold some of them.
pub(super) enum CodesAtHand {
    /// Pages hold none.
    None,
    /// In memory, with the bytes of a code.
    Held(Vec<u8>, usize),
    /// On disk, with the bytes of a code.
    File(Spill, usize),
}

impl CodesAtHand {
    /// Bytes of a code, if codes are on disk.
    pub(super) const fn record_bytes(&self) -> Option<usize> {
        match self {
            Self::None | Self::Held(..) => None,
            Self::File(_, code_bytes) => Some(*code_bytes),
        }
    }

    /// Reads the codes of some nodes, if they are on disk.
    pub(super) fn gather(&self, nodes: &[NodeId], pool: &ThreadPool) -> Result<Gathered> {
        let Self::File(spill, code_bytes) = self else {
            return Ok(Gathered::default());
        };
        let wanted = nodes.iter().map(|node| node.0).collect();
        let bytes = *code_bytes as u64;
        let read = |first: u64, out: &mut [u8]| spill.read_at(out, first * bytes);
        Gathered::read(wanted, *code_bytes, &read, pool)
    }

    /// The code of a node; if codes are on disk, it must have been gathered.
    pub(super) fn code<'c>(&'c self, node: NodeId, gathered: &'c Gathered) -> Option<&'c [u8]> {
        match self {
            Self::None => None,
            Self::Held(codes, bytes) => codes.get(node.index() * bytes..(node.index() + 1) * bytes),
            Self::File(..) => gathered.get(node.0),
        }
    }
}

impl Pipeline<'_> {
    /// The quantizers that an earlier build kept; otherwise trains them.
    pub(super) fn trained(
        &self,
        fingerprint: Fingerprint,
        clusters: Option<&BuiltClusters>,
    ) -> Result<Quantizers> {
        let files = self.files(fingerprint);
        let stages = ["codebook", "second-codebook"];
        let second = self.plan.second_quantizer().is_some();
        let wanted = if second { 2 } else { 1 };
        let found: Vec<Option<Vec<u8>>> = stages
            .iter()
            .take(wanted)
            .map(|stage| files.find_bytes(stage))
            .collect::<Result<_>>()?;
        let read = |bytes: &Vec<u8>| Quantizer::from_bytes(bytes).ok();
        let mut found = found.iter().map(|bytes| bytes.as_ref().and_then(read));
        let (first, other) = (found.next().flatten(), found.next().flatten());
        if let (Some(first), false, None) = (&first, second && other.is_none(), self.codebook) {
            let own = |kind: FileKind| CodebookFile::Own(fingerprint.uuid(kind.stem()));
            return Ok(Quantizers {
                first: (first.clone(), own(FileKind::Codebook)),
                second: other.map(|other| (other, own(FileKind::SecondCodebook))),
            });
        }
        let trained = self.train(fingerprint, clusters)?;
        if files.scratch.resumes() {
            let all = [Some(&trained.first), trained.second.as_ref()];
            for (stage, own) in stages.iter().zip(all) {
                let bytes = own.map(|(quantizer, _)| quantizer.to_bytes());
                bytes.map_or(Ok(()), |bytes| files.keep_bytes(stage, &bytes))?;
            }
        }
        Ok(trained)
    }

    /// Trains the quantizers, or takes one over.
    pub(super) fn train(
        &self,
        fingerprint: Fingerprint,
        clusters: Option<&BuiltClusters>,
    ) -> Result<Quantizers> {
        let (spec, second) = (self.plan.quantizer(), self.plan.second_quantizer());
        let known = match (self.codebook, clusters.filter(|_| spec.has_centres())) {
            (Some(shared), _) => Some(shared.quantizer.clone()),
            (None, Some(clusters)) => Some(self.train_around(clusters, &spec)?),
            (None, None) => None,
        };
        // One sample at a time is held, and none if no quantizer needs it.
        let sample = match (&known, second) {
            (Some(_), None) => Vec::new(),
            _ => codes::widened_sample(self.input.vectors, self.plan)?,
        };
        let train = |spec: &TrainingSpec| {
            codes::train(&sample, (self.plan, spec), self.pool, self.progress)
        };
        let own = fingerprint.uuid(FileKind::Codebook.stem());
        let uuid = self.codebook.map_or(own, |shared| shared.uuid);
        let first = known.map_or_else(|| train(&spec), Ok)?;
        let second = second.map(|spec| {
            let uuid = fingerprint.uuid(FileKind::SecondCodebook.stem());
            train(&spec).map(|second| (second, CodebookFile::Own(uuid)))
        });
        Ok(Quantizers {
            first: (first, CodebookFile::Own(uuid)),
            second: second.transpose()?,
        })
    }

    /// Writes quantizers to files of this segment, unless another has them.
    pub(super) fn write_codebooks(&self, quantizers: Quantizers) -> Result<Codebooks> {
        let write = |kind, quantizer: &Quantizer, file| -> Result<FileEntry> {
            let uuid = match file {
                CodebookFile::Shared(file) => return Ok(file),
                CodebookFile::Own(uuid) => uuid,
            };
            let mut file = self.blob_of(kind, uuid)?;
            file.write(&quantizer.to_bytes())?;
            Ok(file.finish()?)
        };
        let (first, file) = quantizers.first;
        let first_file = write(FileKind::Codebook, &first, file)?;
        let second = match quantizers.second {
            Some((second, file)) => {
                let file = write(FileKind::SecondCodebook, &second, file)?;
                Some((second, file))
            }
            None => None,
        };
        Ok(Codebooks {
            first,
            first_file,
            second,
        })
    }

    /// Trains the quantizer of codes around cluster means, on the differences of rows from these.
    fn train_around(&self, clusters: &BuiltClusters, spec: &TrainingSpec) -> Result<Quantizer> {
        let metric = self.plan.spec.shape.metric;
        let sample = codes::residual_sample(self.input.vectors, self.plan, clusters)?;
        let training = TrainingSample {
            values: &sample.values,
            dimension: self.plan.spec.shape.dimension as usize,
            metric: Guide::L2,
        };
        let (kernels, pool) = (resolve::kernels()?, self.pool);
        let quantizer = Quantizer::train(&training, spec, kernels, pool, self.progress)?;
        Ok(quantizer.around(metric.guide(), &sample.origin))
    }

    /// Encodes all nodes in their order: for memory, for pages, or for both.
    pub(super) fn encode(
        &self,
        codebooks: &Codebooks,
        (order, table): (&NodeOrder, Option<&ClusterTable>),
        fingerprint: Fingerprint,
    ) -> Result<CodeFiles> {
        let encoding = |quantizer| Encoding {
            vectors: self.input.vectors,
            order,
            around: None,
            quantizer,
            pool: self.pool,
        };
        let of_first = Encoding {
            around: table,
            ..encoding(&codebooks.first)
        };
        let error = of_first.error(self.plan.node_count)?;
        let (first, at_hand) = self.encode_first(of_first, fingerprint)?;
        let in_memory = self.plan.spec.storage.second_codes_in_memory().is_some();
        let second = match &codebooks.second {
            Some((quantizer, _)) if in_memory => {
                Some(self.code_file(FileKind::SecondCodes, encoding(quantizer), fingerprint)?)
            }
            Some(_) | None => None,
        };
        let fine = codebooks.second.as_ref().filter(|_| !in_memory);
        Ok(CodeFiles {
            first,
            second,
            at_hand,
            fine: fine.map(|(quantizer, _)| quantizer.clone()),
            error,
        })
    }

    /// The file of the first codes, if searches hold any in memory, and all codes, if pages need
    /// them.
    fn encode_first(
        &self,
        encoding: Encoding<'_>,
        fingerprint: Fingerprint,
    ) -> Result<(Option<FileEntry>, CodesAtHand)> {
        if !self.plan.pages_hold_codes() {
            let file = self.code_file(FileKind::Codes, encoding, fingerprint)?;
            return Ok((Some(file), CodesAtHand::None));
        }
        if self.plan.codes_wait_on_disk() {
            return self.encode_to_disk(encoding, fingerprint);
        }
        let nodes = self.plan.node_count;
        let code_bytes = encoding.quantizer.code_bytes();
        let mut at_hand = Vec::with_capacity(nodes as usize * code_bytes);
        encoding.run(nodes.into(), self.progress, &mut |codes| {
            at_hand.extend_from_slice(codes);
            Ok(())
        })?;
        let in_memory = self.plan.spec.storage.codes_in_memory(nodes) as usize * code_bytes;
        let file = match at_hand.get(..in_memory).filter(|codes| !codes.is_empty()) {
            Some(codes) => Some(self.write_blob(FileKind::Codes, fingerprint, codes)?),
            None => None,
        };
        Ok((file, CodesAtHand::Held(at_hand, code_bytes)))
    }

    /// The same, but those that pages need go to a temporary file.
    fn encode_to_disk(
        &self,
        encoding: Encoding<'_>,
        fingerprint: Fingerprint,
    ) -> Result<(Option<FileEntry>, CodesAtHand)> {
        let nodes = self.plan.node_count;
        let code_bytes = encoding.quantizer.code_bytes();
        let mut left = self.plan.spec.storage.codes_in_memory(nodes) as usize * code_bytes;
        let blob = || self.blob(FileKind::Codes, fingerprint);
        let mut file = (left > 0).then(blob).transpose()?;
        let mut out = self.files(fingerprint).writer("codes")?;
        encoding.run(nodes.into(), self.progress, &mut |codes| {
            if let Some(file) = &mut file {
                let (own, _) = codes.split_at(left.min(codes.len()));
                left -= own.len();
                file.write(own)?;
            }
            out.write(codes)
        })?;
        let file = file.map(BlobWriter::finish).transpose()?;
        Ok((file, CodesAtHand::File(out.finish()?, code_bytes)))
    }

    fn code_file(
        &self,
        kind: FileKind,
        encoding: Encoding<'_>,
        fingerprint: Fingerprint,
    ) -> Result<FileEntry> {
        let mut file = self.blob(kind, fingerprint)?;
        let mut write = |codes: &[u8]| Ok(file.write(codes)?);
        encoding.run(self.plan.node_count.into(), self.progress, &mut write)?;
        Ok(file.finish()?)
    }

    /// Writes row and user id of each node, if searches hold them in memory.
    pub(super) fn identities(
        &self,
        order: &NodeOrder,
        fingerprint: Fingerprint,
    ) -> Result<Option<FileEntry>> {
        let spec = &self.plan.spec;
        if Identities::bytes(spec, self.plan.node_count) == 0 {
            return Ok(None);
        }
        let stride = Identities::stride(spec);
        let mut file = self.blob(FileKind::Identities, fingerprint)?;
        let (mut entries, mut numbers) = (Vec::new(), Vec::new());
        let (mut first, mut ids) = (0, Vec::new());
        while first < self.plan.node_count {
            let nodes = first..self.plan.node_count.min(first + IDENTITIES);
            order.numbers(nodes.clone(), &mut numbers)?;
            order.user_ids((self.input.ids, nodes.clone()), &numbers, &mut ids)?;
            entries.clear();
            for (row, user_id) in numbers.iter().zip(&ids) {
                Identities::push(&mut entries, stride, (*row, *user_id));
            }
            file.write(&entries)?;
            first = nodes.end;
        }
        Ok(Some(file.finish()?))
    }
}
