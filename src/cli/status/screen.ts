import { stripVTControlCharacters } from 'node:util'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { secondOf } from '../../core/readable.ts'
import { budgetLine } from '../../engine/print/budget-lines.ts'
import { behindText, groupsBehind } from '../../engine/print/group-backlog.ts'
import { pushState } from '../../engine/print/push-state.ts'
import { troubleLines } from '../../features/troubles/print.ts'
import { forecastsOf, isNearlyUsedUp } from '../../lib/budget-rate.ts'
import { paint } from '../../lib/paint.ts'
import { lengthOf, paragraph } from '../../lib/paragraph.ts'
import { gatewayLine, gatewayTable } from './gateways.ts'
import { assistantLine, MAX_SHOWN, registryLines, summary } from './lines.ts'
import { roadTable } from './roads.ts'

/** Lines of a screen that does not say its own. */
const DEFAULT_ROWS = 24
/** Minimum number of troubles on a screen, however small it is. */
const MIN_TROUBLES = 5

const STORE = 'store: '

type Line = string | undefined | false
/** A line, and whether it says that all is well. `name`: how a line about several of them names it. */
type Noted = { line: Line; name: string; isCalm: boolean }

/**
 * The status as text. A pipe has everything. A screen has the most detailed of three forms that
 * fits: everything; a line for each trouble, and one for all that is calm; as many troubles as
 * there is room for, above what is not normal. The first ones are whole if there is a line for each of the others, too.
 */
export function humanStatus(read: Json, isScreen: boolean): string {
  const status = Object(read)
  if (!isScreen) return inWidth(wholeLines(status, { isScreen }))
  const room = (process.stdout.rows || DEFAULT_ROWS) - 1
  const whole = inWidth(wholeLines(status, { isScreen }))
  if (lineCount(whole) <= room) return whole
  const short = (spare: number) => inWidth(wholeLines(status, { isScreen, isShort: true, spare }))
  const spare = room - lineCount(short(0))
  return spare >= 0 ? short(spare) : inWidth(smallLines(status, room))
}

type Form = { isScreen: boolean; isShort?: boolean; spare?: number }

/** All sections. `isShort`: a line for each trouble and `spare` more, and one for all that is calm. */
function wholeLines(status: Json, { isScreen, isShort = false, spare = 0 }: Form) {
  const all = (path: string) => objectsIn(pathGet(status, path))
  const maxRows = isScreen ? MAX_SHOWN : Number.POSITIVE_INFINITY
  const noted = notedLines(status, isScreen)
  return [
    ...headLines(status),
    ...troubleLines(all('troubles'), Number.POSITIVE_INFINITY, { isShort, spare }),
    '',
    gatewayTable(all('gateways'), all('disabled'), { maxRows }),
    '',
    roadTable(all('roads'), all('waiting')),
    '',
    ...(isShort ? withoutCalm(noted) : noted.map(({ line }) => line)),
  ]
}

/** What is not normal, and as many troubles as fit above it. */
function smallLines(status: Json, room: number): Line[] {
  const all = (path: string) => objectsIn(pathGet(status, path))
  const above = headLines(status).filter((line) => typeof line !== 'string' || !line.startsWith(STORE))
  const below = [
    '',
    gatewayLine(all('gateways'), all('disabled')),
    ...withoutCalm(notedLines(status, true)).map(inOneLine),
    '',
    roadTable(all('roads'), all('waiting'), { onlyBusy: true }),
  ]
  const left = room - lineCount(inWidth([...above, ...below]))
  const linesFor = (most: number, spare = 0) => troubleLines(all('troubles'), most, { isShort: true, spare })
  const each = linesFor(Number.POSITIVE_INFINITY)
  if (each.length <= left) return [...above, ...linesFor(each.length, left - each.length), ...below]
  // Two lines are the blank one above them, and the number of the others.
  return [...above, ...linesFor(Math.max(MIN_TROUBLES, left - 2)), ...below]
}

function headLines(status: Json): Line[] {
  const at = (path: string) => pathGet(status, path)
  const [reason] = String(at('configuration.error')).split('\n')
  return [
    at('running')
      ? `Trivium ${at('version')} running since ${secondOf(Number(at('startedAt')))} (pid ${at('pid')})`
      : `Trivium ${at('version')}: no daemon is running; start one with \`trivium start\``,
    `${STORE}${at('store.kind')} at ${at('store.address')}`,
    at('stats.away') !== undefined &&
      `${paint('red', 'SHARDS UNAVAILABLE')}: ${at('stats.away')}; the numbers below are for the others`,
    at('store.ok') === false && `${paint('red', 'STORE TAKES NO MESSAGES')}: ${at('store.reason')}`,
    at('configuration.error') !== undefined &&
      `${paint('red', 'CONFIGURATION')}: the last good one is still in use; ${reason}`,
  ]
}

/** The lines about other parts: pushes, queues, groups, budgets, the assistant and skills. */
function notedLines(status: Json, isScreen: boolean): Noted[] {
  const all = (path: string) => objectsIn(pathGet(status, path))
  // A push subscription reads its topic as a group with its name.
  const isPush = ({ topic, group }: JsonObject) =>
    all('subscriptions').some((push) => push.name === group && push.topic === topic)
  const groups = all('groups').filter((one) => !isPush(one))
  const pushNotes = [
    ...all('subscriptions')
      .filter(({ ok, state, errors }) => !ok || state !== 'active' || errors !== undefined)
      .map((push) => `${push.name} ${pushState(push)}`),
    ...behindTexts(all('groups').filter(isPush)),
  ]
  const groupNotes = behindTexts(groups)
  const serverNotes = all('mcp')
    .filter(({ ok }) => !ok)
    .map(({ name, detail }) => `${name} ${paint('red', 'FAILING')}: ${detail}`)
  const broken = all('broken').map(({ name }) => String(name))
  const assistant = pathGet(status, 'assistant')
  const noted = (name: string, line: Line, isCalm: boolean): Noted => ({ name, line, isCalm })
  return [
    noted(
      'push subscriptions',
      summary('Push subscriptions', all('subscriptions'), pushNotes, 'all work'),
      pushNotes.length === 0,
    ),
    ...all('queues')
      .filter(({ ok }) => !ok)
      .slice(0, MAX_SHOWN)
      .map(({ name, detail }) =>
        noted('queues', `Queue ${name}  ${paint('red', 'FAILING')}: ${detail}`, false),
      ),
    noted(
      'MCP servers',
      summary('MCP servers', all('mcp'), serverNotes, 'all are connected'),
      serverNotes.length === 0,
    ),
    noted(
      'consumer groups',
      summary('Consumer groups', groups, groupNotes, 'none is behind'),
      groupNotes.length === 0,
    ),
    ...all('budgets').map((budget) => noted('budgets', budgetLine(budget), isAtEase(budget))),
    noted('the assistant', assistantLine(assistant), pathGet(assistant, 'error') === undefined),
    ...registryLines(all('registry'), all('skills'), isScreen).map((line) =>
      noted('first words', line, true),
    ),
    noted(
      'broken skills',
      summary(`${paint('red', 'BROKEN SKILLS')} (\`trivium skill list\`)`, broken, broken, ''),
      broken.length === 0,
    ),
  ]
}

/**
 * Whether a budget needs no attention: no call waits for it, it is not nearly used up, and it lasts
 * at the current rate.
 */
function isAtEase(budget: JsonObject): boolean {
  const { until, over } = budget
  const isFree = until === undefined && objectsIn(over ?? null).length === 0
  return isFree && !isNearlyUsedUp(budget) && forecastsOf(budget).length === 0
}

/** Lines that need attention, then one that names the parts without any. */
function withoutCalm(noted: readonly Noted[]): Line[] {
  const shown = noted.filter(({ line, isCalm }) => typeof line === 'string' && !isCalm)
  const calm = noted.filter(({ line, isCalm }) => typeof line === 'string' && isCalm)
  const names = [...new Set(calm.map(({ name }) => name))]
  const last = names.length === 0 ? [] : [`Calm: ${names.join(', ')} (\`trivium status | cat\` shows them)`]
  return [...shown.map(({ line }) => line), ...last]
}

/** The consumer groups that are behind, furthest behind first. */
function behindTexts(groups: readonly JsonObject[]): string[] {
  return groupsBehind(groups).map((each) => `${each.topic}/${each.group} is behind by ${behindText(each)}`)
}

function inWidth(lines: readonly Line[]): string {
  return lines
    .filter((line) => typeof line === 'string')
    .map((line) => (line.includes('\n') ? line : paragraph('', line)))
    .join('\n')
}

/** Cut to the width of the terminal: a trouble, or the status in a pipe, has the rest. */
function inOneLine(line: Line): Line {
  const width = process.stdout.columns || Number.POSITIVE_INFINITY
  return typeof line === 'string' && lengthOf(line) > width
    ? `${stripVTControlCharacters(line).slice(0, width - 1)}…`
    : line
}

function lineCount(text: string): number {
  return text.split('\n').length
}
