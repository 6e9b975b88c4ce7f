import type { Activity } from '../../core/activity.ts'
import type { Call } from '../../core/call.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { KeyValues } from '../../core/store.ts'
import { type Scope, viewerOf } from '../../core/viewer.ts'
import type { StateDocument } from '../documents/document.ts'
import type { AssistantState, Change } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import { createDelegating } from './delegating.ts'
import { createDigest } from './digest.ts'
import { createHelp } from './help.ts'
import { createNotes } from './notes.ts'
import type * as operations from './operations.ts'
import { createPlanning, type Schedules } from './planning.ts'
import { createSearching } from './searching.ts'
import type { TranscriptIndex } from './transcript-index.ts'

/** The assistant, which works on `state.json` and the transcript. */
export function createAssistant(deps: {
  state: StateDocument<AssistantState>
  logs: Activity
  index: TranscriptIndex
  schedules: Schedules
  kv: KeyValues
  context: AssistantContext
  /** Read at each call. */
  scope: () => Scope
  /** Unix ms. */
  now: () => number
  log: Log
}) {
  const { state, logs, scope, now } = deps
  const viewer = (call: Call) => viewerOf(call, scope())
  const time = () => new Date(now()).toISOString()
  const load = async () => (await state.load()).document

  const change: Change = async (mutate, entry) => {
    const { made: result } = await state.update(mutate)
    const event = entry(result)
    if (event) await logs.event(event)
    return result
  }
  const parts = { ...deps, load, change, viewer, time }
  const delegating = createDelegating(parts)

  const assistant = {
    ...createPlanning(parts),
    ...createDigest(parts),
    ...delegating.assistant,
    ...createHelp(deps.context),
    ...createNotes(parts),
    ...createSearching(parts),
  } satisfies ServiceOf<typeof operations.assistant>

  return {
    assistant,
    delegations: delegating.delegations,
    /** Counts for `trivium status`. */
    async overview() {
      const { document, revision } = await state.load()
      const { assistant_name, memory, searches, schedules } = document
      const delegations: Record<string, number> = {}
      for (const { status } of document.delegations) delegations[status] = (delegations[status] ?? 0) + 1
      return {
        assistant_name,
        revision,
        memory: memory.length,
        searches: searches.length,
        delegations,
        schedules: schedules.length,
      }
    },
  }
}
