import type { Note } from '../core/store.ts'

/**
 * The notes of the receive road since a message last returned to it, oldest first. A message is dead if one of them says so: after a
 * crash, the delivery and the acknowledgement that removed it may be noted later.
 */
export function roundOf(notes: readonly Note[]): readonly Note[] {
  const ofReceive = notes.filter(({ road }) => road === 'receive')
  return ofReceive.slice(ofReceive.findLastIndex(({ what }) => what === 'restored') + 1)
}

/** Whether the message became a dead letter in this round. */
export function isDead(round: readonly Note[]): boolean {
  return round.some(({ what }) => what === 'dead')
}
