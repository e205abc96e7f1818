"""Programs as mechanisms: the protocol, its breaches, crashes, limits, and that nothing is left."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import tollens
from tollens.errors import MechanismError, UsageError
from tollens.external import conversation
from tollens.external.child import Launch, limits_memory
from tollens.external.conversation import Manner
from tollens.external.program import Program, mechanism_of
from tollens.mechanism import BatchFailed, one_by_one
from tollens.outputs import CRASH, TIMEOUT, Raised

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs need POSIX pipes")

RNG = np.random.default_rng(0)
LOOP = """
import json, os, random, signal, subprocess, sys, time
def say(**what): sys.stdout.write(json.dumps(what) + "\\n"); sys.stdout.flush()
def requests():
    for line in sys.stdin:
        asked = json.loads(line)
        yield asked["data"], asked["n"], asked["seed"]
"""


def words(text: str, *, loop: bool = True) -> list[str]:
    """A program that runs this text; `-S` makes its start fast."""
    whole = (LOOP if loop else "") + textwrap.dedent(text)
    return [sys.executable, "-I", "-S", "-c", whole]


def program(text: str, **settings: object) -> tollens.mechanism.Mechanism:
    return tollens.command(words(text), name="program", **settings)


def each(text: str, **settings: object) -> tollens.mechanism.Mechanism:
    """A program that runs this text for each run, where `data` and `seed` are known."""
    body = textwrap.indent(textwrap.dedent(text), " " * 8)
    return program(f"for data, n, seed in requests():\n    for i in range(n):\n{body}", **settings)


def impatient(text: str, *, start: float = 5.0, silence: float = 5.0):
    """A program whose silences are not borne for long."""
    launch = Launch(tuple(words(text)))
    made = Program("program", launch, Manner(start, silence, greets=False), 2048, None)
    return mechanism_of(made, seeded=False, promise=None)


def gone(pid: int) -> bool:
    """Whether a process has ended, after some time to do so; a zombie has."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


linux = pytest.mark.skipif(not limits_memory(), reason="needs prlimit")
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


class TestAnswers:
    def test_outputs_come_one_a_line_or_several(self):
        mechanism = program(
            """
            for data, n, seed in requests():
                say(output=data)
                say(outputs=[data + i for i in range(1, n - 1)])
                say(error={"type": "ValueError", "message": "no rows"})
            """
        )
        assert mechanism.sample(1.5, 4, RNG) == [1.5, 2.5, 3.5, Raised("ValueError")]
        assert mechanism.sample(2, 3, RNG)[2].message == "no rows"

    def test_a_request_has_data_n_and_a_seed_and_nothing_else(self):
        mechanism = program("for line in sys.stdin: say(output=json.loads(line))")
        asked = [mechanism.sample([1, {"a": None}], 1, RNG)[0] for _ in range(3)]
        assert all(set(request) == {"data", "n", "seed"} for request in asked)
        assert asked[0]["data"] == [1, {"a": None}] and asked[0]["n"] == 1
        assert len({request["seed"] for request in asked}) == 3
        assert all(0 <= request["seed"] < 2**53 for request in asked)

    def test_empty_lines_bare_nan_and_spaces_are_read(self):
        mechanism = program(
            """
            for data, n, seed in requests():
                sys.stdout.write('\\n  { "output" : NaN }  \\r\\n\\n{"output":-0.0}\\n')
                sys.stdout.flush()
            """
        )
        first, second = mechanism.sample(0, 2, RNG)
        assert np.isnan(first) and str(second) == "-0.0"

    def test_large_data_and_outputs_pass_while_both_ends_write(self):
        mechanism = program(
            """
            for data, n, seed in requests():
                sys.stderr.write("x" * 2_000_000)
                for _ in range(n): say(output=data)
            """
        )
        data = list(range(300_000))
        assert mechanism.sample(data, 3, RNG) == [data] * 3

    def test_no_more_than_batch_runs_are_asked_for_at_a_time(self):
        text = "for data, n, seed in requests(): say(outputs=[n] * n)"
        assert program(text, batch=4).sample(0, 10, RNG) == [4] * 8 + [2] * 2
        assert not program(text, batch=1).vectorised

    def test_stdin_is_closed_at_the_end_and_the_program_may_tidy_up(self, tmp_path):
        mechanism = program(
            f"""
            for data, n, seed in requests(): say(output=0)
            open({str(tmp_path / "tidy")!r}, "w").close()
            """
        )
        mechanism.sample(0, 1, RNG)
        mechanism.sampler.close()
        assert (tmp_path / "tidy").exists()


class TestSettings:
    def test_all_that_is_wrong_is_told_at_once(self):
        with pytest.raises(UsageError) as caught:
            tollens.command("./program --flag", claim="epsilon", batch=0, timeout=-1, memory=1.5)
        assert len(caught.value.findings) == 5
        assert "shlex.split" in str(caught.value)

    @pytest.mark.parametrize("argv", [[], [1], [b"x"], None, 7])
    def test_argv_must_be_texts(self, argv):
        with pytest.raises(UsageError, match="the program is"):
            tollens.command(argv)

    def test_claim_and_name(self):
        mechanism = tollens.command(["./a b", "-x"], claim="epsilon=1")
        assert mechanism.name == "'./a b' -x" and mechanism.promise == tollens.pure(1)
        assert not mechanism.takes_rng and mechanism.own_entropy and mechanism.vectorised

    def test_folder_and_variables(self, tmp_path, monkeypatch):
        monkeypatch.setenv("INHERITED", "yes")
        text = """
        for _ in requests(): say(output=[os.getcwd(), os.environ["INHERITED"], os.environ["A"]])
        """
        output = program(text, cwd=tmp_path, env={"A": "b"}).sample(0, 1, RNG)[0]
        assert output == [os.path.realpath(tmp_path), "yes", "b"]

    @linux
    def test_memory_is_limited(self):
        mechanism = each("x = bytearray(data); say(output=len(x))", memory=2**28)
        assert mechanism.sample(10, 1, RNG) == [10]
        (output,) = mechanism.sample(2**29, 1, RNG)
        assert output == CRASH and "MemoryError" in output.message

    @linux
    def test_memory_that_cannot_be_limited_so(self, monkeypatch):
        with pytest.raises(UsageError, match=f"memory cannot be limited to {10**30} bytes"):
            each("say(output=1)", memory=10**30).sample(0, 1, RNG)
        monkeypatch.delattr("resource.prlimit")
        with pytest.raises(UsageError, match="on Linux only"):
            each("say(output=1)", memory=10**9)

    def test_a_seeded_program_repeats_and_can_be_coupled(self):
        text = "rng = random.Random(seed + i); say(output=data + rng.gauss(0, .2))"
        mechanism = each(text, seeded=True)
        one, two = (mechanism.sample(1, 5, np.random.default_rng(4)) for _ in range(2))
        assert one == two and len(set(one)) == 5
        first, second = (
            tollens.audit(mechanism, "epsilon=1", neighbours=(0, 1), seed=5) for _ in range(2)
        )
        assert first.replayable and first.refuted and first.log_e_value == second.log_e_value

    def test_one_without_a_seed_does_not_repeat(self):
        mechanism = each("say(output=seed)")
        assert len({mechanism.sample(0, 1, np.random.default_rng(4))[0] for _ in range(3)}) == 3


class TestHello:
    def test_versions_are_told(self):
        mechanism = program(
            """
            say(tollens=1, packages={"opendp": "0.3.0", "python": "3.8"})
            for data, n, seed in requests(): say(outputs=[random.random() for _ in range(n)])
            """
        )
        mechanism.sample(0, 1, RNG)
        assert mechanism.installed() == {"opendp": "0.3.0", "python": "3.8"}
        verdict = tollens.audit(mechanism, "epsilon=1", neighbours=(0, 1), budget=60)
        assert verdict.versions["opendp"] == "0.3.0"
        assert verdict.versions["python"] != "3.8"
        assert verdict.versions["python of the program"] == "3.8"

    @pytest.mark.parametrize(
        "hello, message",
        [
            ("tollens=2", "is not version 1"),
            ("tollens=1, pakages={}", "unknown key 'pakages'"),
            ('tollens=1, packages={"a": 1}', "no versions as texts"),
            ("tollens=1, claim=1", "needs a text"),
        ],
    )
    def test_a_hello_that_is_wrong_is_refused(self, hello, message):
        with pytest.raises(MechanismError, match=message):
            program(f"say({hello})\nsys.stdin.read()").sample(0, 1, RNG)

    @pytest.mark.parametrize("first", ["tollens=1, fault='no data base'", "fault='no data base'"])
    def test_a_fault_is_shown(self, first):
        with pytest.raises(UsageError, match="program: no data base"):
            program(f"say({first})\nsys.stdin.read()").sample(0, 1, RNG)

    def test_a_second_hello_is_no_answer(self):
        mechanism = program("for _ in requests():\n    say(tollens=1)\n    say(tollens=1)")
        with pytest.raises(MechanismError, match="is no answer"):
            mechanism.sample(0, 1, RNG)


class TestBreaches:
    """Mistakes of the program are errors that show its line, never outputs."""

    @pytest.fixture(autouse=True)
    def _listen(self, monkeypatch):
        """On a slow machine a program may need more than a moment to write too much."""
        monkeypatch.setattr(conversation, "MOMENT", 5.0)

    @pytest.mark.parametrize(
        "answer, message",
        [
            ("print('Loading model', flush=True)", "its line 'Loading model' is no JSON"),
            ("print('[1]', flush=True)", "is no JSON object"),
            ("say(result=1)", "is no answer"),
            ("say()", "is no answer"),
            ("say(output=1, outputs=[1])", "is no answer"),
            ("say(outputs=1)", "no list"),
            ("say(outputs=[1, 2])", "gives 2 outputs where 1 of 1"),
            ("say(output=1); say(output=2)", "came too much"),
            ("say(error='ValueError')", "does not say what was raised"),
            ("say(error={'type': 'A', 'why': ''})", "does not say what was raised"),
            ("say(output={'bytes': '?'})", "not base64"),
            ("say(output={'$tuple': 1})", "must hold a list"),
            ("print('[' * 100000, flush=True)", "is no JSON"),
            ("print('9' * 5000, flush=True)", "is no JSON"),
            ("sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()", "is no JSON"),
        ],
    )
    def test_they_are_shown(self, answer, message):
        mechanism = each(answer)
        with pytest.raises(MechanismError, match=message) as caught:
            for _ in range(50):  # what came too late for one request is found at the next
                mechanism.sample(0, 1, RNG)
        assert 'write {"output": ...}' in str(caught.value)

    def test_output_before_any_request(self):
        mechanism = program("say(output=1)\nfor _ in requests(): say(output=2)")
        with pytest.raises(MechanismError, match="came too much"):
            for _ in range(50):
                mechanism.sample(0, 1, RNG)

    @pytest.mark.parametrize("line", ["'x' * 100_000_000 + '\\n'", "None"])
    def test_a_line_without_an_end(self, line):
        text = f"""
        for _ in requests():
            line = {line}
            while line is None: sys.stdout.write("y" * 65536)
            sys.stdout.write(line)
        """
        with pytest.raises(
            MechanismError, match="more than 64 MiB without an end, and begins with"
        ):
            program(text).sample(0, 1, RNG)

    def test_lines_without_end(self):
        with pytest.raises(MechanismError, match="came too much"):
            mechanism = program("while True: say(output=1)")
            for _ in range(50):
                mechanism.sample(0, 3, RNG)

    @needs_proc
    def test_a_program_that_answers_once_and_ends(self):
        mechanism = program(
            "for data, n, seed in requests():\n    say(output=os.getpid())\n    break"
        )
        (pid,) = mechanism.sample(0, 1, RNG)
        assert gone(pid)
        with pytest.raises(MechanismError, match=r"exit code 0 after its first answer.*goes on"):
            mechanism.sample(0, 1, RNG)


class TestStarts:
    def test_a_program_that_is_not_there(self, tmp_path):
        with pytest.raises(UsageError, match="there is no program 'no-such-program'"):
            tollens.command(["no-such-program"]).sample(0, 1, RNG)
        with pytest.raises(UsageError, match="which is no folder"):
            program("", cwd=tmp_path / "none").sample(0, 1, RNG)

    def test_a_file_that_may_not_be_executed(self, tmp_path):
        file = tmp_path / "program"
        file.write_text("echo")
        with pytest.raises(UsageError, match="chmod"):
            tollens.command([str(file)]).sample(0, 1, RNG)
        file.chmod(0o755)
        with pytest.raises(UsageError, match="cannot be started: Exec format error"):
            tollens.command([str(file)]).sample(0, 1, RNG)

    @pytest.mark.parametrize("text", ["import nothing_like_this", "sys.exit(3)", ""])
    def test_a_program_that_ends_at_once(self, text):
        with pytest.raises(MechanismError, match="before it is asked for a run") as caught:
            program(text).sample(0, 5, RNG)
        assert "ended with exit code" in str(caught.value)
        assert ("No module named 'nothing_like_this'" in str(caught.value)) == ("import" in text)

    def test_after_a_breach_the_program_is_started_anew(self):
        mechanism = each("print('x' if data else json.dumps({'output': os.getpid()}), flush=True)")
        first = mechanism.sample(0, 1, RNG)
        with pytest.raises(MechanismError):
            mechanism.sample(1, 1, RNG)
        assert mechanism.sample(0, 1, RNG) != first

    def test_one_that_says_nothing(self):
        with pytest.raises(MechanismError, match=r"said nothing for 0.3 s after its start.*hello"):
            impatient(
                "sys.stderr.write('hello'); sys.stderr.flush(); time.sleep(60)", start=0.3
            ).sample(0, 1, RNG)

    def test_one_that_stops_in_the_middle(self):
        text = "for _ in requests(): say(output=1)"
        with pytest.raises(MechanismError, match=r"after 1 of 2 outputs.*flush"):
            impatient(text, silence=0.3).sample(0, 2, RNG)

    def test_a_time_limit_needs_a_hello(self):
        text = "for _ in requests(): say(output=1)"
        with pytest.raises(UsageError, match=r"has not said hello for 0\.3 s"):
            program(text, timeout=1, start=0.3).sample(0, 1, RNG)
        with pytest.raises(MechanismError, match="is no hello"):
            program("say(output=1)\n" + text, timeout=1).sample(0, 1, RNG)


class TestCrashes:
    @pytest.mark.parametrize(
        "end, words",
        [
            ("sys.exit(3)", "ended with exit code 3"),
            ("os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV"),
            ("raise ValueError('no rows')", "ValueError: no rows"),
            ("sys.stdout.write('{\"outp'); sys.stdout.flush(); sys.exit(1)", "exit code 1"),
            ("os.close(1); time.sleep(60)", "was ended"),
            ("subprocess.Popen(['sleep', '60']); os._exit(7)", "ended with exit code 7"),
        ],
    )
    def test_a_crash_is_the_output_of_its_run(self, end, words):
        mechanism = each(f"if data: {end}\nsay(output=i)".replace("; ", "\nif data: "))
        for _ in range(2):
            assert mechanism.sample(0, 1, RNG) == [0]
            (output,) = mechanism.sample(1, 1, RNG)
            assert output == CRASH and words in output.message

    def test_the_crash_of_a_batch_says_nothing_about_its_runs(self):
        mechanism = each("if i == 2: sys.exit(3)\nsay(output=i)")
        with pytest.raises(
            BatchFailed, match="batch of 5 runs lost the program: it ended with exit"
        ):
            mechanism.sample(0, 5, RNG)
        assert one_by_one(mechanism).sample(0, 5, RNG) == [0] * 5

    def test_what_happens_after_an_answer_is_no_output(self):
        mechanism = each("say(output=os.getpid())\nif data: sys.exit(1)")
        mechanism.sample(0, 1, RNG), mechanism.sample(0, 1, RNG)
        (pid,) = mechanism.sample(1, 1, RNG)
        assert gone(pid)
        assert mechanism.sample(0, 1, RNG) != [pid]

    def test_one_that_crashes_at_its_first_run_does_not_end_at_once(self):
        assert each("sys.exit(3)").sample(0, 1, RNG) == [CRASH]

    def test_crashes_on_one_side_are_found(self):
        mechanism = each("if data and random.random() < .8: sys.exit(1)\nsay(output=1)")
        verdict = tollens.audit(mechanism, "epsilon=1", neighbours=(0, 1), alpha=1e-3, budget=150)
        assert verdict.refuted and "raised Crash" in str(verdict)
        events = {"x_prime": "raises Crash", "x": "output"}  # the crash, or what comes without it
        assert events[verdict.witness.likely_under] in verdict.witness.text
        assert "one by one" in verdict.notes[0]

    def test_a_mechanism_that_always_crashes_is_undecided(self):
        mechanism = tollens.command(["sh", "-c", "while read line; do exit 5; done"])
        verdict = tollens.audit(mechanism, "epsilon=1", neighbours=(0, 1), alpha=0.01, budget=500)
        assert verdict.reason is tollens.Reason.ALWAYS_RAISES
        assert any("exit code 5" in note for note in verdict.notes)


class TestTimeouts:
    HANGS = """
    say(tollens=1)
    for data, n, seed in requests():
        for i in range(n):
            if data == 1: time.sleep(60)
            if data == 2: sys.stdout.write('{"output"'); sys.stdout.flush(); time.sleep(60)
            if data == 3:
                while True: sys.stdout.write(" "); sys.stdout.flush()
            if data == 4: signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)
            say(output=i)
    """

    @pytest.mark.parametrize("data", [1, 2, 3, 4])
    def test_a_run_that_takes_too_long(self, data):
        mechanism = program(self.HANGS, timeout=0.3)
        assert mechanism.sample(0, 3, RNG) == [0, 0, 0]
        assert mechanism.sample(data, 1, RNG) == [TIMEOUT]
        assert mechanism.sample(0, 1, RNG) == [0]

    def test_a_batch_that_takes_too_long(self):
        with pytest.raises(BatchFailed, match=r"batch of 3 runs took longer than 3 times 0.1 s"):
            program(self.HANGS, timeout=0.1, batch=5).sample(1, 3, RNG)

    def test_runs_with_a_limit_are_asked_for_one_by_one(self):
        mechanism = program(self.HANGS, timeout=5)
        assert mechanism.sample(0, 3, RNG) == [0, 0, 0] and not mechanism.vectorised

    def test_the_start_does_not_count(self):
        mechanism = program("time.sleep(.5)" + textwrap.dedent(self.HANGS), timeout=0.25)
        assert mechanism.sample(0, 1, RNG) == [0]

    def test_the_limit_of_an_audit_is_kept_by_the_program_too(self):
        verdict = tollens.audit(
            program(self.HANGS), "epsilon=1", neighbours=(0, 1), timeout=0.02, alpha=0.1, budget=60
        )
        assert verdict.refuted and "raised Timeout" in str(verdict)

    @needs_proc
    def test_what_the_program_started_ends_with_it(self):
        mechanism = program(
            """
            say(tollens=1)
            for data, n, seed in requests():
                if data:
                    say(output=subprocess.Popen(["sleep", "60"]).pid)
                else:
                    time.sleep(60)
            """,
            timeout=0.3,
        )
        (pid,) = mechanism.sample(1, 1, RNG)
        assert mechanism.sample(0, 1, RNG) == [TIMEOUT]
        assert gone(pid)


PID = "for data, n, seed in requests(): say(outputs=[os.getpid()] * n)"


@needs_proc
class TestLife:
    def test_it_is_one_process_that_ends_with_the_mechanism(self):
        mechanism = program(PID)
        pids = {mechanism.sample(0, 1, RNG)[0] for _ in range(3)}
        assert len(pids) == 1
        del mechanism
        gc.collect()
        assert gone(pids.pop())

    def test_a_copy_has_a_process_of_its_own(self):
        mechanism = program(PID, claim="epsilon=1")
        copy = pickle.loads(pickle.dumps(mechanism))
        assert copy.promise == mechanism.promise
        assert mechanism.sample(0, 1, RNG) != copy.sample(0, 1, RNG)

    def test_a_fork_has_a_process_of_its_own(self):
        mechanism = program(PID)
        (own,) = mechanism.sample(0, 1, RNG)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                other = mechanism.sample(0, 1, RNG)[0]
                mechanism.sampler.close()
                os.write(write, str(other).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        other = int(os.read(read, 100))
        os.close(read)
        assert other != own and gone(other)
        assert mechanism.sample(0, 1, RNG) == [own]

    def test_workers_have_processes_of_their_own_and_the_same_outputs(self):
        text = "rng = random.Random(seed * n + i); say(output=data + rng.gauss(0, .3))"
        mechanism = each(text, seeded=True)
        one, two = (
            tollens.audit(
                mechanism, "epsilon=1", neighbours=(0, 1), seed=5, workers=workers, budget=400
            )
            for workers in (1, 2)
        )
        assert one.refuted and one.log_e_value == two.log_e_value

    def test_workers_keep_its_time_limit(self):
        verdict = tollens.audit(
            program(TestTimeouts.HANGS), "epsilon=1",
            neighbours=(0, 1), timeout=0.02, alpha=0.1, budget=60, workers=2,
        )  # fmt: skip
        assert verdict.refuted and "raised Timeout" in str(verdict)

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
    def test_it_ends_with_tollens(self, number, tmp_path):
        """Killed, interrupted in the middle of a run, or at its end."""
        hang = "time.sleep(60)" if number == signal.SIGINT else "pass"
        text = f"""
        for data, n, seed in requests():
            say(output=os.getpid())
            if data: {hang}
        """
        script = f"""
        import signal, sys, time, numpy, tollens
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has none
        mechanism = tollens.command({words(text)!r})
        print(mechanism.sample(0, 1, numpy.random.default_rng(0))[0], flush=True)
        if {number == signal.SIGINT}: mechanism.sample(1, 2, numpy.random.default_rng(0))
        if {number is not None}: time.sleep(60)
        """
        ours = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        pid = int(ours.stdout.readline())
        if number is not None:
            time.sleep(0.2)
            ours.send_signal(number)
        _, errors = ours.communicate(timeout=20)
        assert gone(pid)
        assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)
        assert number == signal.SIGINT or not errors

    def test_a_signal_in_the_middle_of_an_answer_loses_the_program_not_the_order(self):
        mechanism = each("time.sleep(.3 if data else 0); say(output=data)")
        mechanism.sample(0, 1, RNG)

        def alarm(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, alarm)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                mechanism.sample(1, 1, RNG)
        finally:
            signal.signal(signal.SIGALRM, before)
        assert mechanism.sample(0, 3, RNG) == [0, 0, 0]

    def test_no_descriptors_are_left(self):
        """In a process of its own: here others open and close theirs meanwhile."""
        text = f"""
            import gc, os
            import numpy as np, tollens
            def crash():
                mechanism = tollens.command({words("input(); sys.exit(1)")!r}, name="program")
                mechanism.sample(0, 1, np.random.default_rng(0))
                del mechanism
                gc.collect()
                return len(os.listdir("/proc/self/fd"))
            crash()  # opens what is kept for the next ones
            print(*[crash() for _ in range(5)])
            """
        command = [sys.executable, "-c", textwrap.dedent(text)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        counts = done.stdout.split()
        assert len(counts) == 5 and len(set(counts)) == 1, counts
