import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Middleware, Skill } from '../core/skill.ts'
import { orNothing } from '../lib/disk.ts'
import { nearest } from '../lib/nearest.ts'
import { createTurns } from '../lib/turns.ts'
import { createFreshImporter, loadCodeSkill, loadMiddleware } from './load-code.ts'
import type { Catalog } from './model/tools.ts'
import { createOnion, type Onion } from './onion.ts'
import { loadPrefixSkills, PREFIX_FILE } from './prefix-skills.ts'

/** A skill that could not be loaded. `kept`: the version from before the change still answers. */
export type BrokenSkill = { name: string; path: string; reason: string; kept: boolean }

/** Where a skill comes from. `path` is missing where it is built in. */
type SkillSource = {
  name: string
  kind: FoundSkill['kind'] | 'prefix' | 'built-in' | 'mcp'
  path?: string
  load(): Skill | Promise<Skill>
}

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
  /** The last good version of each file in `middleware/`. */
  const ownMiddleware = new Map<string, Middleware>()

  const reload = async () => {
    const failed: BrokenSkill[] = []
    const fail = (name: string, path: string, kept: boolean, error: unknown) => {
      failed.push({ name, path, reason: reasonOf(error), kept })
      log.error({ skill: name, path, kept, reason: reasonOf(error) }, 'skill cannot be loaded')
    }
    const layers = await loadAllMiddleware(fail)
    const sources = await findSources(fail)
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
    remote = new Map(wrapped)
  }

  /** Each module in `<folder>/middleware/` is one, named by its file. */
  const loadAllMiddleware = async (fail: Fail): Promise<Middleware[]> => {
    const all = new Map(shipped.map((one) => [one.name, one]))
    const inFolders = await entriesOfAll(folders.map((folder) => join(folder, 'middleware')))
    for (const { folder, name: file } of inFolders.filter(({ name }) => MODULE.test(name))) {
      const found = { name: file.replace(MODULE, ''), path: join(folder, file) }
      try {
        ownMiddleware.set(found.path, await loadMiddleware(found, importer))
      } catch (error) {
        fail(`middleware/${found.name}`, found.path, ownMiddleware.has(found.path), error)
      }
      const usable = ownMiddleware.get(found.path) ?? brokenMiddleware(found)
      all.set(usable.name, usable)
    }
    return [...all.values()]
  }

  /** One source a name: folders win over `skills.json`, and that over what is built in. */
  const findSources = async (fail: Fail): Promise<SkillSource[]> => {
    const inFolders = (await discoverSkills(folders)).map((found) => ({
      ...found,
      load: () =>
        found.kind === 'code' ? loadCodeSkill(found, importer) : options.loadMarkdown(found, catalog),
    }))
    const prefixes = await Promise.all(folders.map((folder) => prefixSources(folder, fail)))
    const others = builtIn.map((skill): SkillSource => {
      return { name: skill.name, kind: 'built-in', load: () => skill }
    })
    const all: SkillSource[] = [...inFolders, ...prefixes.flat(), ...others]
    return [...new Map(all.toReversed().map((source) => [source.name, source])).values()]
  }

  /** The entries of a `skills.json`; those that it had where it cannot be read. */
  const prefixSources = async (folder: string, fail: Fail): Promise<SkillSource[]> => {
    const path = join(folder, PREFIX_FILE)
    try {
      const { skills: loaded, broken } = await loadPrefixSkills(path)
      for (const { name, reason } of broken) fail(name, path, false, new Error(reason))
      return loaded.map((skill) => ({ name: skill.name, kind: 'prefix', path, load: () => skill }))
    } catch (error) {
      const before = [...skills.values()].map(({ source }) => source).filter((source) => source.path === path)
      fail(path, path, before.length > 0, error)
      return before
    }
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

/** Unknown keys of metadata are anyone's; one that is nearly a middleware's is probably a slip. */
function warnOfSlips({ name, metadata = {} }: Skill, layers: readonly Middleware[], log: Log): void {
  const known = layers.map((one) => one.name)
  for (const key of Object.keys(metadata)) {
    const near = known.includes(key) ? undefined : nearest(key, known)
    if (near === undefined) continue
    log.warn({ skill: name, key, nearest: near }, `metadata.${key} does nothing; did you mean ${near}?`)
  }
}

type Fail = (name: string, path: string, kept: boolean, error: unknown) => void

/** Stands in for a middleware that was never loaded: it breaks each skill that names it, so that none runs without its layer. */
function brokenMiddleware({ name, path }: { name: string; path: string }): Middleware {
  const setup = () => {
    throw new Error(`the middleware ${path} cannot be loaded`)
  }
  return { name, order: 0, description: 'It cannot be loaded.', setup }
}

/** A skill's folder: which file to load it from, and in which skills folder it was found. */
export type FoundSkill = {
  name: string
  kind: 'code' | 'markdown'
  path: string
}

/** What makes a folder a skill; the first that is there counts. */
const FILES = { 'index.ts': 'code', 'index.js': 'code', 'index.mjs': 'code', 'SKILL.md': 'markdown' } as const
const MODULE = /\.(ts|js|mjs)$/

/** Skills by folder: code before markdown, and of a name that is in several folders the first. */
async function discoverSkills(folders: readonly string[]): Promise<FoundSkill[]> {
  const found: FoundSkill[] = []
  for (const { folder, name } of await entriesOfAll(folders)) {
    const files = await entriesOf(join(folder, name))
    const [file, kind] = Object.entries(FILES).find(([one]) => files.includes(one)) ?? []
    if (file && kind) found.push({ name, kind, path: join(folder, name, file) })
  }
  return found
}

async function entriesOfAll(folders: readonly string[]): Promise<{ folder: string; name: string }[]> {
  const found = folders.map(async (folder) => (await entriesOf(folder)).map((name) => ({ folder, name })))
  return (await Promise.all(found)).flat()
}

async function entriesOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch(orNothing)) ?? []
  return names.filter((name) => !name.startsWith('.')).sort()
}
