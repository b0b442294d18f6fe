//! Choices by name: what the caller writes as a dict, over the design that is built.

use pageway::choices::Wishes;
use pageway::spec::Shape;
use pageway::{BuildOptions, Result, VectorRead, VectorShape};

/// The options with the choices of `wishes`, a JSON object of policies.
///
/// # Errors
/// `InvalidInput` naming the policy, and the field where one is wrong.
pub(crate) fn wished(
    options: &BuildOptions,
    wishes: &str,
    vectors: &dyn VectorRead,
) -> Result<BuildOptions> {
    let VectorShape { dimension, element } = vectors.shape();
    let shape = Shape {
        dimension,
        element,
        metric: options.metric,
    };
    // More vectors than an index can hold are refused when it is built.
    let nodes = u32::try_from(vectors.count()).unwrap_or(u32::MAX);
    options.wishing(&Wishes::read(wishes)?, shape, nodes)
}
