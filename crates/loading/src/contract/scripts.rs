//! The scripts of a workload, and the figure of reports that counts one of them. Names of scripts and checks in a
//! workload.toml are looked up here.

use std::borrow::Cow;

use config::{Complaint, Node};

/// A script of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Name on command lines.
    pub name: Cow<'static, str>,
    /// Name in reports.
    pub description: Cow<'static, str>,
    /// The script itself.
    pub text: Cow<'static, str>,
    /// Weight in the mix; 0: runs only if it is given by name.
    pub weight: u32,
    /// Whether it leaves the data unchanged.
    pub only_reads: bool,
    /// Start of the command that locks one of `scale` rows until the transaction ends. Other scripts declare this in
    /// a comment ([`script::ContendedRows`]).
    pub contended: Option<&'static str>,
}

/// A script whose transactions per minute are a figure of the reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerMinute {
    /// The name of the script.
    pub script: String,
    /// What the figure is, for readers.
    pub label: String,
}

impl PerMinute {
    /// Reads the key of a workload.toml. The script must be one of the workload's.
    pub(crate) fn read(node: Node, scripts: &[Script]) -> Result<PerMinute, Complaint> {
        let mut table = node.into_table()?;
        table.check_keys("per_minute", &["script", "label"])?;
        let missing = Complaint::at(table.place, "per_minute requires a script and a label");
        let (Some(script), Some(label)) = (table.take("script"), table.text("label")?) else {
            return Err(missing);
        };
        Ok(PerMinute { script: known_name(&script, "script", scripts.iter().map(|it| &*it.name))?, label })
    }
}

/// The name of a thing that the workload has.
pub(crate) fn known_name<'a>(
    node: &Node,
    what: &str,
    known: impl Iterator<Item = &'a str>,
) -> Result<String, Complaint> {
    let (name, known) = (node.text()?, known.collect::<Vec<_>>());
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    let nearest = config::nearest(name, &known).map(|name| format!("; did you mean {name}?"));
    let complaint = format!("there is no {what} \"{name}\"{}", nearest.unwrap_or_default());
    Err(Complaint::at(node.place, complaint))
}
