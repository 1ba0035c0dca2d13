//! Metric families as text in the format of OpenMetrics 1.0. The one module that writes it; the caller has the families,
//! such as those of a run in progress.

use std::fmt::Write as _;

/// Content type of OpenMetrics 1.0.
pub const OPEN_METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text under construction.
#[derive(Debug, Default)]
pub struct OpenMetrics(String);

impl OpenMetrics {
    /// Writes the head of a metric family. The standard requires the unit as the last part of the name.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if let Some((_, unit @ ("seconds" | "ratio"))) = name.rsplit_once('_') {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {help}");
    }

    /// Writes a family with one sample.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// Writes a sample of the family.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// The complete text, `# EOF` included.
    pub fn text(self) -> String {
        self.0 + "# EOF\n"
    }
}

/// Escapes a label value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
