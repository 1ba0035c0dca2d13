//! Bounds of partitions: `FOR VALUES IN (…)`, `FOR VALUES FROM (…) TO (…)`, DEFAULT and `FOR VALUES WITH (…)`, in
//! statements and as the catalogs have them.

use sqlparser::tokenizer::Token;

use super::bounds::{Bounds, Limit};
use super::split::Piece;
use super::tokens::Tokens;
use crate::error::Place;

/// `FOR VALUES FROM (a) TO (b)` and `FOR VALUES IN (…)` of the first column.
pub(crate) fn bounds(tokens: &Tokens<'_>) -> Bounds {
    let list = |words: &[&str]| tokens.find(words).map(|at| constants(tokens, at + words.len()));
    let first = |list: Option<Vec<String>>| list.and_then(|values| values.into_iter().next());
    let limit = |text: Option<String>, included| text.map(|text| Limit { text, included });
    Bounds {
        values: list(&["VALUES", "IN"]),
        min: limit(first(list(&["VALUES", "FROM"])), true),
        max: limit(first(list(&["TO"])), false),
    }
}

/// Constants of the list that begins at this index; none for MINVALUE, MAXVALUE and NULL.
fn constants(tokens: &Tokens<'_>, at: usize) -> Vec<String> {
    let end = tokens.closing(at).unwrap_or(at);
    let mut minus = false;
    let mut found = Vec::new();
    for (index, token) in tokens.tokens.iter().enumerate().take(end).skip(at) {
        match &token.token {
            Token::Number(text, _) => found.push(if minus { format!("-{text}") } else { text.clone() }),
            Token::SingleQuotedString(text) => found.push(text.clone()),
            Token::Word(_) if matches!(&*tokens.word(index), "TRUE" | "FALSE") => {
                found.push(tokens.word(index).to_lowercase());
            }
            _ => {}
        }
        minus = token.token == Token::Minus;
    }
    found
}

/// The bounds of all partitions of one level, and whether every value within them has a partition.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Level {
    pub bounds: Bounds,
    pub is_complete: bool,
    /// All other values have one, too.
    pub takes_all: bool,
}

/// Reads the bounds as `pg_get_expr` writes them.
pub(crate) fn level(texts: &[String]) -> Level {
    let mut all = Level { is_complete: true, ..Level::default() };
    let mut ranges: Vec<(Option<String>, Option<String>)> = Vec::new();
    let (mut has_default, mut remainders, mut is_hash) = (false, 0.0, false);
    for text in texts {
        let piece = Piece { text, place: Place::default() };
        let Ok(tokens) = Tokens::read(&piece) else {
            all.is_complete = false;
            continue;
        };
        has_default |= tokens.word(0) == "DEFAULT";
        if let Some(at) = tokens.find(&["VALUES", "WITH"]) {
            let modulus = constants(&tokens, at + 2).first().and_then(|text| text.parse::<f64>().ok());
            is_hash = true;
            remainders += modulus.map_or(0.0, |modulus| 1.0 / modulus.max(1.0));
        }
        let own = bounds(&tokens);
        if let Some(at) = tokens.find(&["VALUES", "FROM"]) {
            let columns = tokens.tokens[at..tokens.closing(at + 2).unwrap_or(at)].iter();
            all.is_complete &= !columns.clone().any(|token| token.token == Token::Comma);
            let limit = |limit: &Option<Limit>| limit.as_ref().map(|limit| limit.text.clone());
            ranges.push((limit(&own.min), limit(&own.max)));
        }
        all.bounds.add_partition(&own);
    }
    if ranges.iter().any(|(min, _)| min.is_none()) {
        all.bounds.min = None;
    }
    if ranges.iter().any(|(_, max)| max.is_none()) {
        all.bounds.max = None;
    }
    // Every range but one continues another.
    let continued =
        ranges.iter().filter(|(min, _)| min.is_some() && ranges.iter().any(|(_, max)| max == min));
    let has_gap = !ranges.is_empty() && continued.count() + 1 < ranges.len();
    let is_full = if is_hash { remainders > 0.999_999 } else { !has_gap };
    all.is_complete &= has_default || is_full;
    all.takes_all = has_default || (is_hash && is_full);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str], values: Option<&[&str]>, limits: [Option<&str>; 2], is_complete: bool) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let own = level(&texts);
        let values = values.map(|values| values.iter().map(|value| (*value).to_owned()).collect());
        let limit = |text: Option<&str>, included| text.map(|text| Limit { text: text.to_owned(), included });
        let bounds = Bounds { values, min: limit(limits[0], true), max: limit(limits[1], false) };
        let takes_all = own.takes_all;
        assert_eq!(own, Level { bounds, is_complete, takes_all }, "{texts:?}");
    }

    #[test]
    fn the_bounds_of_a_level_are_the_union_of_its_partitions() {
        check(
            &["FOR VALUES IN (true)", "FOR VALUES IN (false, NULL)"],
            Some(&["true", "false"]),
            [None; 2],
            true,
        );
        check(
            &["FOR VALUES FROM (10) TO (20)", "FOR VALUES FROM ('-5') TO ('10')", "DEFAULT"],
            None,
            [Some("-5"), Some("20")],
            true,
        );
        // The first ends at a number that the second one writes in the same way.
        check(
            &["FOR VALUES FROM (MINVALUE) TO (3)", "FOR VALUES FROM (3) TO (9)"],
            None,
            [None, Some("9")],
            true,
        );
        check(
            &["FOR VALUES FROM (1) TO (3)", "FOR VALUES FROM (7) TO (9)"],
            None,
            [Some("1"), Some("9")],
            false,
        );
        check(&["FOR VALUES FROM (1, 2) TO (3, 4)"], None, [Some("1"), Some("3")], false);
        check(&["FOR VALUES WITH (modulus 2, remainder 0)"], None, [None; 2], false);
        let both = ["FOR VALUES WITH (modulus 2, remainder 0)", "FOR VALUES WITH (modulus 2, remainder 1)"];
        check(&both, None, [None; 2], true);
    }
}
