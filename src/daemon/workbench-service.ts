import { dirname, join } from 'node:path'
import type { WorkbenchService } from '../core/assistant-services.ts'
import type { Call } from '../core/call.ts'
import type { Actor } from '../state/documents/spec.ts'
import { atWorkbench } from '../state/workbench/project.ts'
import type { Workbench } from '../state/workbench/workbench.ts'

/** The workbench of a project as skills see it: they write as agents. */
export function createWorkbenchService(dir: string, now?: () => number): WorkbenchService {
  const using = <T>(work: (workbench: Workbench) => Promise<T>): Promise<T> => atWorkbench({ dir, now }, work)

  return {
    get: () => using(async (workbench) => ({ dir, ...(await workbench.get()) })),
    update: (args, call) => using((workbench) => workbench.update(args, agentOf(call))),
    addTask: (args, call) => using((workbench) => workbench.addTask(args, agentOf(call))),
    claim: (args, call) => using((workbench) => workbench.claim(args, agentOf(call))),
    finish: (args, call) => using((workbench) => workbench.finish(args, agentOf(call))),
  }
}

/** A project's own place for what agents and people share: beside its routes.yaml, under version control. */
export function workbenchDirOf(configFile: string): string {
  return join(dirname(configFile), 'workbench')
}

/** Who asked, by name where one is known. */
function agentOf({ caller, message }: Call): Actor {
  return { kind: 'agent', name: caller.id ?? message?.from.address ?? message?.from.id ?? caller.kind }
}
