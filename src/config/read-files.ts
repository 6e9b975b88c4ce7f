import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { orNothing } from '../lib/disk.ts'
import { shownPath } from '../lib/shown-path.ts'
import type { Environment } from './environment.ts'
import { filesOf, isGlob } from './include-pattern.ts'
import { createSubstitution, notSet, type Variable } from './variables.ts'
import { type Path, type Problem, readYaml, type YamlFile } from './yaml-file.ts'

/** One file of the configuration. */
export type Part = {
  /** Absolute path. */
  file: string
  /** Path for display. */
  shown: string
  yaml: YamlFile
}

/** The files of a configuration, and their problems. */
export type ReadResult = {
  /** routes.yaml, then the included files in the order of their precedence. */
  parts: Part[]
  problems: Problem[]
  /** The files to watch, as absolute paths: those that were read or are missing. */
  files: string[]
  /** The globs to watch, as absolute paths. */
  globs: string[]
}

/** Maximum number of files. A pattern that matches more is probably a mistake. */
const MOST_FILES = 1_000

/**
 * Reads routes.yaml and the files of its `include`, which may include others. A file counts once,
 * where it is first included. Returns the problems of all files instead of throwing.
 */
export async function readFiles(main: string, cwd: string, env: Environment): Promise<ReadResult> {
  const read: ReadResult = { parts: [], problems: [], files: [], globs: [] }
  /** The real paths of all files. */
  const known = new Set<string>()

  /** Reads a file and what it includes. `chain`: the real paths of the files that led here. */
  const add = async (file: string, chain: readonly string[]): Promise<void> => {
    read.files.push(file)
    const { yaml, problems } = await readYaml(file, cwd)
    read.problems.push(...problems)
    if (!yaml) return
    read.parts.push({ file, shown: shownPath(cwd, file), yaml })
    const { value } = yaml
    if (chain.length > 0 && value !== null && !isJsonObject(value)) {
      read.problems.push(yaml.problem([], 'value', 'expected a mapping: sections such as routes'))
    }
    for (const { path, entry } of entriesOf(value, yaml, env, read.problems))
      await include(entry, path, { file, yaml, chain: [...chain, await realPathOf(file)] })
  }

  const include = async (entry: string, path: Path, from: Includer): Promise<void> => {
    const report = (message: string) => void read.problems.push(from.yaml.problem(path, 'value', message))
    const target = resolve(dirname(from.file), entry)
    const found = await filesNamedBy(target, read, report)
    for (const file of found) {
      const real = await realPathOf(file)
      if (from.chain.includes(real)) {
        report(circularInclude([...from.chain, real], cwd))
        continue
      }
      if (known.has(real)) continue
      if (known.size >= MOST_FILES) return report(`more than ${MOST_FILES} files`)
      known.add(real)
      await add(file, from.chain)
    }
  }

  known.add(await realPathOf(main))
  await add(main, [])
  return read
}

/** The file of an `include`. `chain`: the real paths of the files that led to it, with its own. */
type Includer = { file: string; yaml: YamlFile; chain: readonly string[] }

/**
 * The entries of `include` with their paths, and with variables substituted. Empty if any of them
 * is invalid.
 */
function entriesOf(value: unknown, yaml: YamlFile, env: Environment, problems: Problem[]) {
  const include = isJsonObject(value) ? (value.include ?? []) : []
  const problemsBefore = problems.length
  const report = (path: Path, message: string) => void problems.push(yaml.problem(path, 'value', message))
  const onVariable = (variable: Variable) => {
    if (variable.value === undefined && !variable.optional) report(variable.path, notSet(variable))
  }
  const substitute = createSubstitution(env, onVariable, report)
  const entries = [include].flat().flatMap((entry, index) => {
    const path = Array.isArray(include) ? ['include', index] : ['include']
    const isText = typeof entry === 'string' && entry.trim() !== ''
    const substituted = isText ? substitute(entry, path) : undefined
    if (typeof substituted === 'string') return [{ path, entry: substituted }]
    report(path, 'expected a file, a pattern such as routes.d/*.yaml, or a list of them')
    return []
  })
  return problems.length > problemsBefore ? [] : entries
}

/** The files that an entry of `include` names. Adds what to watch to `read`. */
async function filesNamedBy(
  target: string,
  read: ReadResult,
  report: (message: string) => void,
): Promise<string[]> {
  const isPattern = isGlob(target)
  if (isPattern) read.globs.push(target)
  try {
    if (isPattern) return await filesOf(target)
    const found = await stat(target).catch(orNothing)
    if (found?.isFile()) return [target]
    const instead = `${target} is not a file; to include all files of a folder, write ${target}/*.yaml`
    report(found ? instead : `there is no file ${target}`)
  } catch (error) {
    report(`${target} cannot be read: ${reasonOf(error)}`)
  }
  if (!isPattern) read.files.push(target)
  return []
}

/** The real path of a file, or its given path if it does not exist. */
async function realPathOf(file: string): Promise<string> {
  return realpath(file).catch(() => file)
}

/** The message for a file that includes itself, directly or through others. */
function circularInclude(chain: readonly string[], cwd: string): string {
  const names = chain.slice(chain.indexOf(chain.at(-1) ?? '')).map((file) => shownPath(cwd, file))
  return names.length === 2
    ? `the file includes itself: ${names[0]}`
    : `the files include each other in a circle: ${names.join(' → ')}`
}
