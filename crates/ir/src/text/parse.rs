//! Parsing declarations and statements; [`super::expr`] continues with expressions.

use super::error::{ParseError, ParseErrorKind};
use super::lex::{Kind, Token, error_at, lex};
use super::words::{COMPARISON, Word};
use crate::program::{
    Access, Array, AtomicOp, Direction, Expr, GroupAxis, ImageFormat, ImageKind, LaneAxis, Launch, Name, Order, Param, ParamKind, Program,
    Scope, SizeParam, Space, Stmt, StorePolicy, Unroll,
};
use crate::types::{Scalar, Type};
use std::collections::HashSet;

/// Levels of recursion that we follow; keeps hostile text from exhausting the stack.
const MAX_NESTING: u32 = 200;

pub(super) type Parsed<T> = Result<T, ParseError>;

/// A position in a text.
pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    position: usize,
    /// The sizes of the Program at hand: a name among them is a size, any other a variable.
    pub(super) sizes: HashSet<&'t str>,
    nesting: u32,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Parsed<Self> {
        Ok(Self { text, tokens: lex(text)?, position: 0, sizes: HashSet::new(), nesting: 0 })
    }

    // The token at hand.

    pub(super) fn token(&self) -> Token<'t> {
        self.ahead(0)
    }
    pub(super) fn ahead(&self, n: usize) -> Token<'t> {
        // The last token is the end, which is never passed.
        self.tokens[(self.position + n).min(self.tokens.len() - 1)]
    }
    pub(super) fn advance(&mut self) -> Token<'t> {
        let token = self.token();
        self.position += 1;
        token
    }
    pub(super) fn is(&self, text: &str) -> bool {
        self.token().kind != Kind::Number && self.token().text == text && !text.is_empty()
    }
    /// Whether the token is this word and continues the line.
    fn trails(&self, word: &str) -> bool {
        self.is(word) && !self.token().leads
    }
    pub(super) fn accept(&mut self, text: &str) -> bool {
        let found = self.is(text);
        self.position += usize::from(found);
        found
    }
    pub(super) fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.accept(text) { Ok(()) } else { Err(self.expected(format!("`{text}`"))) }
    }
    pub(super) fn end(&self) -> Parsed<()> {
        if self.token().kind == Kind::End { Ok(()) } else { Err(self.expected("the end")) }
    }

    // Errors at the token at hand, or at another.

    pub(super) fn error(&self, kind: ParseErrorKind) -> ParseError {
        self.error_on(self.token(), kind)
    }
    pub(super) fn error_on(&self, token: Token<'_>, kind: ParseErrorKind) -> ParseError {
        error_at(self.text, token.start, token.text.len(), kind)
    }
    pub(super) fn expected(&self, wanted: impl Into<String>) -> ParseError {
        let token = self.token();
        let found = if token.kind == Kind::End { "the end".to_owned() } else { format!("`{}`", token.text) };
        self.error(ParseErrorKind::Expected { wanted: wanted.into(), found })
    }

    /// Runs a part of the grammar that may contain itself.
    pub(super) fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting == MAX_NESTING {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        self.nesting += 1;
        let result = part(self);
        self.nesting -= 1;
        result
    }

    // Small parts.

    pub(super) fn word(&mut self, wanted: &str) -> Parsed<&'t str> {
        if self.token().kind == Kind::Word { Ok(self.advance().text) } else { Err(self.expected(wanted)) }
    }
    pub(super) fn name(&mut self) -> Parsed<Name> {
        Ok(self.word("a name")?.into())
    }
    pub(super) fn integer<T: std::str::FromStr>(&mut self, what: &'static str) -> Parsed<T> {
        let token = self.token();
        if token.kind != Kind::Number {
            return Err(self.expected(what));
        }
        let value = token.text.parse().map_err(|_| self.error(ParseErrorKind::Number { literal: token.text.to_owned(), what }))?;
        self.advance();
        Ok(value)
    }
    pub(super) fn u32(&mut self) -> Parsed<u32> {
        self.integer("a whole number below 2^32")
    }
    fn signed(&mut self) -> Parsed<i64> {
        let sign = if self.accept("-") { "-" } else { "" };
        let token = self.token();
        if token.kind != Kind::Number {
            return Err(self.expected("a whole number"));
        }
        let literal = format!("{sign}{}", token.text);
        let value = literal.parse().map_err(|_| self.error(ParseErrorKind::Number { literal, what: "a 64-bit whole number" }))?;
        self.advance();
        Ok(value)
    }
    pub(super) fn one_of<W: Word>(&mut self) -> Parsed<W> {
        let wanted = || format!("{} ({})", W::WHAT, W::ALL.iter().map(|w| w.word()).collect::<Vec<_>>().join(", "));
        match (self.token().kind, W::of(self.token().text)) {
            (Kind::Word, Some(word)) => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(wanted())),
        }
    }
    /// Items with commas between, up to a token that begins none.
    pub(super) fn list<T>(&mut self, ends: &[&str], mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if ends.iter().any(|end| self.is(end)) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.accept(",") {
                return Ok(items);
            }
        }
    }
    /// `[1, 2]`
    pub(super) fn dims(&mut self) -> Parsed<Vec<u32>> {
        self.expect("[")?;
        let dims = self.list(&["]"], Self::u32)?;
        self.expect("]")?;
        Ok(dims)
    }

    // Programs.

    pub(super) fn program(&mut self) -> Parsed<Program> {
        self.expect("program")?;
        self.sizes.clear();
        let mut program = Program {
            name: self.name()?,
            sizes: vec![],
            params: vec![],
            arrays: vec![],
            launch: Launch { groups: vec![], lanes: vec![], subgroup: None },
            body: vec![],
        };
        self.expect("{")?;
        let mut sizes_end = false;
        while !self.is("{") {
            if self.is("size") && sizes_end {
                return Err(self.error(ParseErrorKind::SizesFirst));
            }
            sizes_end = !self.is("size");
            self.declaration(&mut program)?;
        }
        program.body = self.block()?;
        self.expect("}")?;
        Ok(program)
    }

    fn declaration(&mut self, program: &mut Program) -> Parsed<()> {
        match self.token().text {
            "size" => {
                self.advance();
                let name = self.word("a name")?;
                self.expect("in")?;
                let lo = self.signed()?;
                self.expect("..=")?;
                let hi = self.signed()?;
                self.sizes.insert(name);
                program.sizes.push(SizeParam { name: name.into(), lo, hi });
            }
            "read" | "write" => program.params.push(self.memory_param()?),
            "send" | "receive" => {
                let direction: Direction = self.one_of()?;
                self.expect("channel")?;
                let name = self.name()?;
                self.expect(":")?;
                let (element, dims) = (self.one_of()?, self.dims()?);
                self.expect("depth")?;
                let kind = ParamKind::Channel { element, dims, depth: self.u32()?, direction };
                program.params.push(Param { name, kind });
            }
            "groups" => {
                self.advance();
                let axes = self.list(&[], |p| {
                    let name = p.name()?;
                    p.expect("=")?;
                    Ok(GroupAxis { name, extent: p.expr()? })
                })?;
                program.launch.groups.extend(axes);
            }
            "lanes" => {
                self.advance();
                let axes = self.list(&[], |p| {
                    let name = p.name()?;
                    p.expect("=")?;
                    Ok(LaneAxis { name, extent: p.u32()? })
                })?;
                program.launch.lanes.extend(axes);
            }
            "subgroup" if program.launch.subgroup.is_some() => return Err(self.error(ParseErrorKind::Twice("subgroup"))),
            "subgroup" => {
                self.advance();
                program.launch.subgroup = Some(self.u32()?);
            }
            word if Space::of(word).is_some() => {
                let space = self.one_of()?;
                let name = self.name()?;
                self.expect(":")?;
                program.arrays.push(Array { name, space, element: self.one_of()?, dims: self.dims()? });
            }
            _ => return Err(self.expected("a declaration, or `{` before the body")),
        }
        Ok(())
    }

    fn memory_param(&mut self) -> Parsed<Param> {
        let access = match (self.accept("read"), self.accept("write")) {
            (true, true) => Access::ReadWrite,
            (true, false) => Access::Read,
            (false, _) => Access::Write,
        };
        let kind = if self.is("image") { Some(ImageKind::Image2d) } else { ImageKind::of(self.token().text) };
        if let Some(kind) = kind {
            self.advance();
            let name = self.name()?;
            self.expect(":")?;
            let format: ImageFormat = self.one_of()?;
            self.expect("[")?;
            let width = self.expr()?;
            let height = if self.accept(",") { self.expr()? } else { Expr::int(1) };
            self.expect("]")?;
            let border = if self.accept("border") { self.one_of()? } else { kind.border() };
            return Ok(Param { name, kind: ParamKind::Image { kind, format, width, height, access, border } });
        }
        let space = if self.is("buffer") { Space::Global } else { self.one_of()? };
        self.expect("buffer")?;
        let name = self.name()?;
        self.expect(":")?;
        let element = self.one_of()?;
        self.expect("[")?;
        let dims = self.list(&["]"], Self::expr)?;
        self.expect("]")?;
        Ok(Param { name, kind: ParamKind::Buffer { space, element, dims, access } })
    }

    // Statements.

    fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.nested(|p| {
            p.expect("{")?;
            let mut body = Vec::new();
            while !p.accept("}") {
                body.push(p.stmt()?);
            }
            Ok(body)
        })
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        if self.is("{") {
            return Ok(Stmt::Scope(self.block()?));
        }
        if self.token().kind != Kind::Word {
            return Err(self.expected("a statement"));
        }
        // What follows tells a name from a word of the grammar.
        match self.ahead(1).text {
            "=" => {
                let name = self.name()?;
                self.expect("=")?;
                return Ok(Stmt::Assign { name, value: self.expr()? });
            }
            "[" => return self.store(),
            "@" => {
                let image = self.name()?;
                let (x, y, guard) = self.texel()?;
                self.expect("=")?;
                return Ok(Stmt::StoreTexel { image, x, y, guard, value: self.expr()? });
            }
            _ => {}
        }
        match self.token().text {
            "let" => self.let_stmt(),
            "var" => self.var_stmt(),
            "for" => self.for_stmt(),
            "if" => self.if_stmt(),
            "atomic" => self.atomic(None),
            "barrier" => self.barrier(),
            "tile" => self.tile_stmt(),
            "send" => {
                self.advance();
                let channel = self.name()?;
                self.expect("from")?;
                Ok(Stmt::Send { channel, from: self.name()? })
            }
            "receive" => {
                self.advance();
                let channel = self.name()?;
                self.expect("into")?;
                Ok(Stmt::Receive { channel, into: self.name()? })
            }
            _ => Err(self.expected("a statement")),
        }
    }

    fn store(&mut self) -> Parsed<Stmt> {
        let target = self.name()?;
        let (index, guard) = self.store_index()?;
        self.expect("=")?;
        let value = self.expr()?;
        let policy = StorePolicy::ALL.iter().copied().find(|policy| self.trails(policy.word()));
        if policy.is_some() {
            self.advance();
        }
        Ok(Stmt::Store { target, index, value, guard, policy: policy.unwrap_or_default() })
    }

    fn let_stmt(&mut self) -> Parsed<Stmt> {
        self.expect("let")?;
        let name = self.name()?;
        self.expect("=")?;
        let next = self.ahead(1);
        if self.is("atomic") && next.kind == Kind::Word && !next.leads {
            return self.atomic(Some(name));
        }
        Ok(Stmt::Let { name, value: self.expr()? })
    }

    fn var_stmt(&mut self) -> Parsed<Stmt> {
        self.expect("var")?;
        let name = self.name()?;
        self.expect(":")?;
        let ty = self.vector_type()?;
        self.expect("=")?;
        Ok(Stmt::Var { name, ty, init: self.expr()? })
    }

    fn vector_type(&mut self) -> Parsed<Type> {
        let parts = self.token().text.split_once('x').unwrap_or((self.token().text, "1"));
        match (Scalar::of(parts.0), parts.1.parse()) {
            (Some(scalar), Ok(width)) => {
                self.advance();
                Ok(Type::vector(scalar, width))
            }
            _ => Err(self.expected("a type such as f32 or f32x4")),
        }
    }

    fn for_stmt(&mut self) -> Parsed<Stmt> {
        self.expect("for")?;
        let var = self.name()?;
        self.expect("in")?;
        let from = self.expr()?;
        self.expect("..")?;
        let to = self.expr()?;
        let step = if self.accept("step") { self.u32()? } else { 1 };
        let unroll = match self.accept("unroll") {
            false => Unroll::Auto,
            true if self.accept("none") => Unroll::None,
            true if self.accept("full") => Unroll::Full,
            true => Unroll::By(self.integer("an unroll factor, `none` or `full`")?),
        };
        Ok(Stmt::For { var, from, to, step, unroll, body: self.block()? })
    }

    fn if_stmt(&mut self) -> Parsed<Stmt> {
        self.nested(|p| {
            p.expect("if")?;
            let condition = p.expr()?;
            let then = p.block()?;
            let otherwise = match p.accept("else") {
                false => vec![],
                true if p.is("if") => vec![p.if_stmt()?],
                true => p.block()?,
            };
            Ok(Stmt::If { condition, then, otherwise })
        })
    }

    fn atomic(&mut self, old: Option<Name>) -> Parsed<Stmt> {
        self.expect("atomic")?;
        let op: AtomicOp = self.one_of()?;
        let target = self.name()?;
        let index = self.index()?;
        self.expect("with")?;
        let value = self.expr()?;
        let compare = if self.accept("if") {
            self.expect("was")?;
            Some(self.expr()?)
        } else {
            None
        };
        let order: Order = self.one_of()?;
        let scope: Scope = self.one_of()?;
        Ok(Stmt::Atomic { op, target, index, value, compare, order, scope, old })
    }

    fn barrier(&mut self) -> Parsed<Stmt> {
        self.expect("barrier")?;
        let scope = self.one_of()?;
        let mut orders = |word| {
            let found = self.trails(word);
            self.position += usize::from(found);
            found
        };
        Ok(Stmt::Barrier { scope, local: orders("local"), global: orders("global") })
    }

    fn tile_stmt(&mut self) -> Parsed<Stmt> {
        self.expect("tile")?;
        match self.word("load, store, fill or mma")? {
            "load" => {
                let tile = self.name()?;
                self.expect("=")?;
                Ok(Stmt::TileLoad { tile, source: self.name()?, index: self.index()? })
            }
            "store" => {
                let (target, index) = (self.name()?, self.index()?);
                self.expect("=")?;
                Ok(Stmt::TileStore { target, index, tile: self.name()? })
            }
            "fill" => {
                let tile = self.name()?;
                self.expect("=")?;
                Ok(Stmt::TileFill { tile, value: self.expr()? })
            }
            "mma" => {
                let d = self.name()?;
                self.expect("+=")?;
                let a = self.name()?;
                self.expect("*")?;
                Ok(Stmt::Mma { d, a, b: self.name()? })
            }
            _ => {
                self.position -= 1;
                Err(self.expected("load, store, fill or mma"))
            }
        }
    }

    /// Any expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        Ok(self.operators(COMPARISON)?.expr)
    }
}
