//! Language of a script: pgbench's, or pgbench's with additions. The caller of the parser selects it; `meta` parses the
//! additions. The documentation of the variants has examples.

/// Language of a script.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// pgbench's language only: the additions are errors, with pgbench's messages.
    #[default]
    Pgbench,
    /// pgbench's language with these additions.
    ///
    /// `\set name array(number, expression)` evaluates the number once (0 to 1,000,000) and the expression that many
    /// times, in order, and stores the values as PostgreSQL's array literal, such as `{1,2.5,t,NULL}`. A parameter is
    /// this text; a simple query contains it in quotes, so that a script works with all protocols:
    ///
    /// ```text
    /// \set ids array(100, random(1, 100000 * :scale))
    /// SELECT sum(abalance) FROM pgbench_accounts WHERE aid = ANY(:ids::int[]);
    /// ```
    ///
    /// `\set name 'text'`, `\set name random_string(min, max[, 'characters'])`, `\set name random_element('a,b,c')` and
    /// `\set name random_element(:list)` assign strings. A parameter is the string; a simple query contains it as it is:
    ///
    /// ```text
    /// \set pad random_string(40, 60)
    /// INSERT INTO items (pad) VALUES (:pad);
    /// ```
    ///
    /// The functions `random_hot(low, high, share, of, moves)` and `random_latest(low, high, parameter)` draw keys whose
    /// popularity changes: a hot part of all keys that moves with time, and keys near the highest one:
    ///
    /// ```text
    /// \set aid random_hot(1, 100000 * :scale, 0.95, 0.1, 30)
    /// ```
    ///
    /// `\gset_null [prefix]` and `\aset_null [prefix]` are `\gset` and `\aset` that store NULL as NULL.
    ///
    /// `\copy_rows number (value, …)` and `\copy_file name` after a `COPY … FROM STDIN` are its rows: generated, or the bytes
    /// of a file. A value is an expression or a string as in `\set`; `:copy_row` is the number of the row, from 1:
    ///
    /// ```text
    /// COPY items (id, colour, pad) FROM STDIN;
    /// \copy_rows 1000 (:first + :copy_row, random_element('red,green'), random_string(10, 20))
    /// ```
    ///
    /// `\batch expression`: this execution of the script counts as that many business transactions, at least 1:
    ///
    /// ```text
    /// \batch 100
    /// INSERT INTO events SELECT generate_series(1, 100);
    /// ```
    ///
    /// `\repeat expression` … `\endrepeat`: executes the commands between them that many times. The number is evaluated
    /// once; below 1 the commands are skipped:
    ///
    /// ```text
    /// \repeat random(1, 10)
    /// INSERT INTO order_line VALUES (:order, random() * 1000);
    /// \endrepeat
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
