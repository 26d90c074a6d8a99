/*-------------------------------------------------------------------------
 *
 * registry.h
 *		A backend's side of a registered scan: come, ask for chunks, leave.
 *
 * One process, its owner, registers a scan.  Other processes may join it and
 * read for it, each with a registration of its own.  They need a CScanTicket,
 * which may be in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_REGISTRY_H
#define CSCAN_REGISTRY_H

#include "shared/shared.h"

/* Limit on chunks in memory that a scan takes at once. */
#define CSCAN_MAX_AHEAD	32

/* A registration of this process; it ends with its resource owner. */
typedef struct CScanRegistration CScanRegistration;

/* What a process needs to know to join. */
typedef struct CScanTicket
{
	int			scan;			/* index in the shared arrays */
	uint64		scan_serial;
} CScanTicket;

/*
 * What a scan wants of each row group of an index of columns.  It lives as long
 * as the registration.
 */
typedef struct CScanGroupTarget
{
	CScanLayout layout;			/* for an index that has none yet */
	uint64		columns;		/* a set, see layout.h */
	uint64		common;			/* of these, those that every scan wants */
	bool		(*in_memory) (void *arg, Oid relid, uint32 group);	/* are those of a row
																	 * group of this index
																	 * all in shared
																	 * buffers? */
	void	   *arg;
} CScanGroupTarget;

/*
 * What a scan is to read of one table: these ranges of its first nblocks
 * blocks, in order, none of which touches the next.  With "groups" it is an
 * index of columns, and both are row groups.  Only the views use read_before,
 * the number of blocks read before.
 */
typedef struct CScanTarget
{
	Relation	rel;
	BlockNumber nblocks;
	const CScanRange *ranges;
	uint32		nranges;
	uint32		read_before;
	const CScanGroupTarget *groups; /* or NULL */
	CScanRange *room;			/* with groups: room for nranges, used by
								 * registration */
	uint32		nchunks;		/* set by registration: chunks wanted */
	uint32		chunk_blocks;	/* set by registration: blocks in a chunk, of
								 * an index those of the columns */
} CScanTarget;

/* A chunk that is handed out. */
typedef struct CScanPortion
{
	Oid			relid;			/* its table */
	uint32		chunk;			/* its number in the table; of an index, that
								 * of the row group */
	uint32		number;			/* its number among all chunks, while
								 * registered */
	CScanRange	blocks;			/* its blocks; the table may end before; of no
								 * use with groups */
} CScanPortion;

/* How a chunk came to the scan. */
typedef enum CScanDelivery
{
	CSCAN_FINISHED,				/* no chunk is left */
	CSCAN_RESIDENT,				/* it was there already */
	CSCAN_LOADED,				/* the ABM loaded it for this scan */
	CSCAN_SELF_READ,			/* the scan must read it itself */
	CSCAN_COPIED,				/* the same, from the page cache */
	CSCAN_LOST					/* no chunk: the scan has lost its place */
} CScanDelivery;

/*
 * Register a scan of these tables, all or none, no two of which are the same.
 * All are tables, or all are indexes, of which the same columns are wanted.
 * The views call all of it relid.  Other processes may join a "joinable" scan,
 * which does not count until one of them asks for a chunk.  Returns NULL if
 * that is not possible or of no use: then the scan reads for itself.
 *
 * If there is no room for another scan, a stalled one loses its place, but
 * none that others may have joined.  So a process can have only few of those,
 * and none of the last places.  A scan that has lost its place learns of this
 * when it next asks for a chunk.  Then it may leave, and register what is left.
 */
extern CScanRegistration *cscan_registry_register(Oid relid, CScanTarget *targets,
												  int ntargets, CScanPolicyId policy,
												  bool joinable);

/*
 * A scan that is likely to be begun again rests meanwhile: it stays registered
 * and wants nothing.  "Again" registers such a scan.  It returns false if the
 * scan must leave and register anew, as after it has lost its place.
 */
extern void cscan_registry_rest(CScanRegistration *reg);
extern bool cscan_registry_again(CScanRegistration *reg, CScanTarget *targets, int ntargets);

/* The scan does not want any more of a table. */
extern void cscan_registry_take_back(CScanRegistration *reg, Oid relid);

/* A ticket for others to join; valid until the owner leaves. */
extern CScanTicket cscan_registry_ticket(const CScanRegistration *reg);

/*
 * Join another process's scan, with this process's idea of what it wants of row
 * groups, if it does.  NULL if there is no room, or if its owner has left.  A
 * process that could not join still takes chunks, as long as there are any, and
 * reads them itself.
 */
extern CScanRegistration *cscan_registry_join(const CScanTicket *ticket, const CScanGroupTarget *groups);
extern bool cscan_registry_take(const CScanTicket *ticket, CScanPortion *portion);

/*
 * Get the next chunk, waiting for it as long as that makes sense.  Adds the
 * time spent waiting (us) to *waited.
 */
extern CScanDelivery cscan_registry_next(CScanRegistration *reg, CScanPortion *portion,
										 uint64 *waited);

/* Count a page that the scan has taken. */
extern void cscan_registry_progress(CScanRegistration *reg);

/* Count frames that a scan, registered or not, has taken for what it reads. */
extern void cscan_registry_took_frames(uint64 n);

/*
 * Leave.  The last scan of a table waits a moment for the ABM to let go.  When
 * the owner leaves, nothing is left for processes that have joined.
 */
extern void cscan_registry_leave(CScanRegistration *reg);

#endif							/* CSCAN_REGISTRY_H */
