//! Generators: `compile` turns directives into nodes, `defaults` selects a generator for a column without directives, and
//! the others write values. Used by `generation`.

mod address;
mod calendar;
mod check_digits;
mod column;
mod compile;
mod defaults;
mod description;
mod draw;
mod enumeration;
mod float;
mod literal;
mod node;
mod numbers;
mod pattern;
mod text;
mod weighted;

pub(crate) use column::{CaseValue, ColumnCases, ColumnNode, Rank};
pub(crate) use compile::{Compiler, Target, reference_draw, scale as decimals};
pub(crate) use defaults::JSON;
pub(crate) use description::{Description, text as settings_text};
pub(crate) use draw::{Sub, bits, key_of, unit};
pub(crate) use literal::{escape_copy, escape_csv};
pub(crate) use node::{Kind, Node, ReferenceOrder};
pub(crate) use pattern::fixed_lengths;
pub use weighted::correlation_directive;
pub(crate) use weighted::{Combinations, Weighted};
