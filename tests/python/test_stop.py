"""A run that is not waited for to its end stops, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from support import Case, long_scene, main

import hcube

PROGRAM = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import hcube
run = hcube.start("cov long.hdr long.json --threads 1")
for event in run:
    if event["event"] == "progress":
        print(run._process.pid, flush=True)
        exec(sys.argv[2])
"""


def is_there(pid):
    """Whether the process runs: it is neither gone nor a zombie that nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_gone(pid, patience=120):
    for _ in range(patience * 20):
        if not is_there(pid):
            return True
        time.sleep(0.05)
    return False


class Stops(Case):
    def setUp(self):
        super().setUp()
        long_scene()
        self.before = sorted(os.listdir("."))

    def nothing_is_left(self, pid):
        self.assertFalse(is_there(pid))
        self.assertEqual(sorted(os.listdir(".")), self.before)

    def first_progress(self):
        run = hcube.start("cov long.hdr long.json --threads 1")
        for event in run:
            if event["event"] == "progress":
                return run, run._process.pid
        self.fail("the run ended")

    def test_cancel(self):
        run, pid = self.first_progress()
        run.cancel()
        self.nothing_is_left(pid)
        self.assertEqual(list(run), [])
        error = self.refused(hcube.Error, "interrupted", run.wait)
        self.assertEqual(error.code, 130)
        run.cancel()

    def test_the_terminal_signals_python_alone(self):
        """A second signal would end the program before it has cleaned up."""
        run, pid = self.first_progress()
        self.assertNotEqual(os.getpgid(pid), os.getpgrp())
        run.cancel()

    def test_leaving_a_with_block(self):
        with hcube.start("cov long.hdr long.json --threads 1") as run:
            pid = run._process.pid
            self.assertTrue(is_there(pid))
        self.nothing_is_left(pid)

    def test_leaving_a_loop(self):
        run, pid = self.first_progress()
        del run
        self.nothing_is_left(pid)

    def test_an_exception_in_the_loop(self):
        with self.assertRaises(ZeroDivisionError):
            for event in hcube.start("cov long.hdr long.json --threads 1"):
                1 / 0
        self.assertEqual(sorted(os.listdir(".")), self.before)

    def interrupted(self, how, then=""):
        """Another Python that runs the program gets a signal at the first progress, behind which it does `then`."""
        python = subprocess.Popen([sys.executable, "-c", PROGRAM, str(Path(hcube.__file__).parents[1]), then],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True)
        pid = int(python.stdout.readline())
        how(python.pid)
        return pid, python.communicate()[1], python.returncode

    def test_ctrl_c(self):
        # From a terminal the signal goes to the group, from others (kill, Jupyter) to Python alone.
        for how in (os.killpg, os.kill):
            pid, said, code = self.interrupted(lambda python: how(python, signal.SIGINT))
            self.assertIn("KeyboardInterrupt", said)
            self.assertEqual(code, -signal.SIGINT)
            self.nothing_is_left(pid)

    def test_ctrl_c_between_events(self):
        """The run is there until Python itself ends: its variable is a global one."""
        for how in (os.killpg, os.kill):
            pid, said, code = self.interrupted(lambda python: how(python, signal.SIGINT), "import time\nwhile True: time.sleep(0.05)")
            self.assertIn("KeyboardInterrupt", said)
            self.assertNotIn("Fatal", said)
            self.assertEqual(code, -signal.SIGINT)
            self.nothing_is_left(pid)

    def test_python_ends_during_a_run(self):
        pid, said, code = self.interrupted(lambda python: None, "sys.exit(3)")
        self.assertEqual((code, said), (3, ""))
        self.nothing_is_left(pid)

    def test_a_fork_of_python_ends(self):
        """It leaves the run to the Python that has started it."""
        run, pid = self.first_progress()
        child = os.fork()
        if child == 0:
            run.cancel()
            os._exit(0)
        os.waitpid(child, 0)
        self.assertTrue(is_there(pid))
        event = next(run)
        self.assertEqual(event["event"], "progress")
        run.cancel()

    def test_python_dies(self):
        pid, _, code = self.interrupted(lambda python: os.kill(python, signal.SIGKILL))
        self.assertEqual(code, -signal.SIGKILL)
        self.assertTrue(is_gone(pid))
        self.assertEqual(sorted(os.listdir(".")), self.before)


if __name__ == "__main__":
    main()
