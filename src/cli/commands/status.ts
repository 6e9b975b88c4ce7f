import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { secondOf } from '../../core/readable.ts'
import { pushState } from '../../engine/print/push-state.ts'
import { troubleLines } from '../../features/troubles/print.ts'
import { budgetLine } from '../../lib/budget-lines.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import type { AddCommand } from '../command.ts'
import { ask } from '../connection.ts'
import { deadOf } from '../dead-of.ts'
import { gatewayRows } from '../gateway-rows.ts'
import { heldNote, NOT_PULLED, workersNote } from '../road-note.ts'

/** `trivium status`. */
export const addStatus: AddCommand = (program, context) => {
  program
    .command('status')
    .description('overview of gateways, skills and the backlog of the three roads')
    .action(() =>
      ask(
        context,
        async (daemon) => {
          const status = { running: daemon.running, ...Object(await daemon.status()) }
          const isStoreOut = pathGet(status, 'store.ok') === false
          // `away`: the shards that cannot be reached.
          if (isStoreOut || pathGet(status, 'stats.away') !== undefined) context.exit(1)
          return status
        },
        (status) => humanStatus(status, context.terminal().isTerminal),
      ),
    )
}

/** Narrower screens show only what is not normal. */
const WIDE = 100

/** Number of gateways, and of names in a line, that fit on a screen of 24 lines. */
const MAX_SHOWN = 4

/** Limited to one screen, with problems first. */
function humanStatus(status: Json, isScreen: boolean): string {
  // Output to a pipe is complete, because it is searched.
  const maxShown = isScreen ? MAX_SHOWN : Number.POSITIVE_INFINITY
  const isNarrow = (process.stdout.columns || WIDE) < WIDE
  const at = (path: string) => pathGet(status, path)
  const all = (path: string) => objectsIn(at(path))
  const [reason] = String(at('configuration.error')).split('\n')
  const roads = all('roads').map((road) => {
    const { messages, oldestAt } = road
    const retries = retriesOf(road.road, all('waiting'))
    return [road.road, messages, age(oldestAt), deadOf(road), roadNote(road, retries, isNarrow)]
  })
  const subscriptions = all('subscriptions')
    .filter(({ ok, state, errors }) => !ok || state !== 'active' || errors !== undefined)
    .map((push) => `${push.name} ${pushState(push)}`)
  // A push subscription reads its topic as a group with its name.
  const isPush = ({ topic, group }: JsonObject) =>
    all('subscriptions').some((push) => push.name === group && push.topic === topic)
  const [pushes, groups] = [all('groups').filter(isPush), all('groups').filter((one) => !isPush(one))]
  const queues = all('queues').filter(({ ok }) => !ok)
  const failingServers = all('mcp')
    .filter(({ ok }) => !ok)
    .map(({ name, detail }) => `${name} ${paint('red', 'FAILING')}: ${detail}`)
  const broken = all('broken').map(({ name }) => String(name))
  const lines = [
    at('running')
      ? `Trivium ${at('version')} running since ${secondOf(Number(at('startedAt')))} (pid ${at('pid')})`
      : `Trivium ${at('version')}: no daemon is running; start one with \`trivium start\``,
    `store: ${at('store.kind')} at ${at('store.address')}`,
    at('stats.away') !== undefined &&
      `${paint('red', 'SHARDS UNAVAILABLE')}: ${at('stats.away')}; the numbers below are for the others`,
    at('store.ok') === false && `${paint('red', 'STORE TAKES NO MESSAGES')}: ${at('store.reason')}`,
    at('configuration.error') &&
      `${paint('red', 'CONFIGURATION')}: the last good one is still in use; ${reason}`,
    ...troubleLines(all('troubles'), maxShown),
    '',
    gatewayTable(all('gateways'), all('disabled'), { maxRows: maxShown }),
    '',
    table(['Roads', 'messages', 'oldest', 'dead', ''], roads),
    '',
    summary(
      'Push subscriptions',
      all('subscriptions'),
      [...subscriptions, ...groupsBehind(pushes)],
      'all work',
    ),
    ...queues
      .slice(0, MAX_SHOWN)
      .map(({ name, detail }) => `Queue ${name}  ${paint('red', 'FAILING')}: ${detail}`),
    summary('MCP servers', all('mcp'), failingServers, 'all are connected'),
    summary('Consumer groups', groups, groupsBehind(groups), 'none is behind'),
    ...all('budgets').map(budgetLine),
    assistantLine(at('assistant')),
    ...registryLines(all('registry'), all('skills'), isScreen),
    summary(`${paint('red', 'BROKEN SKILLS')} (\`trivium skill list\`)`, broken, broken, ''),
  ]
  return lines
    .filter((line) => typeof line === 'string')
    .map((line) => (line.includes('\n') ? line : paragraph('', line)))
    .join('\n')
}

/** What the messages of a road are; in a narrow terminal only what is not normal. */
function roadNote(each: JsonObject, retries: string, isNarrow: boolean): string {
  const { road, lost } = each
  if (road === 'receive') {
    const inWork = workersNote(each)
    // Messages that expired unread, of gateways with a consumer.
    const losses = Object.entries(Object(lost)).map(([gateway, count]) => `${gateway} ${count}`)
    if (losses.length > 0) return `${inWork || 'not pulled'}; EXPIRED UNREAD so far: ${losses.join(', ')}`
    return inWork || (isNarrow ? '' : NOT_PULLED)
  }
  const notes = [heldNote(each), retries]
  if (isNarrow) return notes.filter(Boolean).join('; ')
  return road === 'journal' ? 'kept' : ['waiting or running', ...notes].filter(Boolean).join('; ')
}

/** How many messages of a road wait for their next attempt, and when the first of these is due. */
function retriesOf(road: unknown, waiting: readonly JsonObject[]): string {
  const retrying = waiting.filter((one) => one.road === road && one.state === 'retrying')
  if (retrying.length === 0) return ''
  const count = retrying.reduce((sum, one) => sum + Number(one.count), 0)
  const nextAt = Math.min(...retrying.map((one) => Number(one.nextAt)))
  // Due, but not started yet: its lane or its receiver has no capacity.
  const time = nextAt <= Date.now() ? 'due now' : `at ${new Date(nextAt).toISOString().slice(11, 16)} UTC`
  return `${counted(count, 'is', 'are')} tried again, next attempt ${time}`
}

/** The consumer groups that are behind, furthest behind first. */
function groupsBehind(groups: readonly JsonObject[]): string[] {
  return groups
    .filter(({ lag }) => Number(lag) > 0)
    .toSorted((a, b) => Number(b.lag) - Number(a.lag))
    .map(({ topic, group, lag }) => `${topic}/${group} is behind by ${Number(lag).toLocaleString('en')}`)
}

/** The gateways: failing ones first, then those with another problem, then paused ones. */
export function gatewayTable(
  running: readonly JsonObject[],
  disabled: readonly JsonObject[] = [],
  { maxRows = Number.POSITIVE_INFINITY }: { maxRows?: number } = {},
): string {
  const rows = [
    ...gatewayRows(running),
    ...disabled.map(({ name, transport, why }) => [name, transport, `off (${why})`]),
  ]
  const head = ['Gateways', 'transport', '']
  if (rows.length <= maxRows) return table(head, rows)
  const more = `… and ${rows.length - maxRows + 1} more: \`trivium status | cat\``
  return `${table(head, rows.slice(0, maxRows - 1))}\n${more}`
}

/**
 * The entries of the project's `skills.json`: prefixes, and the skill that answers. Those of the
 * assistant are only counted.
 */
function registryLines(
  registry: readonly JsonObject[],
  skills: readonly JsonObject[],
  isScreen: boolean,
): string[] {
  const isShipped = new Map(skills.map(({ name, shipped }) => [name, shipped === true]))
  const own = registry.filter(({ name }) => !isShipped.get(name))
  const count = registry.length - own.length
  const ofAssistant =
    count === 0 ? [] : [`Words of the assistant  ${count}; all: \`trivium skill list --all\``]
  const beginsWith = ({ prefixes }: JsonObject) => [prefixes].flat().join(', ')
  if (own.length === 0) return ofAssistant
  if (isScreen) {
    const shown = own.slice(0, MAX_SHOWN).map((one) => `${one.name} (${beginsWith(one)})`)
    const more = own.length > MAX_SHOWN ? [`${own.length - MAX_SHOWN} more: \`trivium status | cat\``] : []
    return [`First words  ${[...shown, ...more].join(', ')}`, ...ofAssistant]
  }
  const rows = own.map((one) => {
    const only = [one.approval && 'asks for approval', one.verified && 'for verified senders'].filter(Boolean)
    return [one.name, beginsWith(one), one.ref, only.join(', ')]
  })
  return [
    ...ofAssistant,
    '',
    'Skills that answer to a first word (skills.json):',
    table(['name', 'begins with', 'skill', ''], rows),
  ]
}

/**
 * The number of entries and the first few `notes`, or `otherwise` if there are none; undefined
 * without entries.
 */
function summary(title: string, all: readonly unknown[], notes: string[], otherwise: string) {
  if (all.length === 0) return undefined
  const more = notes.length > MAX_SHOWN ? [`${notes.length - MAX_SHOWN} more`] : []
  return `${title}  ${all.length}; ${[...notes.slice(0, MAX_SHOWN), ...more].join(', ') || otherwise}`
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
