import type { Call } from '../../core/call.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { viewerOf } from '../../core/viewer.ts'
import type { AssistantState, Change } from './assistant-state.ts'
import type * as operations from './operations.ts'
import { mayReach, type Work } from './work.ts'

/** What workers do with delegated work: list it, take it, and hand in the result. */
export function createDelegations(
  deps: {
    load(): Promise<AssistantState>
    change: Change
    viewer(call: Call): ReturnType<typeof viewerOf>
  },
  { finishAndReport }: Pick<Work, 'finishAndReport'>,
) {
  const { load, change, viewer } = deps

  return {
    async list({ status, worker }, call) {
      const { owner: person, sees } = viewer(call)
      return (await load()).delegations.filter(
        (one) =>
          mayReach(one, call.caller) &&
          (sees(one.owner ?? one.channel) || one.worker === person || one.takenBy === person) &&
          (status === undefined || one.status === status) &&
          (worker === undefined || one.worker === worker),
      )
    },
    take({ worker, by: name }, call) {
      const by = name ?? call.caller.id ?? worker
      return change(
        (draft) => {
          const next = draft.delegations.find(
            (one) => one.worker === worker && one.status === 'queued' && mayReach(one, call.caller),
          )
          return next ? Object.assign(next, { status: 'working' as const, takenBy: by }) : null
        },
        (next) =>
          next ? { event: 'work_taken', channel: next.channel, id: next.id, worker, by } : undefined,
      )
    },
    accept: ({ id, result, failed }, call) => finishAndReport(id, result, failed, call),
  } satisfies ServiceOf<typeof operations.delegations>
}
