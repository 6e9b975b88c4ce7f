import { type JsonObject, objectsIn } from '../../core/json.ts'
import { formatDuration } from '../../core/units.ts'
import { counted } from '../../lib/counted.ts'
import { isOfAssistant } from '../assistant-words.ts'
import { age, paint, shorten, table } from '../terminal.ts'
import { timeOf } from './readable.ts'

/** Tables of built-in skills that return a list. */
export const LISTS: Readonly<Record<string, (rows: readonly JsonObject[]) => string>> = {
  'gateway-list': (gateways) =>
    list('No gateway runs.', ['gateway', 'transport', 'state'], gateways, (gateway) => [
      gateway.name,
      gateway.transport,
      stateOfGateway(gateway),
    ]),
  'gateway-traffic': (gateways) =>
    list(
      'No gateway runs.',
      ['gateway', 'state', 'a minute', 'last hour', 'refused', 'last message'],
      gateways,
      ({ gateway, ok, perMinute, accepted, refused, errorShare, lastAt }) => [
        gateway,
        ok && errorShare === 1 ? paint('yellow', 'refuses all') : stateOf(ok, 'ok', undefined),
        perMinute,
        accepted,
        Number(refused) > 0 ? paint('red', `${refused} (${(100 * Number(errorShare)).toFixed(1)} %)`) : 0,
        timeOf(lastAt),
      ],
    ),
  'event-groups': (groups) =>
    list(
      'No consumer group reads events.',
      ['topic', 'group', 'behind', 'for', 'being read', 'a minute', 'readers'],
      groups,
      ({ topic, group, lag, oldestAt, pending, perMinute, skill, readers }) => [
        topic,
        group,
        lag,
        oldestAt === undefined ? '' : age(oldestAt),
        pending,
        perMinute,
        [
          ...(skill === undefined ? [] : [`skill ${Object(skill).name}`]),
          ...objectsIn(readers).map(({ name, lastAt }) => `${name} ${age(lastAt)} ago`),
        ].join(', '),
      ],
    ),
  'subscription-list': (subscriptions) =>
    list(
      'There are no push subscriptions. `trivium subscription create` makes one.',
      ['subscription', 'state', 'topic', 'queued', 'unread', 'dead', 'url', 'from'],
      subscriptions,
      ({ name, ok, state, detail, topic, queued, unread, dead, url, source }) => [
        name,
        stateOf(ok, String(state), detail),
        topic,
        queued,
        unread,
        dead,
        url,
        source,
      ],
    ),
  'pause-list': (pauses) =>
    list('Nothing is paused.', ['what', 'name', 'since', 'until', 'by', 'reason'], pauses, (pause) => [
      pause.kind,
      pause.kind === 'conversation' ? `${pause.name} (${pause.gateway})` : (pause.label ?? pause.name),
      timeOf(pause.since),
      pause.until === undefined ? 'it is resumed' : timeOf(pause.until),
      pause.by ?? '',
      pause.reason ?? '',
    ]),
  'route-list': (routes) => {
    const own = routes.filter((route) => !isOfAssistant(route))
    const others = routes.length - own.length
    const rows = list('There are no routes.', ['route', 'answers', 'state'], own, (route) => [
      route.name,
      `${route.target} ${route.to}`,
      route.paused === undefined
        ? ''
        : paint('yellow', `paused by ${Object(route.paused).by}${reasonIn(Object(route.paused))}`),
    ])
    return others === 0 ? rows : `${rows}\n\n${counted(others, 'route')} of the assistant: --json lists all`
  },
  'send-list': (sends) =>
    list('No planned sends are waiting.', ['at', 'gateway', 'to', 'text', 'key'], sends, (send) => [
      timeOf(send.at),
      send.gateway,
      send.to ?? send.conversation,
      shorten(String(send.text ?? ''), 50),
      send.id,
    ]),
  'schedule-list': (schedules) =>
    list(
      'There are no schedules.',
      ['id', 'name', 'skill', 'when', 'next', 'from', 'arguments'],
      schedules,
      (schedule) => [
        schedule.id,
        schedule.name,
        schedule.skill,
        whenOf(schedule),
        nextOf(schedule),
        schedule.source ?? schedule.channel,
        shorten(JSON.stringify(schedule.args ?? {}), 60),
      ],
    ),
}

/** A table of the rows, or the text `nothing` if there are none. */
function list(
  nothing: string,
  head: string[],
  rows: readonly JsonObject[],
  cells: (row: JsonObject) => unknown[],
): string {
  return rows.length === 0 ? nothing : table(head, rows.map(cells))
}

function stateOfGateway({ ok, detail, refuses, warning }: JsonObject): string {
  if (refuses !== undefined) return `${paint('yellow', 'refuses')} ${refuses}`
  if (ok && warning !== undefined) return `${paint('yellow', 'warning')}: ${warning}`
  return stateOf(ok, 'ok', detail)
}

/** A state in its colour, with its detail. A state `ok` that is not ok is shown as FAILING. */
function stateOf(ok: unknown, state: string, detail: unknown): string {
  const shown = ok ? paint('green', state) : paint('red', state === 'ok' ? 'FAILING' : state)
  return detail === undefined ? shown : `${shown}: ${detail}`
}

function reasonIn({ reason }: JsonObject): string {
  return reason === undefined ? '' : `: ${reason}`
}

/** When a schedule runs next. */
function nextOf({ paused, next }: JsonObject): string {
  if (paused) return paint('yellow', 'paused')
  return next === undefined ? 'over' : timeOf(next)
}

/** The times of a schedule: an interval, a time, or a cron expression. */
function whenOf({ every, cron, step, timezone }: JsonObject): string {
  if (every !== undefined) return `every ${formatDuration(Number(every))}`
  if (/^\d{4}-/.test(String(cron))) return `once at ${[cron, timezone].join(', ')}`
  return [cron, step && `each ${step}`, timezone].filter(Boolean).join(', ')
}
