"""The rig behind scripts/bench and scripts/quickstart: private servers, limited storage, streams of queries, tables.

    limits.py       bandwidth and memory limits, bytes read, cold page cache
    cluster.py      one private cluster of a major: made, started, stopped
    data.py         TPC-H, generated and loaded once; its SQL is in tpch/
    workload.py     the queries, the variants, streams of queries at one time
    experiments.py  what is measured, and the targets
    report.py       medians, ratios, tables, files
    progress.py     what is shown while it runs
    bench.py        scripts/bench            quickstart.py   scripts/quickstart
"""
