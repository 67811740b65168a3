//! The Family of a tensor expression, and its lowering step by step.

use crate::addresses::eliminate_common_addresses;
use crate::expr::TensorExpr;
use crate::kernel::{kernel, outline};
use crate::layout::{Layout, Place};
use crate::nest::{Bodies, Nest};
use crate::program::program;
use crate::schedule::{Choice, Knobs, show_choice};
use warpsight_ir::{Checked, Config, ConfigSpace, Family, Kernel, LowerError, Name};

/// Changes whenever a configuration lowers to another Program than before: stored times of older Programs are then not taken for today's.
pub const VERSION: u32 = 3;

/// All schedules of one tensor expression.
pub struct ScheduleFamily {
    expr: TensorExpr,
    knobs: Knobs,
    bodies: Bodies,
}

/// The named steps of lowering, in order; each can be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// The expression as loops over its axes.
    Expression,
    /// Axes split among groups, lanes, points and vector lanes.
    Tile,
    /// Every tensor's place: buffer or image, with explicit packing.
    Place,
    /// What each straight-line step loads, with the bounds that edges need.
    Loads,
    /// The Program with coordinate vectors.
    Program,
    /// Common parts of addresses computed once per loop (paper 001, Algorithm 1).
    Addresses,
}

impl Lowering {
    /// All of them in order.
    pub const ALL: [Self; 6] = [Self::Expression, Self::Tile, Self::Place, Self::Loads, Self::Program, Self::Addresses];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expression => "expression",
            Self::Tile => "tile",
            Self::Place => "place",
            Self::Loads => "loads",
            Self::Program => "program",
            Self::Addresses => "addresses",
        }
    }
}

impl ScheduleFamily {
    /// Opens the family of an expression.
    pub fn new(expr: TensorExpr) -> Self {
        let knobs = Knobs::of(&expr);
        Self { expr, knobs, bodies: Bodies::default() }
    }

    /// The expression.
    pub fn expr(&self) -> &TensorExpr {
        &self.expr
    }

    /// Where each input, then the output, lies under a configuration.
    pub fn layouts(&self, config: &Config) -> Result<Vec<Layout>, LowerError> {
        self.with_nest(config, |nest| nest.layouts.clone()).ok_or_else(|| self.not_legal(config))
    }

    /// What the layout of each input, then of the output, is under a configuration.
    pub fn places(&self, config: &Config) -> Option<Vec<Place>> {
        self.knobs.choice(&self.expr, config).map(|c| c.place.to_vec())
    }

    /// The configuration without what says how its work-items are arranged in groups, and the number of that arrangement.
    pub fn arrangement(&self, config: &Config) -> (Config, usize) {
        let mut work = config.clone();
        let mut number = 0;
        for knob in self.knobs.arranging() {
            number = number * self.knobs.space.knobs[knob].values.len() + config.0[knob] as usize;
            work.0[knob] = 0;
        }
        (work, number)
    }

    /// The Program that devices run: lowered, with common address parts eliminated.
    pub fn finish(&self, config: &Config) -> Result<Checked, LowerError> {
        let program = self.lower(config)?;
        Checked::new(eliminate_common_addresses(program.into_inner()))
            .map_err(|source| LowerError::Invalid { step: Lowering::Addresses.name(), source })
    }

    /// A lowering step's result as text.
    pub fn dump(&self, config: &Config, stage: Lowering) -> Result<String, LowerError> {
        let choice = self.knobs.choice(&self.expr, config).ok_or_else(|| self.not_legal(config))?;
        let nest = Nest::new(&self.expr, &choice).ok_or_else(|| self.not_legal(config))?;
        Ok(match stage {
            Lowering::Expression => crate::show::expression(&self.expr),
            Lowering::Tile => show_choice(&self.expr, &choice),
            Lowering::Place => crate::show::places(&nest),
            Lowering::Loads => crate::show::loads(&nest, &self.bodies.of(&nest)),
            Lowering::Program => self.lower(config)?.to_string(),
            Lowering::Addresses => self.finish(config)?.to_string(),
        })
    }

    /// Which settings of the knobs of places are legal beside the others of a choice.
    fn legal_places(&self, mut choice: Choice) -> impl Fn(&[i32]) -> bool + '_ {
        let placeable = &self.knobs.placeable;
        let most = placeable.iter().map(|(_, places)| places.len()).max().unwrap_or(1);
        // Where each tensor has the place of this number, or its last one.
        let legal: Vec<_> = (0..most)
            .map(|place| {
                placeable.iter().for_each(|(t, places)| choice.place[*t] = places[place.min(places.len() - 1)]);
                let mut legal = Nest::legal(&self.expr, &choice);
                legal[self.expr.inputs.len()] &= self.knobs.whole_blocks(&self.expr, &choice);
                legal
            })
            .collect();
        let fixed = (0..=self.expr.inputs.len()).all(|t| placeable.iter().any(|own| own.0 == t) || legal[0][t]);
        move |places| {
            let own = placeable.iter().zip(places).all(|((t, _), &place)| legal[place as usize][*t]);
            fixed && own && self.knobs.agree(places)
        }
    }

    fn not_legal(&self, config: &Config) -> LowerError {
        LowerError::NotLegal(config.clone(), self.expr.name.clone())
    }

    fn with_nest<T>(&self, config: &Config, f: impl FnOnce(&Nest) -> T) -> Option<T> {
        let choice: Choice = self.knobs.choice(&self.expr, config)?;
        Nest::new(&self.expr, &choice).map(|nest| f(&nest))
    }
}

impl Family for ScheduleFamily {
    fn name(&self) -> &Name {
        &self.expr.name
    }

    fn space(&self) -> &ConfigSpace {
        &self.knobs.space
    }

    fn configs(&self) -> Box<dyn Iterator<Item = Config> + '_> {
        Box::new(self.knobs.schedules(&self.expr).flat_map(|(values, choice)| {
            let places = self.knobs.places();
            let legal = self.legal_places(choice);
            ConfigSpace::combine(places).filter(move |places| legal(places)).map(move |places| Config([&values[..], &places].concat()))
        }))
    }

    fn kernel(&self, config: &Config) -> Kernel {
        // A configuration that is not legal has no Kernel: callers take configurations from `configs`.
        self.with_nest(config, |nest| kernel(nest, &self.bodies.of(nest))).flatten().unwrap_or_else(|| panic!("{}", self.not_legal(config)))
    }

    fn outline(&self, config: &Config) -> Kernel {
        let outlined = self.with_nest(config, |nest| outline(nest).or_else(|| kernel(nest, &self.bodies.of(nest))));
        outlined.flatten().unwrap_or_else(|| panic!("{}", self.not_legal(config)))
    }

    fn lower(&self, config: &Config) -> Result<Checked, LowerError> {
        let program =
            self.with_nest(config, |nest| program(nest, &self.bodies.of(nest))).flatten().ok_or_else(|| self.not_legal(config))?;
        Checked::new(program).map_err(|source| LowerError::Invalid { step: Lowering::Program.name(), source })
    }
}
