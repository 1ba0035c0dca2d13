//! The approximate size of data sets, from the size per unit of scale that their workloads state. Used by `memory`,
//! `relative`, `forecast` and `outline`.

use crate::configuration::DataSpec;

/// Approximate size of a data set in bytes; the size of tables created by user SQL is unknown.
pub(crate) fn data_bytes(data: &DataSpec) -> u64 {
    let bytes_per_scale = data.bytes_per_scale.unwrap_or(0);
    times(bytes_per_scale, data.scale.units()) / u64::from(data.fillfactor.max(1)) * 100
}

/// A number of bytes, multiplied.
pub(crate) fn times(bytes: u64, factor: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate; `as` saturates"
    )]
    let product = (bytes as f64 * factor) as u64;
    product
}
