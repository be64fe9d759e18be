"""Files as parts that can be read again and again: what `BlockSource.from_zarr` and its siblings are made of."""
