import { DAY, HOUR, MINUTE } from '../core/units.ts'

/** Messages are counted in spans of five minutes. */
const SPAN = 5 * MINUTE
const SPANS_PER_HOUR = HOUR / SPAN
const SPANS_PER_DAY = DAY / SPAN

/** Messages of a route or gateway in the last hour and in the last day. */
export type NameCount = { name: string; hour: number; day: number; lastAt: number }

export type NameTally = ReturnType<typeof createNameTally>

/**
 * Counts the messages of each route, or of each gateway, over a day, in the memory of this daemon.
 */
export function createNameTally(now: () => number) {
  const names = new Map<string, { counts: Float64Array; span: number; lastAt: number }>()

  return {
    /** Called for each message or batch, so it must be cheap. */
    count(name: string, by = 1): void {
      const at = now()
      let known = names.get(name)
      if (!known) {
        known = { counts: new Float64Array(SPANS_PER_DAY), span: Math.floor(at / SPAN), lastAt: at }
        names.set(name, known)
      }
      move(known, at)
      known.lastAt = at
      const index = known.span % SPANS_PER_DAY
      known.counts[index] = (known.counts[index] ?? 0) + by
    },
    /** The counts of the last hour and day. Names without a message in a day are left out. */
    list(): NameCount[] {
      const at = now()
      return [...names].flatMap(([name, known]) => {
        move(known, at)
        const day = sum(known, SPANS_PER_DAY)
        if (day === 0) names.delete(name)
        return day === 0 ? [] : [{ name, hour: sum(known, SPANS_PER_HOUR), day, lastAt: known.lastAt }]
      })
    },
  }
}

type Known = { counts: Float64Array; span: number }

/**
 * Advances to the span of `at` and clears the spans in between. If the clock goes back, the newest
 * span keeps counting.
 */
function move(known: Known, at: number): void {
  const span = Math.floor(at / SPAN)
  const passed = Math.min(SPANS_PER_DAY, span - known.span)
  for (let step = 1; step <= passed; step++) known.counts[(known.span + step) % SPANS_PER_DAY] = 0
  known.span = Math.max(known.span, span)
}

function sum({ counts, span }: Known, spans: number): number {
  let total = 0
  for (let back = 0; back < spans; back++) total += counts[(span - back) % SPANS_PER_DAY] ?? 0
  return total
}
