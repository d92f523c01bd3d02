"""Imports parts of packages whose other parts need a GPU: modules that aren't there give classes that do nothing."""
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types


class Nothing(type):
    """Type of the classes, whose attributes are such classes, too."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing(name)

    def __or__(cls, other):
        return cls

    def __ror__(cls, other):
        return other

    def __getitem__(cls, item):
        return cls


def nothing(name):
    """Returns a class that takes every argument, and decorates by leaving what it gets as it is."""

    def schema(cls, source, handler):
        from pydantic_core import core_schema

        return core_schema.any_schema()

    def call(self, *arguments, **named):
        return arguments[0] if arguments and callable(arguments[0]) else self

    members = {
        "__get_pydantic_core_schema__": classmethod(schema),
        "__init__": lambda self, *arguments, **named: None,
        "__call__": call,
        "__getattr__": lambda self, name: getattr(type(self), name),
        "__bool__": lambda self: False,
    }
    return Nothing(name, (), members)


class Absent(types.ModuleType):
    """A module that isn't there."""

    def __getattr__(self, name):
        if name == "__version__":
            return "99.0"
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, nothing(name))
        return self.__dict__[name]


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of these names, and those inside them, to be absent."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path, target=None):
        if any(name == absent or name.startswith(absent + ".") for absent in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def prepare(folder, bare, absent):
    """Makes the packages `bare`, unpacked in `folder`, importable without what their `__init__` imports, and `absent` do nothing."""
    for name in bare:
        module = types.ModuleType(name)
        module.__path__ = [f"{folder}/{name.replace('.', '/')}"]
        sys.modules[name] = module
    sys.meta_path.insert(0, Finder(absent))


def version_of(folder, package):
    """Returns the version of a package that is unpacked in `folder`."""
    return next(importlib.metadata.distributions(name=package, path=[folder])).version
