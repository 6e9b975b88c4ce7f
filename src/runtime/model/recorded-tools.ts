import { z } from 'zod'
import { type CallOverrides, createSendCounter } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { pause } from '../../lib/pause.ts'
import { type RecordedRun, type RecordedSteps, RUN_RETENTION } from './recorded-steps.ts'

/** The recorded outcome of a tool call. */
const toolSchema = z.object({
  result: z.json().exactOptional(),
  error: z.string().exactOptional(),
  /** Number of sent replies. */
  sent: z.int().default(0),
  /** Whether the call waits for an approval or a paused skill. */
  waits: z.boolean().default(false),
  /** Number of runs that an approval started. */
  runs: z.int().default(0),
})
type ToolEntry = z.infer<typeof toolSchema>

export type ToolCall = {
  name: string
  id: string
  repeatable: boolean
  guarded: boolean
  signal: AbortSignal
}

const UNKNOWN = 'It was interrupted and not repeated; its outcome is unknown'
/** Pause (ms) before a write is repeated, if the store is unavailable. */
const STORE_RETRY_PAUSE = 500

/**
 * Returns the recorded result of a tool call, or runs the tool and records its result. A call that
 * was cut off runs again if it is `repeatable` or the repetition is approved; otherwise the model
 * gets an error. `guarded`: the call needs an approval anyway, and has not begun without one.
 */
export async function runRecordedTool(
  run: RecordedRun,
  steps: RecordedSteps,
  { name: toolName, id, repeatable, guarded, signal }: ToolCall,
  tool: (within: CallOverrides) => Promise<Json>,
): Promise<Json> {
  const { call, log } = run
  const entryName = steps.takeCall(id)
  const record = (outcome: Partial<ToolEntry>) => writeEntry(run, entryName, outcome, signal)
  const entry = toolSchema.parse(run.known.get(entryName) ?? {})
  call.sends.add(entry.sent)
  if (entry.error !== undefined) throw new Error(entry.error)
  if (entry.result !== undefined) return entry.result

  const place = `${run.name}${entryName}`
  // A call has not begun if its step is new, or if it waits or never got its approval.
  const mayHaveBegun = steps.isReplaying() && !entry.waits && !(guarded && entry.runs === 0)
  const isCutOff = mayHaveBegun && !repeatable
  if (isCutOff) log.warn({ tool: toolName }, 'a tool call was interrupted; its outcome is unknown')
  const guard = {
    onStart: () => record({ runs: entry.runs + 1 }),
    ...(isCutOff && { rerunKey: `${place}.${entry.runs}` }),
  }
  const sends = createSendCounter(`${place}/`)
  try {
    const result = await tool({ place, sends, ...(repeatable ? {} : { guard }) })
    await record({ result, sent: sends.count })
    return result
  } catch (thrown) {
    if (isHeldBack(thrown) && !isCutOff) await record({ waits: true })
    if (signal.aborted || endsAttempt(thrown)) throw thrown
    const isDenied = isCutOff && thrown instanceof TriviumError && thrown.code === 'approval_denied'
    const error = isDenied ? `${UNKNOWN} (${thrown.message})` : reasonOf(thrown)
    await record({ error, sent: sends.count })
    throw isDenied ? new Error(error) : thrown
  } finally {
    call.sends.add(sends.count)
  }
}

/** Writes an entry. If the store is unavailable, tries again until it is back. */
async function writeEntry(
  { kv, base }: RecordedRun,
  name: string,
  entry: Partial<ToolEntry>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await kv.set(base + name, entry, { ttl: RUN_RETENTION })
      return
    } catch (error) {
      if (signal.aborted || !(error instanceof TriviumError && error.retryable)) throw error
      await pause(STORE_RETRY_PAUSE, signal)
    }
  }
}

/** Whether the skill has not run, because of a pending approval or a pause. */
function isHeldBack(error: unknown): boolean {
  return error instanceof TriviumError && /^(approval_pending|skill_paused)$/.test(error.code)
}

/**
 * Whether an error ends the attempt: a pending approval or a pause, after which the run resumes, or an
 * error that no model can fix.
 */
export function endsAttempt(error: unknown): boolean {
  return (
    isHeldBack(error) ||
    (error instanceof TriviumError && /^(recursion_limit|budget_exhausted)$/.test(error.code))
  )
}
