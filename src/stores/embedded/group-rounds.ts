import type { Redelivered } from '../../core/store.ts'
import type { Parts } from './parts.ts'

/** The part of a group that concerns rounds. `hasRounds`: some events have a round of their own. */
export type RoundsOfGroup = { id: number; consumed: number; round: number; hasRounds: 0 | 1 }

/** Maximum number of redelivered events of a group that are counted. */
const MOST_COUNTED = 100_000

/**
 * The rounds in which groups read their events: the round of the group, except for events that were
 * redelivered one by one. Synchronous.
 */
export function createGroupRounds({ sql }: Pick<Parts, 'sql'>) {
  /** The round of an event that was redelivered by itself; 0 for others. */
  const ownRoundOf = ({ id, hasRounds }: RoundsOfGroup, position: number): number => {
    if (!hasRounds) return 0
    const row = sql.get<{
      round: number
    }>`SELECT round FROM redelivered WHERE consumer = ${id} AND position = ${position}`
    return row?.round ?? 0
  }

  return {
    ownRoundOf,
    roundOf: (group: RoundsOfGroup, position: number): number => ownRoundOf(group, position) || group.round,
    redeliver: ({ id }: RoundsOfGroup, position: number, round: number) =>
      sql.run`INSERT OR REPLACE INTO redelivered (consumer, position, round) VALUES (${id}, ${position}, ${round})`,
    /** The number of redelivered events by round, except those that the group had to read anyway. */
    countRounds(group: RoundsOfGroup | undefined): Redelivered | undefined {
      if (!group) return undefined
      const { id, hasRounds } = group
      if (!hasRounds) return { rounds: [], more: false }
      const rows = sql.all<{ round: number; count: number }>`SELECT round, count(*) AS count
        FROM (SELECT round FROM redelivered WHERE consumer = ${id} LIMIT ${MOST_COUNTED + 1} + 0)
        GROUP BY round`
      const counted = rows.reduce((sum, { count }) => sum + count, 0)
      return { rounds: rows.filter(({ round }) => round > 0), more: counted > MOST_COUNTED }
    },
    /** Forgets the round of a consumed event. */
    endRound({ id, hasRounds }: RoundsOfGroup, position: number): void {
      if (hasRounds) sql.run`DELETE FROM redelivered WHERE consumer = ${id} AND position = ${position}`
    },
    /** Forgets the rounds of events up to a position: one read returned and consumed them. */
    endRounds({ id, consumed, hasRounds }: RoundsOfGroup, to: number): void {
      if (!hasRounds) return
      sql.run`DELETE FROM redelivered WHERE consumer = ${id} AND position > ${consumed} AND position <= ${to}`
    },
    forgetRounds: ({ id }: Pick<RoundsOfGroup, 'id'>) =>
      sql.run`DELETE FROM redelivered WHERE consumer = ${id}`,
  }
}
