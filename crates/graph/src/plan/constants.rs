//! Elements that are known before any kernel runs.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

type Make = Box<dyn FnOnce() -> Arc<[f64]> + Send>;

/// Known elements in full precision (folded weights are not rounded), made when somebody first reads them. Clones are the same elements.
#[derive(Clone)]
pub struct Elements(Arc<LazyLock<Arc<[f64]>, Make>>);

impl Elements {
    /// What this makes, once, of whoever asks first.
    pub fn made(make: impl FnOnce() -> Vec<f64> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| make().into()))))
    }

    /// The elements, shared.
    pub fn shared(&self) -> Arc<[f64]> {
        Arc::clone(&self.0)
    }
}

impl Deref for Elements {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl From<Arc<[f64]>> for Elements {
    fn from(values: Arc<[f64]>) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| values))))
    }
}

impl FromIterator<f64> for Elements {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Arc::from_iter(values).into()
    }
}

/// Without the elements, which are many, and not made for this.
impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn elements_are_made_once_by_who_reads_first() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let own = Elements::made(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            vec![1.0, 2.5]
        });
        let other = own.clone();
        assert_eq!((format!("{other:?}"), calls.load(Ordering::Relaxed)), ("Elements { .. }".into(), 0));
        assert_eq!((&other[..], &*own.shared(), other.len()), (&[1.0, 2.5][..], &[1.0, 2.5][..], 2));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
