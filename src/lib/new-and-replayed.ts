/**
 * What the events to send are: `60 new, 76 sent again by a replay`. The receiver has accepted no new
 * one.
 */
export function newAndReplayed(waiting: number, replayed: number): string {
  const again = `${replayed.toLocaleString('en')} sent again by a replay`
  return `${Math.max(0, waiting - replayed).toLocaleString('en')} new, ${again}`
}
