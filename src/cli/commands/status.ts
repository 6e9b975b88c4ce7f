import { isJsonObject, type Json, pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { ask } from '../connection.ts'
import { age, objectsIn, table } from '../terminal.ts'

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

function humanStatus(status: Json): string {
  const at = (path: string) => pathGet(status, path)
  /** A part with these fields of each object in a list. */
  const list = (title: string, path: string, fields: string[], head = fields) =>
    section(
      title,
      head,
      objectsIn(at(path)).map((row) => fields.map((field) => row[field])),
    )
  const started = new Date(Number(at('startedAt'))).toISOString()
  const roads = [
    ['journal', at('stats.journal.messages'), age(at('stats.journal.oldestAt'))],
    ['dispatch', at('stats.dispatch.unpumped'), age(at('stats.dispatch.oldestAt'))],
    ['receive', at('stats.receive.ready'), age(at('stats.receive.oldestAt'))],
  ]
  const gateways = [
    ...objectsIn(at('gateways')).map(({ name, transport, ok, detail }) => {
      return [name, transport, ok ? 'ok' : `FAILING: ${detail ?? ''}`]
    }),
    ...objectsIn(at('disabled')).map(({ name, transport, why }) => [name, transport, `off (${why})`]),
  ]
  return [
    at('running')
      ? `Trivium ${at('version')} runs since ${started} (pid ${at('pid')})`
      : `Trivium ${at('version')}: no daemon is running; start one with \`trivium start\``,
    `store: ${at('store.kind')} at ${at('store.address')}\n`,
    section('Gateways', ['name', 'transport', 'state'], gateways),
    section('Roads', ['road', 'waiting', 'oldest'], roads),
    list('Jobs', 'stats.jobs', ['queue', 'waiting', 'running', 'dead']),
    list('Consumer groups', 'groups', ['topic', 'group', 'lag', 'pending']),
    assistantSection(at('assistant')),
    list(
      'Skills by prefix',
      'registry',
      ['name', 'prefixes', 'approval'],
      ['name', 'begins with', 'approval'],
    ),
    list('Skills', 'skills', ['name', 'description'], ['name', 'what it does']),
    list('Broken skills', 'broken', ['name', 'path', 'reason']),
  ]
    .filter((part) => part !== undefined)
    .join('\n')
}

function section(title: string, head: string[], rows: readonly (readonly unknown[])[]): string | undefined {
  return rows.length === 0 ? undefined : `${title}\n${table(head, rows).replaceAll(/^/gm, '  ')}\n`
}

function assistantSection(assistant: unknown): string | undefined {
  if (!isJsonObject(assistant)) return undefined
  const { error, delegations, assistant_name, memory, searches, schedules, approvals } = assistant
  if (error !== undefined) return `Assistant\n  ${error}\n`
  const work = Object.entries(Object(delegations)).map(([status, count]) => `${count} ${status}`)
  const head = ['memory', 'searches', 'delegations', 'schedules', 'approvals']
  const row = [memory, searches, work.join(', ') || 0, schedules, approvals]
  return section(`Assistant (${assistant_name})`, head, [row])
}
