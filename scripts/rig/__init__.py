"""The rig behind scripts/bench, scripts/quickstart and scripts/top: private servers, limited storage, streams of queries, tables.

    limits.py       bandwidth and memory limits, what was read and used, cold page cache
    guard.py        what is undone even if the process is killed
    cluster.py      one private cluster of a major: made, started, stopped
    seeks.py        seeks of a disk, from the kernel's tracing
    data.py         TPC-H and pgbench's tables, generated and loaded; the SQL of TPC-H is in tpch/
    workload.py     the queries, the variants, streams of queries at one time
    testbed.py      cold servers under limits, and what is counted while a run lasts
    streams.py      experiments with streams of queries, and with queries in memory
    pgbench.py      those that pgbench drives: overload, transactions beside scans
    loadrate.py     one scan, beside what fio reads
    trace.py        which chunk was loaded when
    experiments.py  what is measured, and the targets
    results.py      rows that are kept, so that an interrupted run goes on
    report.py       medians, ratios, tables, files
    charts.py       pictures
    progress.py     what is shown while it runs
    bench.py        scripts/bench            quickstart.py   scripts/quickstart       top.py   scripts/top
"""
