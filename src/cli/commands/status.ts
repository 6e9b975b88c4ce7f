import { isJsonObject, type Json, type JsonObject, pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { connectOrOpen } from '../connection.ts'
import { age, show, table } from '../terminal.ts'

/** `trivium status`. */
export const addStatus: AddCommand = (program, context) => {
  program
    .command('status')
    .description('gateways, skills, the three roads and what waits on them, at a glance')
    .action(async () => {
      const connection = await connectOrOpen(context.environs())
      try {
        const status = await connection.status()
        const { running } = connection
        const result = isJsonObject(status) ? { running, ...status } : status
        show(context.terminal(), result, () => humanStatus(status, running))
      } finally {
        await connection.close()
      }
    })
}

function humanStatus(status: Json, running: boolean): string {
  const now = Date.now()
  const at = (path: string) => pathGet(status, path)
  const started = new Date(Number(at('startedAt'))).toISOString()
  const head = running
    ? `Trivium ${at('version')} runs since ${started} (pid ${at('pid')})`
    : `Trivium ${at('version')}: no daemon is running; start one with \`trivium start\``
  return [
    head,
    `store: ${at('store.kind')} at ${at('store.address')}`,
    '',
    section('Gateways', ['name', 'transport', 'state'], gatewayRows(status)),
    section(
      'Roads',
      ['road', 'waiting', 'oldest'],
      [
        ['journal', at('stats.journal.messages'), age(asNumber(at('stats.journal.oldestAt')), now)],
        ['dispatch', at('stats.dispatch.unpumped'), age(asNumber(at('stats.dispatch.oldestAt')), now)],
        ['receive', at('stats.receive.ready'), age(asNumber(at('stats.receive.oldestAt')), now)],
      ],
    ),
    section(
      'Jobs',
      ['queue', 'waiting', 'running', 'dead'],
      rowsOf(at('stats.jobs'), ['queue', 'waiting', 'running', 'dead']),
    ),
    section(
      'Consumer groups',
      ['topic', 'group', 'lag', 'pending'],
      rowsOf(at('groups'), ['topic', 'group', 'lag', 'pending']),
    ),
    assistantSection(at('assistant')),
    section(
      'Skills by prefix',
      ['name', 'begins with', 'approval'],
      rowsOf(at('registry'), ['name', 'prefixes', 'approval']),
    ),
    section('Skills', ['name', 'what it does'], rowsOf(at('skills'), ['name', 'description'])),
    section('Broken skills', ['name', 'path', 'reason'], rowsOf(at('broken'), ['name', 'path', 'reason'])),
  ]
    .filter((part) => part !== undefined)
    .join('\n')
}

function section(title: string, head: string[], rows: readonly (readonly unknown[])[]): string | undefined {
  return rows.length === 0 ? undefined : `${title}\n${indent(table(head, rows))}\n`
}

function assistantSection(assistant: unknown): string | undefined {
  if (!isJsonObject(assistant)) return undefined
  const { error, delegations, ...counts } = assistant
  if (error !== undefined) return `Assistant\n  ${error}\n`
  const work = isJsonObject(delegations)
    ? Object.entries(delegations).map(([status, count]) => `${count} ${status}`)
    : []
  return section(
    `Assistant (${counts.assistant_name})`,
    ['memory', 'searches', 'delegations', 'schedules', 'approvals'],
    [[counts.memory, counts.searches, work.join(', ') || 0, counts.schedules, counts.approvals]],
  )
}

function gatewayRows(status: Json): unknown[][] {
  const list = (path: string): JsonObject[] => {
    const found = pathGet(status, path)
    return Array.isArray(found) ? found.filter(isJsonObject) : []
  }
  return [
    ...list('gateways').map(({ name, transport, ok, detail }) => [
      name,
      transport,
      ok ? 'ok' : `FAILING: ${detail ?? ''}`,
    ]),
    ...list('disabled').map(({ name, transport, why }) => [name, transport, `off (${why})`]),
  ]
}

function rowsOf(value: unknown, columns: readonly string[]): unknown[][] {
  const rows = Array.isArray(value) ? value.filter(isJsonObject) : []
  return rows.map((row) => columns.map((column) => row[column]))
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
