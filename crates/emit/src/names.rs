//! Identifiers of the emitted text: every name of a Program gets one, temporaries get what is left.

use std::collections::{HashMap, HashSet};
use warpsight_ir::{Name, Program, Stmt};

/// Names of a Program and their identifiers; no two names share one, none is reserved.
#[derive(Clone, Debug)]
pub struct Names {
    identifiers: HashMap<Name, String>,
    used: HashSet<String>,
    next: u32,
}

impl Names {
    /// Gives every name of the Program an identifier: itself where it is one, changed as little as possible where not.
    pub fn of_program(program: &Program, reserved: impl Fn(&str) -> bool) -> Self {
        let mut names = Self { identifiers: HashMap::new(), used: HashSet::new(), next: 0 };
        let mut all: Vec<&Name> = vec![&program.name];
        all.extend(program.params.iter().map(|p| &p.name));
        all.extend(program.sizes.iter().map(|s| &s.name));
        all.extend(program.arrays.iter().map(|a| &a.name));
        all.extend(program.launch.groups.iter().map(|a| &a.name));
        all.extend(program.launch.lanes.iter().map(|a| &a.name));
        declared(&program.body, &mut all);
        // Names that are identifiers already come first, so that a changed one never takes theirs.
        let fine = |name: &Name| sanitise(name) == **name && !reserved(name);
        for name in all.iter().copied().filter(|n| fine(n)).chain(all.iter().copied().filter(|n| !fine(n))) {
            if names.identifiers.contains_key(name) {
                continue;
            }
            let mut identifier = sanitise(name);
            if reserved(&identifier) {
                // A reserved word gets an underscore; a reserved prefix needs another start.
                identifier.push('_');
                if reserved(&identifier) {
                    identifier.insert_str(0, "my_");
                }
            }
            while names.used.contains(&identifier) {
                identifier.push('_');
            }
            names.used.insert(identifier.clone());
            names.identifiers.insert(name.clone(), identifier);
        }
        names
    }

    /// The identifier of a name; the name itself where the Program does not have it.
    pub fn of(&self, name: &Name) -> String {
        self.identifiers.get(name).cloned().unwrap_or_else(|| name.to_string())
    }

    /// An identifier that nothing else has: `t0`, `t1`, …
    pub fn fresh(&mut self) -> Name {
        loop {
            let identifier = format!("t{}", self.next);
            self.next += 1;
            if self.used.insert(identifier.clone()) {
                return identifier.into();
            }
        }
    }
}

/// Every name that statements declare.
pub fn declared<'a>(body: &'a [Stmt], names: &mut Vec<&'a Name>) {
    for stmt in body {
        match stmt {
            Stmt::Let { name, .. } | Stmt::Var { name, .. } | Stmt::For { var: name, .. } | Stmt::Atomic { old: Some(name), .. } => {
                names.push(name)
            }
            _ => {}
        }
        stmt.blocks().into_iter().for_each(|block| declared(block, names));
    }
}

/// The nearest C identifier: letters, digits and single underscores, no digit first.
pub fn sanitise(name: &str) -> String {
    let mut identifier: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if identifier.is_empty() || identifier.starts_with(|c: char| c.is_ascii_digit()) {
        identifier.insert(0, '_');
    }
    identifier
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::{Expr, Launch};

    #[test]
    fn identifiers_are_legal_and_distinct() {
        let bind = |name: &str| Stmt::Let { name: name.into(), value: Expr::int(0) };
        let body = ["a.b", "a_b", "t0", "4x", "half", "a b", "ws_x"].map(bind).to_vec();
        let launch = Launch { groups: vec![], lanes: vec![], subgroup: None };
        let program = Program { name: "k".into(), sizes: vec![], params: vec![], arrays: vec![], launch, body };
        let mut names = Names::of_program(&program, |n| n == "half" || n.starts_with("ws_"));
        let of = |n: &str| names.of(&n.into());
        assert_eq!([of("a_b"), of("a.b"), of("a b"), of("t0"), of("4x"), of("half")], ["a_b", "a_b_", "a_b__", "t0", "_4x", "half_"]);
        assert_eq!(of("ws_x"), "my_ws_x_");
        assert_eq!(&*names.fresh(), "t1");
    }
}
