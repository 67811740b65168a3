//! One Program for all sizes of a dimension.

use warpsight_generate::ScheduleFamily;
use warpsight_generate::parallel::each;
use warpsight_ir::generalise::{around, generalise, is, shape};
use warpsight_ir::{Checked, Config, Expr, Family, Kernel, Program, SizeParam, Stmt, specialise};

/// A Program with a size, made of what one configuration lowers to at several.
#[derive(Clone, Debug)]
pub struct Generic {
    /// The size.
    pub size: SizeParam,
    /// What devices run.
    pub program: Checked,
    /// The same before addresses are linearised: what models see.
    lowered: Program,
    /// Positions of the shapes at which it is, with the size put in, what the configuration lowers to there.
    pub same: Vec<usize>,
    /// Positions at which the configuration lowers to Programs with fewer conditions, and the same arguments and launch: of each form of Program the
    /// positions. The conditions there are not should hold: a run of each form tells.
    pub simpler: Vec<Vec<usize>>,
}

/// What a configuration lowers to at one size.
struct Lowered {
    at: usize,
    value: i64,
    lowered: Program,
    finished: Program,
}

/// Lowered Programs of one form: they differ in integers alone.
struct Form {
    all: Vec<Lowered>,
    conditions: usize,
}

impl Generic {
    /// One for each form that a configuration lowers to at two sizes or more, the one with the most conditions first. Shapes are given by position,
    /// value of the size, family, and configuration in it.
    pub fn of(size: &SizeParam, shapes: &[(usize, i64, &ScheduleFamily, Config)]) -> Vec<Self> {
        let lowered = each(shapes, |(at, value, family, config)| {
            let lowered = family.lower(config).ok()?.into_inner();
            Some(Lowered { at: *at, value: *value, lowered, finished: family.finish(config).ok()?.into_inner() })
        });
        let mut forms: Vec<(Program, Program, Form)> = vec![];
        for own in lowered.into_iter().flatten() {
            let (first, last) = (shape(&own.lowered), shape(&own.finished));
            match forms.iter_mut().find(|form| form.0 == first && form.1 == last) {
                Some(form) => form.2.all.push(own),
                None => {
                    let conditions = conditions(&own.lowered.body);
                    forms.push((first, last, Form { all: vec![own], conditions }));
                }
            }
        }
        let mut forms: Vec<Form> = forms.into_iter().map(|form| form.2).collect();
        forms.sort_by_key(|form| (std::cmp::Reverse(form.conditions), std::cmp::Reverse(form.all.len())));
        (0..forms.len()).filter_map(|at| Self::made(size, &forms, at)).collect()
    }

    fn made(size: &SizeParam, forms: &[Form], at: usize) -> Option<Self> {
        let own = &forms[at].all;
        if own.len() < 2 {
            return None;
        }
        type Part = fn(&Lowered) -> &Program;
        let made = |part: Part| {
            let others = forms.iter().flat_map(|form| &form.all).map(|own| (own.value, part(own))).collect::<Vec<_>>();
            let own = own.iter().map(|own| (own.value, part(own))).collect::<Vec<_>>();
            generalise(size, &own, &others)
        };
        let lowered = made(|own| &own.lowered)?;
        let program = Checked::new(made(|own| &own.finished)?).ok()?;
        let alike = |other: &&Lowered| is(&around(&program), size, other.value, &around(&other.finished));
        let fewer = forms.iter().filter(|form| form.conditions < forms[at].conditions);
        let simpler = fewer.map(|form| form.all.iter().filter(alike).map(|own| own.at).collect::<Vec<_>>());
        Some(Self {
            size: size.clone(),
            simpler: simpler.filter(|form| !form.is_empty()).collect(),
            same: own.iter().map(|own| own.at).collect(),
            program,
            lowered,
        })
    }

    /// What models see of it at a value of the size.
    pub fn kernel(&self, value: i64) -> Option<Kernel> {
        let program = specialise(&self.lowered, &[(self.size.name.clone(), value)].into()).ok()?;
        Kernel::of(&Checked::new(program).ok()?).ok()
    }

    /// Lets the size be no more than what it is to serve.
    pub fn narrow(&mut self, lo: i64, hi: i64) {
        let size = SizeParam { lo, hi, ..self.size.clone() };
        let program = Checked::new(Program { sizes: vec![size.clone()], ..self.program.clone().into_inner() });
        if let Ok(program) = program {
            self.lowered.sizes = vec![size.clone()];
            (self.program, self.size) = (program, size);
        }
    }

    /// Where it may serve.
    pub fn positions(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.same.iter().chain(self.simpler.iter().flatten()).copied().collect();
        all.sort_unstable();
        all
    }
}

/// How much a block asks before it does something.
fn conditions(body: &[Stmt]) -> usize {
    fn of_expr(expr: &Expr) -> usize {
        let own = match expr {
            Expr::Load { guard, .. } | Expr::Texel { guard, .. } => guard.len(),
            _ => 0,
        };
        own + expr.children().into_iter().map(of_expr).sum::<usize>()
    }
    let of_stmt = |stmt: &Stmt| {
        let own = match stmt {
            Stmt::If { .. } => 1,
            Stmt::Store { guard, .. } | Stmt::StoreTexel { guard, .. } => guard.len(),
            _ => 0,
        };
        own + stmt.exprs().into_iter().map(of_expr).sum::<usize>() + stmt.blocks().into_iter().map(|own| conditions(own)).sum::<usize>()
    };
    body.iter().map(of_stmt).sum()
}
