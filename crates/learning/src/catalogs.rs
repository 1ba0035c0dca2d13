//! Reads tables from the catalogs and from `pg_stats`, of PostgreSQL 9.6 to 18. Values of the tables are read only if the
//! caller asks for them. SQL comes from the server, with names as the search path of the session needs them.

use connect::quote::literal;
use connect::{Row, Session};
use datagen::{Permitted, Schema, Source};

use crate::LearnError;
use crate::facts::{ColumnFacts, Facts, Family, Statistics, TableFacts};
use crate::reader::Reader;
use crate::selection::{Selection, select};
use loading::contract::load::text;
use loading::contract::marks::BEGINNING;
use loading::loader::catalogs::{describe_tables, parsed, parts_of_types, truth};

/// Versions with partitions and identity columns, and with generated columns.
const PARTITIONS_VERSION: u32 = 100_000;
const GENERATED_VERSION: u32 = 120_000;

/// The tables that the user names, or all.
pub(crate) fn read(session: &mut Session, names: &[String], values: bool) -> Result<Facts, LearnError> {
    let path = session.query(
        "SELECT coalesce((SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s), ', ') \
         FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) s), 'pg_catalog')",
    )?;
    let path = path.first().map(|row| text(row, 0)).unwrap_or_default();
    let version = session.server_version_num();
    let mut reader = Reader { session, version, path, tables: "0".to_owned(), lost: String::new() };
    let Selection { oids, left_out } = select(&mut reader, names)?;
    if oids.is_empty() {
        return Err(LearnError::NoTables);
    }
    reader.tables = oids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let mut facts = Facts { left_out, ..Facts::default() };
    facts.description = describe_tables(reader.session, &oids)?;
    reader.relations(&mut facts)?;
    reader.columns(&mut facts)?;
    reader.constraints_and_indexes(&mut facts)?;
    reader.statements_before(&mut facts)?;
    reader.others(&mut facts, names.is_empty())?;
    reader.statistics(&mut facts)?;
    reader.common_values(&mut facts, values)?;
    Ok(facts)
}

impl Reader<'_> {
    /// Names, sizes, parents and partitions.
    fn relations(&mut self, facts: &mut Facts) -> Result<(), LearnError> {
        let list = &self.tables;
        let (bound, key) = if self.version >= PARTITIONS_VERSION {
            ("' ' || pg_get_expr(c.relpartbound, c.oid)", "' PARTITION BY ' || pg_get_partkeydef(c.oid)")
        } else {
            ("NULL::text", "NULL::text")
        };
        let rows = self.rows(&format!(
            "WITH RECURSIVE below(root, oid) AS (SELECT c.oid, c.oid FROM pg_class c WHERE c.oid IN ({list}) \
               UNION ALL SELECT b.root, i.inhrelid FROM below b JOIN pg_class p ON p.oid = b.oid AND p.relkind = 'p' \
                 JOIN pg_inherits i ON i.inhparent = b.oid), \
             above(child, oid, depth) AS (SELECT c.oid, c.oid, 0 FROM pg_class c WHERE c.oid IN ({list}) \
               UNION ALL SELECT a.child, i.inhparent, depth + 1 FROM above a JOIN pg_inherits i ON i.inhrelid = a.oid \
                 AND i.inhparent IN ({list})) \
             SELECT c.oid, c.oid::regclass, c.relpersistence = 'u', p.parents, {bound}, {key}, \
               CASE WHEN c.relkind = 'r' THEN ' WITH (' || array_to_string(c.reloptions, ', ') || ')' END, \
               (SELECT max(depth) FROM above a WHERE a.child = c.oid), s.rows, \
               s.rows = 0 AND s.unknown, has_any_column_privilege(c.oid, 'SELECT'), \
               c.relrowsecurity AND row_security_active(c.oid) \
             FROM pg_class c \
             LEFT JOIN (SELECT i.inhrelid, string_agg(i.inhparent::regclass::text, ', ' ORDER BY i.inhseqno) \
               FROM pg_inherits i WHERE i.inhparent IN ({list}) GROUP BY 1) p(oid, parents) ON p.oid = c.oid, \
             LATERAL (SELECT sum(greatest(l.reltuples::float8, 0)), bool_or(pg_relation_size(l.oid) > 0) \
               FROM below b JOIN pg_class l ON l.oid = b.oid AND l.relkind <> 'p' WHERE b.root = c.oid) s(rows, unknown) \
             WHERE c.oid IN ({list}) ORDER BY c.oid"
        ))?;
        let mut reasons: Vec<LearnError> = Vec::new();
        for row in &rows {
            let sql_name = text(row, 1);
            let is_partition = row.get(3).is_some() && row.get(4).is_some();
            let mut own = TableFacts {
                oid: parsed(row, 0),
                depth: parsed(row, 7),
                is_partition,
                ..TableFacts::default()
            };
            let word = if truth(row, 2) { "UNLOGGED TABLE" } else { "TABLE" };
            own.head = format!("CREATE {word} {sql_name}");
            let parents = text(row, 3);
            if is_partition {
                own.head.push_str(&format!(" PARTITION OF {parents}"));
                own.tail = text(row, 4);
            } else if row.get(3).is_some() {
                own.tail = format!(" INHERITS ({parents})");
            }
            own.tail += &(text(row, 5) + row.get(6).unwrap_or_default());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative; saturates"
            )]
            let count = parsed::<f64>(row, 8).round() as u64;
            own.rows = (!truth(row, 9)).then_some(count);
            let table = sql_name.clone();
            if !is_partition {
                if !truth(row, 10) {
                    reasons.push(LearnError::NoPermission { table });
                } else if truth(row, 11) {
                    reasons.push(LearnError::RowSecurity { table });
                } else if own.rows.is_none() {
                    reasons.push(LearnError::NotAnalyzed { table });
                }
            }
            own.sql_name = sql_name;
            facts.tables.push(own);
        }
        let of_rows = facts.tables.iter().filter(|table| !table.is_partition).count();
        if reasons.len() == of_rows && !reasons.is_empty() {
            return Err(reasons.remove(0));
        }
        let kind = "tables whose statistics are missing or hidden from this role get no directives; run ANALYZE as their owner";
        let mut unseen = |reason: LearnError| match reason {
            LearnError::NoPermission { table }
            | LearnError::RowSecurity { table }
            | LearnError::NotAnalyzed { table } => facts.left_out.push((kind.to_owned(), table)),
            _ => {}
        };
        reasons.into_iter().for_each(&mut unseen);
        Ok(())
    }

    /// Columns with their definitions, and families by the types below domains.
    fn columns(&mut self, facts: &mut Facts) -> Result<(), LearnError> {
        let list = &self.tables;
        let identity = if self.version >= PARTITIONS_VERSION { "a.attidentity::text" } else { "''::text" };
        let generated = if self.version >= GENERATED_VERSION { "a.attgenerated::text" } else { "''::text" };
        let is_foreign = self.needs_others("pg_attrdef", "d.oid");
        let rows = self.rows(&format!(
            "WITH RECURSIVE base(relid, attnum, typid, typmod, not_null) AS ( \
               SELECT attrelid, attnum, atttypid, atttypmod, attnotnull FROM pg_attribute \
               WHERE attrelid IN ({list}) AND attnum > 0 AND NOT attisdropped \
               UNION ALL SELECT b.relid, b.attnum, t.typbasetype, t.typtypmod, b.not_null OR t.typnotnull \
               FROM base b JOIN pg_type t ON t.oid = b.typid WHERE t.typtype = 'd'), \
             read AS (SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod) AS type, b.not_null, \
               t.typtype, t.typname, b.typmod, {generated} AS generated, {identity} AS identity, a.attnotnull, \
               pg_get_expr(d.adbin, d.adrelid) AS value, {is_foreign} AS is_foreign, {unwritable} AS is_lost, \
               e.typname AS element, e.typlen, e.typcategory = 'S' AS is_text, \
               CASE WHEN a.attcollation NOT IN (0, y.typcollation) AND a.attcollation < 16384 \
                 THEN ' COLLATE ' || quote_ident(l.collname) ELSE '' END AS collated, \
               a.attcollation NOT IN (0, y.typcollation) AND a.attcollation >= 16384 AS loses_collation \
             FROM base b JOIN pg_type t ON t.oid = b.typid AND t.typtype <> 'd' \
               JOIN pg_attribute a ON a.attrelid = b.relid AND a.attnum = b.attnum JOIN pg_type y ON y.oid = a.atttypid \
               LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
               LEFT JOIN pg_collation l ON l.oid = a.attcollation \
               LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A') \
             SELECT attrelid, attnum, attname, quote_ident(attname) || ' ' || \
               CASE WHEN generated = '' AND value LIKE 'nextval(%' THEN \
                 CASE type WHEN 'integer' THEN 'serial' WHEN 'smallint' THEN 'smallserial' ELSE 'bigserial' END \
               ELSE type || collated || CASE WHEN identity = 'a' THEN ' GENERATED ALWAYS AS IDENTITY' \
                 WHEN identity = 'd' THEN ' GENERATED BY DEFAULT AS IDENTITY' WHEN is_foreign OR value IS NULL THEN '' \
                 WHEN generated = 's' THEN ' GENERATED ALWAYS AS (' || value || ') STORED' \
                 WHEN generated = 'v' THEN ' GENERATED ALWAYS AS (' || value || ') VIRTUAL' \
                 ELSE ' DEFAULT ' || value END END || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END, \
               type, typtype::text, typname, typmod, element, typlen, is_text, is_lost, \
               is_foreign AND value NOT LIKE 'nextval(%', loses_collation, not_null, \
               generated <> '' AND NOT is_foreign FROM read ORDER BY attrelid, attnum",
            unwritable = unwritable("b.typid")
        ))?;
        let mut lost = vec!["(0, 0)".to_owned()];
        for row in &rows {
            let oid: u32 = parsed(row, 0);
            let Some(at) = facts.tables.iter().position(|table| table.oid == oid) else { continue };
            let (table, name) = (&mut facts.tables[at], text(row, 2));
            let full_name = format!("{}.{name}", table.sql_name);
            let losses = [
                (11, "columns whose types the schema cannot define are left out"),
                (12, "expressions of columns that depend on other objects are left out"),
                (13, "collations of users are left out"),
            ];
            let is_lost = truth(row, 11);
            let lost_parts = losses.iter().filter(|(at, _)| truth(row, *at) && (*at == 11 || !is_lost));
            for (_, kind) in lost_parts.filter(|_| !table.is_partition) {
                facts.left_out.push(((*kind).to_owned(), full_name.clone()));
            }
            if is_lost {
                lost.push(format!("({oid}, {})", text(row, 1)));
                facts.description.tables[at].columns.retain(|column| column.name != name);
                continue;
            }
            table.columns.push(ColumnFacts {
                name,
                definition: text(row, 3),
                sql_type: text(row, 4),
                family: family(row),
                not_null: truth(row, 14),
                is_generated: truth(row, 15),
                statistics: None,
            });
        }
        self.lost = lost.join(", ");
        Ok(())
    }

    /// An expression: whether the object depends on functions and other objects of users that the schema does not have.
    fn needs_others(&self, catalog: &str, oid: &str) -> String {
        let lost = if self.lost.is_empty() { "(0, 0)" } else { &self.lost };
        format!(
            "EXISTS (SELECT FROM pg_depend n WHERE n.classid = '{catalog}'::regclass AND n.objid = {oid} \
               AND n.refobjid >= 16384 AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.classid = n.refclassid \
                 AND x.objid = n.refobjid AND x.deptype = 'e') \
               AND (n.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass, \
                   'pg_opfamily'::regclass, 'pg_collation'::regclass, 'pg_ts_config'::regclass) \
                 OR (n.refclassid = 'pg_class'::regclass AND (n.refobjid, n.refobjsubid) IN ({lost})) \
                 OR (n.refclassid = 'pg_class'::regclass AND n.refobjid NOT IN ({tables}) AND n.refobjid NOT IN ( \
                   SELECT indexrelid FROM pg_index)) \
                 OR (n.refclassid = 'pg_type'::regclass AND {unwritable})))",
            tables = self.tables,
            unwritable = unwritable("n.refobjid")
        )
    }

    /// Keys and conditions inside of CREATE TABLE; indexes and foreign keys behind all tables.
    fn constraints_and_indexes(&mut self, facts: &mut Facts) -> Result<(), LearnError> {
        let list = &self.tables;
        let rows = self.rows(&format!(
            "SELECT strpos('puxcf', c.contype::text) AS step, c.conrelid, c.contype::text, \
               'CONSTRAINT ' || quote_ident(c.conname) || ' ' || pg_get_constraintdef(c.oid, true), \
               CASE WHEN c.contype = 'f' AND c.confrelid NOT IN ({list}) THEN 'foreign keys to tables that are not learnt' \
                 WHEN {constraint} THEN 'constraints that depend on other objects' END, c.conname, c.oid \
             FROM pg_constraint c WHERE c.conrelid IN ({list}) AND c.contype IN ('p', 'u', 'x', 'c', 'f') \
               AND (c.conislocal OR EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.conrelid \
                 AND h.inhparent NOT IN ({list}))) \
             UNION ALL SELECT 0, i.indrelid, 'i', replace(pg_get_indexdef(i.indexrelid, 0, true), \
               quote_ident(x.relname) || ' ON ONLY ', quote_ident(x.relname) || ' ON '), CASE WHEN {index} THEN 'indexes that depend on other objects' END, \
               x.relname, x.oid \
             FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid IN ({list}) \
               AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = x.oid AND c.contype IN ('p', 'u', 'x')) \
               AND NOT EXISTS (SELECT FROM pg_inherits h JOIN pg_index p ON p.indexrelid = h.inhparent \
                 WHERE h.inhrelid = x.oid AND p.indrelid IN ({list})) \
             ORDER BY step, oid",
            constraint = self.needs_others("pg_constraint", "c.oid"),
            index = self.needs_others("pg_class", "x.oid"),
        ))?;
        for row in &rows {
            let oid: u32 = parsed(row, 1);
            let Some(at) = facts.tables.iter().position(|table| table.oid == oid) else { continue };
            let (table, definition) = (&mut facts.tables[at], text(row, 3));
            if let Some(kind) = row.get(4) {
                let own = &mut facts.description.tables[at];
                own.keys.retain(|key| row.get(5) != Some(&key.name));
                own.checks.retain(|check| row.get(5) != Some(&check.name));
                facts
                    .left_out
                    .push((format!("{kind} are left out"), format!("{}.{}", table.sql_name, text(row, 5))));
                continue;
            }
            match row.get(2) {
                Some("i") => facts.after.push(definition),
                Some("f") => facts.after.push(format!("ALTER TABLE {} ADD {definition}", table.sql_name)),
                _ => table.constraints.push(definition),
            }
        }
        Ok(())
    }

    /// CREATE SCHEMA, CREATE EXTENSION and CREATE TYPE.
    fn statements_before(&mut self, facts: &mut Facts) -> Result<(), LearnError> {
        let list = &self.tables;
        let owned = format!(
            "own(classid, objid) AS (SELECT 'pg_class'::regclass::oid, c.oid FROM pg_class c WHERE c.oid IN ({list}) \
             UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid IN ({list}) \
             UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid IN ({list}) \
             UNION ALL SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid IN ({list})), \
             need AS (SELECT DISTINCT d.refclassid, d.refobjid FROM own JOIN pg_depend d USING (classid, objid))"
        );
        let types = parts_of_types("SELECT refobjid FROM need WHERE refclassid = 'pg_type'::regclass")
            .replacen("part(oid)", &format!("{owned}, part(oid)"), 1);
        let rows = self.rows(&format!(
            "{types}, \
             extensions(oid) AS (SELECT d.refobjid FROM pg_depend d \
               JOIN (SELECT * FROM need UNION SELECT 'pg_type'::regclass, oid FROM part) n \
                 ON d.classid = n.refclassid AND d.objid = n.refobjid WHERE d.deptype = 'e'), \
             made(step, oid, sql) AS (SELECT 0, n.oid, 'CREATE SCHEMA IF NOT EXISTS ' || quote_ident(n.nspname) \
               FROM pg_namespace n WHERE n.oid IN (SELECT relnamespace FROM pg_class WHERE oid IN ({list}) \
                   UNION SELECT t.typnamespace FROM part p JOIN pg_type t ON t.oid = p.oid \
                   UNION SELECT e.extnamespace FROM pg_extension e WHERE e.oid IN (SELECT oid FROM extensions)) \
                 AND n.oid >= 16384 AND n.nspname <> 'public' AND n.nspname <> ALL (current_schemas(false)) \
             UNION ALL SELECT 1, e.oid, 'CREATE EXTENSION IF NOT EXISTS ' || quote_ident(e.extname) || CASE \
                 WHEN n.nspname = ANY (current_schemas(true)) THEN '' ELSE ' SCHEMA ' || quote_ident(n.nspname) END \
               FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.oid IN (SELECT oid FROM extensions) \
             UNION ALL SELECT 2, t.oid, CASE t.typtype \
                 WHEN 'e' THEN 'CREATE TYPE ' || format_type(t.oid, NULL) || ' AS ENUM (' || coalesce((SELECT \
                   string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum e \
                   WHERE e.enumtypid = t.oid), '') || ')' \
                 WHEN 'c' THEN 'CREATE TYPE ' || format_type(t.oid, NULL) || ' AS (' || coalesce((SELECT \
                   string_agg(quote_ident(f.attname) || ' ' || format_type(f.atttypid, f.atttypmod), ', ' ORDER BY f.attnum) \
                   FROM pg_attribute f WHERE f.attrelid = t.typrelid AND f.attnum > 0 AND NOT f.attisdropped), '') || ')' \
                 WHEN 'r' THEN (SELECT 'CREATE TYPE ' || format_type(t.oid, NULL) || ' AS RANGE (SUBTYPE = ' || \
                   format_type(r.rngsubtype, NULL) || ')' FROM pg_range r WHERE r.rngtypid = t.oid) \
                 ELSE 'CREATE DOMAIN ' || format_type(t.oid, NULL) || ' AS ' || format_type(t.typbasetype, t.typtypmod) || \
                   coalesce(' DEFAULT ' || t.typdefault, '') || CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END || \
                   coalesce((SELECT string_agg(' CONSTRAINT ' || quote_ident(k.conname) || ' ' || \
                     pg_get_constraintdef(k.oid, true), '' ORDER BY k.oid) FROM pg_constraint k \
                     WHERE k.contypid = t.oid AND k.contype = 'c' AND NOT {foreign}), '') END \
               FROM part p JOIN pg_type t ON t.oid = p.oid JOIN pg_namespace n ON n.oid = t.typnamespace \
                 LEFT JOIN pg_class r ON r.oid = t.typrelid \
               WHERE t.oid >= 16384 AND t.typtype IN ('e', 'c', 'd', 'r') AND (t.typtype <> 'c' OR r.relkind = 'c') \
                 AND NOT {unwritable} AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.classid = 'pg_type'::regclass \
                   AND x.objid = t.oid AND x.deptype = 'e')) \
             SELECT sql, NULL, step, oid FROM made UNION ALL \
             SELECT NULL, k.conname, 3, k.oid FROM pg_constraint k WHERE k.contypid IN (SELECT oid FROM part) \
               AND k.contype = 'c' AND {foreign} ORDER BY 3, 4",
            foreign = self.needs_others("pg_constraint", "k.oid"),
            unwritable = unwritable("t.oid"),
        ))?;
        facts.before = rows.iter().filter_map(|row| row.get(0)).map(str::to_owned).collect();
        let left = rows.iter().filter_map(|row| row.get(1));
        let kind = "constraints of domains that depend on other objects are left out";
        facts.left_out.extend(left.map(|name| (kind.to_owned(), name.to_owned())));
        Ok(())
    }

    /// Counts what belongs to the tables, or to the whole database, and is not learnt.
    fn others(&mut self, facts: &mut Facts, all: bool) -> Result<(), LearnError> {
        let list = &self.tables;
        let own = |catalog: &str, oid: &str| {
            format!(
                "NOT EXISTS (SELECT FROM pg_depend x WHERE x.classid = '{catalog}'::regclass AND x.objid = {oid} \
                 AND x.deptype IN ('e', 'a', 'i'))"
            )
        };
        let mut sql = format!(
            "SELECT 'triggers', tgrelid::regclass || '.' || tgname FROM pg_trigger WHERE tgrelid IN ({list}) AND NOT tgisinternal UNION ALL \
             SELECT 'rules', ev_class::regclass || '.' || rulename FROM pg_rewrite WHERE ev_class IN ({list}) AND rulename <> '_RETURN' UNION ALL \
             SELECT 'policies of row-level security', polrelid::regclass || '.' || polname FROM pg_policy WHERE polrelid IN ({list}) UNION ALL \
             SELECT 'comments', objoid::regclass::text FROM pg_description WHERE classoid = 'pg_class'::regclass \
               AND objoid IN ({list}) AND strpos(description, {mark}) = 0 UNION ALL \
             SELECT 'privileges of tables', oid::regclass::text FROM pg_class WHERE oid IN ({list}) AND relacl IS NOT NULL",
            mark = literal(BEGINNING),
        );
        if self.version >= PARTITIONS_VERSION {
            sql += &format!(
                " UNION ALL SELECT 'extended statistics', stxname FROM pg_statistic_ext WHERE stxrelid IN ({list})"
            );
        }
        if all {
            sql += &format!(
                " UNION ALL SELECT 'functions', p.oid::regproc::text FROM pg_proc p WHERE p.oid >= 16384 AND {} \
                 UNION ALL SELECT 'sequences without a column', c.oid::regclass::text FROM pg_class c \
                 WHERE c.relkind = 'S' AND c.oid >= 16384 AND {} AND NOT EXISTS (SELECT FROM pg_depend d \
                   WHERE d.refobjid = c.oid AND d.classid = 'pg_attrdef'::regclass)",
                own("pg_proc", "p.oid"),
                own("pg_class", "c.oid"),
            );
        }
        for row in &self.rows(&sql)? {
            facts.left_out.push((format!("{} are left out", text(row, 0)), text(row, 1)));
        }
        Ok(())
    }

    /// Adds the rows of `pg_stats`, for a partitioned table those of all its partitions. No value of a table is read.
    fn statistics(&mut self, facts: &mut Facts) -> Result<(), LearnError> {
        let rows = self.rows(&format!(
            "SELECT c.oid, s.attname, s.null_frac, s.avg_width, s.n_distinct, s.correlation, \
             array_to_string(s.most_common_freqs, ','), array_to_string(s.elem_count_histogram, ',') FROM pg_stats s \
             JOIN pg_namespace n ON n.nspname = s.schemaname \
             JOIN pg_class c ON c.relname = s.tablename AND c.relnamespace = n.oid \
             WHERE c.oid IN ({}) AND s.inherited = (c.relkind = 'p')",
            self.tables
        ))?;
        for row in &rows {
            let oid: u32 = parsed(row, 0);
            let tables = facts.tables.iter_mut().filter(|table| table.oid == oid);
            let mut columns = tables.flat_map(|table| &mut table.columns);
            let Some(column) = columns.find(|column| row.get(1) == Some(&column.name)) else { continue };
            let numbers =
                |at: usize| row.get(at).unwrap_or_default().split(',').filter_map(|text| text.parse().ok());
            column.statistics = Some(Statistics {
                null_share: parsed(row, 2),
                average_width: parsed(row, 3),
                distinct: parsed(row, 4),
                correlation: row.get(5).and_then(|text| text.parse().ok()),
                common_shares: numbers(6).collect(),
                element_counts: numbers(7).collect(),
                ..Statistics::default()
            });
        }
        Ok(())
    }

    /// Adds the common values in the order of their type, and the bounds of the histogram. Without `values`, adds only
    /// booleans, labels of enumerations, and constants of the column's CHECK constraints and partitions.
    fn common_values(&mut self, facts: &mut Facts, values: bool) -> Result<(), LearnError> {
        let schema = Schema::new(&facts.description, &Source::new("", "")).map_err(LearnError::Schema)?;
        for (at, table) in facts.tables.iter_mut().enumerate().filter(|(_, table)| !table.is_partition) {
            for column in &mut table.columns {
                let permitted = schema.permitted(at, &column.name).unwrap_or_default();
                self.values_of(table.oid, column, &permitted, values)?;
            }
        }
        Ok(())
    }

    fn values_of(
        &mut self,
        oid: u32,
        column: &mut ColumnFacts,
        permitted: &Permitted,
        values: bool,
    ) -> Result<(), LearnError> {
        let Some(statistics) = &mut column.statistics else { return Ok(()) };
        let constants = permitted.values.as_deref().unwrap_or_default();
        let condition = match column.family {
            Family::Bool | Family::Enum => "true".to_owned(),
            Family::Integer
            | Family::Numeric { .. }
            | Family::Float
            | Family::Text { .. }
            | Family::Date
            | Family::Timestamp => match constants {
                _ if values => "true".to_owned(),
                [] => return Ok(()),
                constants => {
                    let constants: Vec<String> = constants.iter().map(|value| literal(value)).collect();
                    format!("v.value IN ({})", constants.join(", "))
                }
            },
            _ => return Ok(()),
        };
        let of_column = format!(
            "FROM pg_stats s JOIN pg_namespace n ON n.nspname = s.schemaname \
             JOIN pg_class c ON c.relname = s.tablename AND c.relnamespace = n.oid \
             WHERE c.oid = {oid} AND s.inherited = (c.relkind = 'p') AND s.attname = {}",
            literal(&column.name)
        );
        let common = self.rows(&format!(
            "SELECT v.at, v.value FROM (SELECT s.most_common_vals::text::text[] AS list {of_column}) l, \
             unnest(l.list) WITH ORDINALITY AS v(value, at) WHERE {condition} ORDER BY v.value::{}",
            column.sql_type
        ))?;
        let value = |row: &Row| Some((parsed::<usize>(row, 0).checked_sub(1)?, row.get(1)?.to_owned()));
        statistics.common_values = common.iter().filter_map(value).collect();
        if values {
            let bounds = self.rows(&format!(
                "SELECT b.list[1], b.list[array_length(b.list, 1)] \
                 FROM (SELECT s.histogram_bounds::text::text[] AS list {of_column}) b"
            ))?;
            let pair = |row: &Row| Some((row.get(0)?.to_owned(), row.get(1)?.to_owned()));
            statistics.bounds = bounds.first().and_then(pair);
        }
        Ok(())
    }
}

/// An expression: whether a part of the type has no CREATE TYPE in the schema. Types of extensions are no such part.
fn unwritable(oid: &str) -> String {
    format!(
        "EXISTS ({} SELECT FROM part p JOIN pg_type t ON t.oid = p.oid \
           LEFT JOIN pg_class r ON r.oid = t.typrelid \
         WHERE t.oid >= 16384 AND t.typcategory <> 'A' AND t.typtype NOT IN ('e', 'd', 'r') \
           AND (t.typtype <> 'c' OR r.relkind <> 'c') \
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid \
             AND d.deptype = 'e'))",
        parts_of_types(&format!("SELECT {oid}"))
    )
}

/// From the type's name, its modifier, and the element of an array.
fn family(row: &Row) -> Family {
    let modifier: i64 = parsed(row, 7);
    let max = u32::try_from(modifier - 4).ok();
    if row.get(8).is_some() {
        let width: i64 = parsed(row, 9);
        return Family::Array { element: u32::try_from(width).ok(), is_text: truth(row, 10), max };
    }
    if row.get(5) == Some("e") {
        return Family::Enum;
    }
    match row.get(6).unwrap_or_default() {
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
