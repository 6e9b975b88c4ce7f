import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, pathGet } from '../../core/json.ts'
import { disk, writeAtomically } from '../../lib/disk.ts'
import { createStateManager } from '../documents/manager.ts'
import type { DocumentSpec } from '../documents/spec.ts'
import { formatDocument, readDocument } from '../documents/text.ts'
import { agentStateDocument, createWorkbench, taskBoardDocument, type Workbench } from './workbench.ts'

/**
 * Opens the workbench of a project, with its own schemas and migrations if it has them. Throws
 * `state_corrupt` for unusable ones.
 */
export async function openWorkbench(dir: string) {
  const agentState = await withProjectSchema(dir, agentStateDocument)
  const taskBoard = await withProjectSchema(dir, taskBoardDocument)
  const manager = createStateManager({ dir, documents: [agentState, taskBoard] })
  return { manager, state: manager.document(agentState), board: manager.document(taskBoard) }
}

/**
 * The workbench of a project. It is opened for each operation, so that changed schemas and
 * migrations apply immediately.
 */
export function workbenchAt(dir: string): Workbench {
  return createWorkbench(async (work) => {
    const { manager, ...documents } = await openWorkbench(dir)
    return await work(documents).finally(manager.close)
  })
}

/**
 * A document with the schema and migrations of the project, if it has them. Throws `state_corrupt`.
 */
async function withProjectSchema<T extends JsonObject>(
  dir: string,
  shipped: DocumentSpec<T>,
): Promise<DocumentSpec<T>> {
  const path = join(dir, `${shipped.name}.schema.json`)
  if (!existsSync(path)) return shipped
  const schema = readDocument(path, RESET)
  const version = pathGet(schema, 'properties.schema_version.const')
  if (typeof version !== 'number') throw unusable(path, 'properties.schema_version.const must be the version')
  const own = await migrationsIn(join(dir, 'migrations'), shipped.name)
  const migrations: typeof own = { ...shipped.migrations, ...own }
  return {
    ...shipped,
    schema,
    version,
    migrations,
    initial() {
      let document = shipped.initial()
      for (let from = shipped.version; from < version; from += 1)
        document = migrations[from]?.(document) ?? document
      return { ...document, schema_version: version }
    },
  }
}

/** The advice for an unusable schema or migration of the project, besides correcting it. */
const RESET = 'delete it and run `trivium state init`, which writes the default one'

/** The migrations of a document in a folder, by the version that they start from. */
async function migrationsIn(dir: string, name: string) {
  const found: Record<number, (old: JsonObject) => JsonObject> = {}
  for (const file of existsSync(dir) ? readdirSync(dir) : []) {
    const version = new RegExp(`^${name}\\.v(\\d+)-to-v\\d+\\.m?js$`).exec(file)?.[1]
    if (version === undefined) continue
    const path = join(dir, file)
    // Node loads a module once per URL, so the URL changes with the file.
    const url = `${pathToFileURL(path).href}?changed=${statSync(path).mtimeMs}`
    const module: { default?: unknown } = await import(url).catch((error: unknown) => {
      throw unusable(path, `it cannot be loaded: ${reasonOf(error)}`)
    })
    const migrate = module.default
    if (typeof migrate !== 'function') throw unusable(path, 'it has no default export that is a function')
    found[Number(version)] = (old) => {
      try {
        const migrated: unknown = migrate(old)
        if (isJsonObject(migrated)) return migrated
      } catch (error) {
        throw new Error(`${path}: ${reasonOf(error)}`, { cause: error })
      }
      throw new Error(`${path}: it did not return the document`)
    }
  }
  return found
}

function unusable(path: string, reason: string): TriviumError {
  return new TriviumError('state_corrupt', { path, reason, todo: RESET })
}

/** The folder for state that agents and people share: beside routes.yaml, under version control. */
export function workbenchDirOf(configFile: string): string {
  return join(dirname(configFile), 'workbench')
}

/**
 * Writes missing schemas, first documents, a migration scaffold and a `.gitignore`. Returns the
 * written files.
 */
export async function initWorkbench(dir: string): Promise<string[]> {
  disk.makeDir(join(dir, 'migrations'))
  const written: string[] = []
  const writeMissing = async (name: string, write: (path: string) => Promise<unknown>) => {
    if (existsSync(join(dir, name))) return
    await write(join(dir, name))
    written.push(name)
  }
  const $schema = 'https://json-schema.org/draft/2020-12/schema'
  for (const { name: title, schema } of [agentStateDocument, taskBoardDocument]) {
    const $id = `${title}.schema.json`
    await writeMissing($id, (path) =>
      writeAtomically(path, formatDocument({ $schema, $id, title, ...schema })),
    )
  }
  await writeMissing('migrations/agent_state.v2-to-v3.mjs', (path) => writeAtomically(path, MIGRATION))
  await writeMissing('.gitignore', (path) => writeAtomically(path, '*.lock\n*.tmp\n*.backup.json\n'))
  // Written by the manager, so that they do not count as a person's edit.
  const { manager } = await openWorkbench(dir)
  await using closing = new AsyncDisposableStack()
  closing.defer(manager.close)
  for (const name of manager.names()) await writeMissing(`${name}.json`, () => manager.load(name))
  return written
}

const MIGRATION = `/**
 * Turns an agent_state of version 2 into one of version 3. It runs when the schema beside it says
 * version 3 and the document says 2, once, on a copy, with a backup kept. Rename what you need, and
 * return the whole document.
 */
export default function migrate(document) {
  return { ...document }
}
`
