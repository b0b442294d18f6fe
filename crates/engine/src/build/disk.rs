//! The disk that a build needs, for its index and for temporary files.

use super::graph_file::list_bytes;
use super::plan::{BuildPlan, GraphPlan};

use crate::error::Result;
use crate::options::BuildInput;
use crate::plan::index_bytes;
use crate::resolve;

/// Texts of attributes that tell how long others are.
const SAMPLED_TEXTS: u64 = 10_000;

/// Disk that the build needs, temporary files included.
pub(super) fn disk_bytes(plan: &BuildPlan) -> Result<u64> {
    Ok(index_disk_bytes(plan)? + peak_temporary_bytes(plan))
}

/// Disk that the index needs.
pub(super) fn index_disk_bytes(plan: &BuildPlan) -> Result<u64> {
    Ok(u64::from(plan.cut.runs()) * index_bytes(&plan.spec, plan.node_count)?)
}

/// Disk that attributes need, about: what they take as texts, by the first ones. Documents are
/// packed, but have terms beside them.
///
/// # Errors
/// As reading them is.
pub(super) fn attribute_bytes(input: &BuildInput<'_>) -> Result<u64> {
    let Some(texts) = input.attributes else {
        return Ok(0);
    };
    let (mut bytes, count) = (0, texts.count());
    let looked_at = count.min(SAMPLED_TEXTS);
    texts.visit(0, looked_at, &mut |text| {
        bytes += text.len() as u64;
        Ok(())
    })?;
    Ok((bytes as f64 * count as f64 / looked_at.max(1) as f64) as u64)
}

/// Most bytes of temporary files at once.
pub(super) fn peak_temporary_bytes(plan: &BuildPlan) -> u64 {
    let ordering = ordering_bytes(plan);
    let graph = graph_bytes(plan);
    // A part is removed before the next is read. Rows stay while shards are made, their lists until
    // they are merged, and the graph until its nodes are placed.
    let merging = ordering + sharding_bytes(plan).max(merged_bytes(plan) + graph);
    let placed = placed_bytes(plan, ordering + graph);
    let paging = ordering + graph + placed + waiting_bytes(plan);
    joined_bytes(plan) + (2 * ordering * 5 / 8).max(merging).max(paging)
}

/// Bytes that a build writes to temporary files.
pub(super) fn temporary_bytes(plan: &BuildPlan) -> u64 {
    let (ordering, graph) = (ordering_bytes(plan), graph_bytes(plan));
    let placed = placed_bytes(plan, ordering + graph);
    let own = 2 * ordering + sharding_bytes(plan) + graph + placed + waiting_bytes(plan);
    own + joined_bytes(plan)
}

/// Bytes of lists that are joined.
fn joined_bytes(plan: &BuildPlan) -> u64 {
    if plan.joins() { plan.joined_bytes() } else { 0 }
}

/// Bytes of `moved` rows and lists that are placed, and of their places.
fn placed_bytes(plan: &BuildPlan, moved: u64) -> u64 {
    let places = 4 * u64::from(plan.node_count);
    plan.graph.window().map_or(0, |_| moved + places)
}

/// Bytes of the rows in order, if they are put in order part by part.
fn ordering_bytes(plan: &BuildPlan) -> u64 {
    let rows = u64::from(plan.node_count) * plan.identified_bytes();
    let means = resolve::cluster_spec(&plan.spec).map_or(0, |spec| {
        let clusters = u64::from(spec.clusters(plan.node_count));
        clusters * u64::from(plan.spec.shape.dimension) * size_of::<f32>() as u64
    });
    plan.parts.map_or(0, |_| rows + means)
}

/// Bytes of shards and of their lists: each node is in two.
fn sharding_bytes(plan: &BuildPlan) -> u64 {
    let row = plan.spec.shape.vectors().row_bytes() as u64;
    let nodes = u64::from(plan.node_count);
    let capacity = plan.graph.capacity();
    let dealt = capacity.map_or(0, |capacity| 2 * nodes + plan.scaffold_nodes(capacity));
    dealt * (row + 4) + merged_bytes(plan)
}

/// Bytes of the lists of shards.
fn merged_bytes(plan: &BuildPlan) -> u64 {
    let list = 4 * u64::from(plan.shard_degree() + 2);
    let nodes = u64::from(plan.node_count);
    let capacity = plan.graph.capacity();
    capacity.map_or(0, |capacity| {
        (2 * nodes + plan.scaffold_nodes(capacity)) * list
    })
}

/// Bytes of a graph on disk.
fn graph_bytes(plan: &BuildPlan) -> u64 {
    let list = list_bytes(plan.spec.graph.max_degree()) as u64;
    let is_file = plan.graph != GraphPlan::Whole;
    u64::from(is_file) * u64::from(plan.node_count) * list
}

/// Bytes of codes that wait on disk for pages.
fn waiting_bytes(plan: &BuildPlan) -> u64 {
    u64::from(plan.codes_wait_on_disk()) * plan.code_table_bytes()
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, VectorShape};

    use super::*;
    use crate::source::{TextSlice, VectorSlice};

    #[test]
    fn attributes_count_as_texts() {
        let shape = VectorShape {
            dimension: 1,
            element: ElementType::U8,
        };
        let vectors = VectorSlice::new(&[1, 2], shape).unwrap();
        let bare = BuildInput::new(&vectors, "rows");
        assert_eq!(attribute_bytes(&bare).unwrap(), 0);
        let texts = [r#"{"a":1}"#, "{}"].map(str::to_owned);
        let attributes = TextSlice::attributes(&texts);
        let input = bare.with_attributes(Some(&attributes));
        assert_eq!(attribute_bytes(&input).unwrap(), 9);
    }
}
