//! Products of a row and a matrix.

/// Columns are summed each on its own, component by component, each product rounded before it is
/// added: the same bits on every machine.
pub(super) fn project(row: &[f32], matrix: &[f32], out: &mut [f32]) {
    assert_eq!(
        matrix.len(),
        row.len() * out.len(),
        "a row of the matrix per component"
    );
    out.fill(0.0);
    if out.is_empty() {
        return;
    }
    for (&x, columns) in row.iter().zip(matrix.chunks_exact(out.len())) {
        for (out, &column) in out.iter_mut().zip(columns) {
            *out += x * column;
        }
    }
}
