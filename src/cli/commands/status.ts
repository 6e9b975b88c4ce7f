import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { ask } from '../connection.ts'
import { age, paint, table } from '../terminal.ts'

/** `trivium status`. */
export const addStatus: AddCommand = (program, context) => {
  program
    .command('status')
    .description('gateways, skills, the three roads and what waits on them, at a glance')
    .action(() =>
      ask(
        context,
        async (daemon) => ({ running: daemon.running, ...Object(await daemon.status()) }),
        humanStatus,
      ),
    )
}

/** Rows of gateways, and names in a line, that a screen of 24 lines has room for. */
const ROOM = 4

/** What fits a screen; what is wrong comes first. */
function humanStatus(status: Json): string {
  const at = (path: string) => pathGet(status, path)
  const started = new Date(Number(at('startedAt'))).toISOString()
  const error = at('configuration.error')
  const [reason] = String(error).split('\n')
  return [
    at('running')
      ? `Trivium ${at('version')} runs since ${started} (pid ${at('pid')})`
      : `Trivium ${at('version')}: no daemon is running; start one with \`trivium start\``,
    `store: ${at('store.kind')} at ${at('store.address')}`,
    ...(error === undefined
      ? []
      : [`${paint('red', 'CONFIGURATION')}: the last good one stays in force; ${reason}`]),
    '',
    gatewayTable(objectsIn(at('gateways')), objectsIn(at('disabled'))),
    '',
    roadTable(objectsIn(at('roads'))),
    '',
    subscriptionLine(objectsIn(at('subscriptions'))),
    ...queueLines(objectsIn(at('queues'))),
    groupLine(objectsIn(at('groups'))),
    assistantLine(at('assistant')),
    brokenLine(objectsIn(at('broken'))),
  ]
    .filter((part) => part !== undefined)
    .join('\n')
}

function gatewayTable(running: JsonObject[], disabled: JsonObject[]): string {
  const rows = [
    ...running
      .toSorted((a, b) => Number(a.ok) - Number(b.ok))
      .map(({ name, transport, ok, detail }) => [
        name,
        transport,
        ok ? paint('green', 'ok') : `${paint('red', 'FAILING')}: ${detail ?? ''}`,
      ]),
    ...disabled.map(({ name, transport, why }) => [name, transport, `off (${why})`]),
  ]
  const more = [`… and ${rows.length - ROOM + 1} more: trivium status --json`]
  return table(
    ['Gateways', 'transport', ''],
    rows.length > ROOM ? rows.toSpliced(ROOM - 1, rows.length, more) : rows,
  )
}

const MEANING: Record<string, string> = {
  journal: 'kept',
  receive: 'not taken; no fault where nobody takes',
}

function roadTable(roads: JsonObject[]): string {
  const rows = roads.map(({ road, messages, oldestAt, dead, lost }) => {
    const meaning = lostLine(lost) ?? MEANING[String(road)] ?? 'waiting or running'
    return [road, messages, age(oldestAt), dead, meaning]
  })
  return table(['Roads', 'messages', 'oldest', 'dead', ''], rows)
}

/** What retention removed where somebody takes. */
function lostLine(lost: unknown): string | undefined {
  const counts = Object.entries(Object(lost)).map(([gateway, count]) => `${gateway} ${count}`)
  return counts.length === 0 ? undefined : `not taken; REMOVED UNTAKEN so far: ${counts.join(', ')}`
}

function queueLines(queues: JsonObject[]): string[] {
  const failing = queues.filter(({ ok }) => !ok)
  const lines = failing.map(({ name, detail }) => `Queue ${name}  ${paint('red', 'FAILING')}: ${detail}`)
  return lines.slice(0, ROOM)
}

function groupLine(groups: JsonObject[]): string | undefined {
  const behind = groups.filter(({ lag }) => Number(lag) > 0).toSorted((a, b) => Number(b.lag) - Number(a.lag))
  const named = behind.slice(0, ROOM).map(({ topic, group, lag }) => `${topic}/${group} by ${lag}`)
  if (behind.length > ROOM) named.push(`${behind.length - ROOM} more`)
  return groups.length === 0
    ? undefined
    : `Consumer groups  ${groups.length}; behind: ${named.join(', ') || 'none'}`
}

function subscriptionLine(subscriptions: JsonObject[]): string | undefined {
  if (subscriptions.length === 0) return undefined
  const shown = subscriptions
    .filter(({ ok, state }) => !ok || state !== 'active')
    .map(({ name, ok, state, detail }) => `${name} ${ok ? state : paint('red', String(state))} (${detail})`)
  return `Push subscriptions  ${subscriptions.length}; ${shown.join(', ') || 'all work'}`
}

function assistantLine(assistant: unknown): string | undefined {
  if (!isJsonObject(assistant)) return undefined
  const { error, assistant_name, ...counts } = assistant
  if (error !== undefined) return `Assistant  ${error}`
  const shown = Object.entries(counts).map(([name, count]) => {
    const byStatus = Object.entries(Object(count)).map(([status, some]) => `${some} ${status}`)
    return `${name} ${isJsonObject(count) ? byStatus.join(' + ') || 0 : count}`
  })
  return `Assistant (${assistant_name})  ${shown.join(', ')}`
}

function brokenLine(broken: JsonObject[]): string | undefined {
  const names = broken.slice(0, ROOM).map(({ name }) => name)
  return broken.length === 0
    ? undefined
    : `${paint('red', 'BROKEN SKILLS')}  ${broken.length}: ${names.join(', ')} (trivium skill list)`
}
