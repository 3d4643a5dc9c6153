"""What a case gets: the function under test, the device, tensors, the clock and the checks.

A case is a Python function ``case(trial, **parameters)``. It builds its inputs with ``trial.tensor``, lets the
manifest's function work in ``trial.call`` or one of its siblings (only these are timed, and they call only that
function), reads back with ``trial.numpy`` and checks with ``trial.close``, ``trial.exact``, ``trial.equal`` or
``trial.check``. A case never names a device. A case that checks nothing fails.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, NoReturn, Sequence

from runners.core.testing.endings import Accepted, MisusedTrial, Skip
from runners.core.testing.trial_calls import Calls

_FAILED_ASSERTION = "device-side assert triggered"
"""All that CUDA's error says where a kernel has found invalid input. The condition is in the output of the test. The
process cannot use the device after that: each later call raises the same error."""


class Trial(Calls):
    """One test in a worker: makes inputs, calls the function under test, and checks its output. Calls and Inputs, on
    which this builds, say the rest."""

    def close(
        self,
        actual: Any,
        expected: Any,
        rtol: float | None = None,
        atol: float | None = None,
        dtype: str = "",
        signed_zeros: bool = False,
    ) -> None:
        """Checks a tensor against a host array: same dtype kind, same shape, values close. Raises Mismatch.

        The default tolerances are those of the tensor's dtype (see compare.TOLERANCES). With ``dtype``, the tensor must
        have exactly that dtype. With ``signed_zeros``, zeros must have the sign of the expected ones.
        """
        from runners.core.testing import compare

        self._enter("compare")
        self.checks += 1
        name = self._adapter.dtype_name(actual)
        if dtype:
            compare.check_dtype(name, dtype)
        found = self.numpy(actual)
        compare.check_values(found, expected, name or "float64", rtol, atol)
        if signed_zeros:
            compare.check_signs_of_zeros(found, expected)

    def exact(self, actual: Any, expected: Any, dtype: str = "") -> None:
        """Checks a tensor whose values were moved, not computed: every value is the same, and so are the signs of
        zeros. With ``dtype``, the tensor must have it. Raises Mismatch."""
        self.close(actual, expected, rtol=0.0, atol=0.0, dtype=dtype, signed_zeros=True)

    def equal(self, actual: Any, expected: Any) -> None:
        """Checks that nested tensors, host arrays and plain values are the same. Raises Mismatch."""
        from runners.core.testing import compare

        self._enter("compare")
        self.checks += 1
        compare.check_equal(self.numpy(actual), self.numpy(expected))

    def check(self, condition: Any, message: str) -> None:
        """Checks a condition on the output. Raises AssertionError with the message, which should say what was expected
        and what was found."""
        self._enter("compare")
        self.checks += 1
        if not condition:
            raise AssertionError(message)

    def raises(self, kinds: Sequence[str], word: str, *args: Any, **kwargs: Any) -> None:
        """Calls the function, untimed, and checks that it raises an error: one of the classes with these names or of a
        subclass, with the word in its message, in capitals or not. Raises Accepted if it does not.

        An error that arrives by the end of the wait or of reading the output counts, since accelerators compute later.
        So does a failed assertion of a kernel, whose error has no words of its own; then ``lost_device`` is set. Skips
        the test where the call is only predicted: whether a device refuses a call is known when it is made.
        """
        self._raises(kinds, word, functools.partial(self._under_test(self.function), *args, **kwargs))

    def raises_inside(
        self, kinds: Sequence[str], word: str, body: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """The same of ``body(function, ...)``, for a class whose instance raises the error."""
        self._raises(kinds, word, functools.partial(body, self._under_test(self.function), *args, **kwargs))

    def method_raises(self, instance: Any, name: str, kinds: Sequence[str], word: str, *args: Any) -> None:
        """The same of a method of ``instance``, which is an instance of the function (a class). Raises MisusedTrial
        for anything else."""
        if not (isinstance(self.function, type) and isinstance(instance, self.function)):
            raise MisusedTrial(f"{type(instance).__name__} is no instance of the function under test")
        self._raises(kinds, word, functools.partial(self._under_test(getattr(instance, name)), *args))

    def _raises(self, kinds: Sequence[str], word: str, call: Callable[[], Any]) -> None:
        if self.is_predicted:
            self.skip("a call that must raise an error is not predicted")
        self._enter("call")
        try:
            output = self._observer(call) if self._observer else call()
            self._wait(output)
            self.numpy(output)
        except Exception as error:
            self._enter("compare")
            self.checks += 1
            self.refusals += 1
            names = {kind.__name__ for kind in type(error).__mro__}
            if names.isdisjoint(kinds):
                raise Accepted(f"expected {' or '.join(kinds)}, got {type(error).__name__}: {error}") from error
            if _FAILED_ASSERTION in str(error):
                self.lost_device = True
            elif word.lower() not in str(error).lower():
                raise Accepted(f"expected {word!r} in the message of {type(error).__name__}: {error}") from error
        else:
            self._enter("compare")
            about = f" about {word!r}" if word else ""
            raise Accepted(f"expected {' or '.join(kinds)}{about}, got no error")

    def skip(self, reason: str) -> NoReturn:
        """Ends the test as skipped."""
        raise Skip(reason)

    # For the worker

    def finish(self) -> None:
        """Raises MisusedTrial for a case that timed or checked nothing."""
        if not self.calls and not self.refusals:
            raise MisusedTrial("the case did not call its function through the trial")
        if not self.checks:
            raise MisusedTrial("the case checked nothing")
