/*-------------------------------------------------------------------------
 *
 * policies.h
 *		The list of the policies: the one line that a new policy adds.
 *
 * Each line has the name of the policy's constant and that of its table of
 * functions, cscan_policy_<name>, which is in the policy's own file.  The
 * setting's values, the rows of the views and the tests follow from this list.
 * doc/policies.md shows how to write a policy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_POLICIES_H
#define CSCAN_POLICIES_H

/* Policies that are only built into a test. */
#ifndef CSCAN_MORE_POLICIES
#define CSCAN_MORE_POLICIES(POLICY)
#endif

#define CSCAN_POLICIES(POLICY) \
	POLICY(NORMAL, normal) \
	POLICY(ATTACH, attach) \
	POLICY(ELEVATOR, elevator) \
	POLICY(RELEVANCE, relevance) \
	POLICY(DEMAND, demand) \
	CSCAN_MORE_POLICIES(POLICY)

typedef enum CScanPolicyId
{
#define CSCAN_POLICY_CONSTANT(id, name) CSCAN_POLICY_##id,
	CSCAN_POLICIES(CSCAN_POLICY_CONSTANT)
#undef CSCAN_POLICY_CONSTANT
	CSCAN_NPOLICIES
} CScanPolicyId;

#endif							/* CSCAN_POLICIES_H */
