//! Axis 1: where vectors and codes live.

mod blocks;
mod clusters;
mod codes;
mod differences;
mod identities;
mod pages;
mod records;
mod region;
mod shadow;

pub(crate) use blocks::CodeBlocks;
pub(crate) use clusters::{ClusterTable, FoundClusters, MeanQuery, NextMean};
pub(crate) use codes::{CodeTable, EntryCodes};
pub(crate) use differences::{DIFFERENCE_BYTES, Differences, difference};
pub(crate) use identities::Identities;
pub(crate) use pages::{EPOCH_BYTES, RecordPages};
pub(crate) use records::{TRANSFER_BYTES, gather, read_failed, scan};
pub(crate) use region::Region;
pub(crate) use shadow::{SHADOW_ENTRY_BYTES, Shadow};
