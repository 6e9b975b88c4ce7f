import { objectsIn, pathGet } from '../../core/json.ts'
import { audit } from '../../features/audit/operations.ts'
import { humanAudit } from '../../features/audit/print.ts'
import { auditCsv } from '../../lib/audit-words.ts'
import { withOlder, withTitles } from '../audit-pages.ts'
import type { AddCommand } from '../command.ts'
import { runsOperation } from '../operation-command.ts'
import { VIEW_OPTION, withView } from '../saved-view.ts'

/** `trivium audit`: the result of `audit-list` as a table, or all entries that match as CSV. */
export const addAudit: AddCommand = (program, context) => {
  const command = program
    .command('audit')
    .description('decisions and changes with their author, newest first; `trivium audit show ID` shows one')
    .option('--csv', 'as CSV; without --limit, all entries that match')
    .option(...VIEW_OPTION)
  const isCsv = () => command.opts().csv === true
  runsOperation(command, context, {
    operation: 'audit-list',
    args: audit.list,
    human: (answer, args) =>
      isCsv() ? auditCsv(objectsIn(pathGet(answer, 'entries'))).trimEnd() : humanAudit(answer, args),
    async run(connection, given) {
      const filter = await withView(connection, 'audit', command.opts().view, given)
      return isCsv() ? withOlder(connection, filter) : withTitles(connection, filter)
    },
  })
}
