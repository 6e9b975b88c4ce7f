import { existsSync } from 'node:fs'
import { createLogger } from '../../api/logger.ts'
import { TriviumError } from '../../core/errors.ts'
import { openStore } from '../../daemon/open-store.ts'
import { assistantDocument } from '../../features/assistant/assistant-state.ts'
import type { StateManager } from '../../features/documents/manager.ts'
import { documentText } from '../../features/documents/print.ts'
import type { Snapshot } from '../../features/documents/spec.ts'
import { createDocumentManager } from '../../features/documents/state-documents.ts'
import { initWorkbench, openWorkbench } from '../../features/workbench/project.ts'
import { type AddCommand, type Environs, timeOf, usage, wholeNumber } from '../command.ts'
import { loadWithDataDir } from '../data-dir.ts'
import { show } from '../terminal.ts'
import { workbenchDir } from './workbench.ts'

type DirOption = { dir?: string }
type ReplayOptions = DirOption & { until?: string; revision?: number }

const NAME = 'state (the assistant), agent_state or task_board (the workbench)'
const DIR = 'the folder of the workbench; default: workbench/ beside routes.yaml'

/** `trivium state show|replay|migrate|repair|init`: works on files, with or without a daemon. */
export const addState: AddCommand = (program, context) => {
  const command = program
    .command('state')
    .description('durable documents: show current and past versions, migrate, repair')

  /** Makes the action of a command on one document: opens its manager, and closes it afterwards. */
  const withManager =
    <O extends DirOption>(work: (manager: StateManager, name: string, options: O) => Promise<void>) =>
    async (name: string, options: O) => {
      const manager = await managerOf(context.environs(), name, options.dir)
      await work(manager, name, options).finally(manager.close)
    }
  const showDocument = (name: string, { document, revision }: Snapshot) =>
    show(context.terminal(), { name, revision, document }, () => documentText(name, revision, document))

  command
    .command('show', { isDefault: true })
    .description('the current document')
    .argument('[name]', NAME, 'state')
    .action(withManager(async (manager, name) => showDocument(name, await manager.load(name))))
  command
    .command('replay')
    .description('a past version of a document, from its events')
    .argument('[name]', NAME, 'state')
    .option('--until <time>', 'a time (2026-11-21T10:00:00Z), or an age (2h)')
    .option('--revision <n>', 'or a revision number', wholeNumber('--revision'))
    .action(
      withManager(async (manager, name, options: ReplayOptions) => {
        const snapshot = await manager.replay(name, momentOf(options))
        const hint = ' It did not exist at that time.'
        if (!snapshot) throw new TriviumError('document_not_found', { name, hint })
        showDocument(name, snapshot)
      }),
    )
  command
    .command('migrate')
    .description('migrate documents to the current version; keeps the old ones beside them')
    .argument('[name]', NAME)
    .action(async (only: string | undefined, { dir }: DirOption) => {
      const migrated = await migrate(context.environs(), only, dir)
      show(context.terminal(), migrated, () =>
        migrated.length === 0
          ? 'All documents already have the current version.'
          : migrated.map(({ name, from, to }) => `${name}: version ${from} → ${to}`).join('\n'),
      )
    })
  command
    .command('repair')
    .description('repair an unreadable document; keeps and names what it replaces')
    .argument('<name>', NAME)
    .action(
      withManager(async (manager, name) => {
        const repaired = await manager.repair(name)
        show(context.terminal(), repaired, () => repairedText(name, repaired))
      }),
    )
  for (const nested of command.commands) nested.option('--dir <folder>', DIR)
  command
    .command('init')
    .description('create a workbench for the project: schemas, first documents, a migration scaffold')
    .argument('[folder]', DIR)
    .action(async (folder: string | undefined) => {
      const dir = await workbenchDir(context.environs(), folder)
      const written = await initWorkbench(dir)
      show(context.terminal(), { dir, written }, () =>
        written.length === 0
          ? `Everything already exists in ${dir}; nothing was changed.`
          : [`Created in ${dir}:`, ...written.map((file) => `  ${file}`)].join('\n'),
      )
    })
}

/** Migrates one document, or the assistant's and, if there is a workbench, the task board. */
async function migrate(environs: Environs, only: string | undefined, dir: string | undefined) {
  const hasBoard = only === undefined && existsSync(await workbenchDir(environs, dir))
  const names = only === undefined ? ['state', ...(hasBoard ? ['task_board'] : [])] : [only]
  const migrated: { name: string; from: number; to: number }[] = []
  for (const name of names) {
    const manager = await managerOf(environs, name, dir)
    migrated.push(...(await manager.migrate(only).finally(manager.close)))
  }
  return migrated
}

function repairedText(
  name: string,
  { revision, from, of, kept }: Awaited<ReturnType<StateManager['repair']>>,
): string {
  const how = {
    nothing: 'there was nothing to repair',
    text: 'its text was restored',
    events: `its text was unusable; it was restored to revision ${of} from its events`,
    initial: 'neither its text nor its events were usable; IT STARTS EMPTY',
  }
  const usable = `${name} is usable, at revision ${revision}: ${how[from]}.`
  return [usable, ...kept.map((path) => `The replaced content is in ${path}`)].join('\n')
}

function momentOf({ until, revision }: ReplayOptions): number | { revision: number } {
  if (revision !== undefined && until !== undefined) throw usage('Give either --until or --revision.')
  if (revision !== undefined) return { revision }
  if (until === undefined) throw usage('Give --until <time> or --revision <n>.')
  return timeOf('--until', until)
}

/** The manager of a document. Documents are safe between processes, so a daemon may be running. */
async function managerOf(environs: Environs, name: string, dir?: string): Promise<StateManager> {
  if (name !== 'state') return (await openWorkbench(await workbenchDir(environs, dir))).manager
  const { daemon } = await loadWithDataDir(environs)
  const { dataDir } = daemon
  const log = createLogger({ level: 'warn', secrets: () => [], destination: process.stderr, pretty: true })
  // Beside the embedded store, the state is a file. The store has one owner, and is not opened
  // here.
  if (daemon.redisUrl === undefined) return createDocumentManager({ spec: assistantDocument, dataDir, log })
  const store = await openStore(daemon, { log })
  return createDocumentManager({ spec: assistantDocument, dataDir, store, closeStore: store.close, log })
}
