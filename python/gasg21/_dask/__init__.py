"""The only place that knows Dask: an engine, sources of Dask collections, and lazy methods."""
