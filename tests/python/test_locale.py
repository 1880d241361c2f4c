"""A Python that writes decimal commas, as applications with translations do."""
import locale
import os
import subprocess

import pytest

import syncopate
from syncopate.options import ReducerOptions, WorkerOptions

NAME = "de_DE.ISO-8859-1"  # with few characters, so that it is made quickly


def enter():
    try:
        locale.setlocale(locale.LC_ALL, NAME)
    except locale.Error:
        return False
    return locale.localeconv()["decimal_point"] == ","


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("locale")


@pytest.fixture(autouse=True)
def commas(folder, monkeypatch):
    """The German locale; made from its sources (package locales) where it is not installed."""
    if not enter():
        monkeypatch.setenv("LOCPATH", os.fspath(folder))
        if not os.path.exists(folder / NAME):
            subprocess.run(["localedef", "-i", "de_DE", "-f", "ISO-8859-1", folder / NAME], check=False)
        assert enter(), "no locale with a decimal comma"
    yield
    locale.setlocale(locale.LC_ALL, "C")


def test_defaults_are_those_of_any_locale():
    here = [options("gtopk").as_dict() for options in (ReducerOptions, WorkerOptions)]
    locale.setlocale(locale.LC_ALL, "C")
    assert here == [options("gtopk").as_dict() for options in (ReducerOptions, WorkerOptions)]
    assert here[0]["density"] == 0.01


def test_fractions_are_taken_and_told_with_points():
    options = ReducerOptions("topk")
    options.set_all({"density": 0.25})
    assert options.as_dict()["density"] == 0.25
    with pytest.raises(syncopate.OptionError, match='"1.5" is not valid'):
        options.set_all({"density": 1.5})
