//! Documents as trees, for changes within their grammar: a value replaced, a key dropped, renamed, or taken from another
//! document. JSON and TOML become such trees and are written from them; values are opaque, so that numbers stay as
//! they were written.

use script::Random;

use crate::corpus::below;

mod json;
mod toml;

/// A document, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A number, `null`, `true`, `false` or a date, as it is written.
    Bare(String),
    /// Text.
    Text(String),
    /// Values in a row.
    List(Vec<Tree>),
    /// Keys and values, in their order.
    Table(Vec<(String, Tree)>),
}

/// What may be put into a document of one kind.
pub struct Vocabulary {
    /// Bare values at which readers and arithmetic turn.
    pub bare: &'static [&'static str],
    /// Texts that mean something, and texts that ought not to.
    pub texts: &'static [&'static str],
    /// Keys.
    pub keys: &'static [&'static str],
}

/// Most changes between a document and the one that is made of it.
const CHANGES_MAX: usize = 4;
/// A list grows by at most so many copies of one of its values.
const COPIES_MAX: usize = 12;

impl Tree {
    /// A few changes, some of them with pieces of `other`.
    pub fn change(&mut self, other: Option<&Tree>, vocabulary: &Vocabulary, random: &mut Random) {
        // Half of the documents get a single one, so that most of what is made can be read.
        let changes = if random.range(1) == 0 { 1 } else { 1 + below(random, CHANGES_MAX) };
        for _ in 0..changes {
            let at = below(random, self.count());
            if let Some(node) = self.nth(&mut { at }) {
                change(node, other, vocabulary, random);
            }
        }
    }

    /// How many values there are, this one included.
    fn count(&self) -> usize {
        1 + match self {
            Tree::Bare(_) | Tree::Text(_) => 0,
            Tree::List(items) => items.iter().map(Tree::count).sum(),
            Tree::Table(entries) => entries.iter().map(|(_, value)| value.count()).sum(),
        }
    }

    /// The value with this number, counted from the outside in.
    fn nth(&mut self, left: &mut usize) -> Option<&mut Tree> {
        if *left == 0 {
            return Some(self);
        }
        *left -= 1;
        match self {
            Tree::Bare(_) | Tree::Text(_) => None,
            Tree::List(items) => items.iter_mut().find_map(|item| item.nth(left)),
            Tree::Table(entries) => entries.iter_mut().find_map(|(_, value)| value.nth(left)),
        }
    }

    /// A value behind this key anywhere in the tree, the first that is found.
    fn behind(&self, key: &str) -> Option<&Tree> {
        match self {
            Tree::Bare(_) | Tree::Text(_) => None,
            Tree::List(items) => items.iter().find_map(|item| item.behind(key)),
            Tree::Table(entries) => {
                let here = entries.iter().find(|(name, _)| name == key).map(|(_, value)| value);
                here.or_else(|| entries.iter().find_map(|(_, value)| value.behind(key)))
            }
        }
    }
}

/// One change of one value.
fn change(node: &mut Tree, other: Option<&Tree>, vocabulary: &Vocabulary, random: &mut Random) {
    let pick = |words: &[&'static str], random: &mut Random| words[below(random, words.len())].to_owned();
    if random.range(19) == 0 {
        // Of another kind than it was.
        *node = match random.range(3) {
            0 => Tree::Bare(pick(vocabulary.bare, random)),
            1 => Tree::Text(pick(vocabulary.texts, random)),
            2 => Tree::List(vec![node.clone()]),
            _ => Tree::Table(vec![(pick(vocabulary.keys, random), node.clone())]),
        };
        return;
    }
    match node {
        Tree::Bare(number) => match random.range(2) {
            0 => *number = nearby(number, random),
            _ => *number = pick(vocabulary.bare, random),
        },
        Tree::Text(text) => match random.range(3) {
            0 => *text += &pick(vocabulary.texts, random),
            1 => {
                let cut =
                    text.char_indices().nth(below(random, text.chars().count())).map_or(0, |(at, _)| at);
                text.truncate(cut);
            }
            _ => *text = pick(vocabulary.texts, random),
        },
        Tree::List(items) => change_list(items, random),
        Tree::Table(entries) => change_table(entries, other, vocabulary, random),
    }
}

/// The number next to it, its negative, or one of another size.
fn nearby(number: &str, random: &mut Random) -> String {
    let Ok(value) = number.parse::<f64>() else { return number.to_owned() };
    match (random.range(4), number.parse::<i64>()) {
        (0, Ok(whole)) => whole.saturating_add(1).to_string(),
        (1, Ok(whole)) => whole.saturating_sub(1).to_string(),
        (2, _) => format!("-{number}").replace("--", ""),
        (3, Ok(_)) => format!("{number}000"),
        _ if value.abs() < 1e300 => (value * 1.5).to_string(),
        _ => number.to_owned(),
    }
}

fn change_list(items: &mut Vec<Tree>, random: &mut Random) {
    let at = below(random, items.len());
    match random.range(4) {
        0 => items.clear(),
        1 | 2 if !items.is_empty() => drop(items.remove(at)),
        3 if !items.is_empty() => items.reverse(),
        _ => {
            if let Some(item) = items.get(at).cloned() {
                items.extend(vec![item; 1 + below(random, COPIES_MAX)]);
            }
        }
    }
}

fn change_table(
    entries: &mut Vec<(String, Tree)>,
    other: Option<&Tree>,
    vocabulary: &Vocabulary,
    random: &mut Random,
) {
    let at = below(random, entries.len());
    let key = vocabulary.keys[below(random, vocabulary.keys.len())].to_owned();
    match random.range(5) {
        0 if !entries.is_empty() => drop(entries.remove(at)),
        1 if !entries.is_empty() => entries[at].0 = key,
        2 if !entries.is_empty() => {
            // What the other document has behind the same key.
            if let Some(value) = other.and_then(|other| other.behind(&entries[at].0)) {
                entries[at].1 = value.clone();
            }
        }
        3 => {
            if let Some(value) = other.and_then(|other| other.behind(&key)) {
                entries.push((key, value.clone()));
            }
        }
        4 if entries.len() > 1 => {
            let value = entries[below(random, entries.len())].1.clone();
            entries[at].1 = value;
        }
        _ => {
            let value = vocabulary.bare[below(random, vocabulary.bare.len())].to_owned();
            entries.push((key, Tree::Bare(value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOCABULARY: Vocabulary = Vocabulary { bare: &["7", "true"], texts: &["x"], keys: &["k"] };

    #[test]
    fn changes_depend_on_the_seed_alone_and_leave_a_document() {
        let seed = Tree::from_json(br#"{"a": [1, 2.5, {"b": "text"}], "c": null}"#).expect("JSON");
        let changed = |number| {
            let mut tree = seed.clone();
            tree.change(Some(&seed), &VOCABULARY, &mut Random::from_seed(number));
            tree
        };
        let mut different = 0;
        for number in 0..500 {
            let tree = changed(number);
            assert_eq!(tree, changed(number));
            assert!(Tree::from_json(tree.to_json().as_bytes()).is_some());
            different += u32::from(tree != seed);
        }
        assert!(different > 300, "{different}");
    }
}
