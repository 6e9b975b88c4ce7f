import type { Failed } from './failed.ts'

/** More failures than this are not chance: a whole run then fails at once. */
const MOST = 3

type Try = (file: string) => Promise<Failed | undefined>

/**
 * Runs the few files that failed beside others once more, each alone, since a slow machine can upset a test that is
 * right. `run` resolves with the failure of a file, if any. Resolves with the files that failed for good, and with
 * the first failure of those that passed now: `flaky` is reported, and each is a fault to look into.
 */
export async function secondTry(failed: Failed[], run: Try): Promise<{ failed: Failed[]; flaky: Failed[] }> {
  if (failed.length > MOST) return { failed, flaky: [] }
  const left: Failed[] = []
  const flaky: Failed[] = []
  for (const one of failed) {
    console.log(`Trying ${one.name} again, alone.`)
    const again = await run(one.name)
    if (again) left.push(again)
    else flaky.push(one)
  }
  return { failed: left, flaky }
}
