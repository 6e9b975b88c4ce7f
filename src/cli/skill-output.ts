import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { formatDuration } from '../core/units.ts'
import { counted } from '../lib/counted.ts'
import { age, paint, pretty, shorten, table } from './terminal.ts'
import { humanTroubles } from './troubles.ts'
import { humanCost, humanSkillUsage } from './usage-output.ts'

/**
 * The result of a skill for people: a table if this file has one for the skill, otherwise text or indented
 * JSON.
 */
export function humanResult(skill: string, result: Json): string {
  const own = WHOLE[skill]
  if (own) return own(result)
  return Array.isArray(result) ? (LISTS[skill]?.(objectsIn(result)) ?? pretty(result)) : pretty(result)
}

const WHOLE: Readonly<Record<string, (result: Json) => string>> = {
  troubles: humanTroubles,
  cost: humanCost,
  'skill-usage': humanSkillUsage,
  'subscription-create': madeSubscription,
  'subscription-update': madeSubscription,
  'subscription-delete': deletedSubscription,
}

const LISTS: Readonly<Record<string, (rows: readonly JsonObject[]) => string>> = {
  'gateway-list': (gateways) =>
    list(
      'No gateway runs.',
      ['gateway', 'transport', 'state'],
      gateways,
      ({ name, transport, ok, detail }) => [name, transport, stateOf(ok, 'ok', detail)],
    ),
  'gateway-traffic': (gateways) =>
    list(
      'No gateway runs.',
      ['gateway', 'state', 'a minute', 'last hour', 'refused', 'last message'],
      gateways,
      ({ gateway, ok, perMinute, accepted, refused, errorShare, lastAt }) => [
        gateway,
        stateOf(ok, ok ? 'ok' : 'FAILING', undefined),
        ...[perMinute, accepted],
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
        ...[topic, group, lag, oldestAt === undefined ? '' : age(oldestAt), pending, perMinute],
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
        ...[topic, queued, unread, dead, url, source],
      ],
    ),
  'job-list': (jobs) =>
    list('There are no long jobs.', ['id', 'state', 'progress', 'began', 'by', 'what'], jobs, (job) => [
      job.id,
      stateOf(job.state !== 'failed', String(job.state), pathGet(job, 'error.message')),
      [`${job.done}/${job.total}`, job.at].filter(Boolean).join(' '),
      timeOf(job.startedAt),
      job.by,
      shorten(Object.values(Object(job.target)).join(' '), 60),
    ]),
  'pause-list': (pauses) =>
    list('Nothing is paused.', ['what', 'name', 'since', 'until', 'by', 'reason'], pauses, (pause) => [
      pause.kind,
      pause.kind === 'conversation' ? `${pause.name} (${pause.gateway})` : (pause.label ?? pause.name),
      timeOf(pause.since),
      pause.until === undefined ? 'resumed' : timeOf(pause.until),
      ...[pause.by ?? '', pause.reason ?? ''],
    ]),
  'route-list': (routes) =>
    list('There are no routes.', ['route', 'answers', 'state'], routes, (route) => [
      route.name,
      `${route.target} ${route.to}`,
      route.paused === undefined
        ? ''
        : paint('yellow', `paused by ${Object(route.paused).by}${reasonIn(Object(route.paused))}`),
    ]),
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
        ...[schedule.id, schedule.name, schedule.skill, whenOf(schedule)],
        schedule.paused
          ? paint('yellow', 'paused')
          : schedule.next === undefined
            ? 'over'
            : timeOf(schedule.next),
        schedule.source ?? schedule.channel,
        shorten(JSON.stringify(schedule.args ?? {}), 60),
      ],
    ),
}

function madeSubscription(result: Json): string {
  const { name, created, secret } = Object(result)
  if (created === false) return `Push subscription ${name} is there already, with these settings.`
  const done = `${created ? 'Created' : 'Changed'} push subscription ${name}.`
  return secret === undefined ? done : `${done} Its signing secret, which is not shown again:\n${secret}`
}

function deletedSubscription(result: Json): string {
  const { name, deleted, waiting, dead } = Object(result)
  const lost = `${counted(waiting, 'waiting event')} and ${counted(dead, 'dead letter')}`
  return deleted
    ? `Deleted push subscription ${name}, with ${lost}.`
    : `Would delete push subscription ${name}, with ${lost}.`
}

function list(
  nothing: string,
  head: string[],
  rows: readonly JsonObject[],
  cells: (row: JsonObject) => unknown[],
): string {
  return rows.length === 0 ? nothing : table(head, rows.map(cells))
}

function stateOf(ok: unknown, state: string, detail: unknown): string {
  const shown = ok ? paint('green', state) : paint('red', state === 'ok' ? 'FAILING' : state)
  return detail === undefined ? shown : `${shown}: ${detail}`
}

function reasonIn({ reason }: JsonObject): string {
  return reason === undefined ? '' : `: ${reason}`
}

function whenOf({ every, cron, step, timezone }: JsonObject): string {
  if (every !== undefined) return `every ${formatDuration(Number(every))}`
  if (/^\d{4}-/.test(String(cron))) return `once at ${[cron, timezone].join(', ')}`
  return [cron, step && `each ${step}`, timezone].filter(Boolean).join(', ')
}

/** UTC, as in the other commands. */
function timeOf(at: unknown): string {
  return typeof at === 'number' ? `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC` : '-'
}

/** A skill for people: its arguments and its layers. */
export function humanSkill(skill: Json): string {
  const { name, description, kind, path, args, output, metadata, layers } = Object(skill)
  const { properties = {}, required = [] } = Object(args)
  const rows = Object.entries(Object(properties)).map(([property, schema]) => [
    property,
    typeOf(Object(schema)),
    required.includes(property) ? 'yes' : '',
    Object(schema).default === undefined ? '' : JSON.stringify(Object(schema).default),
    Object(schema).description ?? '',
  ])
  const around = objectsIn(layers).map((layer) => [layer.name, layer.order, layer.description])
  const about = Object.entries(Object(metadata)).map(([key, value]) => [key, value])
  return [
    `${paint('bold', String(name))}${kind ? ` (${kind})` : ''}`,
    ...(description ? [String(description)] : []),
    ...(path ? [String(path)] : []),
    '',
    rows.length > 0 ? table(['argument', 'type', 'required', 'default', ''], rows) : 'It takes no arguments.',
    ...(output ? ['', `Returns ${typeOf(Object(output))}.`] : []),
    ...(about.length > 0 ? ['', table(['metadata', ''], about)] : []),
    ...(around.length > 0 ? ['', table(['layer', 'order', ''], around)] : []),
  ].join('\n')
}

function typeOf(schema: JsonObject): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = objectsIn(schema.anyOf ?? schema.oneOf)
  if (choices.length > 0) return choices.map(typeOf).join(' | ')
  if (schema.type === 'array') return `list of ${typeOf(Object(schema.items))}`
  return [schema.type ?? 'any'].flat().join(' | ')
}
