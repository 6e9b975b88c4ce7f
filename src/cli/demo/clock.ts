/**
 * Makes `Date.now` of this process tell a time of one's own; only the demo does that, which has the process to itself. So the store dates
 * what it accepts as always, by its clock, and yet a day is over in seconds.
 */
export function createClock(ago: number) {
  const realTime = Date.now
  let behind = ago
  Date.now = () => realTime() - behind
  return {
    /** The clock jumps to `ago` ms before the real time, never back, and goes on from there. */
    jumpTo(ago: number): void {
      behind = Math.min(behind, Math.max(0, ago))
    },
  }
}
