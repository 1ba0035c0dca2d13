//! The details of one run as tables and lists: latencies, waits, costs, ceilings, commands, environment.
//! What they say comes from `sections`; here it becomes markup.

use results::Record;

use super::markup::Markup;
use crate::Run;
use crate::figures::percent;
use crate::sections::{self, Fact, Grid};

/// The table of latencies.
pub(super) fn latencies(page: &mut Markup, record: &Record) {
    if let Some(latencies) = sections::latencies(record) {
        grid(page, &latencies, "figures");
    }
    page.leaf("h3", &[], "Transactions");
    facts(page, &sections::transactions(record));
}

/// Waits, events, statements, ceilings; and what could not be seen.
pub(super) fn server(page: &mut Markup, record: &Record) {
    page.leaf("p", &[("class", "how")], &sections::observed(record));
    if let Some((rows, how)) = sections::waits(record) {
        page.leaf("h3", &[], "Wait events and CPU of the backends");
        waits(page, &rows);
        page.leaf("p", &[("class", "how")], &how);
    }
    for (script, rows) in sections::waits_of_scripts(record) {
        page.element("details", &[], |page| {
            page.leaf("summary", &[], &format!("The same of {script}"));
            waits(page, &rows);
        });
    }
    ceilings(page, &sections::ceilings(record));
    let events = sections::events(record);
    if !events.is_empty() {
        page.leaf("h3", &[], "Events");
        table(page, &["event", "when", "what"], "words", |page| {
            for event in &events {
                row(
                    page,
                    &["event", "when", "what"],
                    &[sections::event_name(event.kind), &event.when, &event.detail],
                );
            }
        });
    }
    let statements = sections::statements(record);
    if !statements.is_empty() {
        page.leaf("h3", &[], "Statements, as pg_stat_statements counts them");
        let columns = sections::STATEMENT_COLUMNS;
        table(page, &columns, "figures", |page| {
            for statement in &statements {
                row(page, &columns, &statement.cells().each_ref().map(String::as_str));
            }
        });
    }
    counters(page, record);
    let missing = sections::missing(record);
    if !missing.is_empty() {
        page.leaf("h3", &[], "Not observed");
        facts(page, &missing);
    }
}

/// How far the server's counters grew, a view at a time.
fn counters(page: &mut Markup, record: &Record) {
    let views = sections::counters(record);
    if views.is_empty() {
        return;
    }
    page.leaf("h3", &[], "Statistics counters, change during the run");
    let columns = ["object", "counter", "change"];
    for (view, rows) in &views {
        page.element("details", &[], |page| {
            page.leaf("summary", &[], view);
            table(page, &columns, "figures", |page| {
                rows.iter().for_each(|cells| row(page, &columns, &cells.each_ref().map(String::as_str)));
            });
        });
    }
}

pub(super) fn waits(page: &mut Markup, rows: &[sections::WaitRow]) {
    page.element("ol", &[("class", "shares")], |page| {
        for wait in rows {
            page.element("li", &[], |page| {
                page.element("span", &[("class", "name")], |page| {
                    page.text(&wait.event);
                    page.leaf("span", &[("class", "how")], &format!(" {}", wait.event_type));
                    if !wait.interval.is_empty() {
                        page.leaf("span", &[("class", "how")], &format!(" {}", wait.interval));
                    }
                });
                page.leaf("span", &[("class", "value")], &percent(wait.share, 1.0));
                page.share_bar(wait.share, "wait");
            });
        }
    });
}

pub(super) fn ceilings(page: &mut Markup, ceilings: &[sections::CeilingRow]) {
    if ceilings.is_empty() {
        return;
    }
    page.leaf("h3", &[], "Nearest limits");
    page.element("ol", &[("class", "shares ceilings")], |page| {
        for ceiling in ceilings {
            page.element("li", &[], |page| {
                page.element("span", &[("class", "name")], |page| {
                    page.text(ceiling.kind);
                    page.leaf("span", &[("class", "how")], &format!(" at most {} tps", ceiling.tps));
                });
                page.leaf("span", &[("class", "value")], &percent(ceiling.reached_share, 1.0));
                page.share_bar(ceiling.reached_share, "ceiling");
                page.leaf("p", &[("class", "how")], &ceiling.explanation);
            });
        }
    });
}

/// What one transaction cost.
pub(super) fn costs(page: &mut Markup, record: &Record) {
    let costs = sections::costs(record);
    if costs.is_empty() {
        page.raw("<p class=\"how\">The server was not observed.</p>");
        return;
    }
    page.element("dl", &[("class", "tiles")], |page| {
        for Fact { label, value } in &costs {
            page.element("div", &[], |page| {
                page.leaf("dt", &[], label);
                page.leaf("dd", &[], value);
            });
        }
    });
}

/// Each command with its share of the time.
pub(super) fn commands(page: &mut Markup, record: &Record) {
    let commands = sections::commands(record);
    if commands.is_empty() {
        page.raw("<p class=\"how\">The commands were not timed.</p>");
        return;
    }
    let several = record.plan.scripts.len() > 1;
    let columns = ["command", "share of time", "mean", "p99", "max", "executions", "failures", "retries"];
    table(page, &columns, "figures commands", |page| {
        for command in &commands {
            page.element("tr", &[], |page| {
                page.element("th", &[("data-label", columns[0])], |page| {
                    page.leaf("code", &[], &command.text);
                    let script = if several { format!("{}, ", command.script) } else { String::new() };
                    page.leaf("span", &[("class", "how")], &format!("{script}line {}", command.line));
                });
                page.element("td", &[("data-label", columns[1]), ("class", "with-bar")], |page| {
                    page.leaf("span", &[], &percent(command.share, 1.0));
                    page.share_bar(command.share, "command");
                });
                let (failures, retries) = (command.failures.to_string(), command.retries.to_string());
                let cells =
                    [&command.mean, &command.p99, &command.max, &command.executions, &failures, &retries];
                for (cell, column) in cells.into_iter().zip(&columns[2..]) {
                    page.leaf("td", &[("data-label", column)], cell);
                }
            });
        }
    });
}

/// What the verdict rests on.
pub(super) fn generator(page: &mut Markup, record: &Record) {
    let generator = sections::generator(record);
    if generator.is_empty() {
        page.raw("<p class=\"how\">This record has no figures of the load generator.</p>");
        return;
    }
    let headline = sections::headline(record);
    page.leaf("p", &[], &format!("{} {}", headline.limit, headline.evidence));
    facts(page, &generator);
}

/// What was asked, where it ran, and the settings of that.
pub(super) fn environment(page: &mut Markup, runs: &[Run<'_>]) {
    let [Run { record, .. }] = runs else { return };
    page.element("div", &[("class", "columns")], |page| {
        page.element("div", &[], |page| {
            page.leaf("h3", &[], "Load");
            facts(page, &sections::plan(record));
        });
        page.element("div", &[], |page| {
            page.leaf("h3", &[], "Environment");
            facts(page, &sections::environment(record));
        });
    });
    let build = sections::build(record);
    if !build.is_empty() {
        page.element("details", &[], |page| {
            page.leaf("summary", &[], "Build of the server");
            facts(page, &build);
        });
    }
    let settings = sections::settings(runs);
    page.leaf("h3", &[], "Settings that are not at their default");
    if settings.is_empty() {
        page.raw("<p class=\"how\">None are known.</p>");
        return;
    }
    let shown = |setting: sections::Setting| {
        let value = setting.values.into_iter().flatten().next().unwrap_or_default();
        Fact::new(setting.name, value)
    };
    page.element("div", &[("class", "settings")], |page| {
        facts(page, &settings.into_iter().map(shown).collect::<Vec<_>>());
    });
}

/// A script with more lines is folded.
const SCRIPT_LINES_MAX: usize = 40;

/// The command to repeat it, and the scripts that are no built-in ones.
pub(super) fn repeat(page: &mut Markup, record: &Record) {
    page.element("pre", &[("class", "command"), ("tabindex", "0")], |page| {
        page.leaf("code", &[], &sections::repeat_command(record));
    });
    for script in record.plan.scripts.iter().filter(|script| !script.builtin) {
        let name = crate::prose::escaped_line(&script.name);
        let text = |page: &mut Markup| {
            page.element("pre", &[("tabindex", "0")], |page| page.leaf("code", &[], &script.text));
        };
        if script.text.lines().count() <= SCRIPT_LINES_MAX {
            page.leaf("h3", &[], &name);
            text(page);
        } else {
            page.element("details", &[], |page| {
                page.leaf("summary", &[], &name);
                text(page);
            });
        }
    }
}

/// Labels and values.
pub(super) fn facts(page: &mut Markup, facts: &[Fact]) {
    page.element("dl", &[("class", "facts")], |page| {
        for Fact { label, value } in facts {
            page.element("div", &[], |page| {
                page.leaf("dt", &[], label);
                page.leaf("dd", &[], value);
            });
        }
    });
}

/// A table whose cells know their column, so that a phone can show its rows one below the other.
pub(super) fn table(
    page: &mut Markup,
    columns: &[&str],
    class: &'static str,
    body: impl FnOnce(&mut Markup),
) {
    page.element("table", &[("class", class)], |page| {
        page.element("thead", &[], |page| {
            page.element("tr", &[], |page| {
                columns.iter().for_each(|column| page.leaf("th", &[("scope", "col")], column));
            });
        });
        page.element("tbody", &[], body);
    });
    page.raw("\n");
}

pub(super) fn grid(page: &mut Markup, grid: &Grid, class: &'static str) {
    let columns: Vec<&str> = grid.columns.iter().map(String::as_str).collect();
    table(page, &columns, class, |page| {
        for cells in &grid.rows {
            row(page, &columns, &cells.iter().map(String::as_str).collect::<Vec<_>>());
        }
    });
}

pub(super) fn row(page: &mut Markup, columns: &[&str], cells: &[&str]) {
    page.element("tr", &[], |page| {
        for (at, (cell, column)) in cells.iter().zip(columns).enumerate() {
            page.leaf(if at == 0 { "th" } else { "td" }, &[("data-label", column)], cell);
        }
    });
}
