#!/usr/bin/env python3
"""What zsh offers at the end of command lines, asked on a terminal as a user does.

    zsh_offers.py HCUBE LINE...

Prints for each line the words that are listed, sorted, in one line with a | between them.
"""
import os
import pty
import re
import select
import sys
import time


class Terminal:
    """zsh without anybody's settings, in a terminal that can show nothing but text."""

    def __init__(self, program):
        self.shown = b""
        process, self.file = pty.fork()
        if process == 0:
            os.environ.update(TERM="dumb", HOME=os.getcwd(), ZDOTDIR=os.getcwd(), LC_ALL="C.UTF-8",
                              PATH=os.path.dirname(program) + ":" + os.environ["PATH"])
            os.execvp("zsh", ["zsh", "-f", "-i"])

    def type(self, text):
        os.write(self.file, text.encode())

    def until(self, sign):
        """What is shown up to a sign; what follows it is kept for the next call."""
        end = time.monotonic() + 120
        while sign.encode() not in self.shown:
            if time.monotonic() > end or not select.select([self.file], [], [], 120)[0]:
                sys.exit(f"zsh does not say {sign!r}: {self.shown!r}")
            self.shown += os.read(self.file, 65536)
        before, self.shown = self.shown.split(sign.encode(), 1)
        return before.decode()


def ask(terminal, line, number):
    terminal.type(line)
    terminal.until(line[-5:])
    # ^D lists, and zsh shows its prompt again below. ^U takes the line away. The mark is not typed as it is printed.
    terminal.type("\x04")
    shown = terminal.until("READY> ").replace("\r", "\n")
    terminal.type(f"\x15echo E''ND{number}\n")
    terminal.until(f"END{number}\r\n")
    terminal.until("READY> ")
    words = []
    for row in shown.split("\n"):
        row = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x08", "", row)
        row = row.split(" -- ")[0].strip()
        words += [word for word in re.split(r"\s{2,}", row) if word]
    return "|".join(sorted(words))


def main():
    terminal = Terminal(sys.argv[1])
    terminal.type("stty rows 200 cols 200; LISTMAX=0; setopt no_beep; autoload -U compinit; compinit -u -D; "
                  "source <(hcube completion zsh); bindkey -e; PS1='READY> '; echo SET''UP\n")
    terminal.until("SETUP\r\n")
    terminal.until("READY> ")
    for number, line in enumerate(sys.argv[2:]):
        print(ask(terminal, line, number))


if __name__ == "__main__":
    main()
