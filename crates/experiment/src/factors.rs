//! The factors of an experiment with their levels, and combinations of levels, by which charts, exclusions and the
//! baseline name cells.

use config::{Complaint, Node, Place, Value, unknown_key};

/// Factors and levels.
pub(crate) type Combination = Vec<(String, String)>;

/// A factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// A key, or a name defined by the experiment.
    pub name: String,
    /// Levels in the order of the file.
    pub levels: Vec<Level>,
}

/// A level of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Label in output, in `exclude` and in charts.
    pub label: String,
    /// The keys that the level sets.
    pub(crate) sets: Vec<(String, Node)>,
}

impl Level {
    /// Whether `key` equals the other key or contains it.
    pub(crate) fn sets_key(&self, key: &str) -> bool {
        self.sets.iter().any(|(name, _)| name == key)
    }
}

/// Adds a level and rejects duplicates.
pub(crate) fn add_level(levels: &mut Vec<Level>, level: Level, place: Place) -> Result<(), Complaint> {
    if levels.iter().any(|other| other.label == level.label) {
        return Err(Complaint::at(place, format!("the level {} is defined twice", level.label)));
    }
    levels.push(level);
    Ok(())
}

/// Label of a level: its text, or the content of its table.
pub(crate) fn label(node: &Node) -> Result<String, Complaint> {
    match &node.value {
        Value::Text(text) if text.is_empty() => Err(node.expected("a level that has a name")),
        Value::Table(entries) => {
            let parts = entries.iter().map(|entry| {
                let value = entry.node.scalar()?;
                Ok(if entry.key == "kind" { value } else { format!("{} {value}", entry.key) })
            });
            Ok(parts.collect::<Result<Vec<_>, Complaint>>()?.join(", "))
        }
        Value::List(nodes) => Ok(nodes.iter().map(label).collect::<Result<Vec<_>, _>>()?.join(" + ")),
        _ => node.scalar(),
    }
}

/// Names of the factors.
pub(crate) fn names(factors: &[Factor]) -> Vec<&str> {
    factors.iter().map(|factor| factor.name.as_str()).collect()
}

/// Parses `{ network = "socket", clients = 1 }` into pairs of factor and label.
pub(crate) fn combination(node: &Node) -> Result<Combination, Complaint> {
    let table = node.clone().into_table()?;
    table.entries.into_iter().map(|entry| Ok((entry.key, label(&entry.node)?))).collect()
}

/// The same, checked against the existing factors and levels.
pub(crate) fn checked_combination(node: &Node, factors: &[Factor]) -> Result<Combination, Complaint> {
    let pairs = combination(node)?;
    check_combination(&pairs, factors).map_err(|what| Complaint::at(node.place, what))?;
    Ok(pairs)
}

/// Checks that the factors and levels exist; the error is a sentence.
pub(crate) fn check_combination(pairs: &[(String, String)], factors: &[Factor]) -> Result<(), String> {
    for (name, label) in pairs {
        let Some(factor) = factors.iter().find(|factor| factor.name == *name) else {
            return Err(unknown_key(name, "the factors", &names(factors)));
        };
        if !factor.levels.iter().any(|level| level.label == *label) {
            return Err(format!("the factor {name} has no level {label}"));
        }
    }
    Ok(())
}
