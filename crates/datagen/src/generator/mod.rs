//! Generators: `compile` turns directives into nodes, `defaults` selects a generator for a column without directives, and
//! the others write values. Used by `generation`.

mod address;
mod calendar;
mod compile;
mod defaults;
mod draw;
mod enumeration;
mod float;
mod literal;
mod node;
mod numbers;
mod pattern;
mod text;

pub(crate) use compile::{Compiler, Target, reference_draw, scale as decimals};
pub(crate) use draw::{bits, key_of, unit};
pub(crate) use literal::escape_copy;
pub(crate) use node::{ColumnNode, Kind, Node, Rank, ReferenceOrder};
