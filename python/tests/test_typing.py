"""The package says what it has: names, stubs, documentation."""

import ast
import doctest
import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path

import pytest

import pageway
from pageway import _native

PACKAGE = Path(pageway.__file__).parent


def members_of_index():
    """By name the members that `Index` and the classes it is made of define."""
    return {name: member for part in pageway.Index.__mro__[-2::-1] for name, member in vars(part).items()}


def test_every_public_name_exists_and_is_documented():
    for name in pageway.__all__:
        value = getattr(pageway, name)
        assert name == "__version__" or inspect.getdoc(value), name
    for name, member in members_of_index().items():
        if not name.startswith("_") and name != "build_report":
            assert inspect.getdoc(member), name


def test_every_public_function_states_its_types():
    functions = [pageway.build, pageway.open, pageway.verify, pageway.ground_truth]
    functions += [pageway.presets]
    functions += [member for member in members_of_index().values() if inspect.isfunction(member)]
    for function in functions:
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, function
        for name, parameter in signature.parameters.items():
            assert name == "self" or parameter.annotation is not inspect.Parameter.empty, function


def test_every_native_name_has_a_declaration():
    assert (PACKAGE / "py.typed").exists()
    declared = ast.parse((PACKAGE / "_native.pyi").read_text())
    names = {node.name for node in declared.body if hasattr(node, "name")}
    public = {name for name in dir(_native) if not name.startswith("__")}
    assert public <= names
    (index,) = (node for node in declared.body if getattr(node, "name", "") == "Index")
    members = {node.name for node in index.body if hasattr(node, "name")}
    assert {name for name in vars(_native.Index) if not name.startswith("__")} <= members


WITH_EXAMPLES = ["", ".building", ".steps", ".index", ".results", "._searching", "._vectors", "._asynchronous", "._share"]
SHIMS = [".compat.faiss", ".compat.hnswlib", ".compat.diskannpy"]


@pytest.mark.parametrize("name", [*WITH_EXAMPLES, *SHIMS])
def test_the_examples_run(name, tmp_path, monkeypatch, built, vectors, queries):
    standing = ["monday.index", "tuesday.index"] + (["my.index"] if name else [])
    for copy in standing:
        shutil.copytree(built, tmp_path / copy)
    monkeypatch.chdir(tmp_path)
    with pageway.open("monday.index") as index:
        names = {"pageway": pageway, "vectors": vectors, "index": index}
        names.update(queries=queries, query=queries[0])
        outcome = doctest.testmod(import_module("pageway" + name), extraglobs=names)
    assert outcome.attempted > 0 and outcome.failed == 0


def test_the_version_is_that_of_the_crate():
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", pageway.__version__)
    assert pageway.__version__ == _native.__version__
