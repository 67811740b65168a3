//! `warpsight completions`: what a shell needs to complete the command's words.

use crate::failure::Failure;
use crate::report::out;
use clap::Command;
use clap_complete::Shell;

/// Print completions of verbs, options and names for a shell.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// For which shell.
    #[arg(value_enum, ignore_case = true)]
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  For bash, from the next shell on:
    warpsight completions bash > ~/.local/share/bash-completion/completions/warpsight
  For zsh, in a folder of $fpath:
    warpsight completions zsh > ~/.zfunc/_warpsight
  For fish:
    warpsight completions fish > ~/.config/fish/completions/warpsight.fish";

/// Runs the verb.
pub fn run(args: &Args, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "warpsight", &mut script);
    out(String::from_utf8_lossy(&script).trim_end())
}
