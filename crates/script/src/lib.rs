//! The pgbench language: text to program, expressions, variables, random streams. Pure.
