import { readFile } from 'node:fs/promises'
import type { Config } from '../config/load-config.ts'
import { type Needs, neededParts } from '../config/needed-parts.ts'
import { discoverSkills } from '../runtime/discover.ts'
import { type Environs, loadFor } from './command.ts'

/**
 * The optional parts that routes.yaml and the skills in its folders need. `withoutVariables`:
 * variables may be unset; gateways that use them count as enabled. Throws `config_invalid`.
 */
export async function needsFor(
  environs: Environs,
  options: { withoutVariables?: boolean } = {},
): Promise<Needs> {
  return needsOf(await loadFor(environs, options))
}

/** The optional parts that a configuration and the skills in its folders need. */
export async function needsOf(config: Config): Promise<Needs> {
  const { transports } = await import('../../transports/registry.ts')
  return neededParts(config, transports, await skillsWithModel(config.skills.folders))
}

/**
 * The names of prompt skills that name a model of their own. Unreadable files are left to the
 * loader, which reports them.
 */
async function skillsWithModel(folders: readonly string[]): Promise<string[]> {
  const prompts = (await discoverSkills(folders)).filter(({ kind }) => kind === 'markdown')
  if (prompts.length === 0) return []
  // Loaded only where it is needed: the Markdown parser takes a fifteenth of the start time.
  const { parseSkillFile } = await import('../runtime/markdown/skill-file.ts')
  const names = prompts.map(async ({ name, path }) => {
    const text = await readFile(path, 'utf8')
    return parseSkillFile(text).metadata.model === undefined ? [] : name
  })
  return (await Promise.allSettled(names)).flatMap((found) =>
    found.status === 'fulfilled' ? found.value : [],
  )
}
