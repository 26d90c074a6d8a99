/*-------------------------------------------------------------------------
 *
 * registry.h
 *		A backend's side of a registered scan: come, ask for chunks, leave.
 *
 * A scan is registered by one process, its owner.  Others may join it and read
 * for it, each with a registration of its own; what they need to know is a
 * CScanTicket, which may be in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_REGISTRY_H
#define CSCAN_REGISTRY_H

#include "shared/shared.h"

/* Chunks in memory that a scan takes at once, at most. */
#define CSCAN_MAX_AHEAD	32

/* A registration, of this process; gone when the resource owner is. */
typedef struct CScanRegistration CScanRegistration;

/* What a process needs to know to join. */
typedef struct CScanTicket
{
	int			scan;			/* index in the shared arrays */
	uint64		scan_serial;
} CScanTicket;

/*
 * What a scan is to read of one table: these ranges of its first nblocks blocks, in
 * order, none of which touches the next.  So many blocks have been read before,
 * which only the views tell.
 */
typedef struct CScanTarget
{
	Relation	rel;
	BlockNumber nblocks;
	const CScanRange *ranges;
	uint32		nranges;
	uint32		read_before;
	uint32		nchunks;		/* set where it is registered: chunks wanted, */
	uint32		chunk_blocks;	/* and blocks in each of them */
} CScanTarget;

/* A chunk that is handed out. */
typedef struct CScanPortion
{
	Oid			relid;			/* its table, and */
	uint32		chunk;			/* its number there, and */
	uint32		number;			/* among all chunks, as long as it is registered */
	CScanRange	blocks;			/* that it has; the table may end before */
} CScanPortion;

/* How a chunk came to the scan. */
typedef enum CScanDelivery
{
	CSCAN_FINISHED,				/* there is none left */
	CSCAN_RESIDENT,				/* it was there already */
	CSCAN_LOADED,				/* the ABM loaded it for this scan */
	CSCAN_SELF_READ,			/* the scan must read it itself */
	CSCAN_LOST					/* none: the scan has lost its place */
} CScanDelivery;

/*
 * Register a scan of these tables, no two of which are the same; all of them, or
 * none.  The views call all of it relid.  A "joinable" scan does not count before somebody asks for a chunk, and
 * others may join it.  NULL if that is not possible, or of no use: then the scan
 * reads for itself.
 *
 * Where there is no room for another scan, one that is stalled loses its place,
 * but none that others may have joined.  It is told when it next asks for a
 * chunk; then it may leave, and register what is left.
 */
extern CScanRegistration *cscan_registry_register(Oid relid, CScanTarget *targets,
												  int ntargets, CScanPolicyId policy,
												  bool joinable);

/*
 * A scan that is likely to be begun again rests meanwhile: it stays registered
 * and wants nothing.  Again is register for such a scan; false if it must leave
 * and register anew, as when it has lost its place.
 */
extern void cscan_registry_rest(CScanRegistration *reg);
extern bool cscan_registry_again(CScanRegistration *reg, CScanTarget *targets, int ntargets);

/* The scan does not want any more of a table. */
extern void cscan_registry_take_back(CScanRegistration *reg, Oid relid);

/* For others to join; valid as long as the owner has not left. */
extern CScanTicket cscan_registry_ticket(const CScanRegistration *reg);

/*
 * Join another process's scan.  NULL if there is no room, or if its owner has
 * left.  A process that could not join takes chunks all the same, to be read by
 * itself, as long as there are any.
 */
extern CScanRegistration *cscan_registry_join(const CScanTicket *ticket);
extern bool cscan_registry_take(const CScanTicket *ticket, CScanPortion *portion);

/*
 * Get the next chunk, waiting for it as long as that makes sense.  *waited is
 * raised by the time spent waiting (us).
 */
extern CScanDelivery cscan_registry_next(CScanRegistration *reg, CScanPortion *portion,
										 uint64 *waited);

/* A page has been taken. */
extern void cscan_registry_progress(CScanRegistration *reg);

/*
 * Leave.  The last scan of a table waits a moment for the ABM to let go.  When
 * the owner leaves, there is nothing left for those who have joined.
 */
extern void cscan_registry_leave(CScanRegistration *reg);

#endif							/* CSCAN_REGISTRY_H */
