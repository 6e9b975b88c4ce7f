import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { transports } from '../../transports/registry.ts'
import { readEnvironment } from '../config/environment.ts'
import { createLogger } from '../control/logger.ts'
import { openStore } from '../daemon/open-store.ts'
import { createStateDocuments } from '../daemon/state-documents.ts'
import { workbenchDirOf } from '../daemon/workbench-service.ts'
import { createToEvent } from '../gateway/gateways.ts'
import type { StateManager } from '../state/documents/manager.ts'
import { openWorkbench } from '../state/workbench/project.ts'
import { type Environs, loadFor } from './environs.ts'

/** The documents of a site, opened one manager at a time: what is wrong with one does not stop work on another. */
export type Documents = {
  /** The manager that knows a document: `state` is the assistant's, every other name the workbench's. */
  managerOf(name: string): Promise<StateManager>
  /** The managers of all documents that there are. */
  all(): Promise<StateManager[]>
  close(): Promise<void>
}

/** Opens documents where they are, beside a running daemon too: they are safe between processes. */
export function openDocuments(environs: Environs, options: { dir?: string }): Documents {
  const closers: (() => Promise<void>)[] = []
  let assistant: Promise<StateManager> | undefined
  let workbench: Promise<StateManager> | undefined

  const openAssistant = async () => {
    const { daemon } = await loadFor(environs)()
    const log = createLogger({
      level: 'warn',
      secrets: () => [],
      destination: process.stderr,
      pretty: true,
    })
    // The embedded store has one owner, but the state beside it is a file.
    if (daemon.redisUrl === undefined) {
      return keep(createStateDocuments({ dataDir: daemon.dataDir, log }))
    }
    const store = await openStore({
      daemon,
      toEvent: createToEvent(new Map(Object.entries(transports))),
      log,
    })
    closers.unshift(() => store.close())
    return keep(createStateDocuments({ dataDir: daemon.dataDir, store, log }))
  }
  const openBoard = async () => {
    const { manager } = await openWorkbench({ dir: await workbenchDir(environs, options.dir) })
    return keep(manager)
  }
  const keep = (manager: StateManager) => {
    closers.unshift(() => manager.close())
    return manager
  }
  const managerOf = (name: string) => {
    if (name === 'state') {
      assistant ??= openAssistant()
      return assistant
    }
    workbench ??= openBoard()
    return workbench
  }

  return {
    managerOf,
    async all() {
      const found = [await managerOf('state')]
      if (existsSync(await workbenchDir(environs, options.dir))) found.push(await managerOf('task_board'))
      return found
    },
    async close() {
      for (const close of closers) await close()
    },
  }
}

/** The folder of the workbench: as given, else beside routes.yaml, which need not be there or be right. */
export async function workbenchDir({ env, cwd, path }: Environs, dir?: string): Promise<string> {
  if (dir !== undefined) return resolve(cwd, dir)
  const { TRIVIUM_CONFIG } = await readEnvironment(cwd, env)
  return workbenchDirOf(resolve(cwd, path ?? (TRIVIUM_CONFIG || 'routes.yaml')))
}
