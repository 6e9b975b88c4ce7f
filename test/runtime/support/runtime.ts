import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { silent } from '../../../src/core/log.ts'
import type { Services } from '../../../src/core/services.ts'
import type { Skill } from '../../../src/core/skill.ts'
import type { Store } from '../../../src/core/store.ts'
import { builtInSkills, operationsOf } from '../../../src/daemon/built-in-skills.ts'
import { createApprovalService } from '../../../src/features/approvals/approval-service.ts'
import { createApprovalMiddleware } from '../../../src/features/approvals/middleware.ts'
import { createMiddleware } from '../../../src/runtime/middleware/index.ts'
import { createRuntimeServices } from '../../../src/runtime/services.ts'
import { cleanup } from './cleanup.ts'
import { createFolder } from './folder.ts'
import { startManager } from './manager.ts'
import { servicesWith } from './services.ts'
import { openStore } from './store.ts'

/** The folder of the skills in the package. */
export const SHIPPED_FOLDER = fileURLToPath(new URL('../../../skills', import.meta.url))

type ApprovalOptions = Parameters<typeof createApprovalService>[0]
type ManagerOptions = NonNullable<Parameters<typeof startManager>[1]>

export type Runtime = Awaited<ReturnType<typeof startRuntime>>

/** The whole skill runtime with its own services, on an embedded store unless another is given. */
export async function startRuntime(
  t: TestContext,
  options: {
    skills?: Skill[]
    store?: Store
    dataDir?: string
    now?: () => number
    services?: Partial<Services>
    resume?: ApprovalOptions['resume']
    manager?: Omit<ManagerOptions, 'skills' | 'services' | 'globals'>
  } = {},
) {
  const dataDir = options.dataDir ?? (await createFolder(t))
  const store = options.store ?? (await openStore(t))
  const { now = Date.now, resume = async () => {} } = options
  const services = {
    ...createRuntimeServices({ store, dataDir, log: silent, now }),
    approvals: createApprovalService({ store, resume, onEvent: async () => {}, log: silent, now }),
  }
  const { folders = [SHIPPED_FOLDER] } = options.manager ?? {}
  const builtIns = folders.includes(SHIPPED_FOLDER) ? builtInSkills : []
  const manager = await startManager(t, {
    folders,
    skills: [...(options.skills ?? []), ...builtIns],
    services: servicesWith({ ...services, operation: operationsOf(services), ...options.services }),
    globals: services.globals,
    middleware: [...createMiddleware(), createApprovalMiddleware()],
    ...options.manager,
  })
  cleanup(t, () => services.close())
  return { manager, services, dataDir }
}
