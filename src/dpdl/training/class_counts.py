"""What a page about a run shows of its partition, kept when the run starts."""

from __future__ import annotations

from dpdl.folder import class_counts
from dpdl.folder.class_counts import ClassCounts
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.division import Division
from dpdl.planning.plan import Plan
from dpdl.tasks.targets import Classes
from dpdl.training.instruments import records_stay
from dpdl.transport import Post


def keep_class_counts(folder: RunFolder, plan: Plan, post: Post) -> None:
    """Write how many records of each class each agent holds, once.

    Only where there is an experimenter who sees all agents: one process hosts them, or the noise is
    reproducible and hides nothing. Records at sites are not counted.
    """
    divided = isinstance(plan.source, Division) and isinstance(
        plan.public.form.targets, Classes
    )
    seen = not records_stay(post, plan.randomness.repeatable)
    if divided and seen and not folder.partition_path.exists():
        class_counts.write(folder, ClassCounts.of_plan(plan))
