//! Where both sides stand: on one server, where they differ in nothing that belongs to it or in settings that each
//! connection can set for itself; otherwise on two servers side by side, which are started and loaded anew again and
//! again, because a start and a load have luck of their own.

use std::collections::BTreeMap;

use ::lab::{Cell, Configuration, Origin};
use connect::Target;
use results::DrawnAnew;

use super::block::Side;
use crate::describing;
use crate::failure::Failure;
use crate::lab::{Comparable, Passed, Scene, job};
use crate::signals::Signals;
use crate::terminal::Terminal;

/// How both sides can stand.
#[derive(Clone, Debug)]
pub(super) enum Ground {
    /// On one server, with these settings set by each connection of A, and of B.
    Shared([Settings; 2]),
    /// On two.
    Apart,
}

type Settings = BTreeMap<String, String>;

/// All that it takes to stand both sides up, any number of times.
pub(super) struct Builder<'a> {
    pub(super) what: Comparable,
    /// A, then B.
    pub(super) cells: [Cell; 2],
    pub(super) seed: u64,
    pub(super) terminal: &'a Terminal,
    pub(super) signals: &'a Signals,
}

/// Both sides, ready for load. Servers go when this is dropped.
pub(super) struct Stand<'a> {
    pub(super) sides: [Side; 2],
    /// How long it took to start and to load what it stands on.
    pub(super) starting_s: f64,
    _scenes: Vec<Scene<'a>>,
}

impl<'a> Builder<'a> {
    /// Finds out on what ground they can stand, and stands them up.
    pub(super) fn first(&self) -> Result<(Ground, Stand<'a>), Failure> {
        let [a, b] = [&self.cells[0].configuration, &self.cells[1].configuration];
        let runs_already = matches!(a.server.origin, Origin::Running(_));
        let is_one_place = a.server.origin == b.server.origin
            && a.server.tablespaces == b.server.tablespaces
            && a.server.instrumentation == b.server.instrumentation;
        let is_one_data_set = a.data == b.data && a.load.setup == b.load.setup;
        if !is_one_place || !is_one_data_set {
            if is_one_place && runs_already {
                return Err(Failure::Usage(
                    "the sides differ in their data, and on a server that runs already there is one data set at a \
                     time: give --pg-version in place of a server"
                        .to_owned(),
                ));
            }
            return Ok((Ground::Apart, self.apart(0)?));
        }
        let session = if runs_already {
            [a.server.settings.clone(), b.server.settings.clone()]
        } else {
            [only_in(a, b), only_in(b, a)]
        };
        let mut scene = self.shared_scene(&session)?;
        let target = scene.ready(0)?;
        let refused = settings_of_the_server(&target, &session, self.signals)?;
        if refused.is_empty() {
            let ground = Ground::Shared(session);
            let stand = self.on(scene, &ground)?;
            return Ok((ground, stand));
        }
        if runs_already {
            return Err(Failure::Usage(format!(
                "{} cannot be set by a connection, and a server that runs already keeps its own settings: give \
                 --pg-version in place of a server",
                refused.join(", ")
            )));
        }
        drop(scene);
        Ok((Ground::Apart, self.apart(0)?))
    }

    /// One server for both, with what they have in common.
    fn shared_scene(&self, session: &[Settings; 2]) -> Result<Scene<'a>, Failure> {
        let mut cells = self.cells.to_vec();
        for (cell, own) in cells.iter_mut().zip(session) {
            cell.configuration.server.settings.retain(|name, _| !own.contains_key(name));
        }
        Scene::new(&self.what, cells, self.terminal, self.signals)
    }

    fn on(&self, mut scene: Scene<'a>, ground: &Ground) -> Result<Stand<'a>, Failure> {
        let none = [Settings::new(), Settings::new()];
        let session = if let Ground::Shared(session) = ground { session } else { &none };
        // Both first: making one ready may make the trial's database anew.
        let targets = [scene.ready(0)?, scene.ready(1)?];
        let [a, b] = targets;
        let sides = [self.side(0, a, &session[0])?, self.side(1, b, &session[1])?];
        // Nothing is ever started anew on a ground that is shared.
        Ok(Stand { sides, starting_s: 0.0, _scenes: vec![scene] })
    }

    /// Two servers side by side, made anew; which of them comes first is drawn.
    pub(super) fn apart(&self, draw: usize) -> Result<Stand<'a>, Failure> {
        let passed = Passed::since_now();
        let first = stats::comparison::order(!self.seed, draw, 1);
        let mut stood: [Option<(Side, Scene<'a>)>; 2] = [None, None];
        for side in first {
            let at = place(side);
            let mut scene =
                Scene::new(&self.what, vec![self.cells[at].clone()], self.terminal, self.signals)?;
            let target = scene.ready(0)?;
            self.signals.check()?;
            stood[at] = Some((self.side(at, target, &Settings::new())?, scene));
        }
        match stood {
            [Some((a, scene_a)), Some((b, scene_b))] => {
                Ok(Stand { sides: [a, b], starting_s: passed.seconds(), _scenes: vec![scene_a, scene_b] })
            }
            _ => Err(Failure::Usage("a pair has two sides".to_owned())),
        }
    }

    fn side(&self, at: usize, target: Target, session: &Settings) -> Result<Side, Failure> {
        let target = with_settings(target, session);
        let mark = format!("pgmeter {:016x}", describing::fresh_seed());
        let job = job(&self.cells[at], self.seed, target)?;
        Side::prepare(job, &mark, self.terminal, self.signals)
    }

    /// What is drawn anew on this ground.
    pub(super) fn draws(&self, ground: &Ground) -> DrawnAnew {
        let runs = |cell: &Cell| matches!(cell.configuration.server.origin, Origin::Running(_));
        match ground {
            Ground::Apart if !self.cells.iter().any(runs) => DrawnAnew::Servers,
            Ground::Apart | Ground::Shared(_) => DrawnAnew::Connections,
        }
    }
}

/// Where a side is in arrays of two.
pub(super) fn place(side: stats::comparison::Side) -> usize {
    match side {
        stats::comparison::Side::A => 0,
        stats::comparison::Side::B => 1,
    }
}

/// Settings of the one that the other does not have, or has otherwise.
fn only_in(one: &Configuration, other: &Configuration) -> Settings {
    let differs =
        |(name, value): &(&String, &String)| other.server.settings.get(*name).is_none_or(|it| it != *value);
    let settings = one.server.settings.iter().filter(differs);
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Those of the settings that a connection cannot set for itself (manual, pg_settings.context).
fn settings_of_the_server(
    target: &Target,
    session: &[Settings; 2],
    signals: &Signals,
) -> Result<Vec<String>, Failure> {
    let names: Vec<String> = session.iter().flat_map(|settings| settings.keys().cloned()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut control = signals.connect(target)?;
    let rows = control.query_catalogs(
        "SELECT lower(name) FROM pg_settings WHERE context = 'user' OR context = 'superuser' \
         AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)",
    )?;
    let settable: Vec<&str> = rows.iter().filter_map(|row| row.get(0)).collect();
    let mut refused: Vec<String> =
        names.into_iter().filter(|name| !settable.contains(&name.to_ascii_lowercase().as_str())).collect();
    refused.sort_unstable();
    refused.dedup();
    Ok(refused)
}

/// One word of the start-up packet's `options`: white space of C and backslashes stand behind a backslash (manual,
/// message formats, StartupMessage).
fn escaped(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | ' ' | '\t'..='\r') {
            word.push('\\');
        }
        word.push(character);
    }
    word
}

/// The target, whose connections begin with these settings.
fn with_settings(target: Target, settings: &Settings) -> Target {
    if settings.is_empty() {
        return target;
    }
    let mut options: Vec<String> = target.options.clone().into_iter().collect();
    options
        .extend(settings.iter().map(|(name, value)| format!("-c {}", escaped(&format!("{name}={value}")))));
    Target { options: Some(options.join(" ")), ..target }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_white_space_is_one_word_of_the_options() {
        assert_eq!(escaped("a=b c\t-c\nd\u{b}\u{c}\r\\é"), "a=b\\ c\\\t-c\\\nd\\\u{b}\\\u{c}\\\r\\\\é");
    }
}
