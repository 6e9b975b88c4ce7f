import { before, describe, test } from 'node:test'
import { type CrashOptions, type CrashRun, runCrashes } from './crash-run.ts'
import { promises } from './promises.ts'
import { createRandom, seedOf } from './random.ts'

const MINUTE = 60_000

/**
 * `CHAOS_SEED=… npm run test:chaos` repeats a run. `CHAOS_MINUTES`: the duration of each.
 * `CHAOS_NETWORK=0.9`: the share of network faults. `CHAOS_PACE`: the maximum ms between two
 * faults.
 */
const seed = seedOf(Date.now() % 1_000_000)
const pace = Number(process.env.CHAOS_PACE ?? 1_000)
const network = Number(process.env.CHAOS_NETWORK ?? 0)
const duration = Number(process.env.CHAOS_MINUTES ?? 2) * MINUTE
console.log(`seed ${seed}: CHAOS_SEED=${seed} npm run test:chaos`)

const runs: Record<string, Omit<CrashOptions, 'random' | 'duration'>> = {
  'on the embedded store': { store: 'embedded' },
  'on Redis': { store: 'redis' },
  'on Redis, with two daemons': { store: 'redis', daemons: 2 },
  'on Redis, with three daemons': { store: 'redis', daemons: 3 },
  'on Redis, with sixteen shards and three daemons': { store: 'redis', daemons: 3, shards: 16 },
}

for (const [where, options] of Object.entries(runs)) {
  describe(`after many crashes ${where}, seed ${seed}`, {
    timeout: duration + 30 * MINUTE,
  }, () => {
    let run: CrashRun
    before(async () => {
      run = await runCrashes({ ...options, random: createRandom(seed), duration, network, pace })
      const { crashes, journal, dispatched, drainedIn } = run
      const faults = crashes.clients + crashes.network
      console.log(
        `${where}: ${journal.length} messages, ${dispatched.length} dispatches, ${crashes.daemon} crashes of a daemon, ` +
          `${crashes.redis} of Redis, ${faults} faults of the network, drained ${Math.round(drainedIn)} ms after the last`,
      )
    })
    for (const [promise, holds] of Object.entries(promises)) test(`${promise}, ${where}`, () => holds(run))
  })
}
