import { join, sep } from 'node:path'
import { reasonOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Middleware, Skill, SkillOrigin } from '../core/skill.ts'
import { byCodeUnits } from '../lib/by-code-units.ts'
import { nearest } from '../lib/nearest.ts'
import { createTurns } from '../lib/turns.ts'
import type { FoundSkill } from './discover.ts'
import { createLayeredSkill, type LayeredSkill } from './layered-skill.ts'
import { createFreshImporter, loadCodeSkill } from './load-code.ts'
import type { Catalog } from './model/tools.ts'
import { createMiddlewareLoader, nounOf } from './own-middleware.ts'
import { REPLACED, replacedAmong } from './replaced-skills.ts'
import { type Fail, findSources, type SkillSource } from './sources.ts'

/**
 * A skill or a layer (`middleware/NAME`) that failed to load. `kept`: whether its last good version
 * is still in use.
 */
export type BrokenSkill = { name: string; path: string; reason: string; kept: boolean }

export type RegisteredSkill = { layered: LayeredSkill; source: SkillSource }

export type RegistryOptions = {
  /** Absolute paths. Earlier folders win. */
  folders: readonly string[]
  /** The folder of the skills that are part of Trivium. */
  shippedFolder?: string
  middleware?: readonly Middleware[]
  /** Built-in skills. A skill of the same name in a folder wins. */
  skills?: readonly Skill[]
  /** Loads a `SKILL.md`; see `createMarkdownLoader`. */
  loadMarkdown(found: FoundSkill, catalog: Catalog): Promise<Skill>
  log: Log
}

/** All skills by name. `reload` fills it. A skill that fails to load does not affect others. */
export function createRegistry(options: RegistryOptions) {
  const { folders, log, middleware: shipped = [], shippedFolder } = options
  const builtIn = [...(options.skills ?? [])]
  const importer = createFreshImporter(folders)
  const catalog: Catalog = {
    names: () => [...skills.keys(), ...remote.keys()].sort(),
    get: (name) => find(name)?.layered.skill,
  }
  let skills: ReadonlyMap<string, RegisteredSkill> = new Map()
  /** Tools of MCP servers. Skills of the same name win. */
  let remote: ReadonlyMap<string, RegisteredSkill> = new Map()
  const find = (name: string) => skills.get(name) ?? remote.get(name)
  const replaced = () => replacedAmong(builtIn, skills)
  let failures: readonly BrokenSkill[] = []
  let middleware = shipped
  const loadAllMiddleware = createMiddlewareLoader(folders, shipped, importer)
  const sourceParts = {
    folders,
    builtIn,
    load: (found: FoundSkill) =>
      found.kind === 'code' ? loadCodeSkill(found, importer) : options.loadMarkdown(found, catalog),
    previous: () => [...skills.values()].map(({ source }) => source),
  }

  const reload = async () => {
    const { failed, fail } = collectFailures(log)
    const layers = await loadAllMiddleware(fail)
    const sources = await findSources(sourceParts, fail)
    const names = new Set(sources.map(({ name }) => name))
    const loaded = new Map([...skills].filter(([name]) => names.has(name)))
    // Set before the skills are loaded, so that each is usable as soon as it is loaded: another one
    // may have a slow top-level await.
    skills = loaded
    const load = async (source: SkillSource) => {
      const { name, path = 'Trivium' } = source
      try {
        const layered = createLayeredSkill(await source.load(), layers, originOf(source))
        loaded.set(name, { layered, source })
        warnOfMisspelledKeys(layered.skill, layers, log)
      } catch (error) {
        fail(name, path, loaded.has(name), error)
      }
    }
    await Promise.all(sources.map(load))
    for (const { name, path } of replaced()) log.warn({ skill: name, path }, REPLACED)
    failures = failed.sort((a, b) => byCodeUnits(a.name, b.name))
    middleware = layers
    useRemote([...remote.values()].map(({ layered }) => layered.skill))
  }

  const useRemote = (all: readonly Skill[]) => {
    remote = wrapRemote(all, middleware, log)
  }

  /** One reload at a time, so that the newest files win even if older ones load slowly. */
  const inTurn = createTurns()

  return {
    /** Adds built-in skills, available after the next `reload`. */
    add: (more: readonly Skill[]) => void builtIn.push(...more),
    get: find,
    /** Replaces the tools of MCP servers. */
    useRemote,
    names: catalog.names,
    broken: (name: string) => failures.find((one) => one.name === name),
    errors: () => failures,
    replaced,
    /** All skills, and the names of broken ones: a route to a broken skill is not a mistake. */
    known: () => {
      const usable = [...skills.values(), ...remote.values()].map(({ layered, source }) => {
        return { ...layered.skill, kind: source.kind, isShipped: isShipped(source, shippedFolder) }
      })
      return [...usable, ...failures.map(({ name }) => ({ name }))]
    },
    middleware: () => middleware,
    /** Reloads everything. Whatever fails to load keeps its last good version. */
    reload: () => inTurn(reload),
    close: () => importer.close(),
  }
}

/** Logs and collects the failures of a reload. */
function collectFailures(log: Log) {
  const failed: BrokenSkill[] = []
  const fail: Fail = (name, path, kept, error) => {
    const reason = reasonOf(error)
    failed.push({ name, path, reason, kept })
    log.error({ skill: name, path, kept, reason }, `a ${nounOf(name)} cannot be loaded`)
  }
  return { failed, fail }
}

const originOf = ({ kind }: SkillSource): SkillOrigin => ({ isBuiltIn: kind === 'built-in' })

/** Whether a skill is part of Trivium. */
export function isShipped(
  { kind, path = '' }: Pick<SkillSource, 'kind' | 'path'>,
  folder: string | undefined,
): boolean {
  return kind === 'built-in' || (folder !== undefined && path.startsWith(join(folder, sep)))
}

/** Wraps the tools of MCP servers. Omits those whose settings a middleware rejects. */
function wrapRemote(
  all: readonly Skill[],
  middleware: readonly Middleware[],
  log: Log,
): Map<string, RegisteredSkill> {
  const wrapped = all.flatMap((skill): [string, RegisteredSkill][] => {
    const { name } = skill
    try {
      const source = { name, kind: 'mcp', load: () => skill } as const
      return [[name, { layered: createLayeredSkill(skill, middleware, originOf(source)), source }]]
    } catch (error) {
      log.error({ skill: name, reason: reasonOf(error) }, 'a tool of an MCP server cannot be used')
      return []
    }
  })
  return new Map(wrapped)
}

/** Metadata may have any key, but one similar to a middleware's name is probably a typo. */
function warnOfMisspelledKeys({ name, metadata = {} }: Skill, layers: readonly Middleware[], log: Log): void {
  const known = layers.map((one) => one.name)
  for (const key of Object.keys(metadata)) {
    const near = known.includes(key) ? undefined : nearest(key, known)
    if (near === undefined) continue
    log.warn({ skill: name, key, nearest: near }, `metadata.${key} has no effect; did you mean ${near}?`)
  }
}
