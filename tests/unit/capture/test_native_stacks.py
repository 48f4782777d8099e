"""What is shown of a native stack."""

from __future__ import annotations

from harness.capture.native_stacks import shown_stack


def test_the_machinery_of_ctypes_is_one_word_and_what_is_beyond_python_is_left_out() -> None:
    names = ["deflateInit2_", "deflateInit_", "<unknown>", "ffi_call", "_ctypes_callproc", "PyCFuncPtr_call"]
    beyond = ["_PyObject_MakeTpCall", "_PyEval_EvalFrameDefault", "main"]

    assert shown_stack("malloc", names + beyond) == ("malloc", "deflateInit2_", "deflateInit_", "ctypes")


def test_the_interpreters_malloc_that_ctypes_was_given_is_malloc() -> None:
    names = ["_PyMem_RawMalloc", "PyMem_RawMalloc", "ffi_call", "_ctypes_callproc", "_PyEval_EvalFrameDefault"]

    assert shown_stack("malloc", names) == ("malloc", "ctypes")


def test_a_deep_stack_keeps_its_innermost_functions() -> None:
    shown = shown_stack("malloc", [f"f{k}" for k in range(40)])

    assert shown[:2] == ("malloc", "f0")
    assert len(shown) == 12
