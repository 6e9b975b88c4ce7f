import { reasonOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Middleware, Skill } from '../core/skill.ts'
import { nearest } from '../lib/nearest.ts'
import { createTurns } from '../lib/turns.ts'
import type { FoundSkill } from './discover.ts'
import { createFreshImporter, loadCodeSkill } from './load-code.ts'
import type { Catalog } from './model/tools.ts'
import { createOnion, type Onion } from './onion.ts'
import { createMiddlewareLoader } from './own-middleware.ts'
import { type Fail, findSources, type SkillSource } from './sources.ts'

/** A skill that could not be loaded. `kept`: the version from before the change still answers. */
export type BrokenSkill = { name: string; path: string; reason: string; kept: boolean }

export type RegisteredSkill = { onion: Onion; source: SkillSource }

export type RegistryOptions = {
  /** Absolute paths; a name in several is taken from the first. */
  folders: readonly string[]
  middleware?: readonly Middleware[]
  /** Skills that come from no folder. A folder's skill of the same name wins. */
  skills?: readonly Skill[]
  /** Makes a skill of a `SKILL.md`: `createMarkdownLoader`. */
  loadMarkdown(found: FoundSkill, catalog: Catalog): Promise<Skill>
  log: Log
}

/** All skills of some folders by name; `reload` fills it. Loading one never fails the others. */
export function createRegistry(options: RegistryOptions) {
  const { folders, log, middleware: shipped = [] } = options
  const builtIn = [...(options.skills ?? [])]
  const importer = createFreshImporter(folders)
  const catalog: Catalog = {
    names: () => [...skills.keys(), ...remote.keys()].sort(),
    get: (name) => find(name)?.onion.skill,
  }
  let skills: ReadonlyMap<string, RegisteredSkill> = new Map()
  /** Those of other servers, by names that no skill of ours has. */
  let remote: ReadonlyMap<string, RegisteredSkill> = new Map()
  const find = (name: string) => skills.get(name) ?? remote.get(name)
  let failures: readonly BrokenSkill[] = []
  let middleware = shipped
  const loadAllMiddleware = createMiddlewareLoader(folders, shipped, importer)
  const sourceParts = {
    ...{ folders, builtIn },
    load: (found: FoundSkill) =>
      found.kind === 'code' ? loadCodeSkill(found, importer) : options.loadMarkdown(found, catalog),
    before: () => [...skills.values()].map(({ source }) => source),
  }

  const reload = async () => {
    const failed: BrokenSkill[] = []
    const fail: Fail = (name, path, kept, error) => {
      failed.push({ name, path, reason: reasonOf(error), kept })
      log.error({ skill: name, path, kept, reason: reasonOf(error) }, 'skill cannot be loaded')
    }
    const layers = await loadAllMiddleware(fail)
    const sources = await findSources(sourceParts, fail)
    const found = new Set(sources.map(({ name }) => name))
    const loaded = new Map([...skills].filter(([name]) => found.has(name)))
    // Each takes effect as it is loaded: one may wait long at its top level.
    skills = loaded
    const load = async (source: SkillSource) => {
      const { name, path = 'Trivium' } = source
      try {
        const onion = createOnion(await source.load(), layers)
        loaded.set(name, { onion, source })
        warnOfSlips(onion.skill, layers, log)
      } catch (error) {
        fail(name, path, loaded.has(name), error)
      }
    }
    await Promise.all(sources.map(load))
    failures = failed.sort((a, b) => a.name.localeCompare(b.name))
    middleware = layers
    useRemote([...remote.values()].map(({ onion }) => onion.skill))
  }

  const useRemote = (all: readonly Skill[]) => {
    remote = wrapRemote(all, middleware, log)
  }

  /** One at a time: what was saved last must win, however long an earlier version takes to load. */
  const inTurn = createTurns()

  return {
    /** Adds skills that come from no folder. They are there after the next `reload`. */
    add: (more: readonly Skill[]) => void builtIn.push(...more),
    get: find,
    /** Replaces the skills of other servers, which come and go with these. */
    useRemote,
    names: catalog.names,
    broken: (name: string) => failures.find((one) => one.name === name),
    errors: () => failures,
    /** Broken skills too, by their names: a route to one is no mistake of the route. */
    known: () => {
      const whole = catalog.names().flatMap((name) => catalog.get(name) ?? [])
      return [...whole, ...failures.map(({ name }) => ({ name }))]
    },
    middleware: () => middleware,
    /** Loads everything anew. What cannot be loaded keeps its last good version. */
    reload: () => inTurn(reload),
    close: () => importer.close(),
  }
}

/** The tools of MCP servers by name, without those that no middleware accepts. */
function wrapRemote(
  all: readonly Skill[],
  middleware: readonly Middleware[],
  log: Log,
): Map<string, RegisteredSkill> {
  const wrapped = all.flatMap((skill): [string, RegisteredSkill][] => {
    const { name } = skill
    try {
      const source = { name, kind: 'mcp', load: () => skill } as const
      return [[name, { onion: createOnion(skill, middleware), source }]]
    } catch (error) {
      log.error({ skill: name, reason: reasonOf(error) }, 'a tool of an MCP server cannot be used')
      return []
    }
  })
  return new Map(wrapped)
}

/** Unknown keys of metadata are anyone's; one that is nearly a middleware's is probably a slip. */
function warnOfSlips({ name, metadata = {} }: Skill, layers: readonly Middleware[], log: Log): void {
  const known = layers.map((one) => one.name)
  for (const key of Object.keys(metadata)) {
    const near = known.includes(key) ? undefined : nearest(key, known)
    if (near === undefined) continue
    log.warn({ skill: name, key, nearest: near }, `metadata.${key} does nothing; did you mean ${near}?`)
  }
}
