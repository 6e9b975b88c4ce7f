import { fileURLToPath } from 'node:url'
import type { RoutedSkill } from '../config/gateways.ts'
import type { Config } from '../config/load-config.ts'
import { silent } from '../core/log.ts'
import { builtInSkills } from '../runtime/built-in.ts'
import { createMarkdownLoader } from '../runtime/markdown/loader.ts'
import { createRegistry } from '../runtime/registry.ts'

/** The folder of shipped skills. */
export const SHIPPED_SKILLS: string = fileURLToPath(new URL('../../skills', import.meta.url))

/** The shipped skills and those in the configured folders, including broken ones, without a daemon. */
export async function knownSkills({ skills }: Pick<Config, 'skills'>): Promise<RoutedSkill[]> {
  const registry = createRegistry({
    folders: [...skills.folders, SHIPPED_SKILLS],
    skills: builtInSkills,
    // Only described here, never run.
    loadMarkdown: createMarkdownLoader({ sources: () => ({ env: {} }) }),
    log: silent,
  })
  await registry.reload()
  return registry.known()
}
