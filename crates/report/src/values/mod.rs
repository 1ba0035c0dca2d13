//! Rows of typed values, from which the formats for programs are written: each subject makes its rows and cases once, and
//! `csv`, `json`, `junit` and `openmetrics` write those of all subjects. Tidy lets no other module write these formats.

mod csv;
mod json;
mod junit;
mod openmetrics;

use std::borrow::Cow;
use std::collections::BTreeMap;

use results::{Annotation, Status, StepResult, WaitShare};
use serde::Serialize;
use stats::goals::GoalResult;

pub(crate) use csv::csv;
pub(crate) use json::json;
pub(crate) use junit::{Case, CaseOutcome, Suite, junit};
pub use openmetrics::{OPEN_METRICS_TYPE, OpenMetrics};

/// A value with its type. Its unit is in the name of its column or field.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(untagged)]
pub(crate) enum Value<'a> {
    #[default]
    Unknown,
    Flag(bool),
    Whole(i128),
    Number(f64),
    /// Perhaps from outside: a table has it on one line, escaped.
    Text(Cow<'a, str>),
    /// Of pgmeter itself.
    Words(String),
    List(Vec<Value<'a>>),
    Fields(Fields<'a>),
    /// Parts of records, as these have them.
    Goals(&'a [GoalResult]),
    Waits(&'a [WaitShare]),
    Steps(&'a [StepResult]),
    Status(&'a Status),
}

/// Values by their names, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields<'a>(pub(crate) Vec<(Cow<'a, str>, Value<'a>)>);

/// Fields as `"name" => value`; a value is all that `Value` is made from.
macro_rules! fields {
    ($($name:expr => $value:expr),* $(,)?) => {
        $crate::values::Fields(vec![$(($name.into(), $crate::values::Value::from($value))),*])
    };
}
pub(crate) use fields;

impl<'a> Fields<'a> {
    /// Adds a field if it is known; otherwise it is absent.
    pub(crate) fn and(mut self, name: &'static str, value: Option<impl Into<Value<'a>>>) -> Fields<'a> {
        self.0.extend(value.map(|value| (name.into(), value.into())));
        self
    }

    /// With the label and the note, if there are any.
    pub(crate) fn annotated(self, annotation: &Annotation) -> Fields<'a> {
        let Annotation { label, note } = annotation;
        let [label, note] = [label.as_ref().map(ToString::to_string), note.as_ref().map(ToString::to_string)];
        self.and("label", label).and("note", note)
    }

    /// These fields, then the others.
    pub(crate) fn then(mut self, others: Fields<'a>) -> Fields<'a> {
        self.0.extend(others.0);
        self
    }

    /// Takes a field out of these.
    fn take(&mut self, name: &str) -> Value<'a> {
        let found = self.0.iter_mut().find(|(known, _)| known == name);
        found.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
    }
}

impl<'a, N: Into<Cow<'a, str>> + Ord, V: Into<Value<'a>>> FromIterator<(N, V)> for Fields<'a> {
    /// In the order of their names.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Fields<'a> {
        let sorted: BTreeMap<N, V> = fields.into_iter().collect();
        Fields(sorted.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A table of values.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueTable<'a> {
    pub(crate) columns: Vec<Value<'a>>,
    pub(crate) rows: Vec<Vec<Value<'a>>>,
}

impl<'a> ValueTable<'a> {
    /// `columns` are names with commas between them.
    pub(crate) fn new(columns: &'static str, rows: Vec<Vec<Value<'a>>>) -> ValueTable<'a> {
        ValueTable { columns: columns.split(',').map(Value::from).collect(), rows }
    }

    /// From fields with the names of the columns; others are left out.
    pub(crate) fn of_fields(
        columns: &'static str,
        rows: impl IntoIterator<Item = Fields<'a>>,
    ) -> ValueTable<'a> {
        let row = |mut fields: Fields<'a>| columns.split(',').map(|name| fields.take(name)).collect();
        ValueTable::new(columns, rows.into_iter().map(row).collect())
    }
}

macro_rules! value_from {
    ($($type:ty as $value:expr;)*) => {
        $(impl<'a> From<$type> for Value<'a> {
            fn from(it: $type) -> Value<'a> {
                let value: fn($type) -> Value<'a> = $value;
                value(it)
            }
        })*
    };
}

value_from! {
    bool as Value::Flag;
    f64 as Value::Number;
    i64 as |it| Value::Whole(it.into());
    u32 as |it| Value::Whole(it.into());
    u64 as |it| Value::Whole(it.into());
    usize as |it| Value::from(it as u64);
    &'a str as |it| Value::Text(it.into());
    &'a String as |it| Value::Text(it.into());
    String as |it| Value::Text(it.into());
    Cow<'a, str> as Value::Text;
    Fields<'a> as Value::Fields;
    &'a [GoalResult] as Value::Goals;
    &'a [WaitShare] as Value::Waits;
    &'a [StepResult] as Value::Steps;
    &'a Status as Value::Status;
    &'a [String] as |it| Value::List(it.iter().map(Value::from).collect());
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(known: Option<T>) -> Value<'a> {
        known.map_or(Value::Unknown, Into::into)
    }
}

impl<'a, T: Into<Value<'a>>> From<Vec<T>> for Value<'a> {
    fn from(list: Vec<T>) -> Value<'a> {
        Value::List(list.into_iter().map(Into::into).collect())
    }
}
