import { basename, dirname, join } from 'node:path'
import { closest, distance } from 'fastest-levenshtein'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Middleware, Skill } from '../core/skill.ts'
import { isCallbackName } from './callback-skill.ts'
import { discoverMiddleware, discoverSkills, type FoundSkill } from './discover.ts'
import { createFreshImporter } from './import-fresh.ts'
import { loadCodeSkill, loadMiddleware } from './load-code.ts'
import { createOnion, type Onion } from './onion.ts'
import { loadPrefixSkills, PREFIX_FILE } from './prefix-skills.ts'

/** A skill that could not be loaded. `kept`: the version from before the change still answers. */
export type BrokenSkill = { name: string; path: string; reason: string; kept: boolean }

export type RegisteredSkill = { onion: Onion; source: FoundSkill | undefined }

/** All skills of some folders by name. Loading one never fails the others. */
export type Registry = {
  get(name: string): RegisteredSkill | undefined
  names(): string[]
  broken(name: string): BrokenSkill | undefined
  errors(): BrokenSkill[]
  middleware(): Middleware[]
  /**
   * Loads everything anew, or what belongs to one entry of the folders: a skill, and the skills that import something
   * from there. What cannot be loaded keeps its last good version.
   */
  reload(name?: string): Promise<void>
  close(): void
}

export type RegistryOptions = {
  folders: readonly string[]
  middleware: readonly Middleware[]
  /** Skills that come from no folder. A folder's skill of the same name wins. */
  skills?: readonly Skill[]
  /** Makes a skill of a `SKILL.md`. */
  loadMarkdown(found: FoundSkill): Promise<Skill>
  log: Log
}

/** Makes an empty registry; `reload` fills it. */
export function createRegistry(options: RegistryOptions): Registry {
  const { folders, log } = options
  const importer = createFreshImporter(folders)
  const skills = new Map<string, RegisteredSkill>()
  const failures = new Map<string, BrokenSkill>()
  let middleware = [...options.middleware]
  /** The last good version of each file in `middleware/`. */
  const ownMiddleware = new Map<string, Middleware>()

  const fail = (name: string, path: string, error: unknown) => {
    const kept = skills.has(name) || ownMiddleware.has(path)
    failures.set(name, { name, path, reason: reasonOf(error), kept })
    log.error({ skill: name, path, kept, reason: reasonOf(error) }, 'skill cannot be loaded')
  }

  /** Unknown keys of metadata are anyone's; one that is nearly a middleware's is probably a slip. */
  const warnOfSlips = ({ name, metadata = {} }: Skill) => {
    const known = middleware.map((one) => one.name)
    for (const key of Object.keys(metadata)) {
      if (known.length === 0 || known.includes(key)) continue
      const nearest = closest(key, known)
      if (distance(key, nearest) > 2) continue
      log.warn({ skill: name, key, nearest }, `metadata.${key} does nothing; did you mean ${nearest}?`)
    }
  }

  /** Which load of a skill is the newest: one that began earlier and ended later must not win. */
  const newest = new Map<string, symbol>()

  const register = async (found: FoundSkill) => {
    const load = Symbol(found.name)
    newest.set(found.name, load)
    const isNewest = () => newest.get(found.name) === load
    try {
      const skill = found.kind === 'code' ? loadCodeSkill(found, importer) : options.loadMarkdown(found)
      const onion = createOnion(await skill, middleware)
      if (!isNewest()) return
      skills.set(found.name, { onion, source: found })
      warnOfSlips(onion.skill)
      failures.delete(found.name)
      log.debug({ skill: found.name, path: found.path }, 'skill loaded')
    } catch (error) {
      if (isNewest()) fail(found.name, found.path, error)
    }
  }

  const warnOfDeadEnds = () => {
    for (const [name, { onion, source }] of skills) {
      const ref = onion.skill.metadata?.ref
      if (source?.kind !== 'prefix' || typeof ref !== 'string') continue
      if (skills.has(ref) || failures.has(ref) || isCallbackName(ref)) continue
      const fields = { skill: name, ref, path: source.path }
      log.warn(
        fields,
        `there is no skill ${ref}, to which ${PREFIX_FILE} leads; did you mean ${closest(ref, [...skills.keys()])}?`,
      )
    }
  }

  const reloadMiddleware = async () => {
    const all = new Map(options.middleware.map((one) => [one.name, one]))
    for (const name of [...failures.keys()]) if (name.startsWith('middleware/')) failures.delete(name)
    for (const found of await discoverMiddleware(folders)) {
      try {
        ownMiddleware.set(found.path, await loadMiddleware(found, importer))
      } catch (error) {
        fail(`middleware/${found.name}`, found.path, error)
      }
      const usable = ownMiddleware.get(found.path) ?? brokenMiddleware(found)
      all.set(usable.name, usable)
    }
    middleware = [...all.values()]
  }

  /** Folders win over `skills.json`; a file that cannot be read keeps the entries that it had. */
  const registerPrefixes = async (taken: ReadonlySet<string>): Promise<Set<string>> => {
    const names = new Set<string>()
    for (const folder of folders) {
      const path = join(folder, PREFIX_FILE)
      try {
        for (const skill of await loadPrefixSkills(folder)) {
          if (taken.has(skill.name) || names.has(skill.name)) continue
          const source: FoundSkill = { name: skill.name, kind: 'prefix', path, folder }
          skills.set(skill.name, { onion: createOnion(skill, middleware), source })
          names.add(skill.name)
        }
        failures.delete(path)
      } catch (error) {
        fail(path, path, error)
        for (const [name, { source }] of skills) if (source?.path === path) names.add(name)
      }
    }
    return names
  }

  const forgetMissing = (found: ReadonlySet<string>) => {
    for (const name of [...skills.keys(), ...failures.keys()]) {
      if (found.has(name) || name.includes('/')) continue
      skills.delete(name)
      failures.delete(name)
    }
    for (const skill of options.skills ?? []) {
      if (!found.has(skill.name)) {
        skills.set(skill.name, { onion: createOnion(skill, middleware), source: undefined })
      }
    }
  }

  /** The skills that a change of this entry of a folder may concern; undefined: all of them. */
  const concernedBy = (name: string): Set<string> | undefined => {
    const importers = folders.flatMap((folder) => importer.importersOf(join(folder, name)))
    if (importers.some((path) => ownMiddleware.has(path))) return undefined
    // What could not be loaded may have lacked just this.
    return new Set([name, ...failures.keys(), ...importers.map((path) => basename(dirname(path)))])
  }

  return {
    get: (name) => skills.get(name),
    names: () => [...skills.keys()].sort(),
    broken: (name) => failures.get(name),
    errors: () => [...failures.values()],
    middleware: () => middleware,
    async reload(name) {
      const concerned = name === undefined ? undefined : concernedBy(name)
      if (!concerned) await reloadMiddleware()
      const found = await discoverSkills(folders)
      const folderNames = new Set(found.keys())
      forgetMissing(folderNames.union(await registerPrefixes(folderNames)))
      const chosen = [...found.values()].filter((one) => !concerned || concerned.has(one.name))
      await Promise.all(chosen.map(register))
      warnOfDeadEnds()
    },
    close: () => importer.close(),
  }
}

/**
 * Stands in for a middleware that was never loaded, so that no skill runs without the layer that it asks for: each that
 * names it is broken, with the reason.
 */
function brokenMiddleware({ name, path }: { name: string; path: string }): Middleware {
  return {
    name,
    order: 0,
    description: 'It cannot be loaded.',
    setup() {
      throw new Error(`the middleware ${path} cannot be loaded`)
    },
  }
}

/** The error for a skill that is there but cannot be loaded. */
export function brokenError({ name, path, reason }: BrokenSkill): TriviumError {
  return new TriviumError('skill_broken', { name, path, reason })
}
