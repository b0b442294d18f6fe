//! The form of a candidate, kept over fewer vectors.
//!
//! A preset with several forms takes the first that memory holds. Parts of constant size (axes, a
//! query's scratch) weigh more over a sample, so a build of it by preset and memory alone might
//! take another form than one over all vectors. Every choice of the spec is therefore named; its
//! sizes are left to the options.

use pageway::{IndexSpec, Overrides};

/// Every choice of `spec`.
pub(crate) fn kept(spec: &IndexSpec) -> Overrides {
    let (storage, layout, execution) = (&spec.storage, &spec.layout, &spec.execution);
    Overrides {
        graph: Some(spec.graph),
        vectors: Some(storage.vectors),
        codes: Some(storage.codes),
        quantizer: Some(storage.quantizer),
        second_quantizer: Some(storage.second_quantizer),
        ids_in_memory: Some(storage.ids_in_memory),
        codec: Some(layout.codec),
        placement: Some(layout.placement),
        lists: Some(layout.lists),
        cache: spec.cache.into(),
        entry: Some(execution.entry),
        schedule: Some(execution.schedule),
        harvest: Some(execution.harvest),
        refine: Some(execution.refine),
        stop: Some(execution.stop),
        slack: Some(execution.slack),
    }
}

#[cfg(test)]
mod tests {
    use pageway::spec::Shape;
    use pageway::{ElementType, Metric, Preset, Sizes};

    use super::*;

    #[test]
    fn any_preset_becomes_the_form_that_is_kept() {
        let shape = Shape {
            dimension: 384,
            element: ElementType::F32,
            metric: Metric::Cosine,
        };
        let sizes = Sizes {
            code_bytes: 48,
            ..Sizes::default()
        };
        for from in Preset::ALL {
            let wanted = from.spec(shape, &sizes);
            for other in Preset::ALL {
                let mut found = kept(&wanted).apply(other.spec(shape, &sizes));
                // The length of a code is left to the options.
                found.storage.quantizer = wanted.storage.quantizer;
                assert_eq!(found, wanted, "{from} from {other}");
            }
        }
    }
}
