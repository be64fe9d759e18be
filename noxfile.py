"""The checks of ``scripts/`` as nox sessions: ``nox -s tests-3.12``."""

import nox

nox.options.sessions = ["lint", "tests"]


@nox.session(python=["3.10", "3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the Python tests on a fresh installation. Armadillo must be installed."""
    session.install("-C", "cmake.define.GASG21_TEST_MODULE=ON", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff, mypy and clang-format; ``nox -s lint -- --tidy`` adds clang-tidy."""
    session.run("scripts/lint", *session.posargs, external=True)


@nox.session
def cpp(session: nox.Session) -> None:
    """Build and run the C++ tests with the address and undefined-behaviour sanitizers."""
    flags = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
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
    """Build example programs against the library in every way that the README promises."""
    session.run("scripts/test", "--embed", external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Run the experiments of the paper on small problems: ``nox -s bench -- convergence``."""
    session.install(".[plot]")
    session.run("python", "-m", "benchmarks", *(session.posargs or ["all"]), "--quick")
