import type { Parts } from './parts.ts'

/** The part of a group that concerns rounds. `hasRounds`: some events have a round of their own. */
export type RoundsOfGroup = { id: number; consumed: number; round: number; hasRounds: 0 | 1 }

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
