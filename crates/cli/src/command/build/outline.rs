//! What `pageway build --dry-run` tells people.

use pageway::choices::chosen;
use pageway::{BuildOptions, BuildOutline, format_bytes};

use crate::text::{self, Facts};

/// What would be built.
pub(super) fn describe(outline: &BuildOutline, options: &BuildOptions) -> String {
    let shape = outline.spec.shape;
    let segments = match outline.segments {
        1 => String::new(),
        count => format!(", in {count} segments"),
    };
    let vectors = format!(
        "{} of {}{}, {}, {} raw{segments}",
        text::count(outline.nodes.into()),
        shape.vectors(),
        text::stored(shape.vectors(), outline.stored),
        shape.metric,
        format_bytes(outline.footprint.raw_bytes),
    );
    let graph = match outline.shard_nodes {
        None => "built as a whole".to_owned(),
        Some(nodes) => format!(
            "built in parts of {} nodes at most",
            text::count(nodes.into())
        ),
    };
    let memory = format!(
        "{}; {} at least",
        format_bytes(outline.memory_bytes),
        format_bytes(outline.footprint.memory_bytes())
    );
    let facts = Facts::new()
        .fact("design", options.preset.name())
        .fact("vectors", vectors)
        .fact("graph", graph)
        .fact(
            "codes",
            format!(
                "{} bytes per vector",
                outline.spec.storage.quantizer.code_bytes()
            ),
        )
        .fact("search memory", memory)
        .fact(
            "build memory",
            format!("{} at most", format_bytes(outline.build_memory_bytes)),
        )
        .fact(
            "disk",
            format!("{} free are asked for", format_bytes(outline.disk_bytes)),
        )
        .fact("threads", outline.threads.to_string());
    let choices = chosen(&outline.spec);
    let choices = choices
        .iter()
        .fold(Facts::new(), |facts, (policy, choice)| {
            facts.fact(policy.name.replace('_', " "), choice)
        });
    let mut warnings = String::new();
    for warning in &outline.warnings {
        warnings.push_str(&format!("\nWarning: {warning}\n"));
    }
    format!(
        "Nothing is built. A build without --dry-run would make:\n\n{}\nIts choices, which \
         'pageway explain' has words for\n{}{warnings}",
        facts.render(),
        choices.render()
    )
}
