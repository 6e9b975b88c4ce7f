import { resolve } from 'node:path'
import { transports } from '../../transports/registry.ts'
import { readEnvironment } from '../config/environment.ts'
import { configPath } from '../config/load-config.ts'
import { createLogger } from '../control/logger.ts'
import { openStore } from '../daemon/open-store.ts'
import { createStateDocuments } from '../daemon/state-documents.ts'
import { workbenchDirOf } from '../daemon/workbench-service.ts'
import { createToEvent } from '../gateway/gateways.ts'
import type { StateManager } from '../state/documents/manager.ts'
import { openWorkbench } from '../state/workbench/project.ts'
import { type Environs, loadFor } from './environs.ts'

/**
 * Runs `work` on the manager that knows a document, where it is: `state` is the assistant's, every other name the
 * workbench's. Beside a running daemon too: documents are safe between processes.
 */
export async function withManager<T>(
  environs: Environs,
  { name, dir }: { name: string; dir?: string },
  work: (manager: StateManager) => Promise<T>,
): Promise<T> {
  await using closing = new AsyncDisposableStack()
  const manager =
    name === 'state'
      ? await openAssistant(environs, closing)
      : (await openWorkbench({ dir: await workbenchDir(environs, dir) })).manager
  closing.defer(() => manager.close())
  return await work(manager)
}

async function openAssistant(environs: Environs, closing: AsyncDisposableStack): Promise<StateManager> {
  const { daemon } = await loadFor(environs)()
  const { dataDir } = daemon
  const log = createLogger({ level: 'warn', secrets: () => [], destination: process.stderr, pretty: true })
  // The embedded store has one owner, but the state beside it is a file.
  if (daemon.redisUrl === undefined) return createStateDocuments({ dataDir, log })
  const store = await openStore({ daemon, toEvent: createToEvent(new Map(Object.entries(transports))), log })
  closing.defer(() => store.close())
  return createStateDocuments({ dataDir, store, log })
}

/** The folder of the workbench: as given, else beside routes.yaml, which need not be there or be right. */
export async function workbenchDir({ env, cwd, path }: Environs, dir?: string): Promise<string> {
  if (dir !== undefined) return resolve(cwd, dir)
  return workbenchDirOf(configPath(cwd, await readEnvironment(cwd, env), path))
}
