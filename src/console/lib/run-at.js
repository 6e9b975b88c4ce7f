/** The skill notes the time of a run a little later than the schedule does (ms). */
const TOLERANCE = 2_000

/** The run of a schedule that was under way at a time (Unix ms), else the nearest one. */
export function runAt(runs, at) {
  const distanceOf = ({ startedAt, endedAt = Number.POSITIVE_INFINITY }) =>
    Math.max(0, startedAt - at, at - endedAt)
  const near = runs.filter((run) => distanceOf(run) <= TOLERANCE)
  return (
    runs.find(({ startedAt }) => startedAt === at) ??
    near.toSorted((a, b) => distanceOf(a) - distanceOf(b))[0]
  )
}
