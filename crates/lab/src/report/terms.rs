//! Memory of a search by the formulas of the evaluation (eq. 1 to 3).
//!
//! With N vectors of d elements of `s_d` bytes, max degree R, ids of `s_i` = 4 bytes and codes of
//! `n_pq` parts of k = 1 byte:
//!
//! ```text
//! M_total = M_nav + M_pq + M_cache + C
//! M_nav   = (d s_d + (1 + R) s_i) N        here: over the sampled nodes of a navigation graph
//! M_pq    = d s_d 2^(8 k) + n_pq k N       here: over the nodes whose codes are in memory
//! M_cache = M_dynamic + N_hot (d s_d + (1 + R) s_i)
//! BPF     = page_size / (d s_d + (1 + R) s_i)
//! ```

use serde_json::Value;

use super::reading::peak;
use super::storage;
use crate::record::{Record, Run};

/// Bytes of an id.
const ID_BYTES: f64 = 4.0;
/// Centroids per part of a code.
const CENTROIDS: f64 = 256.0;

/// A term for the index that a search went over, and its caches.
pub(super) fn term(run: &Run, search: &Record, name: &str) -> Option<f64> {
    let description = storage::description(run, search)?;
    let number = |path: &str| description.pointer(path).and_then(Value::as_f64);
    let vector = number("/spec/shape/dimension")? * element_bytes(description)?;
    let list = (1.0 + number("/spec/graph/max_degree")?) * ID_BYTES;
    let all = || {
        let parts = ["navigation", "codes", "cache"].map(|part| term(run, search, part));
        parts.into_iter().sum::<Option<f64>>()
    };
    match name {
        "navigation" => {
            let nodes = number("/nodes")?;
            let sampled = number("/spec/execution/entry/one_in").map_or(0.0, |each| nodes / each);
            Some((vector + list) * sampled)
        }
        "codes" => codes(description, vector),
        "cache" => {
            let counted = |path: &str| search.number(path).unwrap_or(0.0);
            let lists = description.pointer("/spec/cache/nodes")?.as_str() == Some("lists");
            let hot = if lists { list } else { vector + list };
            let page = number("/spec/layout/page_bytes")?;
            Some(counted("cached_pages") * page + counted("cached_nodes") * hot)
        }
        "vectors per page" => Some(number("/spec/layout/page_bytes")? / (vector + list)),
        "rest" => Some(peak(search)? - all()?),
        _ => all(),
    }
}

/// Codebooks, and the codes that are in memory.
fn codes(description: &Value, vector: f64) -> Option<f64> {
    let number = |path: &str| description.pointer(path).and_then(Value::as_f64);
    let nodes = number("/nodes")?;
    let split = number("/spec/storage/codes/split/memory_nodes");
    let in_memory = match storage::codes_on_disk(description) {
        Some(true) => 0.0,
        _ => split.map_or(nodes, |split| split.min(nodes)),
    };
    let code = number("/spec/storage/quantizer/code_bytes")?;
    let second = number("/spec/storage/second_quantizer/code_bytes");
    let books = 1.0 + f64::from(u8::from(second.is_some()));
    let second_codes = second.map_or(0.0, |second| second * nodes);
    Some(books * vector * CENTROIDS + code * in_memory + second_codes)
}

fn element_bytes(description: &Value) -> Option<f64> {
    match description.pointer("/spec/shape/element")?.as_str()? {
        "f32" => Some(4.0),
        "f16" | "bf16" => Some(2.0),
        "u8" | "i8" => Some(1.0),
        "bit" => Some(0.125),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::fixture::{build, give, run, search};

    fn of(mut built: Record, name: &str) -> Option<f64> {
        let numbers = json!({"cached_nodes": 100, "cached_pages": 2});
        let searched = give(search("space", "photos", "diskann", 40, 0.95), numbers);
        built.design = "diskann".to_owned();
        term(&run(vec![built]), &searched, name)
    }

    #[test]
    fn the_terms_are_those_of_the_formula() {
        let built = || build("photos", "diskann", "memory");
        let node = 128.0 + 49.0 * 4.0;
        assert_eq!(of(built(), "navigation"), Some(0.0));
        let codes = 128.0 * 256.0 + 16.0 * 10_000.0;
        assert_eq!(of(built(), "codes"), Some(codes));
        let cache = 2.0 * 4096.0 + 100.0 * node;
        assert_eq!(of(built(), "cache"), Some(cache));
        assert_eq!(of(built(), "vectors per page"), Some(4096.0 / node));
        assert_eq!(of(built(), "all"), Some(codes + cache));
        assert_eq!(of(built(), "rest"), Some(30e6 - codes - cache));
        assert_eq!(
            of(build("photos", "diskann", "in_page"), "codes"),
            Some(128.0 * 256.0)
        );
    }

    #[test]
    fn a_sample_is_navigated_and_a_second_code_counts() {
        let mut built = build("photos", "diskann", "memory");
        let spec = built.result.pointer_mut("/description/spec").unwrap();
        spec["execution"]["entry"] = json!({"kind": "navigation", "one_in": 100});
        spec["storage"]["second_quantizer"] = json!({"kind": "pq", "code_bytes": 8});
        spec["storage"]["codes"] = json!({"split": {"memory_nodes": 500}});
        spec["cache"]["nodes"] = json!("lists");
        let terms = ["navigation", "codes", "cache"].map(|name| of(built.clone(), name).unwrap());
        let codes = 2.0 * 128.0 * 256.0 + 16.0 * 500.0 + 8.0 * 10_000.0;
        let lists = 49.0 * 4.0 * 100.0;
        assert_eq!(
            terms,
            [100.0 * (128.0 + 196.0), codes, 2.0 * 4096.0 + lists]
        );
    }
}
