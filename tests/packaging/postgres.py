"""The database `sluice` of the Postgres that tests/postgres.sh starts, the only one there that asks for a password."""
import os
import subprocess
import urllib.parse

PASSWORD = os.environ.get("SLUICE_TEST_POSTGRES_PASSWORD", "")


def lacking():
    """What is missing, if there is no such database."""
    return "" if os.environ.get("SLUICE_TEST_POSTGRES") and PASSWORD else "a Postgres with a password (tests/postgres.sh starts one)"


def port():
    return urllib.parse.urlsplit(os.environ["SLUICE_TEST_POSTGRES"]).port


def psql(url, *statements, **environment):
    commands = [argument for statement in statements for argument in ("-c", statement)]
    return subprocess.run(["psql", "-q", "-w", "-v", "ON_ERROR_STOP=1", url, *commands], capture_output=True, text=True, env={**os.environ, **environment})


def database():
    """Makes the database anew; its URL, without the password."""
    made = psql(os.environ["SLUICE_TEST_POSTGRES"], "DROP DATABASE IF EXISTS sluice WITH (FORCE)", "CREATE DATABASE sluice")
    assert made.returncode == 0, made.stderr
    url = f"postgres://sluice@127.0.0.1:{port()}/sluice"
    for password, is_right in (PASSWORD, True), ("another", False):
        opened = psql(url, "SELECT 1", PGPASSWORD=password)
        assert (opened.returncode == 0) == is_right, opened.stderr
    return url
