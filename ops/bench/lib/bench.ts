import { startRedisServer } from '../../../test/fixtures/redis-server.ts'
import type { OtherCommit } from './other-commit.ts'
import { CORE, type Figures, pin } from './peer.ts'
import type { Spread } from './statistics.ts'

export type StoreName = 'embedded' | 'redis everysec' | 'redis always'

/** How this commit compares with another one. `undecided`: the rounds differ too much to say. */
export type Verdict = 'not slower' | 'slower' | 'undecided'

/** One line of the table. */
export type Line = {
  row: string
  store: string
  figure: string
  unit: string
  value: Spread
  /** The target of the figure: at least, or at most, this value. */
  target?: { least: number } | { most: number }
  /** Only in a comparison with another commit, which fails where this one is slower. */
  verdict?: Verdict
}

/** One row of the benchmark: measures something on every store, and what it is compared with. */
export type Row = { name: string; title: string; run(bench: Bench): Promise<Line[]> }

/** The tools of a row. */
export type Bench = {
  stores: readonly StoreName[]
  quick: boolean
  /**
   * Another commit to compare with. Rows then measure only this commit, that one and a bare server.
   */
  against?: OtherCommit | undefined
  /** Number of rounds that count, after one to warm up. */
  rounds: number
  /** Duration (s) of the load on one contender in one round. */
  seconds: number
  progress(text: string): void
  /**
   * Registers a clean-up for the end of the row. Clean-ups run in reverse order, all of them even
   * if some fail.
   */
  defer(cleanUp: () => Promise<void> | void): void
  /**
   * Starts a Redis for this row on the core of the load. Returns its URL; undefined for the
   * embedded store. The same `purpose` gives the same Redis.
   */
  redis(store: StoreName, purpose?: string): Promise<string | undefined>
}

export type Contender = { name: string; measure(seconds: number): Promise<Figures> }

/** Makes the tools of one row, and the function that ends what the row started. */
export function createBench(options: Omit<Bench, 'defer' | 'redis'>): {
  bench: Bench
  cleanUp(): Promise<void>
} {
  const cleanUps: (() => Promise<void> | void)[] = []
  const urls = new Map<string, Promise<string>>()
  const start = async (store: StoreName) => {
    const server = await startRedisServer({
      appendfsync: store === 'redis always' ? 'always' : 'everysec',
    })
    cleanUps.push(() => server.stop())
    pin(server.pid(), CORE.load)
    return server.url
  }
  const bench: Bench = {
    ...options,
    defer: (cleanUp) => cleanUps.push(cleanUp),
    async redis(store, purpose = '') {
      if (store === 'embedded') return undefined
      const name = `${store} ${purpose}`
      const url = urls.get(name) ?? start(store)
      urls.set(name, url)
      return url
    },
  }
  return {
    bench,
    async cleanUp() {
      const failures: unknown[] = []
      for (const cleanUp of cleanUps.splice(0).reverse()) {
        try {
          await cleanUp()
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, `${failures.length} clean-ups failed`)
    },
  }
}

/** The stores to measure if `appendfsync` of Redis does not matter: only one of both settings. */
export function storesWithOneRedis({ stores }: Pick<Bench, 'stores'>): StoreName[] {
  return stores.filter((store) => store !== 'redis always' || !stores.includes('redis everysec'))
}

/** Long enough (s) for V8 to optimise the code of every contender. */
const WARM_UP_SECONDS = 2

/**
 * Measures contenders in turns: one round to warm up, then the rounds that count, each in a
 * different order, so that a disturbance of the machine affects all of them. Returns a function
 * that gives the figures of a contender, one entry per round.
 */
export async function interleave(
  bench: Pick<Bench, 'rounds' | 'seconds' | 'progress'>,
  contenders: readonly Contender[],
): Promise<(name: string) => Figures[]> {
  const measured = new Map<string, Figures[]>(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round <= bench.rounds; round++) {
    const rotated = contenders.map((_, index) => contenders[(index + round) % contenders.length])
    // In alternating directions, so that no contender always runs right after the same one and its
    // clean-up.
    for (const contender of round % 2 === 0 ? rotated : rotated.reverse()) {
      if (!contender) continue
      bench.progress(`${round === 0 ? 'warm-up' : `round ${round}/${bench.rounds}`}: ${contender.name}`)
      const seconds = round === 0 ? Math.max(WARM_UP_SECONDS, bench.seconds) : bench.seconds
      const figures = await contender.measure(seconds)
      if (figures.bad) throw new Error(`${contender.name}: ${figures.bad} bad answers of ${figures.total}`)
      if (round > 0) measured.get(contender.name)?.push(figures)
    }
  }
  return (name) => measured.get(name) ?? []
}
