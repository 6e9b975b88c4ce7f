import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import { disk, writeWhole } from '../../lib/disk.ts'
import { type DocumentSpec, formatDocument } from '../documents/spec.ts'
import { agentStateDocument, taskBoardDocument } from './documents.ts'
import { openWorkbench } from './project.ts'

/**
 * Writes a project's own workbench into `dir`: a schema and a first document each, a migration scaffold, and a
 * `.gitignore` for what is not for version control. What is there already stays. `openWorkbench` uses what it finds
 * there. Returns what was written.
 */
export async function initWorkbench(dir: string): Promise<string[]> {
  disk.makeDir(join(dir, 'migrations'))
  const written: string[] = []
  for (const [name, text] of Object.entries(scaffold())) {
    const path = join(dir, name)
    if (existsSync(path)) continue
    await writeWhole(path, text)
    written.push(name)
  }
  return [...written, ...(await firstDocuments(dir))]
}

/** Made by the manager, so that they do not count as a person's edit. */
async function firstDocuments(dir: string): Promise<string[]> {
  const { manager } = await openWorkbench({ dir })
  try {
    const missing = manager.names().filter((name) => !existsSync(join(dir, `${name}.json`)))
    for (const name of missing) await manager.load(name)
    return missing.map((name) => `${name}.json`)
  } finally {
    await manager.close()
  }
}

function scaffold(): Record<string, string> {
  const files: Record<string, string> = {}
  const specs: DocumentSpec[] = [agentStateDocument, taskBoardDocument]
  for (const spec of specs) {
    files[`${spec.name}.schema.json`] = formatDocument(schemaFile(spec))
  }
  files['migrations/agent_state.v2-to-v3.mjs'] = MIGRATION
  files['.gitignore'] = '*.lock\n*.tmp\n*.backup.json\n'
  return files
}

function schemaFile({ name, schema }: DocumentSpec): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${name}.schema.json`,
    title: name,
    ...schema,
  }
}

const MIGRATION = `/**
 * Turns an agent_state of version 2 into one of version 3. It runs when the schema beside it says version 3 and
 * the document says 2, once, on a copy, with a backup kept. Rename what you need, and return the whole document.
 */
export default function migrate(document) {
  return { ...document }
}
`
