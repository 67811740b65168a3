//! The one form of a kernel's accesses, and of those that differ from it in sizes alone.

use super::kernel::subject::Subject;
use super::known::{Known, Question};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use warpsight_ir::Accesses;
use warpsight_ir::accesses::{Canonical, Order};

/// Accesses in their one form, and as the counting sees them.
pub struct Form {
    written: Accesses,
    canonical: Canonical,
    pub(super) subject: OnceCell<Subject>,
}

/// The forms that are known.
#[derive(PartialEq, Eq, Hash)]
struct Forms {
    kept: bool,
}

/// Forms that are kept.
const MOST: usize = 8;

impl Question for Forms {
    type Answer = RefCell<Vec<Rc<Form>>>;
}

/// The one form of accesses, and that of the first known ones that differ from them in sizes alone; none where a kernel is alone.
pub fn of(written: &Accesses, order: Order, known: &Known) -> (Canonical, Option<Rc<Form>>) {
    if known.is_alone() {
        return (written.canonical(order), None);
    }
    let forms = known.get(Forms { kept: order == Order::Kept }, |_| RefCell::default());
    let mut forms = forms.borrow_mut();
    let resized = |form: &Rc<Form>| Some((written.resized(&form.written, &form.canonical)?, Some(Rc::clone(form))));
    if let Some(found) = forms.iter().find_map(resized) {
        return found;
    }
    let canonical = written.canonical(order);
    let form = Rc::new(Form { written: written.clone(), canonical: canonical.clone(), subject: OnceCell::new() });
    if forms.len() >= MOST {
        forms.clear();
    }
    forms.push(Rc::clone(&form));
    (canonical, Some(form))
}
