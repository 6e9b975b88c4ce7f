import { before, describe, test } from 'node:test'
import { type CrashRun, runCrashes } from '../chaos/crash-run.ts'
import { promises } from '../chaos/promises.ts'
import { createRandom, seedOf } from '../chaos/random.ts'

/** Ms of load with crashes, per store. */
const DURATION = 5_000

describe('promises that hold after crashes', { concurrency: true, timeout: 300_000 }, () => {
  const stages = [
    { store: 'embedded', name: 'embedded' },
    { store: 'redis', name: 'redis' },
    { store: 'redis', name: 'redis with four shards and two daemons', shards: 4, daemons: 2 },
  ] as const
  for (const { name, ...stage } of stages) {
    const seed = seedOf(7)
    describe(`on ${name}, seed ${seed}`, { timeout: 300_000 }, () => {
      let run: CrashRun
      before(async () => {
        run = await runCrashes({ ...stage, random: createRandom(seed), duration: DURATION })
      })
      for (const [promise, holds] of Object.entries(promises)) test(promise, () => holds(run))
    })
  }
})
