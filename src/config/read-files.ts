import { realpath, stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { orNothing } from '../lib/disk.ts'
import type { Environment } from './environment.ts'
import { filesOf, isGlob } from './include-pattern.ts'
import { createFiller, notSet, type Variable } from './variables.ts'
import { type Path, type Problem, readYaml, type YamlFile } from './yaml-file.ts'

/** One file of the configuration. `file`: absolute path; `shown`: path for display. */
export type Part = {
  file: string
  shown: string
  yaml: YamlFile
}

/** The files of a configuration, and their problems. */
export type FilesRead = {
  /** routes.yaml, then the included files in the order of their precedence. */
  parts: Part[]
  problems: Problem[]
  /** What to watch, as absolute paths: files that were read or are missing, and globs. */
  files: string[]
  globs: string[]
}

/** A pattern that matches more files is probably a mistake. */
const MOST_FILES = 1_000

/**
 * Reads routes.yaml and the files of its `include`, which may include others. A file counts once,
 * where it is first included. Returns the problems of all files instead of throwing.
 */
export async function readFiles(main: string, cwd: string, env: Environment): Promise<FilesRead> {
  const read: FilesRead = { parts: [], problems: [], files: [], globs: [] }
  const known = new Set<string>()

  /** `chain`: the real paths of the files that led here. */
  const add = async (file: string, chain: readonly string[]): Promise<void> => {
    read.files.push(file)
    const { yaml, problems } = await readYaml(file, cwd)
    read.problems.push(...problems)
    if (!yaml) return
    read.parts.push({ file, shown: relative(cwd, file) || file, yaml })
    const { value } = yaml
    if (chain.length > 0 && value !== null && !isJsonObject(value)) {
      read.problems.push(yaml.problem([], 'value', 'expected a mapping: sections such as routes'))
    }
    for (const { path, entry } of entriesOf(value, yaml, env, read.problems))
      await include(entry, path, { file, yaml, chain: [...chain, await realPathOf(file)] })
  }

  const include = async (entry: string, path: Path, from: From): Promise<void> => {
    const report = (message: string) => void read.problems.push(from.yaml.problem(path, 'value', message))
    const target = resolve(dirname(from.file), entry)
    const found = await namedBy(target, read, report)
    for (const file of found) {
      const real = await realPathOf(file)
      if (from.chain.includes(real)) report(circleOf([...from.chain, real], cwd))
      else if (!known.has(real) && known.size < MOST_FILES) {
        known.add(real)
        await add(file, from.chain)
      } else if (!known.has(real)) return report(`more than ${MOST_FILES} files`)
    }
  }

  known.add(await realPathOf(main))
  await add(main, [])
  return read
}

type From = { file: string; yaml: YamlFile; chain: readonly string[] }

/**
 * The entries of `include` with their paths, and with variables substituted. Empty if any of them
 * is invalid.
 */
function entriesOf(value: unknown, yaml: YamlFile, env: Environment, problems: Problem[]) {
  const given = isJsonObject(value) ? (value.include ?? []) : []
  const before = problems.length
  const report = (path: Path, message: string) => void problems.push(yaml.problem(path, 'value', message))
  const seen = (variable: Variable) => {
    if (variable.value === undefined && !variable.optional) report(variable.path, notSet(variable))
  }
  const fill = createFiller(env, seen, report)
  const entries = [given].flat().flatMap((entry, at) => {
    const path = Array.isArray(given) ? ['include', at] : ['include']
    const isText = typeof entry === 'string' && entry.trim() !== ''
    const filled = isText ? fill(entry, path) : undefined
    if (typeof filled === 'string') return [{ path, entry: filled }]
    report(path, 'expected a file, a pattern such as routes.d/*.yaml, or a list of them')
    return []
  })
  return problems.length > before ? [] : entries
}

/** The files that an entry names. Records what to watch. */
async function namedBy(
  target: string,
  read: FilesRead,
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

function circleOf(chain: readonly string[], cwd: string): string {
  const names = chain.slice(chain.indexOf(chain.at(-1) ?? '')).map((file) => relative(cwd, file) || file)
  return names.length === 2
    ? `the file includes itself: ${names[0]}`
    : `the files include each other in a circle: ${names.join(' → ')}`
}
