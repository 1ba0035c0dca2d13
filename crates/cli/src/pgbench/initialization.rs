//! `pgbench -i`: the tables of pgbench are created and filled.
//! `workload` loads them; `dropin` has the messages.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use connect::Environment;
use dropin::{INITIALIZATION, LoadProgress, Options, Stop};
use run::RunError;
use workload::{Tpcb, Workload};

use super::diagnostics::Diagnostics;
use crate::password::connect_asking;
use crate::signals::Signals;

pub(super) fn run(options: Options, diagnostics: &Diagnostics) -> Result<(), Stop> {
    let mut target = dropin::target(&options, &Environment::of_process())?;
    let signals = Signals::catch_to_cancel().map_err(Stop::error)?;
    target.password_file_warning.iter().for_each(|warning| diagnostics.write(&format!("{warning}\n")));
    let mut session = connect_asking(&mut target, &signals).map_err(|error| match error {
        RunError::Connect(error) => dropin::could_not_connect(&error, INITIALIZATION),
        other => Stop::error(other),
    })?;
    let mut progress = LoadProgress::new(options.quiet, io::stderr().is_terminal());
    let result = signals.guard(&mut session, |session| {
        Tpcb.load(&target, session, &options.init, &mut |step| {
            diagnostics.say_all(&progress.messages(step));
            match signals.stop().load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    });
    let report = result.map_err(dropin::initialization_failed)?;
    diagnostics.say_all(&[dropin::initialization_done(&report)]);
    Ok(())
}
