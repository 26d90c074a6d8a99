# cscan: Cooperative Scans for PostgreSQL.  Needs PG_CONFIG and nothing else.

EXTENSION = cscan
MODULE_big = cscan
DATA = $(wildcard sql/cscan--*.sql)
PGFILEDESC = "cscan - cooperative scans"

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))
CSCAN_HEADERS = $(wildcard src/*.h src/*/*.h)
PG_CPPFLAGS = -I$(srcdir)/src

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --outputdir=test --expecteddir=.

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS tracks headers only in servers built with --enable-depend.
$(OBJS): $(CSCAN_HEADERS)
