//! Runs as one picture that needs no browser: throughput, response times, the heat map and the percentiles as panels
//! below each other, drawn as shapes that become SVG or PNG. Light, since pictures end up in documents.

pub(crate) mod experiment;
mod panels;
mod png;
mod shapes;
mod svg;

pub use png::{PngError, png};
pub use svg::svg;
