//! `pgmeter runs`: lists the runs, comparisons, experiments and query sets of a store, labels and removes them, and imports records
//! and other stores. `results` does the work; `report` formats the list.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use results::{Annotation, EntryId, EntryKind, ImportEvent, ImportTotals, ListFilter, Store, UtcTime};
use run::StorePlaces;
use server::Environment;

use crate::arguments::{StoreArguments, parsed};
use crate::failure::Failure;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArguments {
    #[command(flatten)]
    list: ListArguments,
    #[command(subcommand)]
    action: Option<RunsAction>,
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    places: StoreArguments,
    /// Number of entries to list, the newest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    newest: u32,
    /// List only those with a script whose name contains this text
    #[arg(long, value_name = "TEXT")]
    script: Option<String>,
    /// List only those that began since then: 2h or 7d ago, or 2026-11-01, or 2026-11-01T12:00 (UTC)
    #[arg(long, value_name = "TIME", value_parser = |text: &str| run::since(text, UtcTime::now()))]
    since: Option<UtcTime>,
    /// List only those with this label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// List only those of this host: that of pgmeter or, of runs, also the server's as it was named
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// List the trials of experiments too, each under its experiment; JSON always has them
    #[arg(long)]
    trials: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ListFormat,
}

#[derive(Debug, Subcommand)]
enum RunsAction {
    /// As without a command
    #[command(hide = true, alias = "ls")]
    List(ListArguments),
    /// Import records, or all runs, comparisons, experiments and query sets of other stores; what the store already contains stays as it is
    Import {
        #[command(flatten)]
        places: StoreArguments,
        /// Records, stores (results.sqlite), or directories of either [default: the directory of the records]
        files: Vec<PathBuf>,
    },
    /// Remove runs, comparisons, experiments and query sets, and their records, without asking
    Rm {
        #[command(flatten)]
        places: StoreArguments,
        /// Numbers from `pgmeter runs`: 12 for a run, c3 for a comparison, e2 for an experiment with all its trials, s4 for a query set, h5 for a search
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Set the label of a run, a comparison, an experiment or a query set
    Label(AnnotateArguments),
    /// Set the note on a run, a comparison, an experiment or a query set
    Note(AnnotateArguments),
}

#[derive(Debug, Args)]
struct AnnotateArguments {
    #[command(flatten)]
    places: StoreArguments,
    /// Number from `pgmeter runs` (12, c3, e2, s4, h5), `last`, or a label
    #[arg(value_name = "ID")]
    which: String,
    /// The text; an empty one removes it
    text: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ListFormat {
    Text,
    Json,
}

pub(crate) fn run(arguments: &RunsArguments, terminal: &Terminal) -> Result<(), Failure> {
    match &arguments.action {
        None => list(&arguments.list, terminal),
        Some(RunsAction::List(arguments)) => list(arguments, terminal),
        Some(RunsAction::Import { places, files }) => import(places, files, terminal),
        Some(RunsAction::Rm { places, ids }) => remove(places, ids, terminal),
        Some(RunsAction::Label(arguments)) => annotate(arguments, terminal, |annotation, text| {
            annotation.label = parsed("label", text)?;
            Ok(())
        }),
        Some(RunsAction::Note(arguments)) => annotate(arguments, terminal, |annotation, text| {
            annotation.note = parsed("note", text)?;
            Ok(())
        }),
    }
}

fn list(arguments: &ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ListArguments { places, newest, script, since, label, host, trials, format } = arguments;
    let filter = ListFilter {
        newest: *newest,
        script: script.clone(),
        since: *since,
        label: label.clone(),
        host: host.clone(),
        trials: *trials || matches!(format, ListFormat::Json),
    };
    let places = places.announced(terminal)?;
    let store = Store::open(places.store())?;
    let entries = store.entries(&filter)?;
    run::left_by_killed(&store, &places)?.iter().for_each(|left| terminal.warn(left));
    terminal.print(&match format {
        ListFormat::Text => report::store_list(&entries, terminal.style()),
        ListFormat::Json => results::escaped_json(results::entries_json(&entries)),
    });
    Ok(())
}

fn annotate(
    AnnotateArguments { places, which, text }: &AnnotateArguments,
    terminal: &Terminal,
    set: impl Fn(&mut Annotation, Option<&str>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut annotation = Annotation::default();
    let text = Some(text.as_str()).filter(|text| !text.is_empty());
    // An invalid text is refused before the store is opened.
    set(&mut annotation, text)?;
    let places = places.announced(terminal)?;
    let id = Store::open(places.store())?.entry(which, &EntryKind::ALL)?;
    let mut store = Store::create(places.store())?;
    let mut annotation = store.annotation(id)?;
    set(&mut annotation, text)?;
    Ok(store.annotate(id, &annotation)?)
}

fn remove(places: &StoreArguments, ids: &[String], terminal: &Terminal) -> Result<(), Failure> {
    let id = |text: &String| parsed::<EntryId>(text, Some(text));
    let ids = ids.iter().map(id).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<EntryId> = ids.into_iter().flatten().collect();
    let places = places.announced(terminal)?;
    // A store that does not exist must not be created.
    drop(Store::open(places.store())?);
    let environment = Environment::of_process();
    let removed =
        Store::create(places.store())?.remove(&ids, |path| StorePlaces::distrust(path, &environment))?;
    let mut is_complete = true;
    for removed in removed {
        terminal.print(&results::escaped(&format!("{}\n", report::removed(&removed))));
        for (path, reason) in &removed.left {
            terminal.warn(format_args!("{} was not deleted: {reason}", path.display()));
            is_complete = false;
        }
    }
    match is_complete {
        true => Ok(()),
        false => Err(Failure::Usage(
            "the entries were removed, but not all of their records were deleted".to_owned(),
        )),
    }
}

/// A source that cannot be imported is reported, and the others are still imported.
fn import(places: &StoreArguments, files: &[PathBuf], terminal: &Terminal) -> Result<(), Failure> {
    let places = places.announced(terminal)?;
    let mut store = Store::create(places.store())?;
    let sources = if files.is_empty() { results::records_in(places.records())? } else { files.to_vec() };
    let environment = Environment::of_process();
    let distrust = |path: &Path| StorePlaces::distrust(path, &environment);
    let totals = store.import_all(&sources, places.records(), distrust, &mut |event| match event {
        ImportEvent::Record(run, file) => terminal.say(format_args!("run {run}: {}", file.display())),
        ImportEvent::Entry(path, there, here) => {
            terminal.say(format_args!("{} {here}: {there} of {}", here.kind.name(), path.display()));
        }
        ImportEvent::Refused(error) => terminal.complain(&error),
    })?;
    let ImportTotals { known, refused, .. } = totals;
    let (store, new) = (store.path().display(), report::counted_entries(&totals.new));
    terminal.say(format_args!("{store}: {new} imported, {known} already stored, {refused} rejected"));
    match (refused, totals.new.len() as u64 + known) {
        (0, _) => Ok(()),
        (refused, 0) => Err(Failure::Usage(format!("nothing was imported: {refused} rejected"))),
        (refused, others) => Err(Failure::Usage(format!(
            "{refused} of {} were not imported; the others were",
            refused + others
        ))),
    }
}
