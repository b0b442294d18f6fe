//! Codebooks as bytes.

use std::sync::LazyLock;

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

/// One whose axes are narrow from some on.
static NARROW: LazyLock<RaBitQuantizer> = LazyLock::new(|| {
    let values = normal(200, 640, 16);
    train(
        &sample(&values, 640, Guide::L2),
        &spec(100, Rotation::Principal),
    )
});

fn each_kind() -> [RaBitQuantizer; 3] {
    let [random, principal] = ROTATIONS.map(trained);
    [random, principal, NARROW.clone()]
}

/// The same codebook with a matrix of single precision, as it was written before axes were narrow.
fn with_single_matrix(quantizer: &RaBitQuantizer) -> Vec<u8> {
    let matrix = quantizer.frame.matrix().unwrap();
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let mut bytes = quantizer.to_bytes();
    let beside = bytes.len()
        - 4 * matrix.scales().len()
        - rows * (2 * matrix.wide() + matrix.scales().len());
    bytes.truncate(beside);
    bytes[7] = 1;
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    bytes.extend(places.flat_map(|(row, column)| matrix.value(row, column).to_le_bytes()));
    bytes
}

#[test]
fn many_components_have_narrow_axes_and_a_small_codebook() {
    let matrix = NARROW.frame.matrix().unwrap();
    assert!(matrix.columns() > 200 && matrix.wide() == 128);
    let bytes = NARROW.to_bytes();
    assert_eq!(bytes[7], 2);
    let older = with_single_matrix(&NARROW);
    assert!(bytes.len() * 2 < older.len());
    assert!(bytes.len() <= RaBitQuantizer::file_bytes(640, &spec(100, Rotation::Principal)));
    // A codebook of that time is read with narrow axes, too.
    let read = RaBitQuantizer::from_bytes(&older).unwrap();
    let own = read.frame.matrix().unwrap();
    assert_eq!((own.wide(), own.columns()), (128, matrix.columns()));
    for (row, column) in [(0, 0), (639, 127), (0, 128), (320, 200)] {
        let (value, wanted) = (own.value(row, column), matrix.value(row, column));
        assert!((value - wanted).abs() <= 1e-6 * wanted.abs());
    }
}

#[test]
fn impossible_axes_are_refused() {
    let bytes = NARROW.to_bytes();
    let matrix = NARROW.frame.matrix().unwrap();
    let integers = matrix.rows() * (2 * matrix.wide() + matrix.scales().len());
    let first = bytes.len() - integers;
    let scale = |value: f32| (first - 4, value.to_le_bytes().to_vec());
    for (at, forged) in [
        scale(-1e-3),
        scale(1.0),
        (first, vec![0, 0x80]),
        (first + 256, vec![0x80]),
    ] {
        let mut bytes = bytes.clone();
        bytes[at..at + forged.len()].copy_from_slice(&forged);
        let error = RaBitQuantizer::from_bytes(&bytes).unwrap_err();
        let is_named = matches!(error, QuantError::CodebookField { .. });
        assert!(is_named, "{at}: {error}");
    }
}

#[test]
fn few_components_have_no_narrow_axes() {
    let quantizer = trained(Rotation::Principal);
    let mut bytes = quantizer.to_bytes();
    let values = 12 * quantizer.axes();
    bytes.truncate(bytes.len() - 2 * values);
    bytes[7] = 2;
    let field = "narrow axes";
    let error = QuantError::CodebookField { field, found: 0 };
    assert_eq!(RaBitQuantizer::from_bytes(&bytes), Err(error));
}

#[test]
fn codebooks_are_read_back() {
    for quantizer in each_kind() {
        let values = normal(50, quantizer.dimension(), 17);
        let bytes = quantizer.to_bytes();
        assert!(bytes.starts_with(&RaBitQuantizer::MAGIC));
        let back = RaBitQuantizer::from_bytes(&bytes).unwrap();
        assert_eq!(back, quantizer);
        assert_eq!(encode(&back, &values), encode(&quantizer, &values));
    }
}

#[test]
fn codebooks_of_any_other_length_are_refused() {
    for quantizer in each_kind() {
        let bytes = quantizer.to_bytes();
        // All lengths of the head, and some of what follows.
        for length in (0..bytes.len()).filter(|length| *length < 400 || length % 997 == 0) {
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
        kind in 0_usize..3,
        at in 0_usize..1000,
        byte: u8,
    ) {
        let quantizer = ROTATIONS.get(kind).map_or_else(|| NARROW.clone(), |own| trained(*own));
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
