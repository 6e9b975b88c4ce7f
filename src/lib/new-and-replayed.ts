/**
 * The kinds of events to send: `60 new, 76 sent again by a replay`. The receiver has not accepted
 * any of the new ones.
 */
export function newAndReplayed(waiting: number, replayed: number): string {
  const again = `${replayed.toLocaleString('en')} sent again by a replay`
  return `${Math.max(0, waiting - replayed).toLocaleString('en')} new, ${again}`
}
