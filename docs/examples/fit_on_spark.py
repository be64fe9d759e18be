"""GASG21 on a Spark cluster, by the block functions of gasg21 and `mapInPandas`. Needs pyspark, pandas and pyarrow.

    spark-submit fit_on_spark.py [data.parquet n_components]

Every partition sends its sums to the driver: n d (d + 3) / 2 numbers, 32 kB for n = 200 and d = 5.
"""

import pickle
import sys

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from gasg21 import GASG21
from gasg21.blocks import BlockPolish, block_sums, start_scatter


def as_array(frame):
    """Return a data frame as an array; null is NaN."""
    return frame.to_numpy(dtype=float, na_value=np.nan)


def sums_of_partition(components, scatter):
    """Return the function that turns a partition into one row with its sums."""

    def sums(batches):
        total = sum(block_sums(components, as_array(batch), scatter) for batch in batches)
        if total:  # 0: the partition is empty
            yield pd.DataFrame({"sums": [pickle.dumps(total)]})

    return sums


def fit(frame, n_components, n_sampled=20_000, seed=0, max_rounds=40):
    """Sample, solve, polish. All columns of the frame must hold numbers; null is missing."""
    share = min(1.0, 1.1 * n_sampled / frame.count())
    sample = as_array(frame.sample(share, seed=seed).toPandas())
    model = GASG21(n_components, random_state=seed).fit(sample)
    start = np.ascontiguousarray(model.components_)
    polish = BlockPolish(start, start_scatter(start, sample))
    for _ in range(max_rounds):
        work = sums_of_partition(polish.components, polish.scatter)
        rows = frame.mapInPandas(work, "sums binary").collect()  # in the order of the partitions
        total = sum(pickle.loads(row.sums) for row in rows)
        moved = polish.update(total)
        print(f"moved by {moved:.1e} rad, estimated angle {total.estimated_angle:.1e}")
        if moved < 0.1 * total.estimated_angle:
            break
    return GASG21.from_components(polish.components)


def example(spark):
    """Return some data, and the true subspace."""
    from gasg21.datasets import make_low_rank

    made = make_low_rank(40_000, 50, 5, outlier_fraction=0.4, observed_fraction=0.7, noise=0.01, random_state=0)
    frame = spark.createDataFrame(pd.DataFrame(made.data, columns=[f"f{j}" for j in range(50)]))
    return frame.repartition(8), made.basis


if __name__ == "__main__":
    spark = SparkSession.builder.config("spark.sql.execution.arrow.pyspark.enabled", "true").getOrCreate()
    if len(sys.argv) > 1:
        found = fit(spark.read.parquet(sys.argv[1]), int(sys.argv[2]))
        found.save("model.gasg21")
    else:
        from gasg21.metrics import subspace_angle

        frame, truth = example(spark)
        found = fit(frame.cache(), 5)
        print(f"angle to the truth {subspace_angle(found.components_, truth):.1e}")
