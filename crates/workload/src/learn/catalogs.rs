//! Reads a table from the catalogs and from `pg_stats`, of PostgreSQL 9.6 to 18. Values of the table are read only if the
//! caller asks for them.

use connect::quote::literal;
use connect::{Row, Session, value_formats};

use super::LearnError;
use super::facts::{ColumnFacts, Constraint, ConstraintKind, Family, Sequence, Statistics, TableFacts};
use crate::catalogs::{names, names_of, parsed, parts_of_types, text, truth};

/// Versions with identity columns, and with generated columns.
const IDENTITY_VERSION: u32 = 100_000;
const GENERATED_VERSION: u32 = 120_000;

/// Most tables among which the nearest name is looked for.
const NAMES_MAX: usize = 10_000;

/// The table that the user names.
pub(crate) fn table(session: &mut Session, name: &str, values: bool) -> Result<TableFacts, LearnError> {
    let oid = find(session, name)?;
    let mut facts = relation(session, name, oid)?;
    facts.columns = columns(session, oid)?;
    facts.constraints = constraints(session, oid)?;
    facts.types = user_types(session, oid)?;
    statistics(session, &mut facts)?;
    if facts.columns.iter().all(|column| column.statistics.is_none()) && facts.rows > 0 {
        return Err(LearnError::NotAnalyzed { table: facts.name, sql_name: facts.sql_name });
    }
    for column in &mut facts.columns {
        common_values(session, oid, column, values)?;
    }
    Ok(facts)
}

/// Resolves the name as the session's statements do.
fn find(session: &mut Session, name: &str) -> Result<u32, LearnError> {
    let sql = format!("SELECT pg_catalog.to_regclass({})::pg_catalog.oid", literal(name));
    let found = session.query(&sql)?;
    if let Some(oid) = found.first().and_then(|row| row.get(0)).and_then(|oid| oid.parse().ok()) {
        return Ok(oid);
    }
    let names = session.query_catalogs(&format!(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm', 'p', 'v') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
         LIMIT {NAMES_MAX}"
    ))?;
    let names: Vec<&str> = names.iter().filter_map(|row| row.get(0)).collect();
    let nearest = config::nearest(name, &names).map(str::to_owned);
    Err(LearnError::Missing { table: name.to_owned(), nearest })
}

/// Name, size and kind; refuses relations without statistics of their own.
fn relation(session: &mut Session, typed: &str, oid: u32) -> Result<TableFacts, LearnError> {
    let visible = session.query(&format!("SELECT pg_catalog.pg_table_is_visible({oid}::pg_catalog.oid)"))?;
    let rows = session.query_catalogs(&format!(
        "SELECT n.nspname, c.relname, c.relkind::text, c.reltuples::float8, c.relpages, \
         has_any_column_privilege(c.oid, 'SELECT'), c.relrowsecurity AND row_security_active(c.oid), \
         (SELECT i.inhrelid::regclass::text FROM pg_inherits i WHERE i.inhparent = c.oid \
          ORDER BY i.inhrelid LIMIT 1) \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = {oid}"
    ))?;
    let missing = || LearnError::Missing { table: typed.to_owned(), nearest: None };
    let row = rows.first().ok_or_else(missing)?;
    let is_visible = visible.first().is_some_and(|row| truth(row, 0));
    let (schema, table) = (text(row, 0), text(row, 1));
    let parts: Vec<&str> = if is_visible { vec![&table] } else { vec![&schema, &table] };
    let name = parts.join(".");
    let part = text(row, 7);
    let kind = match row.get(2) {
        Some("r" | "m") => None,
        Some("p") => Some(if part.is_empty() {
            "is a partitioned table without partitions; name a table with rows".to_owned()
        } else {
            format!(
                "is a partitioned table, and only its partitions have rows; name one of them, such as {part}"
            )
        }),
        Some("v") => Some("is a view; name the tables that it reads".to_owned()),
        Some("f") => Some("is a foreign table; connect to the server that has its rows".to_owned()),
        _ => Some("is not a table".to_owned()),
    };
    if let Some(kind) = kind {
        return Err(LearnError::NotATable { name, kind });
    }
    if !truth(row, 5) {
        return Err(LearnError::NoPermission { table: name });
    }
    if truth(row, 6) {
        return Err(LearnError::RowSecurity { table: name });
    }
    let (count, pages): (f64, i64) = (parsed(row, 3), parsed(row, 4));
    let sql_name = parts.iter().map(|part| identifier(part)).collect::<Vec<_>>().join(".");
    // Before PostgreSQL 14, a table that was never analyzed has 0 rows, as an empty one does; it may have no page yet.
    if count < 0.0 || (count == 0.0 && pages > 0) {
        return Err(LearnError::NotAnalyzed { table: name, sql_name });
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above; saturates")]
    let rows = count.round() as u64;
    Ok(TableFacts { oid, name, sql_name, rows, ..TableFacts::default() })
}

/// A name as SQL: quoted only where it must be, for readers.
pub(crate) fn identifier(name: &str) -> String {
    const KEYWORDS: [&str; 24] = [
        "all", "analyse", "analyze", "and", "any", "array", "as", "check", "column", "default", "desc", "do",
        "end", "from", "group", "limit", "offset", "order", "primary", "select", "table", "to", "user",
        "where",
    ];
    let plain = |character: char| character.is_ascii_lowercase() || character == '_';
    let is_plain = name.starts_with(plain)
        && name.chars().all(|character| plain(character) || character.is_ascii_digit())
        && !KEYWORDS.contains(&name);
    if is_plain { name.to_owned() } else { connect::quote::identifier(name) }
}

/// Columns, with domains replaced by their base types.
fn columns(session: &mut Session, oid: u32) -> Result<Vec<ColumnFacts>, LearnError> {
    let version = session.server_version_num();
    let identity = if version >= IDENTITY_VERSION { "a.attidentity::text" } else { "''" };
    let generated = if version >= GENERATED_VERSION { "a.attgenerated::text" } else { "''" };
    let rows = session.query_catalogs(&format!(
        "WITH RECURSIVE base(attnum, typid, typmod, not_null) AS ( \
           SELECT attnum, atttypid, atttypmod, attnotnull FROM pg_attribute \
           WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped \
           UNION ALL SELECT b.attnum, t.typbasetype, t.typtypmod, b.not_null OR t.typnotnull \
           FROM base b JOIN pg_type t ON t.oid = b.typid WHERE t.typtype = 'd') \
         SELECT a.attname, format_type(b.typid, b.typmod), b.not_null, t.typtype::text, t.typname, b.typmod, \
           pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', {generated}, \
           pg_get_expr(d.adbin, d.adrelid), e.typname, e.typlen, b.typid, e.typcategory = 'S', {identity}, \
           CASE WHEN a.atttypid <> b.typid THEN format_type(a.atttypid, a.atttypmod) END, {} \
         FROM base b JOIN pg_type t ON t.oid = b.typid AND t.typtype <> 'd' \
           JOIN pg_attribute a ON a.attrelid = {oid} AND a.attnum = b.attnum \
           LEFT JOIN pg_attrdef d ON d.adrelid = {oid} AND d.adnum = a.attnum \
           LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A' ORDER BY a.attnum",
        unwritable("b.typid")
    ))?;
    let column = |row: &Row| {
        let stored = match row.get(7) {
            Some("s") => Some("STORED"),
            Some("v") => Some("VIRTUAL"),
            _ => None,
        };
        ColumnFacts {
            name: text(row, 0),
            sql_type: text(row, 1),
            qualified_type: text(row, 1),
            family: family(row),
            not_null: truth(row, 2),
            sequence: match row.get(13) {
                Some("a") => Some(Sequence::AlwaysIdentity),
                Some("d") => Some(Sequence::DefaultIdentity),
                _ => truth(row, 6).then_some(Sequence::Serial),
            },
            domain: row.get(14).map(str::to_owned),
            is_left_out: truth(row, 15),
            generated: stored.map(|word| format!("({}) {word}", text(row, 8))),
            statistics: None,
        }
    };
    let mut columns: Vec<ColumnFacts> = rows.iter().map(column).collect();
    let types: Vec<(u32, i64)> = rows.iter().map(|row| (parsed(row, 11), parsed(row, 5))).collect();
    for (column, name) in columns.iter_mut().zip(type_names(session, &types)?) {
        column.sql_type = name;
    }
    Ok(columns)
}

/// Names of types with their modifiers, with a schema only where the search path lacks it.
fn type_names(session: &mut Session, types: &[(u32, i64)]) -> Result<Vec<String>, LearnError> {
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let names = types.iter().map(|(oid, modifier)| format!("pg_catalog.format_type({oid}, {modifier})"));
    let rows = session.query(&format!("SELECT {}", names.collect::<Vec<_>>().join(", ")))?;
    let names = |row: &Row| (0..row.len()).map(|at| text(row, at)).collect();
    Ok(rows.first().map(names).unwrap_or_default())
}

/// From the type's name, its modifier, and the element of an array.
fn family(row: &Row) -> Family {
    let modifier: i64 = parsed(row, 5);
    let max = u32::try_from(modifier - 4).ok();
    if row.get(9).is_some() {
        let width: i64 = parsed(row, 10);
        return Family::Array { element: u32::try_from(width).ok(), is_text: truth(row, 12), max };
    }
    if row.get(3) == Some("e") {
        return Family::Enum;
    }
    match row.get(4).unwrap_or_default() {
        "bool" => Family::Bool,
        "int2" | "int4" | "int8" | "oid" => Family::Integer,
        "numeric" => {
            // numeric(p,s) is (p << 16 | s) + 4; from 15 on, a negative scale has 11 bits.
            let parts = u32::try_from(modifier - 4).ok().map(|number| (number >> 16, number & 0x7ff));
            let scale = parts.map_or(0, |(_, scale)| if scale > 1000 { 0 } else { scale.min(18) });
            Family::Numeric { scale, precision: parts.map(|(precision, _)| precision) }
        }
        "money" => Family::Numeric { scale: 2, precision: None },
        "float4" | "float8" => Family::Float,
        "text" | "varchar" | "bpchar" | "citext" => Family::Text { max },
        "name" => Family::Text { max: Some(63) },
        "date" => Family::Date,
        "timestamp" | "timestamptz" => Family::Timestamp,
        "time" | "timetz" => Family::Time,
        "interval" => Family::Interval,
        "uuid" => Family::Uuid,
        "bytea" => Family::Bytes,
        "inet" | "cidr" => Family::Inet,
        "json" => Family::Json,
        "jsonb" => Family::Jsonb,
        _ => Family::Other,
    }
}

/// Keys, unique indexes, foreign keys and CHECK constraints, with the columns in their order.
fn constraints(session: &mut Session, oid: u32) -> Result<Vec<Constraint>, LearnError> {
    let rows = session.query_catalogs(&format!(
        "SELECT c.contype::text, {}, pg_get_constraintdef(c.oid), c.confrelid, {}, strpos('pufc', c.contype::text) \
         FROM pg_constraint c \
         WHERE c.conrelid = {oid} AND c.contype IN ('p', 'u', 'f', 'c') \
         UNION ALL SELECT 'u', {}, '', 0, NULL, 2 FROM pg_index i \
         WHERE i.indrelid = {oid} AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL \
           AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.conrelid = {oid}) \
         ORDER BY 6, 2",
        names("c.conrelid", "c.conkey", "true"),
        names("c.confrelid", "c.confkey", "true"),
        names("i.indrelid", "i.indkey::int2[]", "true"),
    ))?;
    let constraint = |row: &Row| {
        let columns = names_of(row.get(1).unwrap_or_default());
        let kind = match row.get(0) {
            Some("p") => ConstraintKind::PrimaryKey,
            Some("u") => ConstraintKind::Unique,
            Some("f") => ConstraintKind::ForeignKey,
            _ => ConstraintKind::Check,
        };
        let referenced = row.get(4).map(|columns| (parsed(row, 3), names_of(columns)));
        Constraint { kind, columns, definition: text(row, 2), referenced }
    };
    Ok(rows.iter().map(constraint).collect())
}

/// An expression: whether a part of the type has no CREATE TYPE in the schema. Types of extensions are no such part.
fn unwritable(oid: &str) -> String {
    format!(
        "EXISTS ({} SELECT FROM part p JOIN pg_type t ON t.oid = p.oid \
           LEFT JOIN pg_class r ON r.oid = t.typrelid \
         WHERE t.typnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) \
           AND t.typcategory <> 'A' AND t.typtype <> 'e' AND (t.typtype <> 'c' OR r.relkind <> 'c') \
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid \
             AND d.deptype = 'e'))",
        parts_of_types(&format!("SELECT {oid}"))
    )
}

/// CREATE TYPE of the enumerations and composite types that the columns use, in the order in which they were created.
fn user_types(session: &mut Session, oid: u32) -> Result<Vec<(u32, String)>, LearnError> {
    let columns = format!(
        "SELECT atttypid FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped"
    );
    let rows = session.query_catalogs(&format!(
        "{} SELECT t.oid, (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) \
           FROM pg_enum e WHERE e.enumtypid = t.oid) \
         FROM part p JOIN pg_type t ON t.oid = p.oid \
         WHERE t.typtype IN ('e', 'c') AND NOT {} ORDER BY 1",
        parts_of_types(&columns),
        unwritable("t.oid")
    ))?;
    let types: Vec<(u32, i64)> = rows.iter().map(|row| (parsed(row, 0), -1)).collect();
    let names = type_names(session, &types)?;
    let mut statements = Vec::with_capacity(rows.len());
    for (row, name) in rows.iter().zip(names) {
        let oid = parsed(row, 0);
        let statement = match row.get(1) {
            Some(labels) => format!("CREATE TYPE {name} AS ENUM ({labels});"),
            None => format!("CREATE TYPE {name} AS ({});", fields(session, oid)?),
        };
        statements.push((oid, statement));
    }
    Ok(statements)
}

/// Names and types of the fields of a composite type.
fn fields(session: &mut Session, oid: u32) -> Result<String, LearnError> {
    let rows = session.query_catalogs(&format!(
        "SELECT quote_ident(f.attname), f.atttypid, f.atttypmod \
         FROM pg_type t JOIN pg_attribute f ON f.attrelid = t.typrelid \
         WHERE t.oid = {oid} AND f.attnum > 0 AND NOT f.attisdropped ORDER BY f.attnum"
    ))?;
    let types: Vec<(u32, i64)> = rows.iter().map(|row| (parsed(row, 1), parsed(row, 2))).collect();
    let names = type_names(session, &types)?;
    let field = |(row, name): (&Row, String)| format!("{} {name}", text(row, 0));
    Ok(rows.iter().zip(names).map(field).collect::<Vec<_>>().join(", "))
}

/// Adds the rows of `pg_stats`. No value of the table is read.
fn statistics(session: &mut Session, facts: &mut TableFacts) -> Result<(), LearnError> {
    let rows = session.query_catalogs(&format!(
        "SELECT s.attname, s.null_frac, s.avg_width, s.n_distinct, s.correlation, \
         array_to_string(s.most_common_freqs, ','), array_to_string(s.elem_count_histogram, ',') FROM pg_stats s \
         JOIN pg_namespace n ON n.nspname = s.schemaname \
         JOIN pg_class c ON c.relname = s.tablename AND c.relnamespace = n.oid \
         WHERE c.oid = {} AND NOT s.inherited",
        facts.oid
    ))?;
    for row in &rows {
        let Some(column) = facts.columns.iter_mut().find(|column| row.get(0) == Some(&column.name)) else {
            continue;
        };
        let numbers =
            |at: usize| row.get(at).unwrap_or_default().split(',').filter_map(|text| text.parse().ok());
        column.statistics = Some(Statistics {
            null_share: parsed(row, 1),
            average_width: parsed(row, 2),
            distinct: parsed(row, 3),
            correlation: row.get(4).and_then(|text| text.parse().ok()),
            common_shares: numbers(5).collect(),
            element_counts: numbers(6).collect(),
            ..Statistics::default()
        });
    }
    Ok(())
}

/// Adds the common values in the order of their type, and the bounds of the histogram. Without `values`, adds only
/// booleans, labels of enumerations, and constants of the column's CHECK constraints.
fn common_values(
    session: &mut Session,
    oid: u32,
    column: &mut ColumnFacts,
    values: bool,
) -> Result<(), LearnError> {
    let listed = matches!(
        column.family,
        Family::Bool
            | Family::Integer
            | Family::Numeric { .. }
            | Family::Float
            | Family::Text { .. }
            | Family::Date
            | Family::Timestamp
            | Family::Enum
    );
    let (Some(statistics), true) = (&mut column.statistics, listed) else { return Ok(()) };
    let of_column = format!(
        "FROM pg_stats s JOIN pg_namespace n ON n.nspname = s.schemaname \
         JOIN pg_class c ON c.relname = s.tablename AND c.relnamespace = n.oid \
         WHERE c.oid = {oid} AND NOT s.inherited AND s.attname = {}",
        literal(&column.name)
    );
    let permitted = if values || matches!(column.family, Family::Bool | Family::Enum) {
        "true".to_owned()
    } else {
        format!(
            "EXISTS (SELECT FROM pg_constraint k JOIN pg_attribute a \
               ON a.attrelid = k.conrelid AND k.conkey = ARRAY[a.attnum] \
             WHERE k.conrelid = {oid} AND k.contype = 'c' AND a.attname = {} \
               AND strpos(pg_get_constraintdef(k.oid), v.value) > 0)",
            literal(&column.name)
        )
    };
    let common = session.query_catalogs(&format!(
        "{}; SELECT v.at, v.value FROM (SELECT s.most_common_vals::text::text[] AS list {of_column}) l, \
         unnest(l.list) WITH ORDINALITY AS v(value, at) WHERE {permitted} ORDER BY v.value::{}",
        value_formats(),
        column.qualified_type
    ))?;
    let value = |row: &Row| Some((parsed::<usize>(row, 0).checked_sub(1)?, row.get(1)?.to_owned()));
    statistics.common_values = common.iter().filter_map(value).collect();
    if !values {
        return Ok(());
    }
    let bounds = session.query_catalogs(&format!(
        "{}; SELECT b.list[1], b.list[array_length(b.list, 1)] \
         FROM (SELECT s.histogram_bounds::text::text[] AS list {of_column}) b",
        value_formats()
    ))?;
    let pair = |row: &Row| Some((row.get(0)?.to_owned(), row.get(1)?.to_owned()));
    statistics.bounds = bounds.first().and_then(pair);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(identifier("orders_2"), "orders_2");
        for name in ["order", "Orders", "2x", "a b", "a\"b", "ü"] {
            assert_eq!(identifier(name), connect::quote::identifier(name));
        }
    }
}
