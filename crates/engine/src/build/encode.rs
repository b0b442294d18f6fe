//! The codes of a build: quantizers trained or taken over, all nodes encoded in their order, and
//! their rows and ids beside codes that may decide answers.

use pageway_quant::{Quantizer, TrainingSample, TrainingSpec};
use pageway_store::{FileEntry, FileUuid};
use pageway_types::Guide;

use super::clusters::BuiltClusters;
use super::codes::{self, Encoding};
use super::fingerprint::Fingerprint;
use super::order::NodeOrder;
use super::pipeline::Pipeline;
use crate::error::Result;
use crate::manifest::FileKind;
use crate::resolve;
use crate::storage::{ClusterTable, Identities};

/// Identities that are written at a time.
const IDENTITIES: u32 = 8192;

/// Quantizers of a build, and the identities of their files: the same in all segments.
#[derive(Clone)]
pub(super) struct Quantizers {
    pub(super) first: (Quantizer, FileUuid),
    pub(super) second: Option<(Quantizer, FileUuid)>,
}

/// Quantizers, and the files of a segment that they were written to.
pub(super) struct Codebooks {
    pub(super) first: Quantizer,
    pub(super) first_file: FileEntry,
    pub(super) second: Option<(Quantizer, FileEntry)>,
}

/// Files of codes, and the codes of all nodes where pages need them.
pub(super) struct CodeFiles {
    pub(super) first: Option<FileEntry>,
    pub(super) second: Option<FileEntry>,
    pub(super) at_hand: Vec<u8>,
    /// Makes the fine codes that lie in records, where they do.
    pub(super) fine: Option<Quantizer>,
    /// How much the first codes lose of rows: see [`Encoding::error`].
    pub(super) error: f64,
}

impl Pipeline<'_> {
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
        // One sample at a time is held, and none that nobody is trained on.
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
            train(&spec).map(|second| (second, uuid))
        });
        Ok(Quantizers {
            first: (first, uuid),
            second: second.transpose()?,
        })
    }

    /// Writes quantizers to files of this segment.
    pub(super) fn write_codebooks(&self, quantizers: Quantizers) -> Result<Codebooks> {
        let write = |kind, quantizer: &Quantizer, uuid| -> Result<FileEntry> {
            let mut file = self.blob_of(kind, uuid)?;
            file.write(&quantizer.to_bytes())?;
            Ok(file.finish()?)
        };
        let (first, uuid) = quantizers.first;
        let first_file = write(FileKind::Codebook, &first, uuid)?;
        let second = match quantizers.second {
            Some((second, uuid)) => {
                let file = write(FileKind::SecondCodebook, &second, uuid)?;
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

    /// Trains the quantizer of codes that are made around the means of clusters: on what rows
    /// differ by from those.
    fn train_around(&self, clusters: &BuiltClusters, spec: &TrainingSpec) -> Result<Quantizer> {
        let metric = self.plan.spec.shape.metric;
        let sample = codes::residual_sample(self.input.vectors, self.plan, clusters)?;
        let training = TrainingSample {
            values: &sample,
            dimension: self.plan.spec.shape.dimension as usize,
            metric: Guide::L2,
        };
        let (kernels, pool) = (resolve::kernels()?, self.pool);
        let quantizer = Quantizer::train(&training, spec, kernels, pool, self.progress)?;
        Ok(quantizer.for_metric(metric.guide()))
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

    /// The file of the first codes, if any are in memory, and all of them, if pages need them.
    fn encode_first(
        &self,
        encoding: Encoding<'_>,
        fingerprint: Fingerprint,
    ) -> Result<(Option<FileEntry>, Vec<u8>)> {
        if !self.plan.pages_hold_codes() {
            let file = self.code_file(FileKind::Codes, encoding, fingerprint)?;
            return Ok((Some(file), Vec::new()));
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
        Ok((file, at_hand))
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

    /// Writes row and user id of each node, where they are to be in memory.
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
