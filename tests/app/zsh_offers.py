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


def start(program):
    """zsh without anybody's settings, in a terminal that can show nothing but text."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="dumb", HOME=os.getcwd(), ZDOTDIR=os.getcwd(), LC_ALL="C.UTF-8",
                          PATH=os.path.dirname(program) + ":" + os.environ["PATH"])
        os.execvp("zsh", ["zsh", "-f", "-i"])
    return terminal


def read_until(terminal, sign):
    got = b""
    end = time.monotonic() + 60
    while sign.encode() not in got:
        if time.monotonic() > end or not select.select([terminal], [], [], 60)[0]:
            sys.exit(f"zsh does not say {sign!r}: {got!r}")
        got += os.read(terminal, 65536)
    return got.decode()


def ask(terminal, line):
    os.write(terminal, line.encode())
    read_until(terminal, line[-5:])
    # ^D lists, and zsh shows its prompt again below.
    os.write(terminal, b"\x04")
    shown = read_until(terminal, "READY> ").replace("\r", "\n")
    os.write(terminal, b"\x15\n")
    read_until(terminal, "READY> ")
    words = []
    for row in shown.split("\n"):
        row = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x08", "", row)
        row = row.split(" -- ")[0].strip()
        if not row.startswith("READY>") and row != line.strip():
            words += [word for word in re.split(r"\s{2,}", row) if word]
    return "|".join(sorted(words))


def main():
    terminal = start(sys.argv[1])
    os.write(terminal, b"stty rows 200 cols 200; LISTMAX=0; setopt no_beep; autoload -U compinit; compinit -u -D; "
                       b"source <(hcube completion zsh); bindkey -e; PS1='READY> '; echo SET''UP\n")
    read_until(terminal, "SETUP\r\n")
    read_until(terminal, "READY> ")
    for line in sys.argv[2:]:
        print(ask(terminal, line))


if __name__ == "__main__":
    main()
