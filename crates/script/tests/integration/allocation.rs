//! No allocation in the hot path: after a client's first run of its script, assignments, conditions, captured texts,
//! arrays and SQL need no more memory.

use pgmeter_script::{CommandKind, Dialect, Random, Scope, Symbols, Value, Variables, parse};

const SCRIPT: &[u8] = b"\\set x random(1, 100000) * :scale + 0.5
\\set ids array(100, random(1, :x))
\\if :x > 1 and :captured <> 0
select :x, ':captured', :ids from t\xff where a = :undefined;
\\endif
";

#[test]
fn going_through_a_script_again_allocates_nothing() {
    let mut symbols = Symbols::new();
    let program = parse("f.sql", SCRIPT, &mut symbols, Dialect::Extended).unwrap();
    let captured = symbols.intern("captured");
    let mut variables = Variables::new(&symbols);
    variables.set(symbols.intern("scale"), Value::Int(10));
    let mut random = Random::from_seed(42);
    let mut out = Vec::with_capacity(1 << 16);
    let mut go_through = |text: &[u8]| {
        variables.set_text(captured, text);
        for command in program.commands() {
            let mut scope = Scope::new(&mut variables, &mut random, &symbols);
            match &command.kind {
                CommandKind::Set(set) => set.execute(&mut scope).unwrap(),
                CommandKind::SetArray(set) => set.execute(&mut scope).unwrap(),
                CommandKind::If(condition) => assert!(condition.holds(&mut scope).unwrap()),
                CommandKind::Sql(sql) => {
                    sql.write_simple(&variables, &mut out);
                    out.extend_from_slice(sql.numbered_text());
                    for &slot in sql.parameters() {
                        variables.write_text(slot, &mut out);
                    }
                    out.clear();
                }
                _ => {}
            }
        }
        variables.set(captured, Value::Null);
    };
    // The second run allocates the second of the two alternating array buffers.
    for _ in 0..2 {
        go_through(b"123456789012345");
    }
    let allocations = allocation_counter::measure(|| {
        for _ in 0..100 {
            go_through(b"1234");
        }
    });
    assert_eq!(allocations.count_total, 0);
}
