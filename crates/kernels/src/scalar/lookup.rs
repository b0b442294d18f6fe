//! Sums of table entries selected by codes.

use pageway_types::NodeId;

/// Entries of a table row: one per value of a code byte.
const ROW: usize = 256;

/// Partial sums of one code. Part of the specification, as it fixes the rounding.
const PARTS: usize = 4;

pub(crate) fn lookup(table: &[f32], codes: &[u8], out: &mut [f32]) {
    let code_bytes = code_bytes(table);
    assert_eq!(codes.len(), code_bytes * out.len(), "one code per sum");
    for (index, out) in out.iter_mut().enumerate() {
        *out = sum(table, &codes[index * code_bytes..][..code_bytes]);
    }
}

pub(crate) fn lookup_gather(table: &[f32], codes: &[u8], nodes: &[NodeId], out: &mut [f32]) {
    let code_bytes = code_bytes(table);
    assert_eq!(nodes.len(), out.len(), "one sum per node");
    for (node, out) in nodes.iter().zip(out) {
        *out = sum(table, &codes[node.index() * code_bytes..][..code_bytes]);
    }
}

fn code_bytes(table: &[f32]) -> usize {
    assert_eq!(table.len() % ROW, 0, "whole table rows");
    table.len() / ROW
}

/// The sum of one code, in the order that every instruction set keeps: entry `j` is added to
/// partial sum `j % 4` in rising `j`; the total is `(s0 + s1) + (s2 + s3)`.
#[inline(always)]
fn sum(table: &[f32], code: &[u8]) -> f32 {
    let mut parts = [0.0_f32; PARTS];
    for (j, (row, &byte)) in table.chunks_exact(ROW).zip(code).enumerate() {
        parts[j % PARTS] += row[usize::from(byte)];
    }
    (parts[0] + parts[1]) + (parts[2] + parts[3])
}
