import { fileURLToPath } from 'node:url'
import type { RoutedSkill } from '../config/gateways.ts'
import type { Config } from '../config/load-config.ts'
import { silent } from '../core/log.ts'
import { createApprovalMiddleware } from '../features/approvals/middleware.ts'
import { troublesSkill } from '../features/troubles/troubles.ts'
import { createMarkdownLoader } from '../runtime/markdown/loader.ts'
import { createMiddleware } from '../runtime/middleware/index.ts'
import { createRegistry } from '../runtime/registry.ts'
import { builtInSkills } from './built-in-skills.ts'

/** The folder of shipped skills. */
export const SHIPPED_SKILLS: string = fileURLToPath(new URL('../../skills', import.meta.url))

/**
 * The skills that a daemon would have without MCP servers: built-in, shipped, and of the configured
 * folders, also broken ones.
 */
export async function knownSkills(config: Pick<Config, 'skills'>): Promise<RoutedSkill[]> {
  return (await loadSkills(config)).known
}

/**
 * The same skills (`known`), the reasons of the broken ones (`broken`), and those that run in the
 * place of built-in ones (`replaced`). Loads them as the daemon does.
 */
export async function loadSkills({ skills }: Pick<Config, 'skills'>) {
  const registry = createRegistry({
    folders: [...skills.folders, SHIPPED_SKILLS],
    shippedFolder: SHIPPED_SKILLS,
    middleware: [...createMiddleware(), createApprovalMiddleware()],
    // Only described here, never run.
    skills: [...builtInSkills, troublesSkill(async () => [], Date.now)],
    loadMarkdown: createMarkdownLoader({ sources: () => ({ env: {} }) }),
    log: silent,
  })
  await registry.reload()
  return { known: registry.known(), broken: registry.errors(), replaced: registry.replaced() }
}
