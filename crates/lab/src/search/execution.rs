//! The steps of a search in their order: bursts, trials, confirmations.
//! The crate `search` decides which one is next, and `loads` runs it.

use results::{LateGenerator, LimitedBy, LoadVerdict, SearchBurst, SearchGoal, SearchResult, SearchState};
use run::RunError;
use search::{Answer, Burst, Bursts, Confirmation, Search, SearchPlan, Step};

use super::answer_figures;
use super::loads::{Loads, MeasuredLoad, OpenLoad, as_trial};
use super::options::SearchOptions;
use crate::event::{Event, Listener};

/// Trials between two lines of progress.
const TRIALS_BETWEEN_LINES: usize = 10;
/// Times that the number of clients is doubled because it was the limit.
const DOUBLINGS_MAX: u32 = 4;
/// Loads that fail in a row before the search ends.
const FAILURES_MAX: u32 = 2;
/// Times that a broken load is repeated because something else on the machine had delayed it, and the most of the budget
/// that such loads take.
const REPEATS_MAX: u32 = 2;
const REPEATED_SHARE: f64 = 0.2;

/// A search and what it has measured.
pub(crate) struct SearchRun {
    pub(crate) options: SearchOptions,
    pub(crate) goals: Vec<SearchGoal>,
    pub(crate) bursts: Vec<SearchBurst>,
    /// Clients of the open loop; 0 before the bursts have ended.
    pub(crate) clients: u32,
    clients_max: u32,
    doublings: u32,
    pub(crate) trials: Vec<MeasuredLoad>,
    pub(crate) confirmations: Vec<MeasuredLoad>,
    /// `None` before the bursts have ended.
    pub(crate) search: Option<Search>,
    /// Loads that were repeated, and the time that they took.
    pub(crate) repeated: u32,
    repeated_s: f64,
    /// Before each line of progress: the side of a comparison.
    side: &'static str,
}

impl SearchRun {
    pub(crate) fn new(options: &SearchOptions, goals: Vec<SearchGoal>, clients_max: u32) -> Self {
        Self {
            options: *options,
            goals,
            bursts: Vec::new(),
            clients: 0,
            clients_max,
            doublings: 0,
            trials: Vec::new(),
            confirmations: Vec::new(),
            search: None,
            repeated: 0,
            repeated_s: 0.0,
            side: "",
        }
    }

    /// The same as a side of a comparison, such as `A: `.
    pub(crate) fn of_side(self, side: &'static str) -> Self {
        Self { side, ..self }
    }

    /// Goes on after what an earlier execution has measured. Its confirmations are forgotten: the interval changes.
    ///
    /// # Errors
    /// Its trials cannot be read.
    pub(crate) fn resume(&mut self, earlier: &SearchResult, overhead_s: f64) -> Result<(), RunError> {
        let mut trials: Vec<_> = earlier.loads.iter().flat_map(|load| &load.trials).collect();
        trials.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        let unreadable = |error| RunError::Usage(format!("the trials cannot be read: {error}"));
        let trials = trials.into_iter().map(MeasuredLoad::restored).collect::<Result<_, _>>();
        self.trials = trials.map_err(unreadable)?;
        self.bursts.clone_from(&earlier.bursts);
        self.repeated = earlier.repeated;
        self.clients = earlier.clients;
        let top_tps = self.bursts.iter().map(|burst| burst.tps).fold(0.0, f64::max);
        if self.clients > 0 && top_tps > 0.0 {
            let trials = self.trials.iter().map(as_decided);
            self.search = Some(Search::resumed(self.plan(top_tps, overhead_s), trials));
        } else {
            // Its bursts had not ended.
            self.bursts.clear();
        }
        Ok(())
    }

    /// Whether nothing was measured yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.bursts.is_empty()
    }

    /// The answer so far.
    pub(crate) fn answer(&self) -> Answer {
        self.search.as_ref().map_or(Answer::Nothing, Search::answer)
    }

    /// All steps. After an error, what was measured before remains.
    #[cfg(test)]
    fn run(&mut self, loads: &mut dyn Loads, listener: Listener<'_>) -> Result<(), RunError> {
        while self.step(loads, listener)? {}
        Ok(())
    }

    /// Runs the next step: all bursts, a trial, or a confirmation. Returns false if the search has ended.
    pub(crate) fn step(&mut self, loads: &mut dyn Loads, listener: Listener<'_>) -> Result<bool, RunError> {
        let Some(mut search) = self.search.clone() else {
            self.search = Some(self.begin(loads, listener)?);
            return Ok(true);
        };
        match search.next(loads.passed_s()) {
            Step::Trial(rate_tps, seconds) => {
                self.trial(&mut search, rate_tps, seconds, loads, listener)?;
            }
            Step::Confirm(rate_tps, seconds) => {
                let text = format!("confirming {rate_tps:.0} tps for {seconds:.0} s");
                let measured = self.load(rate_tps, seconds, &text, loads, listener)?;
                let is_kept = measured.trial.figures.verdict == LoadVerdict::Kept;
                let verdict = measured.trial.figures.verdict.name();
                listener.say(format_args!("{}{text}: {verdict}", self.side));
                search.confirm(Confirmation { rate_tps, is_kept });
                self.confirmations.push(measured);
            }
            Step::Done => return Ok(false),
        }
        self.search = Some(search);
        Ok(true)
    }

    fn plan(&self, top_tps: f64, overhead_s: f64) -> SearchPlan {
        let SearchOptions { budget_s, width, max_rate_tps, .. } = self.options;
        SearchPlan {
            limits: self.goals.iter().map(|goal| goal.allowed_share).collect(),
            top_tps,
            max_rate_tps,
            width,
            budget_s,
            confirmation_s: self.options.confirmation_s(),
            overhead_s,
        }
    }

    /// Runs the bursts and plans the search.
    fn begin(&mut self, loads: &mut dyn Loads, listener: Listener<'_>) -> Result<Search, RunError> {
        let side = self.side;
        let mut bursts = Bursts::new(self.options.clients, self.clients_max);
        while let Some(clients) = bursts.next_clients() {
            let busy = listener.busy(format_args!("{side}closed loop with {clients} clients …"));
            let tps = loads.burst(clients)?;
            drop(busy);
            listener.say(format_args!("{side}closed loop with {clients} clients: {tps:.0} tps"));
            bursts.add(Burst { clients, tps });
            self.bursts.push(SearchBurst { clients, tps });
        }
        self.clients = bursts.clients();
        let top_tps = bursts.top_tps();
        if top_tps <= 0.0 {
            return Err(RunError::Aborted("no transaction succeeded in a closed loop".to_owned()));
        }
        listener.say(format_args!(
            "{side}searching below {top_tps:.0} tps with {} clients, at most {:.0} s",
            self.clients, self.options.budget_s
        ));
        Ok(Search::new(self.plan(top_tps, loads.overhead_s())))
    }

    fn trial(
        &mut self,
        search: &mut Search,
        rate_tps: f64,
        seconds: f64,
        loads: &mut dyn Loads,
        listener: Listener<'_>,
    ) -> Result<(), RunError> {
        let left_s = (self.options.budget_s - loads.passed_s()).max(0.0);
        let known = search.fitted().map(|fit| format!(" (estimate {:.0})", fit.rate_tps)).unwrap_or_default();
        let text = format!(
            "trial {} at {rate_tps:.0} tps{known}, at most {left_s:.0} s left",
            self.trials.len() + 1
        );
        let measured = self.undisturbed(rate_tps, seconds, &text, loads, listener)?;
        let is_broken = measured.trial.figures.verdict == LoadVerdict::Broken;
        if is_broken && measured.trial.limited_by == LimitedBy::ClientCount && self.doubles() {
            listener.say(format_args!(
                "{}{rate_tps:.0} tps needs more clients: searching with {}",
                self.side, self.clients
            ));
            // Trials with too few clients measured the queue for them.
            self.trials.clear();
            search.restart();
            return Ok(());
        }
        search.add(as_decided(&measured));
        self.trials.push(measured);
        self.say_progress(search, loads.passed_s(), listener);
        Ok(())
    }

    /// Runs a load again if it was broken because something else on the machine had delayed pgmeter. The last one counts,
    /// whatever delayed it.
    fn undisturbed(
        &mut self,
        rate_tps: f64,
        seconds: f64,
        text: &str,
        loads: &mut dyn Loads,
        listener: Listener<'_>,
    ) -> Result<MeasuredLoad, RunError> {
        for _ in 0..REPEATS_MAX {
            let began_s = loads.passed_s();
            let measured = self.load(rate_tps, seconds, text, loads, listener)?;
            let is_broken = measured.trial.figures.verdict == LoadVerdict::Broken;
            if !is_broken || measured.late != Some(LateGenerator::Machine) {
                return Ok(measured);
            }
            let repeated_s = self.repeated_s + loads.passed_s() - began_s;
            if repeated_s > REPEATED_SHARE * self.options.budget_s {
                return Ok(measured);
            }
            self.repeated_s = repeated_s;
            self.repeated += 1;
        }
        self.load(rate_tps, seconds, text, loads, listener)
    }

    /// Doubles the clients if they may be chosen and the server accepts more.
    fn doubles(&mut self) -> bool {
        let more = self.clients.saturating_mul(2).min(self.clients_max);
        let may = self.options.clients.is_none() && more > self.clients && self.doublings < DOUBLINGS_MAX;
        if may {
            self.clients = more;
            self.doublings += 1;
        }
        may
    }

    /// Runs a load; one that fails is repeated once, on new connections.
    fn load(
        &self,
        rate_tps: f64,
        seconds: f64,
        text: &str,
        loads: &mut dyn Loads,
        listener: Listener<'_>,
    ) -> Result<MeasuredLoad, RunError> {
        let load = OpenLoad { rate_tps, seconds, clients: self.clients };
        let mut failures = 0;
        loop {
            let busy = listener.busy(format_args!("{}{text} …", self.side));
            let measured = loads.open_loop(load);
            drop(busy);
            failures += 1;
            match measured {
                Err(failure) if !failure.is_interruption() && failures < FAILURES_MAX => {
                    listener.warn(format_args!("a load failed and is repeated once: {failure}"));
                }
                other => return other,
            }
        }
    }

    /// A line for each load of the bracket, and one for some trials of the fit.
    fn say_progress(&self, search: &Search, passed_s: f64, listener: Listener<'_>) {
        let Some(last) = self.trials.last() else { return };
        let (side, trials) = (self.side, self.trials.len());
        let known = answer_figures::figures(search.answer());
        listener.tell(Event::Search(&SearchState {
            side,
            rate_tps: known.rate_tps,
            bounds: known.bounds(),
            last_tps: last.trial.figures.rate_tps,
            is_kept: last.trial.figures.verdict == LoadVerdict::Kept,
            trials: trials as u64,
            clients: self.clients,
            passed_s,
            budget_s: self.options.budget_s,
        }));
        match search.fitted() {
            None => {
                let figures = &last.trial.figures;
                let over = figures.goals.iter().map(|count| format!("{:.2} %", 100.0 * count.share()));
                let over = format!("{} over", over.collect::<Vec<_>>().join(", "));
                let is_empty = figures.goals.iter().all(|count| count.of <= 0.0);
                let over = if is_empty { "no transactions".to_owned() } else { over };
                let (rate_tps, verdict) = (figures.rate_tps, figures.verdict.name());
                listener.say(format_args!("{side}{rate_tps:.0} tps: {verdict} ({over})"));
            }
            Some(fit) if trials.is_multiple_of(TRIALS_BETWEEN_LINES) => listener.say(format_args!(
                "{side}{trials} trials: {:.0} tps ({:.0} … {:.0})",
                fit.rate_tps, fit.low_tps, fit.high_tps
            )),
            Some(_) => {}
        }
    }
}

/// As the decisions take it. Only a load that pgmeter itself delayed is one of the generator's limit.
fn as_decided(measured: &MeasuredLoad) -> search::Trial {
    let trial = &measured.trial;
    as_trial(trial.figures.rate_tps, &trial.figures.goals, trial.limited_by == LimitedBy::Generator)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use results::{LoadFigures, OverCount, SearchTrial};
    use search::Answer;
    use stats::Distribution;

    use super::super::loads::verdict;
    use super::*;
    use crate::event::Event;

    /// A server that keeps the goal for certain up to a rate, in a time of its own.
    struct Simulated {
        capacity_tps: f64,
        passed_s: f64,
        loads: usize,
        /// The load with this number fails so often.
        failure: (usize, usize),
        /// What limits broken loads with at least so many clients.
        limited_by: LimitedBy,
        clients_needed: u32,
        is_interrupted_at: usize,
        /// Other programs delay the first loads, which are then broken.
        disturbed: usize,
    }

    impl Simulated {
        fn of(capacity_tps: f64) -> Self {
            Self {
                capacity_tps,
                passed_s: 0.0,
                loads: 0,
                failure: (usize::MAX, 0),
                limited_by: LimitedBy::Server,
                clients_needed: 1,
                is_interrupted_at: usize::MAX,
                disturbed: 0,
            }
        }
    }

    impl Loads for Simulated {
        fn burst(&mut self, clients: u32) -> Result<f64, RunError> {
            self.passed_s += 2.5;
            Ok((f64::from(clients) * 100.0).min(2.0 * self.capacity_tps))
        }

        fn open_loop(&mut self, load: OpenLoad) -> Result<MeasuredLoad, RunError> {
            self.passed_s += load.seconds + 0.5;
            if self.loads == self.is_interrupted_at {
                return Err(RunError::Interrupted("interrupted".into()));
            }
            if self.loads == self.failure.0 && self.failure.1 > 0 {
                self.failure.1 -= 1;
                return Err(RunError::Aborted("a client was aborted".to_owned()));
            }
            self.loads += 1;
            let is_enough = load.clients >= self.clients_needed;
            let is_kept = load.rate_tps < self.capacity_tps && is_enough && self.loads > self.disturbed;
            let over = if is_kept { 0.0 } else { 900.0 };
            let goals = vec![OverCount { over, of: 1000.0 }];
            let figures = LoadFigures {
                rate_tps: load.rate_tps,
                verdict: verdict(&goals, &self::goals()),
                goals,
                achieved_tps: load.rate_tps,
                p50_us: None,
                p99_us: None,
                p999_us: None,
                nearest: None,
            };
            let trial = SearchTrial {
                figures,
                start_s: self.passed_s,
                duration_s: load.seconds,
                is_ended_early: false,
                clients: load.clients,
                limited_by: if is_enough { self.limited_by } else { LimitedBy::ClientCount },
                details: None,
            };
            let late = (self.loads <= self.disturbed).then_some(LateGenerator::Machine);
            let response = Distribution::new();
            Ok(MeasuredLoad { trial, response, waits: Vec::new(), events: Some([1, 0]), late })
        }

        fn passed_s(&self) -> f64 {
            self.passed_s
        }

        fn overhead_s(&self) -> f64 {
            0.5
        }
    }

    fn goals() -> Vec<SearchGoal> {
        vec![SearchGoal { goal: "p99 < 20ms".parse().unwrap(), allowed_share: 0.01 }]
    }

    fn options() -> SearchOptions {
        SearchOptions {
            budget_s: 300.0,
            width: 0.03,
            max_rate_tps: None,
            clients: None,
            seed: 1,
            expected_tps: None,
            confirms: true,
        }
    }

    /// The search after its end, with the messages, and the error that ended it.
    fn ran(options: SearchOptions, loads: &mut Simulated) -> (SearchRun, Vec<String>, Result<(), RunError>) {
        let messages = RefCell::new(Vec::new());
        let told = |event: Event<'_>| match event {
            Event::Message(text) | Event::Warning(text) => messages.borrow_mut().push(text),
            _ => {}
        };
        let mut run = SearchRun::new(&options, goals(), 90);
        let result = run.run(loads, Listener::new(&told));
        (run, messages.into_inner(), result)
    }

    fn answer(run: &SearchRun) -> Answer {
        run.answer()
    }

    #[test]
    fn broken_loads_that_other_programs_delayed_are_repeated_and_not_for_ever() {
        let mut loads = Simulated { disturbed: 2, ..Simulated::of(800.0) };
        let (run, messages, result) = ran(options(), &mut loads);
        assert!(result.is_ok() && run.repeated == 2);
        assert!(
            run.trials[0].trial.figures.verdict == LoadVerdict::Broken,
            "the closed loop makes 1,600 tps"
        );
        let Answer::Sustains(estimate) = answer(&run) else { panic!("{:?}", answer(&run)) };
        assert!((700.0..830.0).contains(&estimate.rate_tps), "{estimate:?} {messages:?}");
        let mut loads = Simulated { disturbed: usize::MAX, ..Simulated::of(800.0) };
        let (run, ..) = ran(options(), &mut loads);
        assert!(matches!(answer(&run), Answer::BrokenAtLowest(_)), "the last of three loads counts");
        assert!(run.repeated_s <= REPEATED_SHARE * 300.0 + 10.0 && loads.passed_s < 301.0);
    }

    #[test]
    fn a_search_that_was_broken_off_goes_on_with_its_trials() {
        let mut loads = Simulated { is_interrupted_at: 12, ..Simulated::of(520.0) };
        let (mut broken_off, _, result) = ran(options(), &mut loads);
        assert!(result.is_err());
        let trials = broken_off.trials.iter().map(MeasuredLoad::detailed).collect();
        let figures = broken_off.trials[0].trial.figures.clone();
        let mut earlier = testkit::search_record::search_record().search;
        earlier.loads = vec![results::SearchLoad { figures, waits: Vec::new(), trials }];
        (earlier.bursts, earlier.clients) = (std::mem::take(&mut broken_off.bursts), broken_off.clients);
        let mut run = SearchRun::new(&options(), goals(), 90);
        run.resume(&earlier, 0.5).unwrap();
        assert_eq!(run.trials.len(), 12);
        loads.is_interrupted_at = usize::MAX;
        let silent = |_: Event<'_>| ();
        run.run(&mut loads, Listener::new(&silent)).unwrap();
        assert!(run.bursts.len() == 4 && loads.passed_s < 301.0);
        let Answer::Sustains(estimate) = answer(&run) else { panic!("{:?}", answer(&run)) };
        assert!((480.0..540.0).contains(&estimate.rate_tps), "{estimate:?}");
    }

    #[test]
    fn bursts_find_the_clients_and_trials_an_answer_that_is_confirmed() {
        let mut loads = Simulated::of(520.0);
        let (run, messages, result) = ran(options(), &mut loads);
        assert!(result.is_ok() && loads.passed_s < 301.0);
        assert_eq!(run.bursts.iter().map(|burst| burst.clients).collect::<Vec<_>>(), [4, 8, 16, 32]);
        assert_eq!(run.clients, 32);
        let Answer::Sustains(estimate) = answer(&run) else { panic!("{:?}", answer(&run)) };
        assert!((480.0..540.0).contains(&estimate.rate_tps), "{estimate:?}");
        assert_eq!(run.confirmations.len(), 1);
        let load = &run.confirmations[0].trial;
        assert_eq!((load.figures.rate_tps, load.figures.verdict), (estimate.low_tps, LoadVerdict::Kept));
        assert_eq!(messages[0], "closed loop with 4 clients: 400 tps");
        assert!(messages.iter().any(|line| line.contains("728 tps: broken")), "{messages:?}");
    }

    #[test]
    fn too_few_clients_are_doubled_and_their_trials_forgotten_unless_the_user_gave_their_number() {
        let mut loads = Simulated { clients_needed: 60, ..Simulated::of(520.0) };
        let (run, messages, result) = ran(options(), &mut loads);
        assert!(result.is_ok() && matches!(answer(&run), Answer::Sustains(_)));
        assert!(run.clients == 64 && run.trials.iter().all(|measured| measured.trial.clients == 64));
        assert!(
            messages.iter().any(|line| line.ends_with("needs more clients: searching with 64")),
            "{messages:?}"
        );
        let mut loads = Simulated { clients_needed: 60, ..Simulated::of(520.0) };
        let (run, _, result) = ran(SearchOptions { clients: Some(8), ..options() }, &mut loads);
        assert!(result.is_ok() && matches!(answer(&run), Answer::BrokenAtLowest(_)), "{:?}", answer(&run));
        assert_eq!(run.bursts.len(), 1);
    }

    #[test]
    fn a_load_that_fails_is_repeated_once_and_then_ends_the_search_with_the_bracket_so_far() {
        let mut loads = Simulated { failure: (3, 1), ..Simulated::of(520.0) };
        let (run, messages, result) = ran(options(), &mut loads);
        assert!(result.is_ok() && matches!(answer(&run), Answer::Sustains(_)));
        assert!(messages.iter().any(|line| line.starts_with("a load failed and is repeated once")));
        let mut loads = Simulated { failure: (3, 2), ..Simulated::of(520.0) };
        let (run, _, result) = ran(options(), &mut loads);
        assert!(result.is_err_and(|failure| !failure.is_interruption()));
        assert!(matches!(answer(&run), Answer::Between(..)) && run.trials.len() == 3);
    }

    #[test]
    fn an_interruption_leaves_what_is_known_so_far() {
        let mut loads = Simulated { is_interrupted_at: 2, ..Simulated::of(520.0) };
        let (run, _, result) = ran(options(), &mut loads);
        assert!(result.is_err_and(|failure| failure.is_interruption()));
        let Answer::Between(kept, broken) = answer(&run) else { panic!("{:?}", answer(&run)) };
        assert!(kept < 520.0 && broken >= 520.0);
    }

    #[test]
    fn a_limit_of_the_generator_leaves_a_lower_bound_and_the_highest_rate_of_the_user_an_answer() {
        let mut loads = Simulated { limited_by: LimitedBy::Generator, ..Simulated::of(520.0) };
        let (run, _, result) = ran(options(), &mut loads);
        assert!(result.is_ok());
        assert!(matches!(answer(&run), Answer::ClientLimited(rate) if rate < 520.0), "{:?}", answer(&run));
        let limited = SearchOptions { max_rate_tps: Some(300.0), ..options() };
        let (run, ..) = ran(limited, &mut Simulated::of(520.0));
        assert_eq!(answer(&run), Answer::KeptAtHighest(300.0));
    }
}
