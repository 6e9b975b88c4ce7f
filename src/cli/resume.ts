import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { timeOf } from '../core/readable.ts'
import { budgetAmount } from '../lib/budget-amount.ts'
import { paragraph } from '../lib/paragraph.ts'
import { type Printable, wholeText } from '../lib/printed.ts'
import { resumedUseText } from '../lib/resumed-budget.ts'
import { waitedText } from '../lib/resumed-text.ts'
import { exitCodeOf, interruption } from './command.ts'
import type { Connection } from './connection.ts'
import { nextSteps, talliesOf } from './print-retried.ts'
import { type Fate, WAIT_FOR_ONE, watchRetried } from './retried.ts'
import type { Terminal } from './terminal.ts'

type Daemon = Pick<Connection, 'invoke'>
type Kind = 'gateway' | 'route' | 'skill' | 'conversation'

/**
 * Makes the function that ends a pause and, for people, waits for the outcomes of the messages that
 * it held: `waited` is their number, `waitedRuns` that of runs of schedules and events, and `outcomes`
 * has those of the oldest messages. `use`: what they use of the budgets, in a sentence.
 */
export function resumes(kind: Kind) {
  return async (
    daemon: Daemon,
    args: JsonObject,
    { json, progress }: Terminal,
    exit: (code: number) => void,
  ): Promise<Json> => {
    const held = json ? undefined : await heldBy(daemon, kind, args)
    const use = held && held.waiting > 0 ? await useOf(daemon, { kind, name: args[kind] }) : ''
    const began = Date.now()
    const result: JsonObject = Object(await daemon.invoke(`${kind}-resume`, args))
    if (!held || result.existed !== true) return result
    const letters = held.ids.map((id) => ({ id, queue: 'dispatch', messageId: id }))
    const signal = interruption()
    const options = { began, limit: WAIT_FOR_ONE, signal, progress }
    const outcomes = letters.length > 0 ? await watchRetried(daemon, letters, options) : []
    if (signal.aborted) exit(exitCodeOf('SIGINT'))
    const fates = outcomes.map((fate) => ({ ...fate }))
    return { ...result, waited: held.waiting, waitedRuns: held.runs, outcomes: fates, ...(use && { use }) }
  }
}

/** What the messages that wait for a pause use of the budgets after it; empty if that is not known. */
async function useOf(daemon: Daemon, pause: { kind: Kind; name: Json | undefined }): Promise<string> {
  const cost = await daemon.invoke('cost', { since: '1d' }).catch(() => null)
  return resumedUseText(objectsIn(pathGet(cost, 'budgets')), pause, { time: timeOf, amount: budgetAmount })
}

/** The messages that a pause holds; undefined if that is not known. */
async function heldBy(daemon: Daemon, kind: Kind, args: JsonObject) {
  const pauses = objectsIn(await daemon.invoke('pause-list', {}).catch(() => []))
  const found = pauses.find(
    (pause) =>
      pause.kind === kind &&
      pause.name === args[kind] &&
      (kind !== 'conversation' || args.gateway === undefined || pause.gateway === args.gateway),
  )
  const ids = found?.messageIds
  if (typeof found?.waiting !== 'number' || !Array.isArray(ids)) return undefined
  return { waiting: found.waiting, runs: Number(found.runs ?? 0), ids: ids.map(String) }
}

const OTHERS = '`trivium message list --outcome waiting` shows those that still wait.'

/** Prints `base`, then the outcomes of the messages that had waited. */
export function withReleased(base: (result: Json, args: JsonObject) => Printable) {
  return (result: Json, args: JsonObject): string => {
    const waited = pathGet(result, 'waited')
    const said = wholeText(base(result, args))
    if (typeof waited !== 'number') return said
    const runs = Number(pathGet(result, 'waitedRuns') ?? 0)
    if (waited === 0) return paragraph('', `${said} ${waitedText(0, '', { runs })}`)
    const fates = fatesIn(pathGet(result, 'outcomes'))
    const isPart = fates.length < waited
    const oldest = isPart ? ` and run now; of the oldest ${fates.length}` : ''
    const outcomes = waitedText(waited, `${oldest}: ${talliesOf(fates).join(', ')}`, { runs })
    const others = isPart ? [OTHERS] : []
    const use = pathGet(result, 'use')
    const budgets = [...new Set(fates.flatMap(({ budget }) => budget ?? []))]
    const steps = [...(use ? [String(use)] : []), ...budgets, ...others, ...nextSteps(fates)].map((step) =>
      paragraph('  → ', step),
    )
    return [paragraph('', `${said} ${outcomes}`), ...steps].join('\n')
  }
}

function fatesIn(outcomes: unknown): Fate[] {
  return objectsIn(outcomes).map(({ id, outcome, pausedBy, budget }) => ({
    id: String(id),
    outcome: String(outcome),
    ...(pausedBy !== undefined && { pausedBy: objectsIn(pausedBy) }),
    ...(budget !== undefined && { budget: String(budget) }),
  }))
}
