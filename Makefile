# cscan: Cooperative Scans for PostgreSQL.  Needs PG_CONFIG and nothing else.
# The tests are scripts/check's.

EXTENSION = cscan
MODULE_big = cscan
DATA = $(wildcard sql/cscan--*.sql)
PGFILEDESC = "cscan - cooperative scans"

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))
CSCAN_HEADERS = $(wildcard src/*.h src/*/*.h)
PG_CPPFLAGS = -I$(srcdir)/src

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS tracks headers only in servers built with --enable-depend.
$(OBJS): $(CSCAN_HEADERS)

# The simulator (test/sim/README.md) needs no PostgreSQL.
sim:
	$(MAKE) -C $(srcdir)/test/sim

.PHONY: sim
