"""Data in blocks: files larger than memory, and data on many machines.

`BlockSource` lists the parts of a data set, and `GASG21.fit` and `KGASG21.fit` take it in place of an array. The other
functions are what these two are made of, for programs that divide the work themselves.

A pass of the polish needs only sums over samples. In each round, all blocks have the same subspace and scatter.
`block_sums` computes the sums of one block, the caller adds the sums of all blocks, and `BlockPolish` computes the next
subspace and scatter. Up to rounding, the result does not depend on how the data is divided. If the sums are added in
a fixed order, the result is reproducible bit by bit.

>>> import numpy as np
>>> from gasg21 import GASG21
>>> from gasg21.blocks import BlockPolish, block_sums, start_scatter
>>> from gasg21.datasets import make_low_rank
>>> from gasg21.metrics import subspace_angle
>>> data = make_low_rank(4000, 100, 3, outlier_fraction=0.6, observed_fraction=0.7, random_state=0)
>>> blocks = np.split(data.data, 4)                          # they could lie on different machines
>>> start = GASG21(3, random_state=0).partial_fit(blocks[0]).components_
>>> polish = BlockPolish(start, start_scatter(start, blocks[0]))
>>> while polish.update(sum(block_sums(polish.components, block, polish.scatter) for block in blocks)) > 1e-6:
...     pass
>>> bool(subspace_angle(polish.components, data.basis) < 1e-6)
True
"""

from gasg21._algorithms.block_rounds import BlockPolish, new_basis, repair, start_scatter
from gasg21._algorithms.block_sums import BlockSums, Scatter, UnionSums, block_sums, union_sums
from gasg21._data.block_output import write_blocks
from gasg21._data.block_source import BlockSource

__all__ = [
    "BlockPolish",
    "BlockSource",
    "BlockSums",
    "Scatter",
    "UnionSums",
    "block_sums",
    "new_basis",
    "repair",
    "start_scatter",
    "union_sums",
    "write_blocks",
]
