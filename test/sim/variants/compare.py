"""Policy demand and variants of relevance (variant.c) against relevance: mean latency of a query, and the worst wait of a run.

    python3 variants/compare.py DIRECTORY [RUNS]     DIRECTORY has sim, and sim-VARIANT for each of them (make variants)

For each mix of queries the ratios of the means over so many seeds (40); the same seed is the same queries at the same times.
"""
import csv
import io
import statistics
import subprocess
import sys

MIXES = {
    'Table 2': '', 'Table 2, 192 MB of page cache': '--page-cache 192MB', 'Table 2, FAST alone': '--work ranges16-fast',
    'Table 2, a pool of 16 chunks': '--pool 16', 'Table 2, 32 cores': '--cores 32', 'Table 2, a seek takes 5 ms': '--seek 5000 --cores 16',
    'Table 2 tenfold': '--table 8790MB --buffers 1920MB --bandwidth 800 --cores 16', '32 streams, FFS': '--cores 16 --speeds FFS --streams 32',
    'open loop, 1, 10 and 50 %': '--rate .8 --queries 100 --sizes 1,10,50 --cores 16'}
VARIANTS = {name: (f'sim-{name}', 'relevance') for name in ('FAIR', 'BATCHES', 'ARRIVAL_LOADS', 'ARRIVAL_KEEPS', 'IMPATIENT')}
VARIANTS['demand'] = 'sim', 'demand'


def run(program, policy, mix, runs):
    done = subprocess.run([program, '--policy', policy, '--csv', '--no-bound', '--runs', str(runs), *mix.split()], capture_output=True, text=True)
    if 'a scan has waited for' in done.stderr:      # more loads than relevance's bound: the run has ended there
        return None
    if done.returncode:
        sys.exit(f'{program} {mix}\n{done.stdout[-500:]}{done.stderr}')
    return list(csv.DictReader(io.StringIO(done.stdout)))


def main(directory, runs=40):
    print('| queries | ' + ' | '.join(VARIANTS) + ' |\n|' + '---|' * (len(VARIANTS) + 1))
    sums = {variant: [] for variant in VARIANTS}
    for name, mix in MIXES.items():
        base, cells = run(f'{directory}/sim', 'relevance', mix, runs), []
        for variant, (program, policy) in VARIANTS.items():
            rows = run(f'{directory}/{program}', policy, mix, runs)
            if rows is None:
                cells.append('waits beyond the bound')
                continue
            latency, wait = (statistics.mean(float(row[measure]) for row in rows) / statistics.mean(float(row[measure]) for row in base)
                             for measure in ('latency_s', 'longest_wait_s'))
            cells.append(f'{latency:.3f}, {wait:.2f}')
            sums[variant].append((latency, wait))
        print(f'| {name} | ' + ' | '.join(cells) + ' |', flush=True)
    cells = [', '.join(f'{statistics.geometric_mean(values):.{digits}f}' for values, digits in zip(zip(*sums[variant]), (3, 2))) for variant in VARIANTS]
    print('| all, geometric mean | ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    main(sys.argv[1], *map(int, sys.argv[2:]))
