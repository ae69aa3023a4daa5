"""A small sample of what the model is given, with what it should answer: does the target follow from the input at all?"""

from sickbay.observe.examples.watch import ExampleWatch

__all__ = ["ExampleWatch"]
