"""The same checks as the scripts, for those who use nox: ``nox -s tests-3.12``."""

import nox

nox.options.sessions = ["lint", "tests"]


@nox.session(python=["3.10", "3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the Python tests on a fresh install (Armadillo must be there)."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff, mypy and clang-format."""
    session.run("scripts/lint", external=True)


@nox.session
def cpp(session: nox.Session) -> None:
    """Build and run the C++ tests with the address and undefined-behaviour sanitizers."""
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=all"
    build = session.create_tmp() + "/cpp"
    session.run(
        *("cmake", "-S", ".", "-B", build, "-DGASG21_TESTS=ON", "-DCMAKE_BUILD_TYPE=Debug"),
        f"-DCMAKE_CXX_FLAGS={flags}",
        external=True,
    )
    session.run("cmake", "--build", build, external=True)
    session.run("ctest", "--test-dir", build, "--output-on-failure", external=True)


@nox.session
def embed(session: nox.Session) -> None:
    """Build a stranger's program against the library in every promised way."""
    session.run("scripts/bootstrap", "test", external=True)
    session.run("tests/embed/run", external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Print the recovery figures."""
    session.install(".")
    session.run("python", "benchmarks/recovery.py", *session.posargs)
