import { before, describe, test } from 'node:test'
import { type CrashRun, runCrashes } from '../chaos/crash-run.ts'
import { promises } from '../chaos/promises.ts'
import { createRandom, seedOf } from '../chaos/random.ts'

const DURATION = 5_000

describe('what holds after crashes', { concurrency: true, timeout: 300_000 }, () => {
  for (const store of ['embedded', 'redis'] as const) {
    const seed = seedOf(7)
    describe(`on ${store}, seed ${seed}`, () => {
      let run: CrashRun
      before(async () => {
        run = await runCrashes({ store, random: createRandom(seed), duration: DURATION })
      })
      for (const [promise, holds] of Object.entries(promises)) test(promise, () => holds(run))
    })
  }
})
