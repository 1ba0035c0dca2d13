//! pgbench's random numbers, bit for bit: the values of pgbench 15 and newer for given seeds, through the interfaces
//! that the engine uses. Hashes and `permute` are tested in their modules.

use pgmeter_script::{CommandKind, Dialect, Random, Scope, Symbols, Value, Variables, parse};

/// The streams of a run, seeded in pgbench's order.
struct Streams {
    functions: Vec<Random>,
    default_seed: i64,
    /// Per thread: script choice, throttle, log sampling.
    threads: Vec<[Random; 3]>,
}

fn streams(seed: u64, clients: usize, threads: usize) -> Streams {
    let mut base = Random::from_seed(seed);
    let functions = (0..clients).map(|_| Random::from_seed(base.next_u64())).collect();
    let default_seed = base.next_u64().cast_signed();
    let threads = (0..threads).map(|_| std::array::from_fn(|_| Random::from_seed(base.next_u64()))).collect();
    Streams { functions, default_seed, threads }
}

/// Runs the `\set`s of `script` `times` times on one stream and returns the values of `names` after each.
fn run(script: &str, names: &[&str], random: &mut Random, scale: i64, times: usize) -> Vec<Vec<i64>> {
    let mut symbols = Symbols::new();
    let program = parse("vectors.sql", script.as_bytes(), &mut symbols, Dialect::Pgbench).unwrap();
    let mut variables = Variables::new(&symbols);
    variables.set(symbols.intern("scale"), Value::Int(scale));
    let slots: Vec<_> = names.iter().map(|name| symbols.intern(name)).collect();
    let mut rows = Vec::new();
    for _ in 0..times {
        for command in program.commands() {
            if let CommandKind::Set(set) = &command.kind {
                set.execute(&mut Scope::new(&mut variables, random, &symbols)).unwrap();
            }
        }
        let mut int = |&slot| match variables.value(slot, &symbols) {
            Ok(Value::Int(value)) => value,
            other => panic!("not an integer: {other:?}"),
        };
        rows.push(slots.iter().map(&mut int).collect());
    }
    rows
}

fn draws(expression: &str, seed: u64, times: usize) -> Vec<i64> {
    let mut random = streams(seed, 1, 1).functions.remove(0);
    run(&format!("\\set x {expression}"), &["x"], &mut random, 1, times).concat()
}

const TPCB_LIKE: &str = "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\
                         \\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n";
const TPCB_NAMES: [&str; 4] = ["aid", "bid", "tid", "delta"];

#[test]
fn the_generator_agrees() {
    let mut random = Random::from_seed(42);
    let expected = [
        7_631_449_856_891_427_754,
        4_306_334_408_478_191_133,
        4_482_733_528_210_176_216,
        1_183_949_725_203_728_575_u64,
    ];
    assert_eq!(expected.map(|_| random.next_u64()), expected);
    let mut random = Random::from_seed(0);
    let expected = [16_053_376_993_090_331_485, 7_868_822_567_099_391_496, 12_331_295_923_365_717_130_u64];
    assert_eq!(expected.map(|_| random.next_u64()), expected);
}

#[test]
fn doubles_and_ranges_agree() {
    let mut random = Random::from_seed(42);
    let expected = [0.413_701_725_702_793_73, 0.233_446_856_056_056_53, 0.243_009_471_497_954_04];
    assert_eq!(expected.map(|_| random.next_f64()), expected);
    let mut random = Random::from_seed(42);
    let expected = [52, 29, 31, 8, 1, 21, 85, 25];
    assert_eq!(expected.map(|_| random.range(99)), expected);
}

#[test]
fn the_tpcb_like_script_draws_the_same_rows() {
    let mut two = streams(42, 2, 1);
    assert_eq!(two.default_seed, 4_482_733_528_210_176_216);
    let rows = run(TPCB_LIKE, &TPCB_NAMES, &mut two.functions[0], 1, 3);
    assert_eq!(rows, [[83_532, 1, 1, -170], [86_390, 1, 5, -253], [452, 1, 2, 4_776]]);
    let rows = run(TPCB_LIKE, &TPCB_NAMES, &mut two.functions[1], 1, 3);
    assert_eq!(rows, [[81_172, 1, 9, -348], [24_146, 1, 1, -1_448], [45_929, 1, 8, 1_413]]);

    let mut four = streams(42, 4, 2);
    assert_eq!(four.default_seed, 273_771_184_284_289_554);
    let rows = run(TPCB_LIKE, &TPCB_NAMES, &mut four.functions[0], 10, 2);
    assert_eq!(rows, [[668_251, 1, 38, -416], [303_850, 1, 91, -3_381]]);
    let rows: Vec<_> = four.functions[1..]
        .iter_mut()
        .map(|random| run(TPCB_LIKE, &TPCB_NAMES, random, 10, 1).remove(0))
        .collect();
    assert_eq!(rows, [[844_242, 10, 72, -348], [802_035, 3, 85, 4_335], [814_673, 8, 54, -3_156]]);
}

/// The first script whose cumulative weight exceeds the random number.
fn choices(chooser: &mut Random, times: usize) -> Vec<usize> {
    let choose = |draw| [5, 8, 10].iter().position(|&bound| draw < bound).unwrap();
    (0..times).map(|_| choose(chooser.range(9))).collect()
}

#[test]
fn scripts_are_chosen_alike() {
    let chosen = choices(&mut streams(42, 2, 1).threads[0][0], 12);
    assert_eq!(chosen, [1, 1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    let mut four = streams(42, 4, 2);
    assert_eq!(choices(&mut four.threads[0][0], 12), [0, 1, 1, 2, 2, 2, 1, 0, 0, 2, 1, 1]);
    assert_eq!(choices(&mut four.threads[1][0], 12), [0, 0, 0, 0, 0, 1, 0, 1, 2, 0, 0, 0]);
}

#[test]
fn arrivals_and_log_samples_agree() {
    let delays = |random: &mut Random, mean_us| std::array::from_fn(|_| random.poisson_delay_us(mean_us));
    let [_, throttle, sample] = &mut streams(42, 2, 1).threads[0];
    assert_eq!(delays(throttle, 1000.0), [112, 448, 318, 1242, 1398, 1832]);
    let samples: [_; 3] = std::array::from_fn(|_| format!("{:.6}", sample.next_f64()));
    assert_eq!(samples, ["0.986442", "0.095274", "0.776383"]);
    let threads = &mut streams(42, 4, 2).threads;
    assert_eq!(delays(&mut threads[0][1], 2000.0), [924, 1736, 754, 7861, 1194, 3835]);
    assert_eq!(delays(&mut threads[1][1], 2000.0), [2344, 1490, 3630, 295, 290, 1376]);
}

#[test]
fn distributions_agree() {
    assert_eq!(draws("random_gaussian(1, 1000, 2.5)", 42, 4), [761, 398, 641, 343]);
    assert_eq!(draws("random_exponential(1, 1000, 3.0)", 42, 4), [311, 498, 309, 20]);
    assert_eq!(draws("random_zipfian(1, 1000, 1.07)", 42, 6), [656, 134, 5, 735, 80, 5]);
    assert_eq!(draws("random_zipfian(1, 1000000, 1.5)", 42, 6), [2, 12, 1, 2, 10, 1]);
    let script = "\\set a random(10, 19)\n\\set b random_exponential(100, 199, 10.0)\n\
                  \\set c random_gaussian(1000, 1999, 10.0)\n\\set d random_zipfian(1, 9, 1.3)\n";
    let mut random = streams(5432, 1, 1).functions.remove(0);
    assert_eq!(run(script, &["a", "b", "c", "d"], &mut random, 1, 1), [[17, 104, 1498, 3]]);
}

#[test]
fn a_greater_sign_draws_its_right_side_first() {
    assert_eq!(draws("random(1, 10)", 42, 2), [1, 5]);
    let order = |comparison: &str| {
        draws(&format!("case when random(1, 10) {comparison} random(1, 10) then 1 else 0 end"), 42, 1)
    };
    assert_eq!(order(">"), [1]);
    assert_eq!(order(">="), [1]);
    assert_eq!(order("<"), [1]);
    assert_eq!(order("<="), [1]);
}

#[test]
fn a_range_of_one_value_draws_nothing() {
    let mut random = Random::from_seed(7);
    let before = random.clone();
    assert_eq!(random.range(0), 0);
    assert_eq!(random.integer(5, 5), 5);
    assert_eq!(random.zipfian(5, 5, 1.5), 5);
    assert_eq!(random, before);
    assert_ne!(random.gaussian(5, 5, 2.5), 6);
    assert_ne!(random, before);
}

#[test]
fn a_copied_stream_repeats_itself() {
    let mut random = Random::from_seed(7);
    random.next_u64();
    let mut copy = random.clone();
    assert_eq!(random.next_u64(), copy.next_u64());
}
