//! Digests in marks, most of them SQL: of what CREATE OR REPLACE and ALTER change. Privileges and values of sequences belong
//! to no definition. The digests do not depend on the search path of users: they are computed under that of the catalogs.

/// FNV-1a of bytes.
pub(crate) fn checksum(bytes: impl Iterator<Item = u8>) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let sum = bytes.fold(OFFSET, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{sum:016x}")
}

/// The digest of a relation's columns, and of a view's query, for the OID in `$`.
pub(crate) const DIGEST_OF_RELATION: &str = "\
    (select coalesce(md5(string_agg(concat(a.attname, ' ', n.nspname, '.', y.typname, ' ', a.atttypmod), \
    ',' order by a.attnum) || coalesce((select pg_get_viewdef(c.oid) from pg_class c \
    where c.oid = $ and c.relkind in ('v', 'm')), '')), '') \
    from pg_attribute a join pg_type y on y.oid = a.atttypid join pg_namespace n on n.oid = y.typnamespace \
    where a.attrelid = $ and a.attnum > 0 and not a.attisdropped)";

/// The digest of what CREATE OR REPLACE FUNCTION changes, for the OID in `$`.
const DIGEST_OF_FUNCTION: &str = "\
    (select md5(concat_ws('|', prosrc, probin, prolang, provolatile, proisstrict, prosecdef, proconfig)) \
    from pg_proc where oid = $)";

/// The digest of the owner and the definition of the object `$` in each catalog.
const DEFINITIONS: [(&str, &str); 6] = [
    (
        "pg_class",
        "(select md5(concat_ws('|', c.relowner, case when c.relkind = 'S' then case when has_sequence_privilege(c.oid, \
         'usage, select, update') then (select p::text from pg_sequence_parameters(c.oid) p) end end)) \
         from pg_class c where c.oid = $)",
    ),
    (
        "pg_proc",
        "(select md5(concat_ws('|', p.proowner, case when exists (select 1 from pg_aggregate a where a.aggfnoid = p.oid) \
         then (select to_jsonb(a)::text from pg_aggregate a where a.aggfnoid = p.oid) \
         else pg_get_functiondef(p.oid) end)) from pg_proc p where p.oid = $)",
    ),
    (
        "pg_type",
        "(select md5(concat_ws('|', y.typowner, y.typtype, y.typnotnull, y.typbasetype, y.typtypmod, y.typcollation, \
         y.typdefault, (select string_agg(concat(k.conname, ' ', k.convalidated, pg_get_constraintdef(k.oid)), ',' \
         order by k.conname) from pg_constraint k where k.contypid = y.oid), \
         (select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = y.oid), \
         (select string_agg(concat(a.attname, ' ', a.atttypid, ' ', a.atttypmod), ',' order by a.attnum) \
         from pg_attribute a where a.attrelid = y.typrelid and a.attnum > 0 and not a.attisdropped))) \
         from pg_type y where y.oid = $)",
    ),
    ("pg_namespace", "(select md5(s.nspowner::text) from pg_namespace s where s.oid = $)"),
    (
        "pg_ts_config",
        "(select md5(concat_ws('|', f.cfgowner, f.cfgparser, (select string_agg(concat(m.maptokentype, ' ', m.mapseqno, ' ', \
         m.mapdict), ',' order by m.maptokentype, m.mapseqno) from pg_ts_config_map m where m.mapcfg = f.oid))) \
         from pg_ts_config f where f.oid = $)",
    ),
    (
        "pg_ts_dict",
        "(select md5(concat_ws('|', h.dictowner, h.dicttemplate, h.dictinitoption)) from pg_ts_dict h where h.oid = $)",
    ),
];

/// SQL for the digest of the definition of an object in a catalog, both of which are expressions.
pub(crate) fn definition(class: &str, oid: &str) -> String {
    let cases = DEFINITIONS
        .iter()
        .map(|(catalog, digest)| format!("when '{catalog}'::regclass then {}", digest.replace('$', oid)));
    format!("case {class} {} end", cases.collect::<Vec<_>>().join(" "))
}

/// SQL for the digest of an object in a catalog, both of which are expressions.
pub(crate) fn digest(class: &str, oid: &str) -> String {
    format!(
        "case {class} when 'pg_class'::regclass then {} when 'pg_proc'::regclass then {} else '' end",
        DIGEST_OF_RELATION.replace('$', oid),
        DIGEST_OF_FUNCTION.replace('$', oid)
    )
}
