//! Bounded queues between Programs that run together.
//!
//! Channels of one name are one channel. Every Program with a `Receive` end gets every token, in the order of sending; a token is
//! sent only when all of them have room for it. Within a Program the groups share its end: a token goes to the group that comes
//! first, in the turn that [`super::run_together`] gives to groups.

use super::fault::{ChannelProblem, Fault};
use crate::program::{Direction, Name, Param, ParamKind, Program};
use std::collections::VecDeque;

/// Bytes of one token.
type Token = Vec<u8>;

struct Channel {
    name: Name,
    depth: usize,
    /// A queue for each Program that receives.
    queues: Vec<(usize, VecDeque<Token>)>,
}

/// All channels among some Programs.
pub(super) struct Channels(Vec<Channel>);

impl Channels {
    /// Connects the channel parameters of Programs by name.
    pub fn connect(programs: &[&Program]) -> Result<Self, Fault> {
        let ends = || {
            let params = programs.iter().enumerate().flat_map(|(i, p)| p.params.iter().map(move |param| (i, *p, param)));
            params.filter_map(|(i, program, param)| match &param.kind {
                ParamKind::Channel { element, dims, depth, direction } => {
                    Some((i, program, &param.name, (*element, dims, *depth), *direction))
                }
                _ => None,
            })
        };
        let mut channels: Vec<Channel> = Vec::new();
        for (_, _, name, form, _) in ends() {
            if channels.iter().any(|c| c.name == *name) {
                continue;
            }
            let bad = |problem| Fault::BadChannel { channel: name.clone(), problem };
            let same = || ends().filter(|end| end.2 == name);
            for direction in [Direction::Send, Direction::Receive] {
                if !same().any(|end| end.4 == direction) {
                    return Err(bad(ChannelProblem::Unconnected(direction)));
                }
            }
            if let Some(other) = same().find(|end| end.3 != form) {
                return Err(bad(ChannelProblem::Mismatch(other.1.name.clone())));
            }
            let receivers = same().filter(|end| end.4 == Direction::Receive).map(|end| (end.0, VecDeque::new()));
            channels.push(Channel { name: name.clone(), depth: form.2 as usize, queues: receivers.collect() });
        }
        Ok(Self(channels))
    }

    /// The number of the channel that a parameter is an end of.
    pub fn number(&self, param: &Param) -> Option<usize> {
        self.0.iter().position(|c| c.name == param.name)
    }

    /// Whether there is room for a token.
    pub fn has_room(&self, channel: usize) -> bool {
        let channel = &self.0[channel];
        channel.queues.iter().all(|(_, queue)| queue.len() < channel.depth)
    }

    /// Puts a token in, for every Program that receives.
    pub fn send(&mut self, channel: usize, token: &[u8]) {
        for (_, queue) in &mut self.0[channel].queues {
            queue.push_back(token.to_vec());
        }
    }

    /// Takes the next token for a Program out.
    pub fn receive(&mut self, channel: usize, program: usize) -> Option<Token> {
        let queue = self.0[channel].queues.iter_mut().find(|(receiver, _)| *receiver == program);
        queue.and_then(|(_, queue)| queue.pop_front())
    }
}
