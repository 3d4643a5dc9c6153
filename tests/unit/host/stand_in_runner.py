"""Stands in for the runner: obeys the contract between host and runner, and misbehaves on request.

A clone made by clones.py holds it as runners/__main__.py. $STAND_IN says what it does; $STAND_IN_torch, where set, what
it does for that framework. $STAND_IN_TELL names a pipe: a line there tells the test how far it has come, and whoever of
its processes is alive holds the pipe open.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("--framework", "--device", "--manifest", "--out", "--version", "--runs", "--protocol", "--timeout"):
    parser.add_argument(name)
for name in ("--steady-budget", "--machine", "--progress", "--shuffle", "--sync", "--memory", "--lanes"):
    parser.add_argument(name)
parser.add_argument("--function", action="append")
parser.add_argument("--test", action="append")
parser.add_argument("--resume", action="store_true")
options = parser.parse_args()
target = f"{options.framework}-9.9-{options.device}"
run_file = Path(options.out, target + ".json")
tell = os.open(os.environ["STAND_IN_TELL"], os.O_WRONLY) if "STAND_IN_TELL" in os.environ else None


def say(event, **values):
    print(json.dumps(dict(values, event=event)), flush=True)


def start():
    say("start", target=target, manifest="m", tests=2, runs=1, total=2, done=0)


def result(test, outcome="passed"):
    say("result", function="fake.identity", test=test, run=1, outcome=outcome, category=None, case_ns=1000)


def failed_result(function, test, outcome, message):
    error = {"type": "AssertionError", "message": message, "traceback": "", "causes": []}
    why = {"reason": None, "category": "other", "error": error}
    return {"function": function, "test": test, "outcome": outcome, **why}


def finish(*results):
    written = {"argv": sys.argv[1:], "cwd": str(Path.cwd()), "environment": dict(os.environ)}
    run_file.write_text(json.dumps({**written, "results": results}))
    say("end", run_file=str(run_file), outcomes={"passed": 1, "failed": 1})


def passes():
    start()
    result("a")
    result("b", "failed")
    finish(failed_result("fake.identity", "b", "failed", "1 is not 2\nmore lines"))


def fails_often():
    start()
    failures = [failed_result("fake.identity", str(n), "failed", "1 is not 2") for n in range(30)]
    finish(*failures, failed_result("fake.scale", "typo", "error", "no property is called sums"))


def tells_when_it_runs():
    os.write(tell, f"{options.device} begins\n".encode())
    passes()
    os.write(tell, f"{options.device} ends\n".encode())


def lists_uncurated():
    say("uncurated", functions=["fake.identity", "fake.\x1b[2Jscale"])
    passes()


def warns():
    say("warning", message="no latencies: \x1b[2Jnothing waits here")
    passes()


def was_complete():
    run_file.write_text("{}")
    say("end", run_file=str(run_file), outcomes={}, unchanged=True)


def prints_rubbish():
    print("WARNING: not JSON {")
    print("[1, 2]\n3\nnull\n" + "[" * 100000)
    print("x" * 1000000)
    say("start", target=target)
    say("from the future", a=1)
    os.write(1, b"\xff\xfe\n")
    passes()


def dies():
    start()
    result("a")
    print("Illegal instruction: no AVX here", file=sys.stderr)
    os._exit(9)


def dies_silently():
    os.kill(os.getpid(), signal.SIGKILL)


def has_no_device():
    say("error", message="no accelerator found", remedy="plug one in", exit_status=3)
    sys.exit(3)


def lies():
    say("end", run_file="/nowhere/x.json", outcomes={"passed": 2})


def says_nothing():
    pass


def is_interrupted_by_others():
    say("interrupted", journal="j", done=0, total=2)
    sys.exit(130)


def leaves_a_child():
    subprocess.Popen(["sleep", "1000"])
    os._exit(9)


def leaves_a_daemon():
    subprocess.Popen(["sleep", "20"], start_new_session=True)
    os._exit(9)


def waits():
    """Until it is interrupted; then leaves in order, as the runner does."""
    interrupted = threading.Event()

    def stop(number, frame):
        os.write(tell, b"interrupted\n")
        interrupted.set()

    signal.signal(signal.SIGINT, stop)
    start()
    result("a")
    os.write(tell, b"ready\n")
    while not interrupted.is_set():
        signal.pause()
    say("interrupted", journal="j", done=1, total=2)
    sys.exit(130)


def ignores_interrupts():
    """Reports an interruption and goes on running, as its child does."""
    signal.signal(signal.SIGINT, lambda number, frame: os.write(tell, b"interrupted\n"))
    subprocess.Popen(["sleep", "1000"], pass_fds=[tell])
    start()
    os.write(tell, b"ready\n")
    while True:
        signal.pause()


globals()[os.environ.get("STAND_IN_" + options.framework, os.environ["STAND_IN"])]()
