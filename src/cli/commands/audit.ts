import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { audit } from '../../features/audit/operations.ts'
import { humanAudit } from '../../features/audit/print.ts'
import { auditCsv } from '../../lib/audit-words.ts'
import { defined } from '../../lib/defined.ts'
import type { AddCommand } from '../command.ts'
import type { Connection } from '../connection.ts'
import { runsOperation } from '../operation-command.ts'

/** `trivium audit`: the result of `audit-list` as a table, or all entries that match as CSV. */
export const addAudit: AddCommand = (program, context) => {
  const command = program
    .command('audit')
    .description('decisions and changes with their author, newest first')
    .option('--csv', 'as CSV; without --limit, all entries that match')
  const isCsv = () => command.opts().csv === true
  runsOperation(command, context, {
    operation: 'audit-list',
    args: audit.list,
    human: (answer, args) =>
      isCsv() ? auditCsv(objectsIn(pathGet(answer, 'entries'))).trimEnd() : humanAudit(answer, args),
    run: (connection, filter) => (isCsv() ? withOlder(connection, filter) : withTitles(connection, filter)),
  })
}

/** Entries of one call. */
const PAGE = 1_000

/** The entries of all pages, unless the number is limited. */
async function withOlder(connection: Pick<Connection, 'invoke'>, filter: JsonObject): Promise<Json> {
  if (filter.limit !== undefined) return connection.invoke('audit-list', filter)
  const entries: Json[] = []
  let { before } = filter
  do {
    const page = Object(
      await connection.invoke('audit-list', { ...filter, limit: PAGE, ...defined({ before }) }),
    )
    entries.push(...objectsIn(page.entries))
    before = page.next
  } while (before !== undefined)
  return { entries }
}

/** Adds the titles of decided requests, which the log itself does not keep. */
async function withTitles(connection: Pick<Connection, 'invoke'>, filter: JsonObject): Promise<Json> {
  const answer = await connection.invoke('audit-list', filter)
  const isNeeded = objectsIn(pathGet(answer, 'entries')).some(({ action }) => action === 'approval-decide')
  if (!isNeeded || !isJsonObject(answer)) return answer
  const requests = objectsIn(await connection.invoke('approval-list', { limit: 1_000 }).catch(() => []))
  const titles = Object.fromEntries(requests.map(({ id, title }) => [String(id), title ?? null]))
  return { ...answer, titles }
}
