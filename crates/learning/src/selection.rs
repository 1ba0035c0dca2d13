//! Which tables are learnt: all, or those whose names match patterns as those of psql's `\d`. Partitions come with their
//! table. Views and foreign tables are refused, or counted if a pattern matches them.

use std::collections::BTreeSet;

use connect::quote::literal;

use crate::LearnError;
use crate::reader::Reader;
use loading::contract::load::text;
use loading::loader::catalogs::parsed;

/// Most tables among which the nearest name is looked for.
const NAMES_MAX: usize = 10_000;

/// Relations of users, without those of extensions.
const RELATIONS: &str = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f') AND c.relpersistence <> 't' \
     AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND NOT EXISTS (SELECT FROM pg_depend x \
       WHERE x.classid = 'pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e')";

/// The tables, and relations that match but have no rows of their own.
#[derive(Default)]
pub(crate) struct Selection {
    pub oids: BTreeSet<u32>,
    pub left_out: Vec<(String, String)>,
}

/// The tables that match the patterns, with all their partitions. Without patterns, all tables.
pub(crate) fn select(reader: &mut Reader<'_>, patterns: &[String]) -> Result<Selection, LearnError> {
    let mut selection = Selection::default();
    if patterns.is_empty() {
        add(reader, &mut selection, "true")?;
    }
    for pattern in patterns {
        let found = match condition(pattern) {
            Some(condition) => add(reader, &mut selection, &condition)?,
            None => Vec::new(),
        };
        // A name is an order; a pattern takes what is there.
        let is_pattern = pattern.contains(['*', '?']);
        if let [(name, kind)] = &found[..]
            && let Some((_, remedy)) = refused(kind).filter(|_| !is_pattern)
        {
            return Err(LearnError::NotATable { name: name.clone(), kind: remedy.to_owned() });
        }
        if found.is_empty() {
            let names = reader.rows(&format!("SELECT c.relname {RELATIONS} LIMIT {NAMES_MAX}"))?;
            let names: Vec<&str> = names.iter().filter_map(|row| row.get(0)).collect();
            let nearest = config::nearest(pattern, &names).filter(|_| !is_pattern).map(str::to_owned);
            return Err(LearnError::Missing { table: pattern.clone(), nearest });
        }
    }
    Ok(selection)
}

/// Adds the relations that meet the condition; returns their names and kinds.
fn add(
    reader: &mut Reader<'_>,
    selection: &mut Selection,
    condition: &str,
) -> Result<Vec<(String, String)>, LearnError> {
    let rows = reader.rows(&format!(
        "WITH RECURSIVE found(oid, depth) AS (SELECT c.oid, 0 {RELATIONS} AND {condition} \
           UNION SELECT i.inhrelid, 1 FROM found f JOIN pg_class p ON p.oid = f.oid AND p.relkind = 'p' \
             JOIN pg_inherits i ON i.inhparent = f.oid) \
         SELECT c.oid, c.oid::regclass, c.relkind::text, min(depth) FROM found f JOIN pg_class c ON c.oid = f.oid \
         GROUP BY c.oid, c.relkind ORDER BY c.oid"
    ))?;
    let mut found = Vec::new();
    for row in &rows {
        let (name, kind) = (text(row, 1), text(row, 2));
        match refused(&kind) {
            Some((kinds, _)) => selection.left_out.push((format!("{kinds} are left out"), name.clone())),
            None => drop(selection.oids.insert(parsed(row, 0))),
        }
        if kind == "m" {
            selection.left_out.push(("materialized views become tables".to_owned(), name.clone()));
        }
        if row.get(3) == Some("0") {
            found.push((name, kind));
        }
    }
    Ok(found)
}

/// Kinds of relations that cannot be learnt, and the remedy for one of them.
fn refused(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "v" => Some(("views", "is a view; name the tables that it reads")),
        "f" => Some(("foreign tables", "is a foreign table; connect to the server that has its rows")),
        _ => None,
    }
}

/// The condition on `pg_class c` and `pg_namespace n` that a pattern says; `None` if no table can match it. As for psql,
/// `*` and `?` are wildcards, double quotes protect, other letters are in lower case, and the rest is a regular expression.
fn condition(pattern: &str) -> Option<String> {
    let mut parts = vec![String::new()];
    let (mut is_quoted, mut characters) = (false, pattern.chars().peekable());
    while let Some(character) = characters.next() {
        let part = parts.last_mut()?;
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => part.push('"'),
            '"' => is_quoted = !is_quoted,
            _ if is_quoted && !character.is_alphanumeric() && character.is_ascii() && character != '_' => {
                part.extend(['\\', character]);
            }
            _ if is_quoted => part.push(character),
            '.' => parts.push(String::new()),
            '*' => part.push_str(".*"),
            '?' => part.push('.'),
            '$' => part.push_str("\\$"),
            _ => part.extend(character.to_lowercase()),
        }
    }
    let matches = |column: &str, part: &String| format!("{column} ~ {}", literal(&format!("^({part})$")));
    match &parts[..] {
        [table] => Some(format!("{} AND pg_table_is_visible(c.oid)", matches("c.relname", table))),
        [schema, table] => {
            Some(format!("{} AND {}", matches("n.nspname", schema), matches("c.relname", table)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_psql() {
        let table = |text: &str| format!("c.relname ~ {text} AND pg_table_is_visible(c.oid)");
        let check =
            |pattern: &str, expected: Option<String>| assert_eq!(condition(pattern), expected, "{pattern}");
        check("Orders", Some(table("'^(orders)$'")));
        check("ord*_?", Some(table("'^(ord.*_.)$'")));
        check("\"A b\"\"*\"", Some(table("E'^(A\\134 b\"\\134*)$'")));
        check("sales.*", Some("n.nspname ~ '^(sales)$' AND c.relname ~ '^(.*)$'".to_owned()));
        check("a.b.c", None);
    }
}
