"""A Slurm lab of the chaos's own: daemons that are killed, jobs that are submitted, requeued and cancelled at random."""

from __future__ import annotations

import os
import pwd
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from tests.slurm.labs import SCRIPT

LAB = SCRIPT
NODES = 8
USERS = ("ada", "ben", "cai", "dee", "eli")
#: A client of a dead slurmctld asks again for a while; so long a job is waited for.
CLIENT_SECONDS = 20


class ChaosLab:
    """The lab in `folder`, on ports from `port` on; `slurmlab` itself starts and stops it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.env = {**os.environ, "SLURMLAB_DIR": str(folder), "SLURMLAB_PORT": str(port)}
        self.env |= {"SLURM_CONF": str(folder / "etc" / "slurm.conf"), "TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}

    def verb(self, *words: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """Run one of the lab's verbs; the caller looks at the status."""
        return subprocess.run(
            [str(LAB), *words], env=self.env, capture_output=True, text=True, timeout=seconds, check=False
        )

    def up(self, tries: int = 4) -> None:
        """Start what does not run. RuntimeError with what the lab said when it does not come up."""
        for _ in range(tries):
            done = self.verb("up", "--nodes", str(NODES))
            if done.returncode == 0:
                return
            time.sleep(2)
        raise RuntimeError(f"the lab does not come up: {done.stderr[-500:]}")

    def kill(self, name: str) -> bool:
        """SIGKILL to a daemon by the lab's own note of it; False where it does not run."""
        try:
            pid, born = (self.folder / "run" / f"{name}.pid").read_text().split()
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19] != born:
                return False
            os.kill(int(pid), signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            return False
        return True

    def ask(self, *argv: str, seconds: float = CLIENT_SECONDS, said: str = "") -> str | None:
        """What a command of Slurm's prints; None where it failed or took too long."""
        try:
            done = subprocess.run(
                argv, env=self.env, input=said, capture_output=True, text=True, timeout=seconds, cwd="/", check=False
            )
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else None

    def submit(self, user: str, *options: str, script: str) -> str | None:
        """Submit a job as one of the lab's users; its id, None where Slurm does not take it."""
        login = f"lab-{user}"
        who = ("setpriv", f"--reuid={login}", f"--regid={_group(login)}", "--init-groups")
        batch = ("sbatch", "--parsable", "--chdir=/tmp", "--output=/dev/null", *options, "--wrap", script)
        said = self.ask(*who, *batch)
        return said.strip().split(";")[0] if said else None

    def drain(self, seconds: float) -> bool:
        """Wait until no job is left and the accounting has heard of all; cancels what takes longer. False: it never did.

        An array task whose launch failed while slurmctld was killed is held for good by Slurm 22.05, deaf to scancel: it counts as gone.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline + 90:
            said = self.ask("squeue", "-a", "-h", "-o", "%A %T %r")
            left = [line.split(maxsplit=2) for line in (said or "").splitlines()]
            going = [
                job for job, state, reason in left if (state, reason) != ("PENDING", "launch failed requeued held")
            ]
            if said is not None and not going and "DBD Agent queue size: 0" in (self.ask("sdiag") or ""):
                return True
            if left and time.monotonic() > deadline:
                self.ask("scancel", "--quiet", *sorted({job for job, _, _ in left}))
            time.sleep(1)
        return False

    def mend_runaways(self) -> int:
        """Mend jobs that the controller forgot when it was killed and the accounting still holds; how many there were."""
        said = self.ask("sacctmgr", "-P", "-n", "show", "runawayjobs", seconds=60, said="y\n") or ""
        return sum(1 for line in said.splitlines() if line.count("|") >= 3 and line.split("|")[0].isdigit())

    def sacct(self, since: str, until: str, *more: str) -> str:
        """All attempts of [since, until) as text, with the fields that a pull asks for. RuntimeError where it fails."""
        from governance.schedulers.slurm.commands import GAP, WANTED

        known = (self.ask("sacct", "--helpformat") or "").lower().split()
        fields = ",".join(name for name in WANTED if name.lower() in known)
        words = ("sacct", "-a", "-X", "-D", "-P", "--noconvert", f"--delimiter={GAP}", "-S", since, "-E", until)
        said = self.ask(*words, *more, "-o", fields, seconds=120)
        if said is None:
            raise RuntimeError("sacct does not answer")
        return said


def _group(login: str) -> str:
    return str(pwd.getpwnam(login).pw_gid)


class Jobs(threading.Thread):
    """Submits until it is told to stop; some jobs fail, are requeued, held up or cancelled."""

    def __init__(self, lab: ChaosLab, seed: int, pause: tuple[float, float]) -> None:
        super().__init__(name="jobs", daemon=True)
        self.lab, self.done, self.over = lab, Counter[str](), threading.Event()
        self._chance, self._pause = random.Random(seed), pause

    def run(self) -> None:
        """Until `over`."""
        while not self.over.wait(self._chance.uniform(*self._pause)):
            deed = self._chance.choices(("submit", "array", "cancel", "requeue"), (8, 2, 1.5, 1.5))[0]
            self.done[deed if getattr(self, f"_{deed}")() else f"{deed} refused"] += 1

    def _submit(self) -> bool:
        chance = self._chance
        options = [f"--gpus={chance.choice((0, 1, 1, 2, 4, 8))}"] if chance.random() < 0.9 else []
        options += ["-p", "infer"] if chance.random() < 0.25 else []
        options += [f"--qos={chance.choice(('low', 'urgent'))}"] if chance.random() < 0.3 else []
        options += ["--begin=now+8"] if chance.random() < 0.1 else []
        script = chance.choice((f"sleep {chance.randint(1, 25)}", "true", f"sleep {chance.randint(1, 9)}; exit 3"))
        return self.lab.submit(chance.choice(USERS), *options, script=script) is not None

    def _array(self) -> bool:
        tasks = self._chance.randint(1, 4)
        script = f"sleep {self._chance.randint(1, 12)}"
        return self.lab.submit("ben", "-a", f"0-{tasks}%2", "--gpus=1", script=script) is not None

    def _one(self, states: str) -> str | None:
        ids = (self.lab.ask("squeue", "-a", "-h", "-t", states, "-o", "%A") or "").split()
        return self._chance.choice(ids) if ids else None

    def _cancel(self) -> bool:
        job = self._one("running,pending")
        return job is not None and self.lab.ask("scancel", job) is not None

    def _requeue(self) -> bool:
        job = self._one("running")
        return job is not None and self.lab.ask("scontrol", "requeue", job) is not None
