"""Every threshold of the judgement, with its reason. Nothing else in ``judge`` has numbers of its own."""

from __future__ import annotations

import msgspec

__all__ = ["DEFAULT", "Policy"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How much must be seen before what is said. Steps are measured steps: those after ``warmup_steps``."""

    warmup_steps: int = 8
    """Run before anything counts: lazy imports and first allocations fall into the first few steps."""

    most_warmup_steps: int = 48
    """Start-up that lasts longer is growth, and is told as such."""

    least_steps: int = 32
    """Fewer show a leak on every 8th to 10th step only three times. Below, no verdict is given."""

    least_steps_out_of_memory: int = 12
    """Enough where the process died for want of memory: then the growth is no small effect."""

    least_steps_to_suspect: int = 16
    """Fewer steps than a verdict needs name a suspect where the ledger's exact count grows: at 30 steps, say."""

    least_points: int = 8
    """Readings of one metric. 8 that all rise have p = 0.0004; 6 cannot go below 0.004."""

    checkpoints: tuple[int, ...] = (48, 120, 200, 300, 400, 600, 800)
    """Where the runner asks whether to go on. Labelled caches fill for up to 100 steps, collector rhythms last up to
    200; 600 and 800 are for growth that slows down: 200 random keys are filled to 98 % after 800 steps."""

    time_budget_s: float = 12.0
    """For one subject; spent before the last checkpoint, the verdict comes from what was seen."""

    open_time_budget_s: float = 30.0
    """The same where something is still open: a filling cache or a leak. Slow steps deserve more than a dozen."""

    flat_after: int = 120
    """Steps after which a program without growth is called stable: a late buffer (step 60) is then seen to stay one."""

    flat_after_cheap: int = 200
    cheap_s: float = 2.0
    """Where a subject has run for less than this, steps cost nearly nothing: more of them are looked at."""

    general_horizon: int = 400
    thread_horizon: int = 100
    fd_horizon: int = 200
    child_horizon: int = 40
    """Growth shorter than its horizon could be a cache that still fills. Pools of threads (100) and of processes (40)
    are smaller than caches, a process costs tens of MB, and descriptors (200) soon meet the system's limit."""

    least_bytes_per_step: float = 256.0
    """Below, growth of plain objects is a note. The tool's own growth is below 16 bytes a step."""

    least_noted_bytes_per_step: float = 64.0
    """Below, growth of plain objects is not even a note: ordinary training loops show 20 to 60 bytes a step for their
    first hundreds of steps, and none later."""

    least_rss_per_step: float = 1024.0
    """Resident memory moves in pages of 4 KiB: a quarter of a page a step is the least that 400 steps show."""

    least_blocks_per_step: float = 3.0
    """Python blocks: 256 bytes are four or more small objects; a float and a tuple a step are two."""

    least_count_per_step: float = 0.02
    """Exact counts: one in 50 steps. Rarer events cannot be told from a one-time event within the horizon."""

    least_tensor_bytes_per_step: float = 1.0
    """The ledger has no noise: any growth that lasts counts."""

    block_p: float = 0.002
    """Mann-Kendall on 12 block medians: whole blocks are nearly independent, and all-rising ones have p = 4e-6."""

    point_p: float = 0.05
    """Mann-Kendall on all points, corrected for autocorrelation (which is conservative, hence the mild level)."""

    suspicious_p: float = 0.05
    """A rise this improbable is worth more steps, though no verdict."""

    forward_share: float = 0.8
    """Blocks that lie higher than the one before: 9 of 11. A random walk does in 3 %, 4 KiB a step under 256 KiB of
    noise in all but 0.2 %."""

    least_one_way: float = 0.8
    """Survivors that do not grow in number leak only where their bytes hardly ever fall (a tensor that is replaced by a
    longer one each step); a ring buffer of various sizes goes up and down."""

    late_start_p: float = 0.005
    """A last quarter that rises so improbably is worth more steps, even in a flat whole: leaks may start late."""

    least_rise_over_noise: float = 3.0
    """The whole rise against the noise's standard deviation. Slow noise shows spurious trends of up to 2-3."""

    peak_over_noise: float = 4.0
    """A rise that stands out of the noise: by four standard deviations."""

    least_rises: int = 4
    """So many of them, spread over all quarters, are no longer a few one-time events."""

    many_rises: int = 6
    """In a quarter of the run: then their number is steady enough to be compared with the last quarter's."""

    recent_share: float = 0.35
    """The last quarter's slope as a share of the whole: below, the growth has stopped. 4 KiB a step under 256 KiB of
    noise gives 1 +- 0.22 over 100 steps, a plateau that began before the last quarter gives 0."""

    recent_p: float = 0.05
    """And it must be significant of its own."""

    gap_factor: float = 3.0
    """Quiet for three times the longest pause between earlier rises: the growth has stopped."""

    least_tail_steps: int = 200
    tail_slowing_p: float = 0.1
    straight_fill_ratio: float = 2.2
    """A slow leak behind a large fill is looked for in the second half, if that is so long. It is none where that half
    seems to slow down, or where the fill before it died away (2.4 and more; a straight one has 1.9): a cache of random
    keys has a long end."""

    slowing_p: float = 0.005
    slowing_share: float = 0.8
    """Growth that dies away: rates that fall steadily, to this share or less. A fill of 400 random keys is at 0.4 after
    400 steps, one of 1,000 at 0.7; a straight line gives so steady a fall by chance in 1 of 200."""

    agreeing_share: float = 0.25
    agreeing_p: float = 0.05
    """A second witness must show this share of the first one's slope, significantly. Dispatch ledgers slow a program
    and compiled code runs uncompiled there, so amounts may differ; resident pages are partly reused."""

    contradicting_share: float = 0.25
    """Where the plain subject's interval ends below this share of what the ledger saw, the two contradict."""

    explained_share: float = 0.8
    """Tensors that explain this share of the heap's growth explain all of it: headers and tables are the rest."""

    python_bytes_beside_tensor: float = 3072.0
    """Python objects that come with one surviving storage: wrapper, dictionaries, a module's tables."""

    explained_share_of_graph: float = 0.5
    """The same where autograd holds the tensors: nodes and saved scalars take up to as much as the tensors."""

    small_views_share: float = 0.05
    """Tensors that are so small a part of the heap's growth are handles on memory that torch did not allocate."""

    heap_bytes_beside_fd: float = 65_536.0
    heap_bytes_beside_thread: float = 8_388_608.0
    heap_bytes_beside_child: float = 1_048_576.0
    """Heap and objects that come with a descriptor (a file object and its buffers), a thread (what its frames hold; as
    much as its stack) or a child (queues and pipes). What grows faster is a leak of its own."""

    most_suspects: int = 8
    """Sites named beyond these are the same leak's in practice."""

    exact_slowing_p: float = 0.02
    exact_slowing_share: float = 0.9
    """The same for tensors that the ledger counts: a straight line has no noise there and never falls below, so that a
    fill of 1,000 random keys (0.7 after 400 steps) is seen."""

    random_fill_share: float = 0.6
    """A fill whose second half brought at most this share of its first was one of random keys, not of equal steps."""

    repeated_share: float = 0.1
    """With the same input in every step, so little of a fill may come again for its inputs to have been its reason."""

    single_share: float = 0.8
    """A rise in one step that makes up so much of all is a single allocation, not a fill."""

    worth_telling_bytes: int = 65_536
    """A look-alike in a noisy channel is mentioned from here on (heap, objects)."""

    worth_telling_rss_bytes: int = 1_048_576
    """And from here on in resident pages, children and start-up."""

    worth_telling_tensor_bytes: int = 4096
    """And here in exact tensor bytes."""

    worth_telling_allocations: float = 20.0
    """Tensor storages allocated in each step that make churn worth a mention."""

    cut_confirms_share: float = 0.75
    cut_refutes_share: float = 0.25
    """With the suspect edge cut, so much of the finding's growth must be gone to confirm it; so little refutes it."""

    def horizon(self, metric: str) -> int:
        """Measured steps after which growth of *metric* that never paused is called a leak."""
        return {"threads": self.thread_horizon, "fds": self.fd_horizon, "children.count": self.child_horizon}.get(
            metric, self.general_horizon
        )

    def bytes_beside_count(self, metric: str) -> float:
        """Heap bytes that one descriptor, thread or child may bring along without being a leak of their own."""
        return {"threads": self.heap_bytes_beside_thread, "children.count": self.heap_bytes_beside_child}.get(
            metric, self.heap_bytes_beside_fd
        )

    def least_jump(self, metric: str) -> float:
        """The smallest rise (the metric's unit) that is looked at singly; below lie free lists and resized tables."""
        if metric in ("leak.bytes", "leak.tensors", "fds", "threads", "children.count"):
            return 0.5
        return 2 * self.least_effect(metric)

    def least_start_up(self, metric: str) -> float:
        """The smallest rise in one step (the metric's unit) that counts as start-up: 16 steps' least growth."""
        return 16 * self.least_effect(metric) if metric != "leak.bytes" else float(self.worth_telling_tensor_bytes)

    def least_effect(self, metric: str) -> float:
        """The slope (the metric's unit a step) below which growth of *metric* is no leak."""
        if metric in ("leak.bytes", "device.allocated", "device.reserved"):
            return self.least_tensor_bytes_per_step
        if metric == "python.blocks":
            return self.least_blocks_per_step
        if metric in ("fds", "threads", "children.count", "leak.tensors", "graph.nodes"):
            return self.least_count_per_step
        if metric.startswith(("rss.", "children.")) or metric in ("mapped.private", "shm.bytes", "device.outside"):
            return self.least_rss_per_step
        return self.least_bytes_per_step


DEFAULT = Policy()
