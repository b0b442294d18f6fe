//! What a design takes on disk and in memory.

use pageway::{Footprint, IndexSpec, format_bytes};

use crate::text::{self, Facts};

/// The sizes, a line each.
pub(super) fn describe(spec: &IndexSpec, footprint: &Footprint) -> Facts {
    let raw = format!(
        "{} of {}, {}, {} raw",
        text::count(footprint.nodes.into()),
        spec.shape.vectors(),
        spec.shape.metric,
        format_bytes(footprint.raw_bytes)
    );
    let times = footprint.disk_bytes as f64 / footprint.raw_bytes.max(1) as f64;
    let disk = format_bytes(footprint.disk_bytes);
    Facts::new()
        .fact("vectors", raw)
        .fact("page", describe_page(spec, footprint))
        .fact("disk", format!("{disk}, {times:.1} times the raw vectors"))
        .fact("least memory", describe_memory(footprint))
}

fn describe_page(spec: &IndexSpec, footprint: &Footprint) -> String {
    let nodes = footprint.nodes_per_page;
    let place = match footprint.pages_per_read {
        0 | 1 => format!("{} bytes", text::count(spec.layout.page_bytes.into())),
        pages => format!(
            "{pages} pages of {} bytes",
            text::count(spec.layout.page_bytes.into())
        ),
    };
    match (footprint.record_bytes, footprint.vectors_per_page) {
        (Some(record), 0) => {
            format!("{place} hold {}", records(nodes, "record", record))
        }
        (Some(record), vectors) => {
            let lists = records(nodes, "list", record);
            format!("{place} hold {lists}, or {vectors} vectors")
        }
        (None, _) => format!(
            "{place} hold {nodes} vector{} with up to {} neighbours in common",
            if nodes == 1 { "" } else { "s" },
            footprint.max_neighbors
        ),
    }
}

fn records(count: u32, what: &str, bytes: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    let bytes = text::count(bytes);
    format!("{count} {what}{plural} of {bytes} bytes")
}

fn describe_memory(footprint: &Footprint) -> String {
    let total = footprint.memory_bytes();
    let share = text::of_raw(total, footprint.raw_bytes);
    let parts: Vec<String> = footprint
        .memory
        .iter()
        .map(|(part, bytes)| format!("{part} {}", format_bytes(*bytes)))
        .collect();
    format!("{}, {share}: {}", format_bytes(total), parts.join(", "))
}
