//! Which language a script is written in: pgbench's, or pgbench's with our additions. Whoever parses a script says
//! it; `meta` reads the additions. They are described here, each with an example.

/// Which language a script is written in.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// pgbench's, and nothing else: the additions are refused in pgbench's words.
    #[default]
    Pgbench,
    /// pgbench's with three things more.
    ///
    /// `\set name array(number, expression)` evaluates the number once (0 to 1,000,000) and the expression that
    /// often, in order, and keeps the values as PostgreSQL's array literal, such as `{1,2.5,t,NULL}`. As a parameter
    /// it is bound as this text; in a simple query it stands in quotes, so that one script works in all protocols:
    ///
    /// ```text
    /// \set ids array(100, random(1, 100000 * :scale))
    /// SELECT sum(abalance) FROM pgbench_accounts WHERE aid = ANY(:ids::int[]);
    /// ```
    ///
    /// `\batch expression` says that this run of the script stands for so many business transactions, at least 1:
    ///
    /// ```text
    /// \batch 100
    /// INSERT INTO events SELECT generate_series(1, 100);
    /// ```
    ///
    /// `\target name`, once and before the first command, sends the script's transactions to one of several
    /// targets:
    ///
    /// ```text
    /// \target replica
    /// SELECT count(*) FROM pgbench_branches;
    /// ```
    Extended,
}
