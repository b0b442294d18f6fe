//! Codebooks as bytes.

use pageway_types::Guide;
use proptest::prelude::*;

use super::fixture::{ROTATIONS, encode, kernels, normal, sample, score, spec, train};
use crate::QuantError;
use crate::rabitq::{RaBitQuantizer, Rotation};

fn trained(rotation: Rotation) -> RaBitQuantizer {
    let values = normal(200, 12, 16);
    train(
        &sample(&values, 12, Guide::InnerProduct),
        &spec(9, rotation),
    )
}

#[test]
fn codebooks_are_read_back() {
    let values = normal(50, 12, 17);
    for quantizer in ROTATIONS.map(trained) {
        let bytes = quantizer.to_bytes();
        assert!(bytes.starts_with(&RaBitQuantizer::MAGIC));
        let back = RaBitQuantizer::from_bytes(&bytes).unwrap();
        assert_eq!(back, quantizer);
        assert_eq!(encode(&back, &values), encode(&quantizer, &values));
    }
}

#[test]
fn codebooks_of_any_other_length_are_refused() {
    for quantizer in ROTATIONS.map(trained) {
        let bytes = quantizer.to_bytes();
        for length in 0..bytes.len() {
            let found = length;
            let error = RaBitQuantizer::from_bytes(&bytes[..length]).unwrap_err();
            assert!(
                matches!(error, QuantError::CodebookLength { expected, found: f }
                    if f == found && expected > found),
                "{length}: {error}"
            );
        }
        let longer = [bytes.as_slice(), &[0; 4]].concat();
        let (expected, found) = (bytes.len(), longer.len());
        let error = QuantError::CodebookLength { expected, found };
        assert_eq!(RaBitQuantizer::from_bytes(&longer), Err(error));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// No bytes make the reader or what it read panic.
    #[test]
    fn damaged_codebooks_are_refused_or_usable(
        principal: bool,
        at in 0_usize..1000,
        byte: u8,
    ) {
        let quantizer = trained(ROTATIONS[usize::from(principal)]);
        let mut bytes = quantizer.to_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(read) = RaBitQuantizer::from_bytes(&bytes) {
            let values = normal(3, read.dimension(), 18);
            let codes = encode(&read, &values);
            let (estimates, _) = score(&read, &values[..read.dimension()], &codes);
            prop_assert_eq!(estimates.len(), 3);
            let mut out = vec![0.0; read.dimension()];
            read.decode(kernels(), &vec![0xff; read.code_bytes()], &mut out);
            // Values that the matrix cannot hold are rounded, once.
            let kept = read.to_bytes();
            prop_assert_eq!(kept.len(), bytes.len());
            let again = RaBitQuantizer::from_bytes(&kept).unwrap();
            prop_assert_eq!(again.to_bytes(), kept);
        }
    }
}
