const MINUTE = 60_000
/** A span of the count, and spans of an hour and of a day. */
const SPAN = 5 * MINUTE
const [HOUR, DAY] = [12, 288]

export type RouteCount = { route: string; hour: number; day: number; lastAt: number }

export type RouteTally = ReturnType<typeof createRouteTally>

/** Counts the messages that each route takes, in spans of five minutes for a day, in the memory of this daemon. */
export function createRouteTally(now: () => number) {
  const routes = new Map<string, { counts: Float64Array; span: number; lastAt: number }>()

  return {
    /** Called for each routed message: must cost almost nothing. */
    matched(route: string): void {
      const at = now()
      let known = routes.get(route)
      if (!known) {
        known = { counts: new Float64Array(DAY), span: Math.floor(at / SPAN), lastAt: at }
        routes.set(route, known)
      }
      move(known, at)
      known.lastAt = at
      const index = known.span % DAY
      known.counts[index] = (known.counts[index] ?? 0) + 1
    },
    /** The counts of the last hour and day. Routes without a message in a day are left out. */
    list(): RouteCount[] {
      const at = now()
      return [...routes].flatMap(([route, known]) => {
        move(known, at)
        const day = sum(known, DAY)
        if (day === 0) routes.delete(route)
        return day === 0 ? [] : [{ route, hour: sum(known, HOUR), day, lastAt: known.lastAt }]
      })
    },
  }
}

type Known = { counts: Float64Array; span: number }

/** Moves to the span of `at`; spans in between are empty. A clock that goes back counts in the newest span. */
function move(known: Known, at: number): void {
  const span = Math.floor(at / SPAN)
  const passed = Math.min(DAY, span - known.span)
  for (let step = 1; step <= passed; step++) known.counts[(known.span + step) % DAY] = 0
  known.span = Math.max(known.span, span)
}

function sum({ counts, span }: Known, spans: number): number {
  let total = 0
  for (let back = 0; back < spans; back++) total += counts[(span - back) % DAY] ?? 0
  return total
}
