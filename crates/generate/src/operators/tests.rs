//! Values of every constructor against loops written out by hand, and the messages of the grammar.
use super::*;
