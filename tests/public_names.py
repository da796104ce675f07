"""The public names of the package, found by importing it."""

import importlib
import inspect
import pkgutil
from functools import cache

import tsattn_mini


def modules():
    """Every module by its dotted name, but for the one that runs the command line when it is imported."""
    names = [found.name for found in pkgutil.walk_packages(tsattn_mini.__path__, "tsattn_mini.")]
    return {name: importlib.import_module(name) for name in names if name != "tsattn_mini.__main__"}


@cache
def things():
    """(dotted name, object) of every function and class of a module, every method and property of a class."""
    found = []
    for name, module in modules().items():
        for own, thing in vars(module).items():
            if not own.startswith("_") and is_made_here(thing, name):
                found.append((f"{name}.{own}", thing))
                found += [(f"{name}.{own}.{part}", value) for part, value in members(thing)]
    return dict(found)


def is_made_here(thing, module):
    kind = inspect.isclass(thing) or inspect.isfunction(thing) or hasattr(thing, "__wrapped__")
    return kind and thing.__module__ == module


def members(thing):
    """(name, function) of what a class defines itself; of a property the function that computes it."""
    if not inspect.isclass(thing):
        return
    for name, value in vars(thing).items():
        function = function_of(value)
        if not name.startswith("_") and function and function.__name__ == name:
            yield name, function


def function_of(value):
    """The function below the decorators; None for anything else."""
    value = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", None) or value
    return inspect.unwrap(value) if inspect.isfunction(value) else None
