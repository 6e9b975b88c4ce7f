import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { WITHDRAWN_KEYS } from '../../engine/withdrawn-events.ts'
import { defined } from '../../lib/defined.ts'
import { withoutOwnPauses } from './kept-records.ts'
import { shortTitle } from './open-title.ts'
import type { OpenItem, Subject } from './place.ts'

/** The kinds of records, by their keys. The first pattern that matches counts. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^approval:/, 'approvals'],
  [/^send-later:/, 'planned messages'],
  [/^(approval-(open|link)|send-due):/, 'index entries'],
  [/^run:/, 'steps of model runs'],
  [/^call:/, 'calls with ctx.once'],
  [/^assistant-digest:/, 'digests'],
  [/^usage-/, 'statistics (only the name is removed)'],
  [/^(pauses$|schedules-paused$)/, 'pauses and take-overs'],
  [/^schedule-/, 'runs of schedules'],
  [/^trivium:push(-made$|:[^:]+$)/, 'push subscriptions (only the name is removed)'],
  [WITHDRAWN_KEYS, 'events of replays'],
  [/^trivium:push/, 'stored attempts of pushes'],
  [/^(troubles-acknowledged$|trouble-)/, 'problems'],
  [/^saved-views$/, 'saved views'],
  [/^retried-letters:/, 'retries'],
  [/^long-job:/, 'long jobs'],
  [/^artifact:/, 'rights to files'],
  [/^person-export:/, 'exports'],
  [/^console-session:/, 'sessions in the console'],
  [/^(email|slack|websocket)[/:]/, 'records of gateways'],
]

/** What a record of Trivium is, in the plural. */
export function kindOfRecord({ key }: { key: string }): string {
  return KINDS.find(([pattern]) => pattern.test(key))?.[1] ?? 'other records'
}

/** The open things in a record, such as a pending approval. */
export function openInRecord(
  { key, value }: { key: string; value: Json },
  { person, about }: Subject,
): OpenItem[] {
  const text = (path: string) => {
    const found = pathGet(value, path)
    return typeof found === 'string' && found !== '' ? found : undefined
  }
  const title = (path: string) => defined({ title: shortTitle(text(path) ?? '') || undefined })
  if (key.startsWith('approval:') && text('status') === 'pending')
    return [{ kind: 'approvals', ...title('title'), ...defined({ id: text('id') }) }]
  if (key.startsWith('send-later:') && text('state') === 'waiting') {
    const at = pathGet(value, 'at')
    return [
      {
        kind: 'planned messages',
        ...title('sending.text'),
        ...defined({
          id: text('sending.key'),
          at: typeof at === 'number' ? at : undefined,
          gateway: text('message.gateway'),
          conversation: text('message.conversation'),
        }),
      },
    ]
  }
  if (key.startsWith('call:') && /^(started|unknown)$/.test(text('state') ?? ''))
    return [{ kind: 'calls', ...title('key'), ...defined({ id: text('key') }) }]
  if (key !== 'pauses') return []
  const { pauses = [] } = Object(value)
  const kept = Object(withoutOwnPauses({ pauses }, person.conversations, about))
  return takenOver(objectsIn(pauses), objectsIn(kept.pauses))
}

/** The conversations of pauses that do not stay. */
function takenOver(pauses: readonly Json[], kept: readonly Json[]): OpenItem[] {
  const identify = (pause: Json) => JSON.stringify([Object(pause).gateway, Object(pause).name])
  const others = new Set(kept.map(identify))
  return pauses
    .filter((pause) => Object(pause).kind === 'conversation' && !others.has(identify(pause)))
    .map((pause) => {
      const { gateway, name, by } = Object(pause)
      return { kind: 'conversations', gateway: String(gateway), conversation: String(name), by: String(by) }
    })
}
