import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { audit } from '../../features/audit/operations.ts'
import { humanAudit } from '../../features/audit/print.ts'
import type { AddCommand } from '../command.ts'
import type { Connection } from '../connection.ts'
import { runsOperation } from '../operation-command.ts'

/** `trivium audit`: the result of `audit-list` as a table. */
export const addAudit: AddCommand = (program, context) => {
  const command = program
    .command('audit')
    .description('decisions and changes with their author, newest first')
  runsOperation(command, context, {
    operation: 'audit-list',
    args: audit.list,
    human: humanAudit,
    run: withTitles,
  })
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
