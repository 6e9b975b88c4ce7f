import { join } from 'node:path'
import { isInternalSkill } from '../core/internal-skills.ts'
import { mcpServerOf } from '../core/mcp.ts'
import type { Skill } from '../core/skill.ts'
import { discoverSkills, type FoundSkill } from './discover.ts'
import { loadPrefixSkills, PREFIX_FILE } from './prefix-skills.ts'

/** The source of a skill. `path` is absent for built-in skills. */
export type SkillSource = {
  name: string
  kind: FoundSkill['kind'] | 'prefix' | 'built-in' | 'mcp'
  path?: string
  load(): Skill | Promise<Skill>
}

/** Called for each failure to load. `kept`: whether the last good version stays. */
export type Fail = (name: string, path: string, kept: boolean, error: unknown) => void

type Parts = {
  folders: readonly string[]
  builtIn: readonly Skill[]
  load(found: FoundSkill): Promise<Skill>
  /** The sources of the previous load. */
  previous(): readonly SkillSource[]
}

/**
 * The sources, one per name. Folders win over `skills.json`, which wins over built-in skills. Calls
 * `fail` for names that a project may not use.
 */
export async function findSources(parts: Parts, fail: Fail): Promise<SkillSource[]> {
  const { folders, builtIn, load } = parts
  const inFolders = (await discoverSkills(folders)).map((found) => ({ ...found, load: () => load(found) }))
  const prefixes = await Promise.all(folders.map((folder) => prefixSources(folder, parts, fail)))
  const others = builtIn.map((skill): SkillSource => {
    return { name: skill.name, kind: 'built-in', load: () => skill }
  })
  const own: SkillSource[] = [...inFolders, ...prefixes.flat()]
  const all = [...own.filter((source) => isAllowed(source, fail)), ...others]
  // A Map keeps the last source of each name; in reverse order, that is the first one.
  return [...new Map(all.toReversed().map((source) => [source.name, source])).values()]
}

/** Whether a project may use the name of a source. Calls `fail` if not. */
function isAllowed({ name, path = '' }: SkillSource, fail: Fail): boolean {
  const fault = nameFault(name)
  if (fault !== undefined) fail(name, path, false, new Error(`${fault}; choose another name`))
  return fault === undefined
}

/** Why a project may not use a name for a skill: it would silently replace a part of Trivium. */
function nameFault(name: string): string | undefined {
  if (isInternalSkill(name)) return `${name} is reserved for Trivium`
  const server = mcpServerOf(name)
  if (server !== undefined) return `${name} has the form of a tool of the MCP server ${server}`
  return undefined
}

/** The entries of a `skills.json`; the previous ones if the file cannot be read. */
async function prefixSources(folder: string, parts: Parts, fail: Fail): Promise<SkillSource[]> {
  const path = join(folder, PREFIX_FILE)
  try {
    const { skills: loaded, broken } = await loadPrefixSkills(path)
    for (const { name, reason } of broken) fail(name, path, false, new Error(reason))
    return loaded.map((skill) => ({ name: skill.name, kind: 'prefix', path, load: () => skill }))
  } catch (error) {
    const previous = parts.previous().filter((source) => source.path === path)
    fail(path, path, previous.length > 0, error)
    return previous
  }
}
