# cscan: Cooperative Scans for PostgreSQL.  Needs PG_CONFIG and nothing else.
#
#   make, make install     build and install
#   make installcheck      the regression tests, against a running server that has test/postgresql.conf's settings
#   make dist              cscan-VERSION.zip, for PGXN
#   make sim               the simulator (test/sim/README.md)
#
# All other tests are scripts/check's.

# Where the sources are, in a build elsewhere, too (VPATH).
SOURCES := $(or $(VPATH),.)
files = $(patsubst $(SOURCES)/%,%,$(sort $(wildcard $(addprefix $(SOURCES)/,$(1)))))

EXTENSION = cscan
MODULE_big = cscan
DATA = $(call files,sql/cscan--*.sql)
PGFILEDESC = "cscan - cooperative scans"

OBJS = $(patsubst %.c,%.o,$(call files,src/*.c src/*/*.c))
CSCAN_HEADERS = $(addprefix $(SOURCES)/,$(call files,src/*.h src/*/*.h))
PG_CPPFLAGS = -I$(SOURCES)/src

REGRESS = $(patsubst test/sql/%.sql,%,$(call files,test/sql/*.sql))
REGRESS_OPTS = --inputdir=$(SOURCES)/test
REGRESS_PREP = fitting-server
NO_LOCALE = 1
ENCODING = UTF8

# Goals that need no PostgreSQL
PLAIN_GOALS = sim dist check-meta
ifneq ($(filter-out $(PLAIN_GOALS),$(or $(MAKECMDGOALS),all)),)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(wildcard $(PGXS)),)
define NO_PGXS
the PostgreSQL server's headers are missing: "$(PG_CONFIG) --pgxs" names no file.
Install one of these packages, with your server's major version for NN:
    postgresql-server-dev-NN     Debian, Ubuntu
    postgresqlNN-devel           Red Hat and its relatives, from PostgreSQL's own repository
    postgresql-server-devel      Red Hat, Fedora, from their own
If the server is somewhere else: make PG_CONFIG=/path/to/its/bin/pg_config
endef
$(error $(NO_PGXS))
endif
include $(PGXS)

# Column runs are compressed with the libraries that the server is linked with, as far as their headers are there.
has_library = $(and $(filter -l$(1),$(LIBS)),$(shell $(CC) $(CPPFLAGS) -E -include $(1).h -x c /dev/null >/dev/null 2>&1 && echo yes))
COLUMNS = $(filter src/columns/%,$(OBJS))
$(foreach lib,lz4 zstd,$(if $(filter -l$(lib),$(LIBS)),$(if $(call has_library,$(lib)),,\
	$(info cscan: $(lib).h is missing, so indexes of columns are built without $(lib) (Debian: lib$(lib)-dev)))))
ifneq ($(call has_library,lz4),)
$(COLUMNS) $(COLUMNS:.o=.bc): override CPPFLAGS += -DUSE_LZ4
SHLIB_LINK += -llz4
endif
ifneq ($(call has_library,zstd),)
$(COLUMNS) $(COLUMNS:.o=.bc): override CPPFLAGS += -DUSE_ZSTD
SHLIB_LINK += -lzstd
endif
$(COLUMNS) $(filter src/vector/%,$(OBJS)): override CFLAGS += $(CFLAGS_VECTORIZE)

# PGXS tracks headers only in servers built with --enable-depend.
$(OBJS): $(CSCAN_HEADERS)

ifneq ($(SOURCES),.)
$(shell mkdir -p $(sort $(dir $(OBJS))))
endif

endif

# installcheck's first step. Before 16 pg_regress looks for expected/ where it writes.
fitting-server:
	@sh $(SOURCES)/test/fitting-server '$(bindir)/psql' $(SOURCES)/test/postgresql.conf
	@test -d expected || ln -s $(SOURCES)/expected expected

sim:
	$(MAKE) -C $(SOURCES)/test/sim

# What git tracks, as PGXN takes it.
META_VERSION = $(shell sed -n 's/^\t"version": "\(.*\)",/\1/p' $(SOURCES)/META.json)
DIST = cscan-$(META_VERSION)

dist: check-meta
	git -C $(SOURCES) archive --format=zip --prefix=$(DIST)/ HEAD >$(DIST).zip

check-meta:
	python3 $(SOURCES)/scripts/packaging/check-meta $(SOURCES)

.PHONY: sim dist check-meta fitting-server
