"""Where runs are computed: in this process, in processes, on Dask, on Ray. One law for all: the same bits."""
