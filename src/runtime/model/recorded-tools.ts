import { z } from 'zod'
import { createSendCounter, type Within } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { pause } from '../../lib/pause.ts'
import { type RecordedRun, type RecordedSteps, RUN_RETENTION } from './recorded-steps.ts'

/** Outcome of a tool call, with its number of sent replies. `waits`: part of it is parked. `runs`: number of runs after approval. */
const toolSchema = z.object({
  result: z.json().exactOptional(),
  error: z.string().exactOptional(),
  sent: z.int().default(0),
  waits: z.boolean().default(false),
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
const STORE_PAUSE = 500

/**
 * Returns the recorded result of a tool call, or runs the tool and records its result. A call that was cut off runs again if it is
 * `repeatable` or the repetition is approved; otherwise the model gets an error. `guarded`: the call needs an approval anyway, and has
 * not begun without one.
 */
export async function runRecordedTool(
  run: RecordedRun,
  steps: RecordedSteps,
  { name: called, id, repeatable, guarded, signal }: ToolCall,
  tool: (within: Within) => Promise<Json>,
): Promise<Json> {
  const { call, log } = run
  const at = steps.takeCall(id)
  const keep = (changes: Partial<ToolEntry>) => keepTool(run, at, changes, signal)
  const entry = toolSchema.parse(run.known.get(at) ?? {})
  call.sends.add(entry.sent)
  if (entry.error !== undefined) throw new Error(entry.error)
  if (entry.result !== undefined) return entry.result

  const place = `${run.name}${at}`
  const mayHaveBegun = steps.isReplaying() && !entry.waits && !(guarded && entry.runs === 0)
  const isCutOff = mayHaveBegun && !repeatable
  if (isCutOff) log.warn({ tool: called }, 'a tool call was interrupted; its outcome is unknown')
  const guard = {
    begins: () => keep({ runs: entry.runs + 1 }),
    ...(isCutOff && { again: `${place}.${entry.runs}` }),
  }
  const sends = createSendCounter(`${place}/`)
  try {
    const result = await tool({ place, sends, ...(repeatable ? {} : { guard }) })
    await keep({ result, sent: sends.count })
    return result
  } catch (thrown) {
    if (isParked(thrown) && !isCutOff) await keep({ waits: true })
    if (signal.aborted || isFinal(thrown)) throw thrown
    const isDenied = isCutOff && thrown instanceof TriviumError && thrown.code === 'approval_denied'
    const error = isDenied ? `${UNKNOWN} (${thrown.message})` : reasonOf(thrown)
    await keep({ error, sent: sends.count })
    throw isDenied ? new Error(error) : thrown
  } finally {
    call.sends.add(sends.count)
  }
}

/** Writes an entry; waits while the store is unavailable. */
async function keepTool(
  { kv, base }: RecordedRun,
  at: string,
  entry: Partial<ToolEntry>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await kv.set(base + at, entry, { ttl: RUN_RETENTION })
      return
    } catch (error) {
      if (signal.aborted || !(error instanceof TriviumError && error.retryable)) throw error
      await pause(STORE_PAUSE, signal)
    }
  }
}

function isParked(error: unknown): boolean {
  return error instanceof TriviumError && error.code === 'approval_pending'
}

/** Whether an error ends the attempt: a parked approval, after which the run resumes, or an error that no model can fix. */
export function isFinal(error: unknown): boolean {
  return (
    isParked(error) ||
    (error instanceof TriviumError && /^(recursion_limit|budget_exhausted)$/.test(error.code))
  )
}
