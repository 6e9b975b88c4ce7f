import type { Failed } from './failed.ts'

/** With more failures than this, none is retried: a slow machine does not cause that many. */
const MAX_RETRIED = 3

type Try = (file: string) => Promise<Failed | undefined>

/**
 * Runs files that failed next to others once more, each alone, because a correct test can fail on a
 * slow machine. `run` resolves with the failure of a file, if any. Resolves with the files that
 * failed again, and with the first failure of those that passed (`flaky`).
 */
export async function secondTry(failed: Failed[], run: Try): Promise<{ failed: Failed[]; flaky: Failed[] }> {
  if (failed.length > MAX_RETRIED) return { failed, flaky: [] }
  const failedAgain: Failed[] = []
  const flaky: Failed[] = []
  for (const first of failed) {
    console.log(`Trying ${first.name} again, alone.`)
    const second = await run(first.name)
    if (second) failedAgain.push(second)
    else flaky.push(first)
  }
  return { failed: failedAgain, flaky }
}
