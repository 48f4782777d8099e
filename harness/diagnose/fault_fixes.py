"""What to change, for each kind of fault."""

from __future__ import annotations

__all__ = ["FAULT_FIXES"]

FAULT_FIXES: dict[str, str] = {
    "device_mismatch": "Move the model and each batch to one device, once, where they are made; check at the boundary.",
    "dtype_mismatch": "Convert once, where the data comes in: gradients need a floating or complex type.",
    "shape_mismatch": "Print both shapes before the line; unsqueeze or reshape the one that is wrong.",
    "null_gradient": "Make sure the parameter is a leaf that requires grad, is used in the loss, and is not detached.",
    "zero_gradient": "Look for a factor 0, a dead activation or a rounding on the path from the parameter to the loss.",
    "non_finite_gradient": "Lower the rate, clean the data; clip with error_if_nonfinite=True and skip the step.",
    "non_scalar_loss": "Reduce it: loss.mean() or loss.sum() (they differ by the number of elements).",
    "gradients_not_zeroed": (
        "Call optimizer.zero_grad() before each backward; or accumulate on purpose, and divide the loss."
    ),
    "gradient_wrong": "Compare backward with the central difference, term by term: a factor, a sign, a missing input.",
    "in_place_on_graph": "Use the operator that makes a new tensor, or change the leaf under torch.no_grad().",
    "use_after_close": "Keep what the next round needs in the outer scope; give each round a child scope.",
    "budget_exceeded": "Free what the step no longer needs before this line, use smaller batches, or raise the budget.",
    "environment": "Run harness doctor.",
}
