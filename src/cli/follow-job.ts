import type { Json, JsonObject } from '../core/json.ts'
import { followIntro, followText } from '../engine/print/job-steps.ts'
import { openFailures } from '../lib/open-failures.ts'
import { pause } from '../lib/pause.ts'
import { isGroupReplay } from '../lib/replay-reads.ts'
import { shorten } from '../lib/short-text.ts'
import { exitCodeOf, interruption } from './command.ts'
import type { Connection } from './connection.ts'
import type { Terminal } from './terminal.ts'

/** Pause (ms) before the second look; it doubles with each look, up to the longest. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 1_000
/** How long (ms) the numbers of a push may lag behind its deliveries. */
const COUNTING_TIME = 10_000

/**
 * `job show --follow`: waits until the job has ended and nothing that it queued is in progress. The
 * command exits with 1 if the job did not end as done, or something failed permanently. Ctrl-C ends
 * the wait, not the job, and the command exits with 130.
 */
export async function followJob(
  { invoke }: Pick<Connection, 'invoke'>,
  args: JsonObject,
  { progress, err, json }: Pick<Terminal, 'progress' | 'err' | 'json'>,
  exit: (code: number) => void,
): Promise<Json> {
  const signal = interruption()
  let settledSince: number | undefined
  let isIntroduced = json || !process.stderr.isTTY
  using _erased = { [Symbol.dispose]: () => progress('') }
  for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    const found = await invoke('job-show', args)
    const job: JsonObject = Object(found)
    const isSettled = job.state !== 'running' && job.delivering !== true
    settledSince = isSettled ? (settledSince ?? Date.now()) : undefined
    const isLagging = !areAllCounted(job) && Date.now() - Number(settledSince) < COUNTING_TIME
    const isOpen = !isSettled || isLagging
    if (!isOpen && hasFailed(job)) exit(1)
    if (isOpen && signal.aborted) exit(exitCodeOf('SIGINT'))
    if (!isOpen || signal.aborted) return found
    if (!isIntroduced) err(`${followIntro(job)}\n`)
    isIntroduced = true
    // A line that wraps could not be replaced.
    progress(shorten(followText(job), (process.stderr.columns ?? 80) - 1))
    await pause(wait, signal)
  }
}

/** Whether the outcomes of a replay to a push include all its events. Some may have been removed. */
function areAllCounted({ kind, target, outcomes, result }: JsonObject): boolean {
  if (kind !== 'replay' || outcomes === undefined || isGroupReplay({ kind, target })) return true
  const { delivered = 0, dead = 0, removed = 0, withdrawn } = Object(outcomes)
  if (withdrawn !== undefined) return true
  return Number(delivered) + Number(dead) + Number(removed) >= Number(Object(result).events ?? 0)
}

function hasFailed({ state, outcomes, later }: JsonObject): boolean {
  return state !== 'done' || openFailures({ outcomes: Object(outcomes), later }) > 0
}
