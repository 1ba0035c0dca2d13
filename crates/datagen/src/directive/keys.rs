//! The words of the directive language as tables: generators with the keys that each uses, and the values of keys. The
//! tables in the manual name the same words.

/// Values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// None: the key alone.
    Flag,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// A word, a number or a quoted text.
    Text,
    /// A text, or the key alone.
    OptionalText,
}

/// A generator: the key that selects it.
pub(crate) struct GeneratorRow {
    pub name: &'static str,
    pub value: ValueKind,
    /// The keys that it uses, in groups.
    pub keys: &'static [&'static [&'static str]],
}

/// Keys of all generators that draw a number.
const DRAW: &[&str] = &[
    "sub",
    "alpha",
    "rate",
    "parameter",
    "growth",
    "width",
    "weights",
    "correlation",
    "offset",
    "shift",
    "step",
    "xor",
    "mangle",
    "size",
    "mult",
];
const LENGTH: &[&str] = &["length", "lenvar", "lenmin", "lenmax"];

/// A row of [`GENERATORS`].
const fn row(name: &'static str, value: ValueKind, keys: &'static [&'static [&'static str]]) -> GeneratorRow {
    GeneratorRow { name, value, keys }
}

/// The 29 generators of datafiller, and `time`, `linear` and `list`.
pub(crate) const GENERATORS: [GeneratorRow; 32] = [
    row("int", ValueKind::Flag, &[DRAW, &["decimals", "prec"]]),
    row("bool", ValueKind::Flag, &[&["rate"]]),
    row("float", ValueKind::OptionalText, &[&["alpha", "beta"]]),
    row("date", ValueKind::Flag, &[DRAW, &["start", "end", "prec"]]),
    row("timestamp", ValueKind::Flag, &[DRAW, &["start", "end", "prec", "tz"]]),
    row("interval", ValueKind::Flag, &[DRAW, &["unit"]]),
    row("string", ValueKind::Flag, &[DRAW, LENGTH, &["prefix", "ordered"]]),
    row("chars", ValueKind::Text, &[DRAW, LENGTH, &["cgen"]]),
    row("word", ValueKind::Text, &[DRAW]),
    row("text", ValueKind::Text, &[LENGTH, &["separator", "prefix", "suffix"]]),
    row("const", ValueKind::Text, &[]),
    row("count", ValueKind::Flag, &[&["start", "step", "format"]]),
    row("cat", ValueKind::Text, &[]),
    row("alt", ValueKind::Text, &[]),
    row("repeat", ValueKind::Text, &[DRAW, &["extent"]]),
    row("reduce", ValueKind::Text, &[&["op"]]),
    row("tuple", ValueKind::Text, &[]),
    row("array", ValueKind::Text, &[LENGTH]),
    row("value", ValueKind::Text, &[]),
    row("pattern", ValueKind::Text, &[]),
    row("uuid", ValueKind::Flag, &[DRAW, &["ordered"]]),
    row("bit", ValueKind::Flag, &[DRAW, LENGTH]),
    row("blob", ValueKind::Flag, &[DRAW, LENGTH, &["ordered"]]),
    row("file", ValueKind::Text, &[DRAW, &["mode"]]),
    row("inet", ValueKind::OptionalText, &[DRAW]),
    row("mac", ValueKind::Flag, &[DRAW]),
    row("luhn", ValueKind::Flag, &[DRAW, &["length", "prefix"]]),
    row("ean", ValueKind::Flag, &[DRAW, &["prefix"]]),
    row("isnull", ValueKind::Flag, &[]),
    row("time", ValueKind::Flag, &[DRAW, &["start", "end", "prec", "tz"]]),
    row("list", ValueKind::Text, &[DRAW]),
    row("linear", ValueKind::Text, &[&["slope", "intercept", "noise"]]),
];

/// Keys of a foreign key without a generator of its own: `prefix` and `offset` belong to the referenced column.
pub(crate) const REFERENCE: &[&str] = &[
    "sub",
    "alpha",
    "rate",
    "parameter",
    "growth",
    "width",
    "weights",
    "correlation",
    "shift",
    "step",
    "xor",
    "mangle",
    "size",
    "mult",
];

/// Keys of every column and macro.
pub(crate) const COLUMN: &[&str] = &["null", "nogen", "type", "use", "seed", "share"];

/// Keys of a table.
pub(crate) const TABLE: &[&str] = &["mult", "size", "nogen", "skip", "null", "direct"];

/// Keys of the schema.
pub(crate) const SCHEMA: &[&str] = &["size", "offset", "null", "seed", "type"];

/// Values of the keys that are no generators.
const KEYS: [(&str, ValueKind); 46] = [
    ("alpha", ValueKind::Number),
    ("beta", ValueKind::Number),
    ("cgen", ValueKind::Text),
    ("correlation", ValueKind::Number),
    ("direct", ValueKind::Flag),
    ("decimals", ValueKind::Integer),
    ("end", ValueKind::Text),
    ("extent", ValueKind::Text),
    ("format", ValueKind::Text),
    ("growth", ValueKind::Number),
    ("intercept", ValueKind::Number),
    ("length", ValueKind::Integer),
    ("lenmax", ValueKind::Integer),
    ("lenmin", ValueKind::Integer),
    ("lenvar", ValueKind::Integer),
    ("mangle", ValueKind::Flag),
    ("mode", ValueKind::Text),
    ("mult", ValueKind::Number),
    ("nogen", ValueKind::Flag),
    ("noise", ValueKind::Number),
    ("null", ValueKind::Number),
    ("offset", ValueKind::Integer),
    ("op", ValueKind::Text),
    ("ordered", ValueKind::Flag),
    ("parameter", ValueKind::Number),
    ("prec", ValueKind::Integer),
    ("prefix", ValueKind::Text),
    ("rate", ValueKind::Number),
    ("seed", ValueKind::Text),
    ("separator", ValueKind::Text),
    ("share", ValueKind::Text),
    ("shift", ValueKind::Integer),
    ("size", ValueKind::Integer),
    ("skip", ValueKind::Number),
    ("slope", ValueKind::Number),
    ("start", ValueKind::Text),
    ("step", ValueKind::Integer),
    ("sub", ValueKind::Text),
    ("suffix", ValueKind::Text),
    ("type", ValueKind::Text),
    ("tz", ValueKind::Text),
    ("unit", ValueKind::Text),
    ("use", ValueKind::Text),
    ("weights", ValueKind::Text),
    ("width", ValueKind::Number),
    ("xor", ValueKind::Integer),
];

/// The generator of this name.
pub(crate) fn generator(name: &str) -> Option<&'static GeneratorRow> {
    GENERATORS.iter().find(|row| row.name == name)
}

/// The word itself and the values that it takes.
pub(crate) fn key(name: &str) -> Option<(&'static str, ValueKind)> {
    let generator = generator(name).map(|row| (row.name, row.value));
    generator.or_else(|| KEYS.iter().find(|(known, _)| *known == name).copied())
}

/// All words, for proposals.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    GENERATORS.iter().map(|row| row.name).chain(KEYS.iter().map(|(name, _)| *name))
}

impl GeneratorRow {
    /// Whether it uses the key.
    pub fn uses(&self, key: &str) -> bool {
        self.name == key || COLUMN.contains(&key) || self.keys.iter().any(|group| group.contains(&key))
    }
}
