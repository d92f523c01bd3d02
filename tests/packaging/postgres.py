"""A Postgres of its own for a test, from Debian's packages: it runs as a user who isn't root, in a folder that goes with the test."""
import contextlib
import os
import pathlib
import shutil
import subprocess

PASSWORD = "database-secret"
# The user of the image, who has no name here.
USER = 65532
# Who runs Postgres, which root must not and which wants a name.
NOBODY = 65534


def programs():
    """The folder of the newest Postgres' programs, if there is one."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return pathlib.Path(on_path).resolve().parent if on_path else None


def unprivileged(command, user=USER):
    """The command as a user who isn't root."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs", *command]


def own(folder):
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)


@contextlib.contextmanager
def database(folder, port, running, until):
    """Runs a database `sluice` of a user `sluice` on a port of the loopback interface; `folder` may be reached by everybody."""
    bin, home = programs(), folder / "postgres"
    home.mkdir()
    own(home)
    password = home / "password"
    password.write_text(PASSWORD)
    own(password)
    data = home / "data"
    initdb = [bin / "initdb", "-D", data, "-U", "sluice", "--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8", "--locale=C"]
    subprocess.run(unprivileged(initdb, NOBODY), check=True, cwd=home, stdout=subprocess.DEVNULL)
    serve = [bin / "postgres", "-D", data, "-p", port, "-h", "127.0.0.1", "-k", home, "-c", "fsync=off"]
    with running(home, "postgres", *unprivileged(serve, NOBODY)):
        ready = [bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
        until("Postgres", lambda: subprocess.run(ready).returncode == 0)
        createdb = [bin / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "sluice", "sluice"]
        subprocess.run(createdb, check=True, env={**os.environ, "PGPASSWORD": PASSWORD})
        yield f"postgres://sluice@127.0.0.1:{port}/sluice"
