import type { Note } from '../core/store.ts'

/**
 * The notes of the receive road, oldest first: those since the message was last returned to it as a
 * dead letter, or all.
 */
export function roundOf(notes: readonly Note[]): readonly Note[] {
  const ofReceive = notes.filter(({ road }) => road === 'receive')
  return ofReceive.slice(ofReceive.findLastIndex(({ what }) => what === 'restored') + 1)
}

/**
 * Whether the message became a dead letter in this round. That need not be the last note: after a
 * crash, the delivery and the acknowledgement that removed the message may be noted later.
 */
export function isDead(round: readonly Note[]): boolean {
  return round.some(({ what }) => what === 'dead')
}
