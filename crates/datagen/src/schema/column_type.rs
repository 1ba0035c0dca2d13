//! PostgreSQL's types as far as the generators distinguish them, from their names in SQL.
//! Types that a schema creates are resolved in `ddl`.

/// A column's type, with domains resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// smallint (2 bytes), integer (4), bigint (8), oid.
    Integer {
        /// Largest value.
        max: i64,
    },
    /// numeric, decimal.
    Numeric {
        /// Precision and scale, if given.
        digits: Option<(u32, i32)>,
    },
    /// real, double precision.
    Float,
    /// money.
    Money,
    /// boolean.
    Bool,
    /// text, varchar, char, citext, name.
    Text {
        /// Length limit in characters.
        max: Option<u32>,
        /// Of a char: always this long.
        padded: bool,
    },
    /// bytea.
    Bytes,
    /// date.
    Date,
    /// time.
    Time {
        /// With time zone.
        zone: bool,
    },
    /// timestamp.
    Timestamp {
        /// With time zone.
        zone: bool,
    },
    /// interval.
    Interval,
    /// uuid.
    Uuid,
    /// inet, cidr.
    Inet,
    /// macaddr.
    Mac {
        /// 6 or 8 bytes.
        bytes: u8,
    },
    /// bit, varbit.
    Bit {
        /// Length or maximum.
        length: Option<u32>,
        /// bit varying.
        varying: bool,
    },
    /// The types of the extension isn, by their names in lower case.
    Ean(&'static str),
    /// json, jsonb.
    Json,
    /// Label of an enumeration.
    Enum(Vec<String>),
    /// Fields of a composite type: its name and the types.
    Composite(String, Vec<Type>),
    /// An array of any number of dimensions.
    Array(Box<Type>),
    /// A type with a fixed pattern of its own, or an unknown one, by its name in lower case.
    Other(String),
}

/// Number types that PostgreSQL fills by a sequence, with the type that they are.
const SERIALS: [(&str, &str); 6] = [
    ("serial", "integer"),
    ("serial4", "integer"),
    ("bigserial", "bigint"),
    ("serial8", "bigint"),
    ("smallserial", "smallint"),
    ("serial2", "smallint"),
];

/// Usual names of the types that [`Type::built_in`] knows, for messages.
pub(crate) const NAMES: [&str; 36] = [
    "smallint",
    "integer",
    "bigint",
    "serial",
    "bigserial",
    "smallserial",
    "numeric",
    "decimal",
    "real",
    "double precision",
    "money",
    "boolean",
    "text",
    "citext",
    "varchar",
    "character varying",
    "char",
    "character",
    "bytea",
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "bit",
    "varbit",
    "json",
    "jsonb",
    "name",
    "oid",
];

/// Types of the extension isn.
const EANS: [&str; 8] = ["ean13", "isbn", "isbn13", "issn", "issn13", "ismn", "ismn13", "upc"];

/// The integer type behind a serial one.
pub(crate) fn serial(name: &str) -> Option<&'static str> {
    SERIALS.iter().find(|(serial, _)| *serial == name).map(|(_, integer)| *integer)
}

/// A type's name in lower case without arguments and arrays, its arguments, and whether it is an array.
pub(crate) struct TypeName {
    pub base: String,
    pub arguments: Vec<i32>,
    pub array: bool,
}

impl TypeName {
    /// From SQL, for example `character varying(20)[]` or `app."Mood"`.
    pub fn read(sql: &str) -> Self {
        // Parentheses and brackets in quotes belong to the name.
        let mut quoted = false;
        let plain = sql.trim().chars().filter_map(|character| {
            quoted ^= character == '"';
            match character {
                '"' => None,
                '(' | ')' | '[' | ']' if quoted => Some('_'),
                other => Some(other),
            }
        });
        let mut text = plain.collect::<String>().to_lowercase();
        let mut array = false;
        if let Some((before, _)) = text.split_once('[') {
            array = true;
            text = before.to_owned();
        }
        if let Some(before) = text.trim_end().strip_suffix(" array") {
            array = true;
            text = before.to_owned();
        }
        let mut arguments = Vec::new();
        if let Some((before, rest)) = text.clone().split_once('(') {
            let (inside, after) = rest.split_once(')').unwrap_or((rest, ""));
            arguments = inside.split(',').filter_map(|number| number.trim().parse().ok()).collect();
            text = format!("{before} {after}");
        }
        let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "setof").collect();
        let base = words.join(" ");
        let base = base.strip_prefix("pg_catalog.").unwrap_or(&base).to_owned();
        Self { base, arguments, array }
    }
}

impl Type {
    /// A built-in type, or [`Type::Other`].
    pub(crate) fn built_in(name: &TypeName) -> Self {
        let first = name.arguments.first().and_then(|number| u32::try_from(*number).ok());
        let base = serial(&name.base).unwrap_or(&name.base);
        let zone = base.ends_with("with time zone");
        match base {
            "smallint" | "int2" => Self::Integer { max: i16::MAX.into() },
            "integer" | "int" | "int4" => Self::Integer { max: i32::MAX.into() },
            "bigint" | "int8" => Self::Integer { max: i64::MAX },
            "oid" | "xid" | "regclass" => Self::Integer { max: u32::MAX.into() },
            "numeric" | "decimal" | "dec" => {
                let scale = name.arguments.get(1).copied().unwrap_or(0);
                Self::Numeric { digits: first.map(|precision| (precision, scale)) }
            }
            "real" | "float" | "float4" | "float8" | "double precision" | "double" => Self::Float,
            "money" => Self::Money,
            "boolean" | "bool" => Self::Bool,
            "text" | "citext" | "string" | "clob" => Self::Text { max: None, padded: false },
            "name" => Self::Text { max: Some(63), padded: false },
            "varchar" | "character varying" | "char varying" | "nvarchar" => {
                Self::Text { max: first, padded: false }
            }
            "char" | "character" | "bpchar" => Self::Text { max: Some(first.unwrap_or(1)), padded: true },
            "bytea" | "blob" => Self::Bytes,
            "date" => Self::Date,
            "time" | "time without time zone" => Self::Time { zone: false },
            "timetz" | "time with time zone" => Self::Time { zone: true },
            "timestamp" | "timestamptz" | "datetime" => Self::Timestamp { zone: base == "timestamptz" },
            _ if base.starts_with("timestamp ") => Self::Timestamp { zone },
            _ if base == "interval" || base.starts_with("interval ") => Self::Interval,
            "uuid" => Self::Uuid,
            "inet" | "cidr" => Self::Inet,
            "macaddr" => Self::Mac { bytes: 6 },
            "macaddr8" => Self::Mac { bytes: 8 },
            "bit" => Self::Bit { length: Some(first.unwrap_or(1)), varying: false },
            "bit varying" | "varbit" => Self::Bit { length: first, varying: true },
            "json" | "jsonb" => Self::Json,
            _ => match EANS.iter().find(|ean| **ean == base) {
                Some(ean) => Self::Ean(ean),
                None => Self::Other(base.to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_read_with_their_arguments() {
        let check =
            |sql: &str, expected: Type| assert_eq!(Type::built_in(&TypeName::read(sql)), expected, "{sql}");
        check("CHARACTER VARYING(20)", Type::Text { max: Some(20), padded: false });
        check("varchar", Type::Text { max: None, padded: false });
        check("CHAR", Type::Text { max: Some(1), padded: true });
        check("TIMESTAMP(3) WITH TIME ZONE", Type::Timestamp { zone: true });
        check("timestamp without time zone", Type::Timestamp { zone: false });
        check("NUMERIC(10, 2)", Type::Numeric { digits: Some((10, 2)) });
        check("pg_catalog.int8", Type::Integer { max: i64::MAX });
        check("bigserial", Type::Integer { max: i64::MAX });
        check("tsvector", Type::Other("tsvector".to_owned()));
        assert!(TypeName::read("integer[3][]").array);
        assert!(TypeName::read("integer ARRAY").array);
    }
}
