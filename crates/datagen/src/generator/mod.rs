//! Generators: `compile` turns directives into nodes, `defaults` selects a generator for a column without directives, and
//! the others write values. Used by `generation`.

mod address;
mod calendar;
mod check_digits;
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
mod random_bits;
mod target;
mod text;
mod weighted;

pub use compile::Files;
pub(crate) use compile::{Compiler, reference_draw};
pub(crate) use description::{GeneratorDescription, text as settings_text};
pub(crate) use draw::Sub;
pub(crate) use literal::{escape_copy, escape_csv};
pub(crate) use node::{CaseValue, ColumnCases, ColumnNode, Kind, Node, Rank, ReferenceOrder};
pub(crate) use pattern::fixed_lengths;
pub(crate) use random_bits::{bits, key_of, unit};
pub(crate) use target::{Target, scale as decimals};
pub use weighted::correlation_directive;
pub(crate) use weighted::{Combinations, Weighted};
