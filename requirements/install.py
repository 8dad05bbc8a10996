"""Make `.venv` and install a lock into it: `python requirements/install.py runtime|dev`.

Quick when nothing has changed. The development lock holds all of the runtime lock, so an environment that has it serves
both. Written for any Python 3.6+, so that a Python that is too old is told so instead of failing to parse.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys

UV = "uv==0.13.9"
HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.path.dirname(HERE), ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "steelyard-locks.json")


def main():
    """Install the lock that is asked for; the status is 1, with one sentence, when that cannot be."""
    wanted = sys.argv[1] if len(sys.argv) == 2 else ""
    if wanted not in ("runtime", "dev"):
        return fail("usage: python requirements/install.py runtime|dev")
    if sys.version_info < (3, 11):  # noqa: UP036  older ones do get here
        version = ".".join(map(str, sys.version_info[:3]))
        return fail(
            f"Steelyard needs Python 3.11 or newer; {sys.executable} is {version}. "
            "Name another one: make up PYTHON=/path/to/python3.11"
        )
    folder = os.open(HERE, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # `make up` and `make test` may be started together
    try:
        return install(wanted)
    finally:
        os.close(folder)


def install(wanted):
    """Bring `.venv` to the lock, or to the development lock where that is already installed."""
    installed = read_stamp()
    lock = "dev" if wanted == "dev" or "dev" in installed else "runtime"
    now = {name: digest(name) for name in (("runtime", "dev") if lock == "dev" else ("runtime",))}
    if installed == now and works():
        return 0
    print(f"Installing the locked packages into .venv ({lock}) ...", flush=True)
    if not works():
        done = subprocess.call([sys.executable, "-m", "venv", "--clear", VENV])
        if done != 0:
            return fail(
                f"The environment .venv could not be made with {sys.executable}. "
                "On Debian and Ubuntu its module venv is a package of its own: apt install python3-venv"
            )
    if os.path.exists(STAMP):
        os.remove(STAMP)  # until all is done, nothing is
    environment = index_environment()
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    if subprocess.call([VENV_PYTHON, "-m", "pip", "install"] + quiet + [UV], env=environment) != 0:
        return fail(f"{UV} could not be installed: is a package index reachable?")
    sync = ["pip", "sync", "--quiet", "--require-hashes", "--python", VENV_PYTHON]
    locked = os.path.join(HERE, lock + ".txt")
    if subprocess.call([os.path.join(VENV, "bin", "uv")] + sync + [locked], env=environment) != 0:
        return fail(f"The packages of requirements/{lock}.txt could not be installed; the lines above say why.")
    with open(STAMP, "w") as file:
        json.dump(now, file)
    return 0


def works():
    """Whether .venv has a Python that runs: a moved or upgraded one may not."""
    if not os.path.exists(VENV_PYTHON):
        return False
    said = subprocess.run(
        [VENV_PYTHON, "-c", "import sys; print(sys.prefix)"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return said.returncode == 0 and os.path.realpath(said.stdout.decode().strip()) == os.path.realpath(VENV)


def index_environment():
    """This environment, with pip's package index and certificates told to uv, which does not read pip's settings."""
    environment = dict(os.environ)
    for pip, uv in (("index-url", "UV_DEFAULT_INDEX"), ("cert", "SSL_CERT_FILE")):
        if uv in environment or (pip == "index-url" and "UV_INDEX_URL" in environment):
            continue
        for section in (":env:", "global", "install"):
            said = subprocess.run(
                [VENV_PYTHON, "-m", "pip", "config", "get", section + "." + pip],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if said.returncode == 0 and said.stdout.strip():
                environment[uv] = said.stdout.decode().strip()
                break
    return environment


def digest(name):
    """What the lock is, as one text."""
    with open(os.path.join(HERE, name + ".txt"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def read_stamp():
    """The digests of what is installed, by name of the lock."""
    try:
        with open(STAMP) as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}


def fail(reason):
    """Say why, and give the status for it."""
    sys.stderr.write(reason + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
